//! A client's stream of a signed reply is the same while the reply arrives and after it.

use std::sync::Arc;
use std::time::Duration;

use jackfield_dialect_gemini::serve::GeminiServer;
use jackfield_dialect_gemini::stream::{DecodeReply as _, Decoder};
use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::serve::{EncodeReply, ServeDialect as _};
use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::client_view::{ClientEvent, ClientView, SegmentEnd};
use jackfield_domain::cursor::Cursor;
use jackfield_domain::fact::{Envelope, Fact, InputKind, ToolUse, TurnEnd};
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::limits::{Allowance, Limits};
use jackfield_domain::message::Message;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::request::ModelRef;
use jackfield_domain::session_events::{EventStream, SessionEvent};
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::time::Now;
use jackfield_domain::tool::{Catalog, ToolChoice};
use serde_json::{Value, json};

use crate::arb::owner;
use crate::serve::about;

const FIRST: ModelAttempt = ModelAttempt {
    round: 1,
    attempt: 1,
};

/// The parts of a reply, each in an event of its own.
fn said() -> Vec<Value> {
    vec![
        json!({ "text": "First ", "thought": true }),
        json!({ "text": "this.", "thought": true }),
        json!({ "text": "Then that.", "thought": true, "thoughtSignature": "c2lnMQ==" }),
        json!({ "text": "It " }),
        json!({ "text": "snows." }),
        json!({ "text": "It is cold.", "thoughtSignature": "c2lnMg==" }),
        json!({ "text": "", "thoughtSignature": "c2lnMw==" }),
    ]
}

/// Each part as the vendor sent it, but texts that follow one another without a signature are one.
#[test]
fn a_signature_stays_on_its_part_whenever_the_client_looks() {
    let sent = said();
    let mut decoder = Decoder::new(owner());
    let pieces = sent.iter().map(|part| {
        let event = json!({ "candidates": [{ "content": { "parts": [part] }, "index": 0 }] });
        let deltas = decoder.push(None, &event.to_string());
        deltas.expect("an event")
    });
    let mut pieces: Vec<_> = pieces.collect();
    let last = json!({ "candidates": [{ "finishReason": "STOP", "index": 0 }] });
    pieces.push(decoder.push(None, &last.to_string()).expect("an event"));
    pieces.push(decoder.rest().expect("a rest"));
    let end = decoder.finish().expect("an end");
    let turn = TurnId::derive(&SessionId::parse("s").expect("an id"), 1);
    let mut whole = ReplyAccumulator::new(turn.clone(), FIRST);
    for delta in pieces.iter().flatten() {
        whole.push(delta).expect("it fits");
    }
    let reply = whole.finish(end, &Catalog::default()).expect("a reply");
    let opened = envelope(vec![
        Fact::TurnOpened {
            opening: Opening::UserMessage(Arc::new(Message::user("go"))),
            ordinal: 1,
            setup: Arc::new(setup()),
            turn: turn.clone(),
        },
        Fact::ModelCallStarted {
            active: Duration::ZERO,
            attempt: FIRST,
            tools: ToolUse::Allowed,
            choice: None,
            reserved: Vec::new(),
            target: 0,
        },
    ]);
    let over = envelope(vec![
        Fact::ReplyReceived {
            attempt: FIRST,
            reply: Arc::new(reply),
            first_token: None,
            settled: Vec::new(),
        },
        Fact::TurnEnded {
            end: TurnEnd::Answered(FinishReason::Stop),
            view: None,
        },
    ]);
    // After each piece, after some, and after all of them.
    for looks in 0_u32..1 << pieces.len() {
        let mut stream = EventStream::new(Cursor::START);
        let mut client = Client::new(&turn);
        let mut reply = ReplyAccumulator::new(turn.clone(), FIRST);
        stream.feed(opened.clone());
        while let Some((_, event)) = stream.next() {
            client.see(&event);
        }
        for (nth, deltas) in pieces.iter().enumerate() {
            for delta in deltas {
                reply.push(delta).expect("it fits");
            }
            if looks & 1 << nth != 0 {
                while let Some((_, event)) = stream.next_live_piece(2, &reply) {
                    client.see(&event);
                }
            }
        }
        stream.feed(over.clone());
        while let Some((_, event)) = stream.next() {
            client.see(&event);
        }
        assert_eq!(joined(client.parts()), joined(sent.clone()), "{looks:b}");
    }
}

/// A client with the events that it got.
struct Client {
    encoder: Option<Box<dyn EncodeReply>>,
    events: Vec<SseEvent>,
    view: ClientView,
}

impl Client {
    fn new(turn: &TurnId) -> Self {
        Self {
            encoder: Some(GeminiServer.encoder(&about())),
            events: Vec::new(),
            view: ClientView::new(turn.clone(), 0),
        }
    }

    fn see(&mut self, event: &SessionEvent) {
        for event in self.view.apply(event) {
            match event {
                ClientEvent::End(SegmentEnd::Whole(end)) => {
                    let encoder = self.encoder.take().expect("one end");
                    self.events.extend(encoder.finish(&end));
                }
                ClientEvent::Piece { call, delta } => {
                    let encoder = self.encoder.as_mut().expect("no end");
                    self.events.extend(encoder.push(&delta, call.as_ref()));
                }
                other @ (ClientEvent::End(SegmentEnd::BrokenOff(_) | SegmentEnd::Failed(_))
                | ClientEvent::Retried(_)) => {
                    panic!("{other:?}")
                }
            }
        }
    }

    /// The parts that it got, without the empty one of the last event.
    fn parts(&self) -> Vec<Value> {
        let mut parts = Vec::new();
        for event in &self.events {
            let event: Value = serde_json::from_str(&event.data).expect("JSON");
            let more = event["candidates"][0]["content"]["parts"].as_array();
            parts.extend(more.expect("parts").iter().cloned());
        }
        assert_eq!(parts.pop(), Some(json!({ "text": "" })));
        parts
    }
}

/// The parts with each run of texts without signatures as one: where a text is cut means nothing.
fn joined(parts: Vec<Value>) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for part in parts {
        let is_plain = |part: &Value| part.get("thoughtSignature").is_none();
        match all.last_mut() {
            Some(last)
                if is_plain(last) && is_plain(&part) && last["thought"] == part["thought"] =>
            {
                let text = |part: &Value| part["text"].as_str().map(str::to_owned);
                let both = text(last).unwrap_or_default() + &text(&part).unwrap_or_default();
                last["text"] = json!(both);
            }
            Some(_) | None => all.push(part),
        }
    }
    all
}

fn envelope(facts: Vec<Fact>) -> Envelope {
    Envelope {
        facts,
        input: InputKind::Woke,
        now: Now::default(),
        step: 0,
        version: 1,
    }
}

fn setup() -> Setup {
    Setup {
        affinity: None,
        allowance: Allowance::default(),
        budgets: Vec::new(),
        assistant: None,
        caller: None,
        can_supersede: false,
        catalog: Arc::default(),
        choice: ToolChoice::Auto,
        compaction: None,
        fallbacks: Vec::new(),
        first_byte: None,
        limits: Limits::default(),
        given: None,
        own_keys: Vec::new(),
        pauses: false,
        model: ModelRef {
            model: "m".into(),
            provider: "gemini".into(),
        },
        price: None,
        route: None,
        settings: Arc::default(),
        strict: None,
        system: Arc::default(),
        tools_after_first_round: true,
        tags: Vec::new(),
        trace: None,
        whole: None,
        window: None,
    }
}
