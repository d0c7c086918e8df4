//! Gemini as the language of a server.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jackfield_dialect_gemini::request::Incoming;
use jackfield_dialect_gemini::serve::GeminiServer;
use jackfield_dialect_kit::serve::{
    ADDRESS, ReplyInfo, ServeDialect as _, ServeError, ServeErrorKind,
};
use jackfield_domain::block::Content;
use jackfield_domain::delta::Delta;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_testkit::arb as kit;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::arb::{self, owner};
use crate::reply_laws::accumulated;

const GENERATE: &str = "/v1beta/models/fast:generateContent";
const STREAM: &str = "/v1beta/models/fast:streamGenerateContent";

/// What a reply says of itself here.
pub(crate) fn about() -> ReplyInfo {
    ReplyInfo {
        created: 1_795_000_000,
        id: "turn_1_0".to_owned(),
        model: "model-a".to_owned(),
        ..ReplyInfo::default()
    }
}

/// Reads a request at an address, for a provider of this dialect.
fn read_at(path: &str, query: Option<&str>, body: &Value) -> Result<Incoming, ServeError> {
    let text = body.to_string();
    let address = match query {
        None => path.to_owned(),
        Some(query) => format!("{path}?{query}"),
    };
    let header = |name: &str| (name == ADDRESS).then(|| address.clone());
    GeminiServer.request(&header, text.as_bytes(), &|_| owner())
}

fn read(body: &Value) -> Result<Incoming, ServeError> {
    read_at(GENERATE, None, body)
}

/// The same, for a provider of another dialect.
fn read_for_others(body: &Value) -> Result<Incoming, ServeError> {
    let text = body.to_string();
    let header = |name: &str| (name == ADDRESS).then(|| GENERATE.to_owned());
    GeminiServer.request(&header, text.as_bytes(), &|_| StateOwner {
        endpoint: "".into(),
        ..owner()
    })
}

fn asked(more: &[(&str, Value)]) -> Value {
    let mut body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] });
    for (name, json) in more {
        body[*name] = json.clone();
    }
    body
}

#[test]
fn the_address_names_the_model_and_how_the_reply_comes() {
    let body = asked(&[("model", json!("another"))]);
    for (path, query, model, stream, list) in [
        (GENERATE, None, "fast", false, false),
        (GENERATE, Some("alt=sse"), "fast", false, false),
        (STREAM, Some("alt=sse"), "fast", true, false),
        (STREAM, Some("x=1&%24alt=sse"), "fast", true, false),
        (STREAM, Some("$alt=sse"), "fast", true, false),
        (STREAM, Some("alt=json"), "fast", false, true),
        (STREAM, None, "fast", false, true),
        (
            "/v1beta/models/openrouter/a:free:generateContent",
            None,
            "openrouter/a:free",
            false,
            false,
        ),
        (
            "/v1beta/models/claude%2Fopus:generateContent",
            None,
            "claude/opus",
            false,
            false,
        ),
    ] {
        let incoming = read_at(path, query, &body).expect("a request");
        assert_eq!((&*incoming.model, incoming.stream), (model, stream));
        let mut about = about();
        about.echo = incoming.echo;
        let (told, _) =
            GeminiServer.reply(&accumulated(&[], ReplyEnd::new(FinishReason::Stop)), &about);
        let told: Value = serde_json::from_slice(&told).expect("JSON");
        assert_eq!(told.is_array(), list, "{path} {query:?}");
        let told = if list { &told[0] } else { &told };
        assert_eq!(told["candidates"][0]["finishReason"], "STOP");
        assert_eq!(told["modelVersion"], "model-a");
    }
}

#[test]
fn what_is_no_address_is_not_found() {
    for path in [
        "/v1beta/models/fast",
        "/v1beta/models/fast:embedContent",
        "/v1beta/models/:generateContent",
        "/v1beta/models/%ff:generateContent",
        "/v1beta/tunedModels/fast:generateContent",
    ] {
        let error = read_at(path, None, &asked(&[])).expect_err("nothing there");
        assert_eq!(error.kind, ServeErrorKind::NoSuchAddress, "{path}");
    }
    let path = "/v1beta/models/fast:countTokens";
    assert!(GeminiServer.counts_tokens(path) && !GeminiServer.counts_tokens(GENERATE));
    let inner = json!({ "generateContentRequest": asked(&[("model", json!("models/fast"))]) });
    for body in [asked(&[]), inner] {
        let incoming = read_at(path, None, &body).expect("a request");
        let (told, notes) = GeminiServer.count_response(&incoming);
        let told: Value = serde_json::from_slice(&told).expect("JSON");
        assert!(told["totalTokens"].as_u64() > Some(0), "{told}");
        assert_eq!(notes.len(), 1);
    }
}

