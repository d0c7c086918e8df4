//! Writes what this dialect puts on the wire into the folder that `JACKFIELD_WIRE_OUT` names, for the
//! vendor's own SDK to judge: `openai-chat/requests`, `openai-chat/replies` with whole replies and errors,
//! and `openai-chat/events` with one stream per file.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_dialect_kit::serve::{ServeDialect as _, ServeError, ServeErrorKind};
use jackfield_dialect_openai::chat::reply;
use jackfield_dialect_openai::chat::serve::ChatCompletions;
use jackfield_dialect_openai::chat::stream::{Encoder, SseEvent};
use jackfield_dialect_openai::error;
use jackfield_dialect_openai::profile::Profile;
use jackfield_domain::block::Content;
use jackfield_domain::delta::Delta;
use jackfield_domain::message::Message;
use jackfield_domain::reply::Reply;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::ToolDefinition;
use jackfield_testkit::arb as kit;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::arb;
use super::request_laws::made;
use super::serve::about;
use super::serve::segments::{Segment, of_both_sides, plainly, segment};

/// How many of each kind are written.
const EACH: usize = 40;

#[test]
fn the_corpus_is_written_where_it_is_asked_for() {
    let all = [
        ("requests", requests()),
        ("replies", replies()),
        ("events", streams()),
    ];
    for (kind, bodies) in &all {
        // Made in any case, so that it cannot rot.
        assert!(bodies.len() >= EACH, "{kind}");
    }
    let Some(folder) = env::var_os("JACKFIELD_WIRE_OUT").map(PathBuf::from) else {
        return;
    };
    for (kind, bodies) in &all {
        write(&folder.join("openai-chat").join(kind), bodies);
    }
}

fn write(folder: &Path, bodies: &[Value]) {
    fs::create_dir_all(folder).expect("a folder that can be made");
    for (n, body) in bodies.iter().enumerate() {
        let text = serde_json::to_vec_pretty(body).expect("JSON");
        fs::write(folder.join(format!("{n:03}.json")), text).expect("a file that can be written");
    }
}

/// The same values each time.
pub(crate) fn samples<T: std::fmt::Debug>(
    strategy: &impl Strategy<Value = T>,
    count: usize,
) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    let mut sample = |_| {
        let tree = strategy.new_tree(&mut runner).expect("no filters");
        tree.current()
    };
    (0..count).map(&mut sample).collect()
}

fn requests() -> Vec<Value> {
    let made = samples(&arb::request(), EACH).into_iter().map(|request| {
        let (body, _) = made(&plain(request), &Profile::OPENAI).expect("it can be said");
        serde_json::to_value(&body).expect("JSON")
    });
    made.collect()
}

/// Without what the vendor does not know: fields and parts that the generators invent.
fn plain(request: ModelRequest) -> ModelRequest {
    let tools = request.tools.iter().map(|tool| {
        Arc::new(ToolDefinition {
            extensions: Vec::new(),
            ..(**tool).clone()
        })
    });
    let settings = Settings {
        extensions: Vec::new(),
        service_tier: None,
        ..(*request.settings).clone()
    };
    let messages = request.messages.iter().map(|message| {
        let mut message = (**message).clone();
        message.blocks.retain(|block| {
            !matches!(&block.content, Content::Opaque(opaque) if *opaque.kind == *"video_url")
        });
        message
    });
    ModelRequest {
        messages: messages.collect(),
        settings: Arc::new(settings),
        tools: Arc::new(tools.collect()),
        ..request
    }
}

fn told() -> Vec<Reply> {
    let replies = samples(&arb::reply(), EACH).into_iter().map(|mut reply| {
        let mut message: Message = (*reply.message).clone();
        for block in &mut message.blocks {
            match &mut block.content {
                Content::Text(text) => text.annotations.clear(),
                Content::Opaque(opaque) if *opaque.kind == *"audio" => {
                    opaque.json = audio();
                }
                _ => {}
            }
        }
        reply.message = Arc::new(message);
        reply
    });
    replies.collect()
}

fn replies() -> Vec<Value> {
    let whole = told().into_iter().map(|reply| {
        let (body, _) = reply::to_wire(&reply, "gpt-6-astra", "chatcmpl-1", 1);
        serde_json::to_value(&body).expect("JSON")
    });
    let failures = samples(&kit::model_failure(), EACH / 2);
    let failures = failures.into_iter().map(|failure| {
        let (_, body) = error::to_wire(&failure);
        serde_json::to_value(&body).expect("JSON")
    });
    let served = segments().into_iter().map(|(segment, _)| {
        let dialect = ChatCompletions::new().with_extensions();
        let (body, _) = dialect.reply(&segment.reply(), &about(json!({})));
        serde_json::from_slice(&body).expect("JSON")
    });
    let refused = ServeErrorKind::one_of_each().into_iter().map(|kind| {
        let error = ServeError::new(kind, "why").at("messages");
        let refused = ChatCompletions::new().error(&error, "req_1");
        serde_json::from_slice(&refused.body).expect("JSON")
    });
    whole.chain(failures).chain(served).chain(refused).collect()
}

/// Segments of turns, as the server tells them.
fn segments() -> Vec<(Segment, Vec<Delta>)> {
    let made = samples(&segment(), EACH).into_iter();
    let plain = made.map(|(mut segment, _)| {
        for round in &mut segment.rounds {
            for block in round {
                match &mut block.content {
                    Content::Text(text) => text.annotations.clear(),
                    Content::Opaque(opaque) if *opaque.kind == *"audio" => opaque.json = audio(),
                    _ => {}
                }
            }
        }
        let deltas = plainly(&segment.rounds.concat());
        (segment, deltas)
    });
    let both = of_both_sides();
    let deltas = plainly(&both.rounds.concat());
    plain.chain([(both, deltas)]).collect()
}

/// What the vendor's model says aloud.
fn audio() -> Value {
    json!({ "id": "audio_1", "data": "AAAA", "expires_at": 1, "transcript": "hello" })
}

fn streams() -> Vec<Value> {
    let mut streams = Vec::new();
    for (n, reply) in told().into_iter().enumerate() {
        let deltas = samples(&kit::deltas_of(&reply.message.blocks), 1 + n % 3).pop();
        let deltas: Vec<Delta> = deltas.unwrap_or_default();
        let mut encoder = Encoder::new("chatcmpl-1", "gpt-6-astra", 1).with_usage();
        let mut events: Vec<SseEvent> = encoder.begin();
        let (half, rest) = deltas.split_at(deltas.len() / 2);
        events.extend(half.iter().flat_map(|delta| encoder.push(delta)));
        if n % 10 == 9 {
            let failure = samples(&kit::model_failure(), n).pop().expect("some");
            events.push(encoder.fail(&failure));
        } else {
            events.extend(rest.iter().flat_map(|delta| encoder.push(delta)));
            events.extend(encoder.finish(&reply.end));
        }
        streams.push(chunks(&events));
    }
    for (segment, deltas) in segments() {
        let dialect = ChatCompletions::new().with_extensions();
        let about = about(json!({ "include_usage": true }));
        streams.push(chunks(&segment.events(&dialect, &about, &deltas)));
    }
    streams
}

fn chunks(events: &[SseEvent]) -> Value {
    let chunks = events.iter().map(|event| match event.data.as_str() {
        done @ "[DONE]" => Value::from(done),
        chunk => serde_json::from_str(chunk).expect("JSON"),
    });
    Value::Array(chunks.collect())
}
