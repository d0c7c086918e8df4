//! Writes what this crate puts on the wire into the folder that `JACKFIELD_WIRE_OUT` names, for the
//! vendor's own SDK to judge.
//!
//! `claude/requests` holds bodies for the newest API version, `claude/requests-2023-06-01` those for
//! older models, `claude/replies` whole replies and errors, `claude/events` one stream per file.
//! `claude/served` and `claude/served-events` are the same of what [`ClaudeServer`] tells, with the models and
//! the count of tokens.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::serve::ClaudeServer;
use jackfield_dialect_claude::stream::{Encoder, SseEvent, ping};
use jackfield_dialect_claude::{error, models, reply, request};
use jackfield_dialect_kit::serve::{ServeDialect as _, ServeError, ServeErrorKind};
use jackfield_domain::block::Content;
use jackfield_domain::delta::Delta;
use jackfield_domain::listing::ListedModel;
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
use std::sync::Arc;

use crate::arb::{self, owner};
use crate::serve::about;
use crate::serve::segments::{cut, segment, told, two_rounds};

/// How many of each kind are written.
const EACH: usize = 40;

#[test]
fn the_corpus_is_written_where_it_is_asked_for() {
    let Some(folder) = env::var_os("JACKFIELD_WIRE_OUT").map(PathBuf::from) else {
        // Made all the same, so that it cannot rot.
        assert_eq!(requests("claude-opus-5-5").len(), EACH);
        assert!(replies().len() > EACH && streams().len() > EACH);
        assert!(served().len() > EACH && served_streams().len() > EACH);
        return;
    };
    let folder = folder.join("claude");
    let newest: Vec<Value> = ["claude-opus-5-5", "claude-opus-5", "claude-opus-4-7"]
        .iter()
        .flat_map(|model| requests(model))
        .collect();
    write(&folder.join("requests"), &newest);
    let older: Vec<Value> = ["claude-opus-4-6", "claude-haiku-4-5"]
        .iter()
        .flat_map(|model| requests(model))
        .collect();
    write(&folder.join("requests-2023-06-01"), &older);
    write(&folder.join("replies"), &replies());
    write(&folder.join("events"), &streams());
    write(&folder.join("served"), &served());
    write(&folder.join("served-events"), &served_streams());
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

fn requests(model: &str) -> Vec<Value> {
    let profile = Profile::of(model);
    let made = samples(&arb::request(), EACH).into_iter().map(|request| {
        let request = plain(request);
        let (body, _) =
            request::to_wire(&request, &owner(), &profile, true).expect("it can be said");
        serde_json::to_value(&body).expect("JSON")
    });
    made.collect()
}

/// Without what no vendor knows: fields and citations that the generators invent.
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
        messages: messages.map(|message| without_citations(message)).collect(),
        settings: Arc::new(settings),
        tools: Arc::new(tools.collect()),
        ..request
    }
}

fn without_citations(message: &Message) -> Message {
    let mut message = message.clone();
    for block in &mut message.blocks {
        if let Content::Text(text) = &mut block.content {
            text.annotations.clear();
        }
    }
    message
}

fn said() -> Vec<Reply> {
    let replies = samples(&arb::reply(), EACH).into_iter().map(|mut reply| {
        // The SDK knows a closed list of reasons.
        if matches!(reply.end.finish, FinishReason::Unrecognized(_)) {
            reply.end.finish = FinishReason::Stop;
        }
        let mut message = without_citations(&reply.message);
        message.role = Role::Assistant;
        reply.message = Arc::new(message);
        reply
    });
    replies.collect()
}

fn replies() -> Vec<Value> {
    let whole = said().into_iter().map(|reply| {
        let (message, _) = reply::to_wire(&reply, "claude-opus-5-5", "msg_1");
        serde_json::to_value(&message).expect("JSON")
    });
    let failures = samples(&kit::model_failure(), EACH / 2)
        .into_iter()
        .map(|failure| {
            let (_, body) = error::to_wire(&failure, Some("req_1"));
            serde_json::to_value(&body).expect("JSON")
        });
    whole.chain(failures).collect()
}

