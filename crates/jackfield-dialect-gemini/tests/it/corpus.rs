//! Writes what this crate puts on the wire into the folder that `JACKFIELD_WIRE_OUT` names, for the
//! vendor's own SDK to judge.
//!
//! `gemini/requests` holds bodies, `gemini/replies` whole replies and errors, `gemini/events` one stream per file;
//! `gemini/served` and `gemini/served-events` are the same of what [`GeminiServer`] tells, with the models and the
//! count of tokens.

use std::env;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_dialect_gemini::options::Profile;
use jackfield_dialect_gemini::serve::GeminiServer;
use jackfield_dialect_gemini::stream::Encoder;
use jackfield_dialect_gemini::{error, models, reply, request};
use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::serve::{ADDRESS, ServeDialect as _, ServeError, ServeErrorKind};
use jackfield_domain::listing::ListedModel;
use jackfield_domain::reply::{FinishReason, Reply};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::ToolDefinition;
use jackfield_testkit::arb as kit;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::arb::{self, owner};
use crate::serve::about;

/// How many of each kind are written.
const EACH: usize = 40;

#[test]
fn the_corpus_is_written_where_it_is_asked_for() {
    let models = [
        "gemini-3.8-flash",
        "gemini-3.1-pro",
        "gemini-2.5-flash",
        "gemini-2.0-flash",
    ];
    let requests: Vec<Value> = models.iter().flat_map(|model| requests(model)).collect();
    let all = [
        ("requests", requests),
        ("replies", replies()),
        ("events", streams()),
        ("served", served()),
        ("served-events", served_streams()),
    ];
    // Made even if it is not asked for, so that it cannot rot.
    assert!(all.iter().all(|(_, bodies)| bodies.len() >= EACH));
    if let Some(folder) = env::var_os("JACKFIELD_WIRE_OUT").map(PathBuf::from) {
        for (name, bodies) in &all {
            write(&folder.join("gemini").join(name), bodies);
        }
    }
}

fn write(folder: &Path, bodies: &[Value]) {
    fs::create_dir_all(folder).expect("a folder that can be made");
    for (n, body) in bodies.iter().enumerate() {
        let text = serde_json::to_vec_pretty(body).expect("JSON");
        fs::write(folder.join(format!("{n:03}.json")), text).expect("a file that can be written");
    }
}

/// The same ones every time, so that a refusal can be found again.
fn samples<T: Debug>(strategy: &impl Strategy<Value = T>, count: usize) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    let sample = |_| {
        let tree = strategy.new_tree(&mut runner);
        tree.expect("a strategy without filters").current()
    };
    (0..count).map(sample).collect()
}

fn requests(model: &str) -> Vec<Value> {
    let profile = Profile::of(model);
    let made = samples(&arb::request(), EACH).into_iter().map(|request| {
        let (body, _) =
            request::to_wire(&plain(request), &owner(), &profile).expect("it can be said");
        serde_json::to_value(&body).expect("JSON")
    });
    made.collect()
}

/// Without what no vendor knows: fields that the generators invent.
fn plain(request: ModelRequest) -> ModelRequest {
    let tools = request.tools.iter().map(|tool| {
        Arc::new(ToolDefinition {
            extensions: Vec::new(),
            ..(**tool).clone()
        })
    });
    let settings = Settings {
        extensions: Vec::new(),
        ..(*request.settings).clone()
    };
    ModelRequest {
        settings: Arc::new(settings),
        tools: Arc::new(tools.collect()),
        ..request
    }
}

fn said() -> Vec<Reply> {
    let replies = samples(&arb::reply(), EACH).into_iter().map(|mut reply| {
        // The SDK knows a closed list of reasons.
        if matches!(reply.end.finish, FinishReason::Unrecognized(_)) {
            reply.end.finish = FinishReason::Stop;
        }
        reply
    });
    replies.collect()
}

fn replies() -> Vec<Value> {
    let whole = said().into_iter().map(|reply| {
        let (body, _) = reply::to_wire(&reply, "gemini-3.8-flash", "r1");
        serde_json::to_value(&body).expect("JSON")
    });
    let failures = samples(&kit::model_failure(), EACH / 2);
    let failures = failures
        .iter()
        .map(|failure| serde_json::to_value(error::to_wire(failure).1).expect("JSON"));
    whole.chain(failures).collect()
}

fn values(events: &[SseEvent]) -> Value {
    let data = events
        .iter()
        .map(|event| serde_json::from_str(&event.data).expect("JSON"));
    Value::Array(data.collect())
}

fn streams() -> Vec<Value> {
    let mut streams = Vec::new();
    for (n, reply) in said().into_iter().enumerate() {
        let deltas = samples(&kit::deltas_of(&reply.message.blocks), 1 + n % 3).pop();
        let deltas = deltas.unwrap_or_default();
        let mut encoder = Encoder::new("r1", "gemini-3.8-flash");
        let (half, rest) = deltas.split_at(deltas.len() / 2);
        let mut events: Vec<SseEvent> = half.iter().flat_map(|delta| encoder.push(delta)).collect();
        if n % 10 == 9 {
            let failure = samples(&kit::model_failure(), n).pop().expect("some");
            events.push(encoder.fail(&error::to_wire(&failure).1));
        } else {
            events.extend(rest.iter().flat_map(|delta| encoder.push(delta)));
            events.extend(encoder.finish(&reply.end));
        }
        streams.push(values(&events));
    }
    streams
}

fn served() -> Vec<Value> {
    let json = |body: &[u8]| serde_json::from_slice(body).expect("JSON");
    let mut bodies: Vec<Value> = said()
        .iter()
        .map(|reply| json(&GeminiServer.reply(reply, &about()).0))
        .collect();
    bodies.extend(ServeErrorKind::one_of_each().into_iter().map(|kind| {
        let error = ServeError::new(kind, "It failed.").at("contents");
        json(&GeminiServer.error(&error, "req_1").body)
    }));
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
    let text = br#"{"contents":[{"parts":[{"text":"hi"}]}]}"#;
    let path = "/v1beta/models/m:countTokens";
    let header = |name: &str| (name == ADDRESS).then(|| path.to_owned());
    let counted = GeminiServer.request(&header, text, &|_| owner());
    let counted = GeminiServer.count_response(&counted.expect("a request"));
    bodies.push(json(&counted.0));
    bodies
}

fn served_streams() -> Vec<Value> {
    let kinds = ServeErrorKind::one_of_each();
    let streams = said().into_iter().enumerate().map(|(n, reply)| {
        let deltas = samples(&kit::deltas_of(&reply.message.blocks), 1 + n % 3).pop();
        let mut encoder = GeminiServer.encoder(&about());
        let mut events = encoder.begin();
        for delta in deltas.unwrap_or_default() {
            events.extend(encoder.push(&delta, None));
        }
        if n % 10 == 9 {
            let kind = kinds[n % kinds.len()].clone();
            events.extend(encoder.fail(&ServeError::new(kind, "It failed."), "req_1"));
        } else {
            events.extend(encoder.finish(&reply.end));
        }
        values(&events)
    });
    streams.collect()
}
