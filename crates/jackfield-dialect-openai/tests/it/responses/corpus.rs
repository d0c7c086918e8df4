//! Writes what this dialect puts on the wire into the folder that `JACKFIELD_WIRE_OUT` names, for the
//! vendor's own SDK to judge.
//!
//! `openai-responses/requests` holds bodies, `openai-responses/replies` whole replies, and
//! `openai-responses/events` one stream per file.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_dialect_kit::serve::ReplyInfo;
use jackfield_dialect_openai::profile::Profile;
use jackfield_dialect_openai::responses::stream::{Encoder, SseEvent};
use jackfield_dialect_openai::responses::{DIALECT, reply, request};
use jackfield_domain::block::Content;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::reply::{FinishReason, Reply};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::ToolDefinition;
use jackfield_testkit::arb as kit;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use super::{arb, owner, told_again};

/// How many of each kind are written.
const EACH: usize = 40;

#[test]
fn the_corpus_is_written_where_it_is_asked_for() {
    let (requests, replies, streams) = (requests(), replies(), streams());
    // Made in any case, so that it cannot rot.
    assert!(requests.len() > EACH && replies.len() == EACH && streams.len() == EACH);
    let Some(folder) = env::var_os("JACKFIELD_WIRE_OUT").map(PathBuf::from) else {
        return;
    };
    let folder = folder.join(DIALECT);
    write(&folder.join("requests"), &requests);
    write(&folder.join("replies"), &replies);
    write(&folder.join("events"), &streams);
}

fn write(folder: &Path, bodies: &[Value]) {
    fs::create_dir_all(folder).expect("a folder that can be made");
    for (n, body) in bodies.iter().enumerate() {
        let text = serde_json::to_vec_pretty(body).expect("JSON");
        fs::write(folder.join(format!("{n:03}.json")), text).expect("a file that can be written");
    }
}

/// The same ones every time, so that a refusal can be found again.
fn samples<T: std::fmt::Debug>(strategy: &impl Strategy<Value = T>, count: usize) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    let sample = |_| {
        strategy
            .new_tree(&mut runner)
            .expect("a strategy without filters")
            .current()
    };
    (0..count).map(sample).collect()
}

/// For the vendor's own models: of others the SDK knows nothing.
fn requests() -> Vec<Value> {
    let profiles = [Profile::OPENAI, Profile::OPENAI_WITHOUT_REASONING];
    let made = profiles.iter().flat_map(|profile| {
        let requests = samples(&arb::request(), EACH).into_iter();
        requests.filter_map(|request| {
            let made = request::to_wire(&plain(request), &owner(), profile, true);
            let (body, _) = made.ok()?;
            Some(serde_json::to_value(&body).expect("JSON"))
        })
    });
    made.collect()
}

/// Without what no vendor knows: fields and remarks that the generators invent.
fn plain(request: ModelRequest) -> ModelRequest {
    let messages = request.messages.iter();
    let tools = request.tools.iter().map(|tool| {
        let mut extensions = tool.extensions.clone();
        extensions.retain(|extension| !extension.path.starts_with("/custom"));
        Arc::new(ToolDefinition {
            extensions,
            ..(**tool).clone()
        })
    });
    let settings = Settings {
        extensions: Vec::new(),
        ..(*request.settings).clone()
    };
    ModelRequest {
        messages: messages
            .map(|message| without_annotations(message))
            .collect(),
        settings: Arc::new(settings),
        tools: Arc::new(tools.collect()),
        ..request
    }
}

fn without_annotations(message: &Message) -> Message {
    let mut message = message.clone();
    for block in &mut message.blocks {
        if let Content::Text(text) = &mut block.content {
            text.annotations.clear();
        }
    }
    message
}

fn told() -> Vec<Reply> {
    let shown = samples(&told_again::segment(), EACH / 4);
    let replies = samples(&arb::reply(), EACH - shown.len());
    let replies = replies.into_iter().chain(shown).map(|mut reply| {
        // The SDK knows a closed list of reasons.
        if matches!(reply.end.finish, FinishReason::Unrecognized(_)) {
            reply.end.finish = FinishReason::Stop;
        }
        let mut message = without_annotations(&reply.message);
        message.role = Role::Assistant;
        reply.message = Arc::new(message);
        reply
    });
    replies.collect()
}

fn replies() -> Vec<Value> {
    let whole = told().into_iter().map(|reply| {
        let (response, _) = reply::to_wire(&reply, &about());
        serde_json::to_value(&response).expect("JSON")
    });
    whole.collect()
}

fn streams() -> Vec<Value> {
    let mut streams = Vec::new();
    for (n, reply) in told().into_iter().enumerate() {
        let deltas = samples(&kit::deltas_of(&reply.message.blocks), 1 + n % 3).pop();
        let deltas = deltas.unwrap_or_default();
        let mut encoder = Encoder::new(&about());
        let mut events: Vec<SseEvent> = encoder.begin();
        let (half, rest) = deltas.split_at(deltas.len() / 2);
        events.extend(half.iter().flat_map(|delta| encoder.push(delta)));
        if n % 10 == 9 {
            let failure = samples(&kit::model_failure(), n).pop().expect("some");
            events.extend(encoder.fail(&failure));
        } else {
            events.extend(rest.iter().flat_map(|delta| encoder.push(delta)));
            events.extend(encoder.finish(&reply.end));
        }
        let data = events
            .iter()
            .map(|event| serde_json::from_str(&event.data).expect("JSON"));
        streams.push(Value::Array(data.collect()));
    }
    streams
}

fn about() -> ReplyInfo {
    ReplyInfo {
        created: 1_790_000_000,
        model: "gpt-6-astra".to_owned(),
        ..super::about()
    }
}