fn streams() -> Vec<Value> {
    let mut streams = Vec::new();
    for (n, reply) in said().into_iter().enumerate() {
        let deltas = samples(&kit::deltas_of(&reply.message.blocks), 1 + n % 3).pop();
        let deltas: Vec<Delta> = deltas.unwrap_or_default();
        let mut encoder = Encoder::new("msg_1", "claude-opus-5-5");
        let mut events: Vec<SseEvent> = encoder.begin();
        events.push(ping());
        let (half, rest) = deltas.split_at(deltas.len() / 2);
        events.extend(half.iter().flat_map(|delta| encoder.push(delta)));
        if n % 10 == 9 {
            let failure = samples(&kit::model_failure(), n).pop().expect("some");
            events.push(encoder.fail(&failure, None));
        } else {
            events.extend(rest.iter().flat_map(|delta| encoder.push(delta)));
            events.extend(encoder.finish(&reply.end));
        }
        let data = events
            .iter()
            .map(|event| serde_json::from_str(&event.data).expect("JSON"));
        streams.push(Value::Array(data.collect()));
    }
    streams.push(Value::Array(
        crate::reply_laws::encoded(
            &[],
            &jackfield_domain::reply::ReplyEnd::new(FinishReason::Stop),
        )
        .iter()
        .map(|event| serde_json::from_str(&event.data).expect("JSON"))
        .collect(),
    ));
    streams
}

/// Segments as the SDK may know them, with their pieces.
fn segments() -> Vec<(Reply, Vec<Delta>)> {
    let mut known = Vec::new();
    for (n, (mut reply, _)) in samples(&segment(), EACH).into_iter().enumerate() {
        if matches!(reply.end.finish, FinishReason::Unrecognized(_)) {
            reply.end.finish = FinishReason::Stop;
        }
        reply.message = Arc::new(without_citations(&reply.message));
        let deltas = samples(&kit::deltas_of(&reply.message.blocks), 1 + n % 3).pop();
        known.push((reply, deltas.unwrap_or_default()));
    }
    let rounds = two_rounds();
    let deltas = cut(&rounds);
    known.push((rounds, deltas));
    known
}

fn served() -> Vec<Value> {
    let json = |body: &[u8]| serde_json::from_slice(body).expect("JSON");
    let mut bodies: Vec<Value> = segments()
        .iter()
        .map(|(reply, _)| json(&ClaudeServer.reply(reply, &about()).0))
        .collect();
    let errors = ServeErrorKind::one_of_each().into_iter().map(|kind| {
        let error = ServeError::new(kind, "It failed.").at("messages.0");
        json(&ClaudeServer.error(&error, "req_1").body)
    });
    bodies.extend(errors);
    let known = ListedModel {
        context: Some(1000),
        name: Some("Model M".into()),
        output: Some(100),
        ..ListedModel::new("m")
    };
    let models = [known, ListedModel::new("n")];
    bodies.push(json(&models::page(&models, &|_| None).expect("a page")));
    bodies.push(json(&models::page(&[], &|_| None).expect("a page")));
    bodies.extend(models.iter().map(|model| json(&models::model_body(model))));
    let text = br#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    let counted = ClaudeServer.count_request(&|_| None, text, &|_| owner());
    bodies.push(json(
        &ClaudeServer.count_response(&counted.expect("a request")).0,
    ));
    bodies
}

fn served_streams() -> Vec<Value> {
    let streams = segments()
        .into_iter()
        .enumerate()
        .map(|(n, (reply, deltas))| {
            let mut events = told(&reply, &deltas);
            if n % 10 == 9 {
                events.truncate(events.len() / 2);
                let mut encoder = ClaudeServer.encoder(&about());
                if !events.is_empty() {
                    encoder.begin();
                }
                let kinds = ServeErrorKind::one_of_each();
                let kind = kinds[n % kinds.len()].clone();
                events.extend(encoder.fail(&ServeError::new(kind, "It failed."), "req_1"));
            }
            let data = events
                .iter()
                .map(|event| serde_json::from_str(&event.data).expect("JSON"));
            Value::Array(data.collect())
        });
    streams.collect()
}