#[test]
fn what_a_turn_cannot_carry_is_refused_by_name() {
    let search = json!([{ "googleSearch": {} }]);
    let both = json!([{ "google_search": {} }, { "functionDeclarations": [{ "name": "f" }] }]);
    for (field, value) in [
        ("cachedContent", json!("cachedContents/1")),
        ("cached_content", json!("cachedContents/1")),
        ("tools", json!([{ "mcpServers": [{ "name": "a" }] }])),
    ] {
        let error = read(&asked(&[(field, value)])).expect_err("not served");
        assert_eq!(error.kind, ServeErrorKind::Unsupported, "{field}");
        let param = error.param.expect("a place");
        assert!(
            param.starts_with(field) || param == "cachedContent",
            "{param}"
        );
    }
    // What the vendor runs goes to the vendor alone.
    let incoming = read(&asked(&[("tools", search.clone())])).expect("a request");
    assert!(incoming.notes.is_empty(), "{:?}", incoming.notes);
    let error = read_for_others(&asked(&[("tools", search)])).expect_err("not served");
    assert_eq!(error.param.as_deref(), Some("tools.0.googleSearch"));
    let incoming = read_for_others(&asked(&[("tools", both)])).expect("a request");
    assert_eq!(incoming.tools.len(), 1);
    let codes: Vec<&str> = incoming.notes.iter().map(|note| &*note.code).collect();
    assert_eq!(codes, ["hosted_tool_left_out"]);
}

#[test]
fn a_request_that_is_wrong_says_where() {
    for (body, place) in [
        (json!({ "contents": [] }), Some("contents")),
        (json!({}), Some("contents")),
        (
            asked(&[("generationConfig", json!({ "temperature": "warm" }))]),
            Some("generationConfig.temperature"),
        ),
    ] {
        let error = read(&body).expect_err("wrong");
        assert_eq!(error.kind, ServeErrorKind::Invalid, "{body}");
        assert_eq!(error.param.as_deref(), place, "{error:?}");
    }
    assert!(read(&json!([])).is_err());
}

