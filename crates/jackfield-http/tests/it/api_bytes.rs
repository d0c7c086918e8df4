//! The own API: whatever bytes come, they are taken or refused with a problem document.

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use jackfield_gateway::Gateway;
use jackfield_http::router;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

use super::harness::gateway;

/// A gateway without a key: nothing is asked of any model.
struct Here {
    gateway: Gateway,
    runtime: Runtime,
}

impl Here {
    fn new() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let gateway = gateway([], |_| {});
        Self { gateway, runtime }
    }

    /// The status and the body of an answer.
    fn posted(&self, path: &str, body: Vec<u8>) -> (u16, Value) {
        self.runtime.block_on(async {
            let request = Request::post(path).body(Body::from(body));
            let answered = router(&self.gateway).oneshot(request.expect("a request"));
            let answer = answered.await.expect("an answer");
            let status = answer.status().as_u16();
            let body = answer.into_body().collect().await.expect("a body");
            let body = serde_json::from_slice(&body.to_bytes()).expect("JSON");
            (status, body)
        })
    }

    fn session(&self) -> String {
        let (status, made) = self.posted("/api/v1/sessions", Vec::new());
        assert_eq!(status, 201, "{made}");
        format!("/api/v1/sessions/{}", made["id"].as_str().expect("an id"))
    }

    fn check(&self, path: &str, body: Vec<u8>) -> Result<(), TestCaseError> {
        let (status, told) = self.posted(path, body);
        if (200..300).contains(&status) {
            return Ok(());
        }
        prop_assert!((400..500).contains(&status), "{}", told);
        let kind = told["type"].as_str().unwrap_or_default();
        prop_assert!(kind.starts_with("urn:jackfield:problem:"), "{}", told);
        prop_assert!(
            told["detail"]
                .as_str()
                .is_some_and(|text| text.len() < 4096)
        );
        Ok(())
    }
}

/// Everything that a message may say.
fn sound() -> Vec<u8> {
    let body = json!({
        "content": [{ "type": "text", "text": "Hello" },
            { "type": "image", "media_type": "image/png", "data": "iVBORw0KGgo=" },
            { "type": "document", "text": "words", "title": "notes" }],
        "if_busy": "refuse",
        "mode": "background",
        "model": "claude/claude-opus-5-5",
        "server_tools": ["calculator"],
        "settings": { "max_output_tokens": 100, "temperature": 0.5, "stop": ["x"],
            "response_format": { "name": "form", "schema": { "type": "object" } } },
        "system": "Be brief.",
        "tool_choice": { "mode": "auto", "tools": ["mine"] },
        "tools": [{ "name": "mine", "description": "d", "input_schema": { "type": "object" } }],
        "user": "somebody",
    });
    body.to_string().into_bytes()
}

#[test]
fn what_a_message_may_say_is_taken() {
    let here = Here::new();
    let (status, told) = here.posted(&format!("{}/turns", here.session()), sound());
    assert_eq!(status, 202, "{told}");
}

#[test]
fn an_array_in_place_of_an_object_is_refused_and_the_whole_body_is_named_in_words() {
    let here = Here::new();
    let session = here.session();
    let known = format!("{session}/turns");
    // The second one has a value for each field of a message.
    let nulls = b" [\"Hello\",null,null,null,null,null,null,null,null,null,null]";
    for (path, body) in [("/api/v1/sessions", &b"[]"[..]), (&known, nulls)] {
        let (status, told) = here.posted(path, body.to_vec());
        assert_eq!((status, &told["pointer"]), (400, &json!("")), "{told}");
        let detail = "the body: an object is expected, not an array";
        assert_eq!(told["detail"], detail);
    }
}

#[test]
fn any_bytes_are_taken_or_refused() {
    let here = Here::new();
    let session = here.session();
    let turn = "turn_0123456789abcdef01234567";
    let paths = [
        "/api/v1/sessions".to_owned(),
        format!("{session}/fork"),
        format!("{session}/turns"),
        format!("{session}/turns/{turn}/results"),
    ];
    let bodies = (select(paths.to_vec()), vec(any::<u8>(), 0..200));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::default());
    let run = runner.run(&bodies, |(path, body)| here.check(&path, body));
    run.expect("each is taken or refused");
}

#[test]
fn sound_messages_with_a_part_changed_are_taken_or_refused() {
    let here = Here::new();
    let values = [
        "null",
        "[]",
        "{}",
        "\"\"",
        "-1",
        "1e400",
        "true",
        "\"\\ud800\"",
        "[[[]]]",
    ];
    let changes = (
        any::<Index>(),
        select(values.to_vec()),
        vec((any::<Index>(), any::<u8>()), 0..3),
    );
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::default());
    let run = runner.run(&changes, |(place, value, bytes)| {
        let mut body = sound();
        // A value begins behind each of these.
        let places = body.iter().enumerate().filter(|(_, byte)| **byte == b':');
        let places: Vec<usize> = places.map(|(place, _)| place + 1).collect();
        let at = places[place.index(places.len())];
        let rest = &body[at..];
        let end = rest
            .iter()
            .position(|byte| b",}]".contains(byte))
            .unwrap_or(rest.len());
        body.splice(at..at + end, value.bytes());
        for (place, byte) in bytes {
            let place = place.index(body.len());
            body[place] = byte;
        }
        // A session of its own: one that is at work refuses whatever comes.
        here.check(&format!("{}/turns", here.session()), body)
    });
    run.expect("each is taken or refused");
}
