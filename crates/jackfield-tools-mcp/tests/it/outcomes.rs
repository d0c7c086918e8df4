//! What tools give: every kind of content, and outcomes that are too long.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::request::ToolRun;
use jackfield_ports::toolbox::ToolEnd;
use serde_json::{Value, json};

use crate::harness::{Scripted, run, script};

async fn given(reply: Value) -> ToolResult {
    let server = Scripted::new(script("give", &json!([{ "reply": reply }])));
    server.result("give", json!({})).await
}

fn text(words: &str) -> OutcomePart {
    OutcomePart::Text(words.into())
}

fn bytes(media_type: &str) -> MediaSource {
    MediaSource::Base64 {
        data: "aGVsbG8=".into(),
        media_type: media_type.into(),
    }
}

#[tokio::test]
async fn every_kind_of_content_is_carried() {
    let given = given(json!({ "content": [
        { "type": "text", "text": "words" },
        { "type": "image", "data": "aGVsbG8=", "mimeType": "image/png" },
        { "type": "audio", "data": "aGVsbG8=", "mimeType": "audio/wav" },
        { "type": "resource", "resource": { "uri": "note://1", "mimeType": "text/plain", "text": "a note" } },
        { "type": "resource", "resource": { "uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "aGVsbG8=" } },
        { "type": "resource", "resource": { "uri": "file:///a.png", "mimeType": "image/png", "blob": "aGVsbG8=" } },
        { "type": "resource_link", "uri": "note://2", "name": "two", "title": "The second", "mimeType": "text/plain" },
    ] }))
    .await;
    let document = |title: &str, source: MediaSource| {
        OutcomePart::Document(Document {
            cite: false,
            context: None,
            source,
            title: Some(title.into()),
        })
    };
    let image = |media_type: &str| {
        OutcomePart::Image(Image {
            detail: None,
            source: bytes(media_type),
        })
    };
    let expected = [
        text("words"),
        image("image/png"),
        OutcomePart::Audio(Audio {
            source: bytes("audio/wav"),
            transcript: None,
        }),
        document("note://1", MediaSource::Text("a note".into())),
        document("file:///a.pdf", bytes("application/pdf")),
        image("image/png"),
        text("[resource: The second <note://2>, text/plain]"),
    ];
    assert_eq!(given.content, expected);
    assert!(!given.is_error);
    assert_eq!(given.structured, None);
}

#[tokio::test]
async fn a_result_of_another_form_is_told_as_it_is() {
    for (reply, words) in [
        (json!({ "count": 1 }), "{\"count\":1}"),
        (json!({ "toolResult": { "ok": true } }), "{\"ok\":true}"),
        (json!({ "toolResult": "done" }), "done"),
        (json!({ "content": "done" }), "done"),
        (
            json!({ "content": { "type": "text", "text": "done" } }),
            "done",
        ),
        (
            json!({ "content": [], "items": [1], "_meta": {} }),
            "{\"items\":[1]}",
        ),
        (
            json!({ "content": [], "structuredContent": { "n": 1 } }),
            "{\"n\":1}",
        ),
    ] {
        let given = given(reply.clone()).await;
        assert_eq!(given.content, [text(words)], "{reply}");
        assert!(!given.is_error, "{reply}");
    }
    let empty = given(json!({ "content": [], "isError": false })).await;
    assert_eq!(empty, ToolResult::default());
}

#[tokio::test]
async fn what_nobody_knows_is_told_in_words() {
    let given = given(json!({ "content": [
        { "type": "hologram", "data": "…" },
        { "type": "image", "data": "not base64!", "mimeType": "image/png" },
        { "type": "image", "data": "aGVsbG8", "mimeType": "image/png" },
        { "type": "text" },
        "nothing",
        null,
    ] }))
    .await;
    assert_eq!(given.content.len(), 6);
    for part in &given.content {
        let words = part.as_text().unwrap();
        assert!(words.starts_with("[a part that cannot be read"), "{words}");
    }
}

#[tokio::test]
async fn structured_content_is_carried_and_told_where_nothing_else_is() {
    let both = given(json!({
        "content": [{ "type": "text", "text": "15 degrees" }],
        "structuredContent": { "degrees": 15 },
    }))
    .await;
    assert_eq!(both.content, [text("15 degrees")]);
    assert_eq!(both.structured, Some(Arc::new(json!({ "degrees": 15 }))));

    let alone = given(json!({ "content": [], "structuredContent": { "degrees": 15 } })).await;
    assert_eq!(alone.content, [text(r#"{"degrees":15}"#)]);
    assert_eq!(alone.structured, Some(Arc::new(json!({ "degrees": 15 }))));

    let nothing = given(json!({})).await;
    assert_eq!(nothing, ToolResult::default());
}

#[tokio::test]
async fn a_tool_that_says_that_it_failed_has_failed() {
    let failed = given(json!({
        "content": [{ "type": "text", "text": "no such city" }],
        "isError": true,
    }))
    .await;
    assert_eq!(failed, ToolResult::error("no such city"));
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_has_landed() {
    for answer in ["7", "null", "\"words\"", "[]"] {
        let server = Scripted::new(script(
            "odd",
            &json!([{ "raw": format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{answer}}}") }, { "wait": true }]),
        ));
        // The list is the request of the id 0, the call that of the id 1.
        server.list().await;
        let failure = server.failure("odd").await;
        assert_eq!(failure.kind, ToolFailureKind::ProtocolViolation, "{answer}");
        assert_eq!(failure.disposition, Disposition::Landed, "{answer}");
    }
}

#[tokio::test]
async fn of_an_outcome_that_is_too_long_the_beginning_is_read() {
    for id_last in [false, true] {
        let mut long = script("long", &json!([{ "size": 50_000_000 }]));
        long["id_last"] = json!(id_last);
        let server = Scripted::with(long, |_, settings| settings.max_message = 100_000);
        let result = server.result("long", json!({})).await;
        let [beginning, marker] = &result.content[..] else {
            panic!("{}", result.content.len());
        };
        let beginning = beginning.as_text().unwrap();
        assert!(beginning.bytes().all(|byte| byte == b'x'));
        assert!(
            (99_000..=100_000).contains(&beginning.len()),
            "{}",
            beginning.len()
        );
        let marker = marker.as_text().unwrap();
        assert!(
            marker.starts_with("[cut: the server sent 50000"),
            "{marker}"
        );
        assert!(!result.is_error);
    }
}

#[tokio::test]
async fn an_outcome_is_read_up_to_wherever_it_is_cut() {
    let words = "quote \" slash \\ tab \t ünïcödé 中文 😀 end\u{1} \u{2028}";
    let reply = json!({
        "content": [
            // Longer than the list and the handshake, which have to be read whole.
            { "type": "text", "text": "p".repeat(500) },
            { "type": "text", "text": words },
            { "type": "text", "text": words, "annotations": { "audience": ["user"], "priority": 0.5 } },
        ],
        "structuredContent": { "list": [1, -2.5e3, true, null, words], "none": {} },
        "isError": false,
    });
    // As some servers write it: everything beyond ASCII escaped, in halves where it has to be.
    let escaped: String = reply
        .to_string()
        .chars()
        .map(|c| match c {
            ' '..='~' => c.to_string(),
            other => {
                let mut units = [0; 2];
                let units = other.encode_utf16(&mut units);
                units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
            }
        })
        .collect();
    for reply in [reply.to_string(), escaped] {
        let message = format!("{{\"jsonrpc\":\"2.0\",\"result\":{reply},\"id\":1}}");
        let mut beginnings = BTreeSet::new();
        for max in (520..message.len()).step_by(5) {
            let steps = json!([{ "raw": message }, { "wait": true }]);
            let server = Scripted::with(script("cut", &steps), |_, settings| {
                settings.max_message = max;
                settings.guard = None;
            });
            server.list().await;
            let result = server.result("cut", json!({})).await;
            let mut parts = result.content.iter().map(|part| part.as_text().unwrap());
            let marker = parts.next_back().unwrap();
            assert!(marker.contains(&message.len().to_string()), "{marker}");
            assert!(parts.next().unwrap().bytes().all(|byte| byte == b'p'));
            for part in parts {
                let begun = words.starts_with(part) || part.starts_with("[a part that");
                assert!(begun, "cut at {max}: {part:?}");
                beginnings.insert(part.len());
            }
            assert_eq!(result.structured, None);
        }
        // It was cut in many places inside the words.
        assert!(beginnings.len() > 8, "{beginnings:?}");
    }
}

#[tokio::test]
async fn an_outcome_is_cut_to_what_is_of_use() {
    let server = Scripted::new(script("long", &json!([{ "size": 3_000_000 }])));
    let run = ToolRun {
        max_bytes: 1000,
        ..run("long", json!({}))
    };
    let Ok(ToolEnd::Finished(result)) = server.end(&run).await else {
        panic!("no outcome");
    };
    assert_eq!(result.content[0].size(), 1000);
    let marker = result.content[1].as_text().unwrap();
    assert!(marker.contains("3000000 bytes"), "{marker}");
}
