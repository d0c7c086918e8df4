//! Chat Completions: every rule about messages is broken once, and found.

use serde_json::json;

use crate::checking_chat::{breaks, faults, good};

#[test]
fn each_broken_rule_of_the_messages_is_found() {
    let text = json!([{ "type": "text", "text": "x" }]);
    let image =
        json!([{ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } }]);
    breaks(&[
        ("/messages", json!([]), "Invalid 'messages': empty array"),
        ("/messages/0/role", json!("bot"), "Invalid value: 'bot'"),
        (
            "/messages/0/x",
            json!(1),
            "Unknown parameter: 'messages[0].x'",
        ),
        (
            "/messages/0/content",
            image.clone(),
            "Invalid value: 'image_url'. Supported values are: 'text'",
        ),
        (
            "/messages/0/content",
            json!(null),
            "expected a string, but got null",
        ),
        (
            "/messages/1/content",
            json!([]),
            "Invalid 'messages[1].content': empty array",
        ),
        (
            "/messages/1/content/0",
            json!({}),
            "Missing required parameter: 'messages[1].content[0].type'",
        ),
        (
            "/messages/1/content/0/text",
            json!(null),
            "Invalid type for 'messages[1].content[0].text'",
        ),
        (
            "/messages/1/content/1/image_url/url",
            json!("file:///a.png"),
            "no image that can be read",
        ),
        (
            "/messages/1/content/1/image_url",
            json!("data:image/png;base64,AA=="),
            "Missing required parameter: 'messages[1].content[1].image_url.url'",
        ),
        (
            "/messages/1/content/2/file/file_data",
            json!("AA=="),
            "has to be a data URL",
        ),
        (
            "/messages/1/content/2/file",
            json!({}),
            "either 'file_id', or",
        ),
        (
            "/messages/2/reasoning_content",
            json!("Hm."),
            "Unknown parameter: 'messages[2].reasoning_content'",
        ),
        (
            "/messages/2/content",
            image.clone(),
            "Supported values are: 'text', 'refusal'",
        ),
        (
            "/messages/2/tool_calls",
            json!([]),
            "Invalid 'messages[2].tool_calls': empty array",
        ),
        (
            "/messages/2/tool_calls",
            json!(null),
            "Invalid type for 'messages[2].tool_calls'",
        ),
        (
            "/messages/2/tool_calls/0/id",
            json!("a".repeat(41)),
            "maximum length 40",
        ),
        ("/messages/2/tool_calls/0/id", json!(""), "empty string"),
        (
            "/messages/2/tool_calls/0/id",
            json!("b"),
            "ids of calls must be unique: 'b'",
        ),
        (
            "/messages/2/tool_calls/0/index",
            json!(0),
            "Unknown parameter: 'messages[2].tool_calls[0].index'",
        ),
        (
            "/messages/2/tool_calls/0/function/arguments",
            json!({}),
            "expected a string, but got an object",
        ),
        (
            "/messages/2/tool_calls/0/function/name",
            json!("a b"),
            "does not match pattern",
        ),
        (
            "/messages/3/content",
            image,
            "Invalid value: 'image_url'. Supported values are: 'text'",
        ),
        (
            "/messages/3/tool_call_id",
            json!("z"),
            "'tool_call_id' of 'z' not found",
        ),
        (
            "/messages/3/tool_call_id",
            json!("a"),
            "did not have response messages: b",
        ),
        (
            "/messages/3/name",
            json!("run"),
            "Unknown parameter: 'messages[3].name'",
        ),
        (
            "/messages/2",
            json!({ "role": "assistant", "content": text }),
            "must be a response to a preceeding message with 'tool_calls'",
        ),
        (
            "/messages/3",
            json!({ "role": "user", "content": "well?" }),
            "did not have response messages: a, b",
        ),
    ]);
    let mut body = good();
    body["messages"] = json!([
        { "role": "user", "content": "a" },
        { "role": "assistant", "content": null },
    ]);
    let found = faults(&body);
    assert!(found[0].contains("messages[1].content"), "{found:?}");
}
