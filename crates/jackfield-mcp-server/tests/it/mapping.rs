//! Definitions and outcomes in the words of the protocol.

use std::sync::Arc;

use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_testkit::fakes::ScriptedCall;
use serde_json::{Value, json};

use crate::harness::{Wire, request, server, toolbox};

fn spec(name: &str, input: Value, output: Option<Value>) -> ToolSpec {
    ToolSpec {
        description: "Reads a file.".into(),
        icon: None,
        input: InputFormat::Json(Arc::new(input)),
        name: name.into(),
        output: output.map(Arc::new),
        safety: Safety::ReadOnly,
        time_limit: None,
        title: Some("Read a file".into()),
    }
}

/// What this result is as a client of the newer era sees it, and as one of the older one does.
async fn check(output: Option<Value>, result: ToolResult) -> [Value; 2] {
    let tools = toolbox("ours");
    tools.spec(spec("read", json!({}), output));
    tools.set_default_call("read", ScriptedCall::result(result));
    let mut wire = Wire::to(server(&tools));
    wire.call(1, "read", json!({})).await;
    let modern = wire.hear().await["result"].clone();
    wire.greet("2025-06-18").await;
    let call = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "read" },
    });
    [modern, wire.answer(call).await["result"].clone()]
}

#[tokio::test]
async fn a_definition_has_everything_that_is_known_of_the_tool() {
    let tools = toolbox("ours");
    let (input, output) = (
        json!({ "type": "object", "properties": { "path": { "type": "string" } } }),
        json!({ "type": "object", "properties": { "size": { "type": "integer" } } }),
    );
    tools.spec(spec("read.file", input.clone(), Some(output.clone())));
    let mut wire = Wire::to(server(&tools));
    let listed = wire.answer(request(1, "tools/list", json!({}))).await["result"].clone();
    let tool = &listed["tools"][0];
    assert!(
        tool["name"]
            .as_str()
            .unwrap_or_default()
            .starts_with("read_file")
    );
    assert_eq!(tool["title"], "Read a file");
    assert_eq!(tool["description"], "Reads a file.");
    assert_eq!(
        (&tool["inputSchema"], &tool["outputSchema"]),
        (&input, &output)
    );
    let hints = json!({ "title": "Read a file", "readOnlyHint": true, "idempotentHint": true });
    assert_eq!(tool["annotations"], hints);
}

#[tokio::test]
async fn tools_stand_in_the_order_of_their_names_each_time() {
    let tools = toolbox("ours");
    for name in ["b", "c", "a"] {
        tools.tool(name, Safety::ReadOnly);
    }
    let mut wire = Wire::to(server(&tools));
    for _ in 0..3 {
        let listed = wire.answer(request(1, "tools/list", json!({}))).await["result"].clone();
        let names: Vec<&Value> = (0..3).map(|nth| &listed["tools"][nth]["name"]).collect();
        assert_eq!(names, ["a", "b", "c"]);
    }
}

#[tokio::test]
async fn a_schema_says_that_it_is_one_of_objects_as_clients_want_it() {
    let tools = toolbox("ours");
    tools.spec(spec("read", json!({}), Some(json!({ "type": "array" }))));
    let mut wire = Wire::to(server(&tools));
    let modern = wire.answer(request(1, "tools/list", json!({}))).await["result"].clone();
    assert_eq!(
        modern["tools"][0]["inputSchema"],
        json!({ "type": "object" })
    );
    assert_eq!(
        modern["tools"][0]["outputSchema"],
        json!({ "type": "array" })
    );
    wire.greet("2025-11-25").await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let legacy = wire.answer(list).await["result"].clone();
    assert!(legacy["tools"][0].get("outputSchema").is_none(), "{legacy}");
}

#[tokio::test]
async fn structured_content_is_sent_with_the_text() {
    let result = ToolResult {
        structured: Some(Arc::new(json!({ "size": 7 }))),
        ..ToolResult::text("7 bytes")
    };
    for told in check(Some(json!({ "type": "object" })), result).await {
        assert_eq!(
            told["content"],
            json!([{ "type": "text", "text": "7 bytes" }])
        );
        assert_eq!(told["structuredContent"], json!({ "size": 7 }));
        assert_eq!(told["isError"], false);
    }
}

#[tokio::test]
async fn structured_content_that_is_no_object_is_for_the_newer_era_and_its_text_for_both() {
    let result = ToolResult {
        structured: Some(Arc::new(json!([1, 2]))),
        ..ToolResult::text("[1,2]")
    };
    let [modern, legacy] = check(Some(json!({ "type": "array" })), result).await;
    assert_eq!(modern["structuredContent"], json!([1, 2]));
    assert!(legacy.get("structuredContent").is_none(), "{legacy}");
    for told in [modern, legacy] {
        assert_eq!(
            (&told["content"][0]["text"], &told["isError"]),
            (&json!("[1,2]"), &json!(false))
        );
    }
}

