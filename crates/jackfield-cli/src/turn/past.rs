//! The past events of an open turn, as if they happened again.

use std::sync::Arc;

use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{ModelAttempt, ToolCallId};
use jackfield_domain::message::Message;
use jackfield_domain::settings::ResponseFormat;
use jackfield_domain::tool_input::ToolInput;

use crate::render::event::RenderEvent;

/// The past events of the last turn.
#[derive(Default)]
pub(super) struct PastTurnOutput {
    pub(super) events: Vec<RenderEvent>,
    /// The response format of its answer.
    pub(super) format: ResponseFormat,
}

/// The past events of the last turn in these steps.
pub(super) fn events(steps: &[Envelope]) -> PastTurnOutput {
    let mut past = PastTurnOutput::default();
    for step in steps {
        for fact in &step.facts {
            if let Fact::TurnOpened { setup, .. } = fact {
                past.events.clear();
                past.format = setup.settings.response_format.clone();
            } else if let Fact::ReplyReceived { attempt, reply, .. } = fact {
                push_message(&mut past.events, *attempt, &reply.message);
            }
            past.events.push(RenderEvent::Fact {
                fact: Box::new(fact.clone()),
                now: step.now,
            });
        }
    }
    past
}

/// A reply as deltas, one block after another.
fn push_message(events: &mut Vec<RenderEvent>, attempt: ModelAttempt, message: &Message) {
    for (index, block) in (0..).zip(&message.blocks) {
        let (start, piece, call) = pieces(index, &block.content);
        let mut push = |delta| {
            events.push(RenderEvent::Delta {
                attempt,
                call: call.clone(),
                delta,
            });
        };
        push(Delta::BlockStarted { index, start });
        piece.map(&mut push);
        push(Delta::BlockEnded { index });
    }
}

fn pieces(index: u32, content: &Content) -> (BlockStart, Option<Delta>, Option<ToolCallId>) {
    let text = |text: &Arc<str>| {
        let text = Arc::clone(text);
        Some(Delta::TextAppended { index, text })
    };
    match content {
        Content::Refusal(words) => (BlockStart::Refusal, text(words), None),
        Content::Text(words) => (BlockStart::Text, text(&words.text), None),
        Content::Thinking(thinking) => {
            let redacted = thinking.redacted;
            let start = BlockStart::Thinking { redacted };
            (start, text(&thinking.text), None)
        }
        Content::ToolCall(call) => {
            let (json, arguments) = match &call.input {
                ToolInput::Json(input) => (true, input.raw().into()),
                ToolInput::Text(words) => (false, Arc::clone(words)),
            };
            let start = BlockStart::ToolCall {
                json,
                name: call.name.as_str().into(),
                ran_by: call.ran_by,
                upstream: None,
            };
            let id = (call.ran_by != RanBy::Provider).then(|| call.id.clone());
            let text = arguments;
            (start, Some(Delta::ArgumentsAppended { index, text }), id)
        }
        Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::ToolOutcome(_) => (BlockStart::Whole(content.clone()), None, None),
    }
}
