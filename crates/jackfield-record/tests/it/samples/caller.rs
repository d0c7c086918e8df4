//! What turns have besides since a client may come back for their answer.

use std::sync::Arc;

use jackfield_domain::caller::{Caller, Display, Repeats};
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Envelope, Fact, InputKind, TurnEnd};
use jackfield_domain::ids::DeliveryId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::wait::{Answer, ClientResult, Delivery, DeliveryBody, WaitEnd};

use super::{delivery, id, step, tool_attempt, turn_id, turn_opened, wait_id};

/// A turn for a client of which everything is known, and one for a client that keeps nothing.
pub(crate) fn turn_opened_called() -> Envelope {
    let known = Caller {
        body: Some(Digest::of(b"body")),
        dialect: "openai-responses".into(),
        display: Display {
            calls_as_written: false,
            server_tools: true,
        },
        echo: Some(r#"{"metadata":{"user":"мария"}}"#.into()),
        key: Some("retry-1".into()),
        model: "custom-claude-4-sonnet".into(),
        principal: "ci/мария".into(),
        view: Some(Digest::of(b"view")),
    };
    let unknown = Caller {
        body: None,
        dialect: "api".into(),
        display: Display::default(),
        echo: None,
        key: None,
        model: "model-1".into(),
        principal: "local".into(),
        view: None,
    };
    let mut envelope = turn_opened();
    // The first one has tools and settings, which another file shows.
    envelope.facts.drain(..1);
    for (fact, caller) in envelope.facts.iter_mut().zip([known, unknown]) {
        if let Fact::TurnOpened { setup, .. } = fact {
            Arc::make_mut(setup).caller = Some(Arc::new(caller));
        }
    }
    envelope
}

/// Turns whose clients are shown their calls while they are written.
pub(crate) fn turn_opened_streamed() -> Envelope {
    let mut envelope = turn_opened_called();
    for fact in &mut envelope.facts {
        if let Fact::TurnOpened { setup, .. } = fact
            && let Some(caller) = &mut Arc::make_mut(setup).caller
        {
            Arc::make_mut(caller).display.calls_as_written = true;
        }
    }
    envelope
}

/// A result with what the reply to its request repeats of that.
fn brought() -> Answer {
    let repeats = Repeats {
        echo: r#"{"metadata":{"user":"мария"},"store":true}"#.into(),
        model: "custom-claude-4-sonnet".into(),
    };
    Answer::ClientResult(ClientResult {
        repeats: Some(Arc::new(repeats)),
        result: ToolResult::text("18 °C"),
    })
}

pub(crate) fn wait_closed_brought() -> Envelope {
    let end = WaitEnd::Answered {
        answer: brought(),
        by: "ci/мария".into(),
        delivery: id(DeliveryId::parse("result-1")),
    };
    let closed = Fact::WaitClosed {
        end,
        subject: None,
        wait: wait_id(),
    };
    step(InputKind::Delivered, vec![closed])
}

pub(crate) fn delivered_result() -> Delivery {
    delivery(DeliveryBody::Answer {
        answer: brought(),
        wait: wait_id(),
    })
}

/// The end of a turn whose client keeps the conversation.
pub(crate) fn turn_ended_viewed() -> Envelope {
    let ended = Fact::TurnEnded {
        end: TurnEnd::Answered(FinishReason::Stop),
        view: Some(Digest::of(b"view")),
    };
    step(InputKind::ReplyEnded, vec![ended])
}

pub(crate) fn delivered_late() -> Delivery {
    delivery(DeliveryBody::Late {
        attempt: tool_attempt(),
        is_error: true,
        size: 1234,
        text: "it was done after all".into(),
    })
}

pub(crate) fn delivered_withdrawn() -> Delivery {
    delivery(DeliveryBody::Withdrawn { turn: turn_id() })
}

pub(crate) fn delivered_written() -> Delivery {
    delivery(DeliveryBody::Written {
        segment: 2,
        turn: turn_id(),
    })
}