#[tokio::test]
async fn what_declares_structured_content_and_gives_none_is_told_as_an_error_with_what_there_is() {
    let [modern, _] = check(Some(json!({ "type": "object" })), ToolResult::text("words")).await;
    assert_eq!(modern["isError"], true);
    assert_eq!(modern["content"][0]["text"], "words");
    // An error needs none.
    let error = ToolResult::error("no such file");
    let [modern, _] = check(Some(json!({ "type": "object" })), error).await;
    assert_eq!(
        modern["content"],
        json!([{ "type": "text", "text": "no such file" }])
    );
}

#[tokio::test]
async fn every_kind_of_part_has_its_place() {
    let here = |media_type: &str| MediaSource::Base64 {
        data: "AAAA".into(),
        media_type: media_type.into(),
    };
    let (image, document) = (
        |source| {
            OutcomePart::Image(Image {
                detail: None,
                source,
            })
        },
        |source, title: Option<&str>| {
            OutcomePart::Document(Document {
                cite: false,
                context: None,
                source,
                title: title.map(Into::into),
            })
        },
    );
    let audio = |source, transcript: Option<&str>| {
        OutcomePart::Audio(Audio {
            source,
            transcript: transcript.map(Into::into),
        })
    };
    let content = vec![
        OutcomePart::Text("words".into()),
        image(here("image/png")),
        image(MediaSource::Url("https://example.com/a.png".into())),
        audio(here("audio/wav"), None),
        audio(
            MediaSource::Url("https://example.com/a.wav".into()),
            Some("hello"),
        ),
        document(here("application/pdf"), Some("file:///a.pdf")),
        document(MediaSource::Text("text".into()), Some("my notes")),
        document(MediaSource::Url("https://example.com/a.pdf".into()), None),
    ];
    let result = ToolResult {
        content,
        ..ToolResult::default()
    };
    let [told, _] = check(None, result).await;
    let expected = json!([
        { "type": "text", "text": "words" },
        { "type": "image", "data": "AAAA", "mimeType": "image/png" },
        { "type": "resource_link", "uri": "https://example.com/a.png", "name": "image" },
        { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
        { "type": "text", "text": "hello" },
        { "type": "resource", "resource":
            { "uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "AAAA" } },
        { "type": "resource", "resource":
            { "uri": "jackfield:my-notes", "mimeType": "text/plain", "text": "text" } },
        { "type": "resource_link", "uri": "https://example.com/a.pdf", "name": "document" },
    ]);
    assert_eq!(told["content"], expected);
}

#[tokio::test]
async fn what_older_clients_cannot_read_is_told_in_another_way() {
    let sound = OutcomePart::Audio(Audio {
        source: MediaSource::Base64 {
            data: "AAAA".into(),
            media_type: "audio/wav".into(),
        },
        transcript: None,
    });
    let image = OutcomePart::Image(Image {
        detail: None,
        source: MediaSource::Url("https://example.com/a.png".into()),
    });
    let result = ToolResult {
        content: vec![sound, image],
        ..ToolResult::default()
    };
    for (version, kinds) in [
        ("2024-11-05", ["resource", "text"]),
        ("2025-03-26", ["audio", "text"]),
        ("2025-06-18", ["audio", "resource_link"]),
        ("2025-11-25", ["audio", "resource_link"]),
    ] {
        let tools = toolbox("ours");
        tools.spec(spec("read", json!({}), None));
        tools.push_call("read", ScriptedCall::result(result.clone()));
        let mut wire = Wire::to(server(&tools));
        wire.greet(version).await;
        let call = json!({
            "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "read" },
        });
        let content = wire.answer(call).await["result"]["content"].clone();
        let told = [0, 1].map(|nth| content[nth]["type"].clone());
        assert_eq!(told, kinds, "{version}: {content}");
        // Nothing is lost.
        let whole = content.to_string();
        assert!(
            whole.contains("AAAA") && whole.contains("audio/wav"),
            "{whole}"
        );
        assert!(whole.contains("https://example.com/a.png"), "{whole}");
    }
}

#[tokio::test]
async fn structured_content_without_any_other_is_its_own_text() {
    let result = ToolResult {
        structured: Some(Arc::new(json!({ "size": 7 }))),
        ..ToolResult::default()
    };
    for told in check(Some(json!({ "type": "object" })), result).await {
        assert_eq!(told["content"][0]["text"], r#"{"size":7}"#, "{told}");
    }
}

#[tokio::test]
async fn an_icon_is_in_the_meta_of_a_definition() {
    let tools = toolbox("ours");
    let icon = Some("🔎".into());
    tools.spec(ToolSpec {
        icon,
        ..spec("read", json!({}), None)
    });
    let mut wire = Wire::to(server(&tools));
    let listed = wire.answer(request(1, "tools/list", json!({}))).await["result"].clone();
    assert_eq!(
        listed["tools"][0]["_meta"],
        json!({ "jackfield/icon": "🔎" })
    );
}