#[test]
fn results_without_ids_belong_to_the_calls_of_their_names_in_order() {
    let call = |name: &str, id: Option<&str>| {
        let mut call = json!({ "name": name, "args": {} });
        if let Some(id) = id {
            call["id"] = json!(id);
        }
        json!({ "functionCall": call })
    };
    let result = |name: &str, n: u8| json!({ "functionResponse": { "name": name, "response": { "result": n } } });
    let body = json!({ "contents": [
        { "role": "user", "parts": [{ "text": "hi" }] },
        { "role": "model", "parts": [call("f", Some("one")), call("g", Some("two")), call("f", Some("three"))] },
        { "role": "user", "parts": [result("g", 2), result("f", 1), result("f", 3)] },
    ] });
    let incoming = read(&body).expect("a request");
    let answered: Vec<&str> = incoming
        .messages
        .iter()
        .flat_map(|message| &message.blocks)
        .filter_map(|block| match &block.content {
            Content::ToolOutcome(outcome) => Some(outcome.call.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(answered, ["two", "one", "three"]);
}

#[test]
fn every_error_has_the_vendors_form_and_the_status_of_the_documentation() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/http.md");
    let page = fs::read_to_string(page).expect("the page of the gateway");
    let errors = page.split("\n## ").find(|part| part.starts_with("Errors"));
    let mut documented = BTreeMap::new();
    for line in errors.expect("a part about errors").lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if cells.len() > 4 && cells[1].starts_with('`') {
            let status = cells[4]
                .split(' ')
                .next()
                .and_then(|status| status.parse().ok());
            documented.insert(cells[1].trim_matches('`').to_owned(), status);
        }
    }
    for kind in ServeErrorKind::one_of_each() {
        let code = kind.code();
        let delay = kind.retry_after();
        let told = GeminiServer.error(&ServeError::new(kind, "It failed.").at("contents"), "req_1");
        let body: Value = serde_json::from_slice(&told.body).expect("JSON");
        let error = &body["error"];
        // As the page says of Gemini.
        let status: Option<u16> = documented[code].map(|status| match (code, status) {
            ("turn_cancelled", _) => 499,
            ("provider_overloaded", _) => 503,
            (_, status) => status,
        });
        assert_eq!(Some(told.status), status, "{code}");
        assert_eq!(error["code"], told.status);
        assert_eq!(error["message"], "contents: It failed.");
        assert_eq!(error["details"][0]["reason"], code);
        assert_eq!(error["details"][1]["requestId"], "req_1");
        let retries = error["details"]
            .get(2)
            .map(|info| info["retryDelay"].clone());
        assert_eq!(
            retries,
            delay.map(|delay| json!(format!("{}s", delay.as_secs())))
        );
        let name = error["status"].as_str().expect("a name");
        let names: &[&str] = match told.status {
            400 | 413 | 415 => &["INVALID_ARGUMENT"],
            401 => &["UNAUTHENTICATED"],
            403 => &["PERMISSION_DENIED"],
            404 => &["NOT_FOUND"],
            408 | 504 => &["DEADLINE_EXCEEDED"],
            409 => &["ABORTED"],
            429 => &["RESOURCE_EXHAUSTED"],
            499 => &["CANCELLED"],
            500 => &["INTERNAL"],
            502 | 503 => &["UNAVAILABLE"],
            other => panic!("{other}"),
        };
        assert!(names.contains(&name), "{code}: {name}");
    }
}

#[test]
fn a_silent_stream_says_nothing_that_an_sdk_would_read() {
    let mut encoder = GeminiServer.encoder(&about());
    assert!(encoder.begin().is_empty());
    assert_eq!(encoder.keep_alive().trim(), "");
    let error = ServeError::new(ServeErrorKind::Internal, "It failed.");
    let events = encoder.fail(&error, "req_1");
    let told: Vec<Value> = events
        .iter()
        .map(|event| serde_json::from_str(&event.data).expect("JSON"))
        .collect();
    assert_eq!(told[0]["error"]["code"], 500);
    // The vendor's SDK for Python knows an error by the beginning of its text.
    assert!(events[0].data.starts_with("{\"error\":"), "{events:?}");
    assert!(!GeminiServer.shows_server_tools());
}

/// All texts and calls of the parts of these replies.
fn said(replies: &[Value]) -> (String, Vec<Value>) {
    let parts = replies
        .iter()
        .flat_map(|reply| {
            reply["candidates"][0]["content"]["parts"]
                .as_array()
                .cloned()
        })
        .flatten();
    let (mut text, mut calls) = (String::new(), Vec::new());
    for part in parts {
        text.push_str(part["text"].as_str().unwrap_or_default());
        if !part["functionCall"].is_null() {
            calls.push(part["functionCall"]["args"].clone());
        }
    }
    (text, calls)
}

/// A reply, and its pieces.
pub(crate) fn segment() -> BoxedStrategy<(Reply, Vec<Delta>)> {
    let segment = arb::reply().prop_flat_map(|reply| {
        let deltas = kit::deltas_of(&reply.message.blocks);
        (Just(reply), deltas)
    });
    segment.boxed()
}

proptest! {
    #[test]
    fn a_stream_tells_what_the_whole_reply_tells((reply, deltas) in segment()) {
        let (whole, _) = GeminiServer.reply(&reply, &about());
        let whole: Value = serde_json::from_slice(&whole).expect("JSON");
        let mut encoder = GeminiServer.encoder(&about());
        let mut events = encoder.begin();
        for delta in &deltas {
            events.extend(encoder.push(delta, None));
        }
        events.extend(encoder.finish(&reply.end));
        let pieces: Vec<Value> = events
            .iter()
            .map(|event| serde_json::from_str(&event.data).expect("JSON"))
            .collect();
        prop_assert_eq!(said(&pieces), said(std::slice::from_ref(&whole)));
        let last = pieces.last().expect("a last piece");
        prop_assert_eq!(&last["candidates"][0]["finishReason"], &whole["candidates"][0]["finishReason"]);
        prop_assert_eq!(&last["usageMetadata"], &whole["usageMetadata"]);
        for piece in &pieces {
            prop_assert_eq!(&piece["responseId"], &whole["responseId"]);
        }
    }
}
