//! Bad input over the wire: whatever comes, the answer is one of the surface's own form that names what is
//! wrong, and the gateway is well afterwards.

mod connections;
mod memory;
mod ways;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use self::ways::{Hostile, TIME_LIMIT, WAYS, Way};

#[tokio::test]
async fn bodies_that_are_none_are_refused_in_the_form_of_their_way_in() {
    let hostile = Hostile::hurried().await;
    for way in WAYS {
        let whole = way.asks("Hello").to_string();
        let mut no_text = whole.clone().into_bytes();
        let place = whole.find("Hello").expect("a word");
        no_text[place] = 0xff;
        let deep = format!("{{\"model\":\"m\",\"metadata\":{}", "[".repeat(10_000));
        let closed = format!("{{\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        let bodies: [(&str, Vec<u8>); 9] = [
            ("nothing", Vec::new()),
            ("no JSON", b"hello".to_vec()),
            ("truncated", whole.as_bytes()[..whole.len() - 2].to_vec()),
            ("more behind it", format!("{whole}{whole}").into_bytes()),
            ("no UTF-8", no_text),
            ("a list", b"[]".to_vec()),
            ("null", b"null".to_vec()),
            ("nested", deep.into_bytes()),
            ("nested and closed", closed.into_bytes()),
        ];
        for (case, body) in bodies {
            let answer = hostile.posted(way, body).await;
            way.refuses(case, &answer, "");
            hostile.is_well().await;
        }
    }
    hostile.end().await;
}

#[tokio::test]
async fn what_a_body_says_wrong_is_named() {
    let hostile = Hostile::hurried().await;
    let cases: [(&str, Way, Value, &str); 24] = [
        (
            "role",
            Way::Chat,
            Way::Chat.says(json!([{ "role": "wizard", "content": "x" }])),
            "messages",
        ),
        (
            "role",
            Way::Claude,
            Way::Claude.says(json!([{ "role": "wizard", "content": "x" }])),
            "messages",
        ),
        (
            "role",
            Way::Responses,
            Way::Responses.says(json!([{ "role": "wizard", "content": "x" }])),
            "input",
        ),
        (
            "part",
            Way::Api,
            json!({ "content": [{ "type": "wizard" }] }),
            "/content/0",
        ),
        ("null", Way::Chat, Way::Chat.says(Value::Null), "messages"),
        (
            "null",
            Way::Claude,
            Way::Claude.says(Value::Null),
            "messages",
        ),
        (
            "null",
            Way::Responses,
            Way::Responses.says(Value::Null),
            "input",
        ),
        ("null", Way::Api, json!({ "message": null }), "/message"),
        (
            "null message",
            Way::Chat,
            Way::Chat.says(json!([null])),
            "messages",
        ),
        (
            "null message",
            Way::Claude,
            Way::Claude.says(json!([null])),
            "messages",
        ),
        (
            "null message",
            Way::Responses,
            Way::Responses.says(json!([null])),
            "input",
        ),
        (
            "twice",
            Way::Chat,
            Way::Chat.says(chat_calls("c1", "c1")),
            "messages",
        ),
        (
            "twice",
            Way::Claude,
            Way::Claude.says(claude_calls("c1", "c1")),
            "messages",
        ),
        (
            "twice",
            Way::Responses,
            Way::Responses.says(responses_calls("c1", "c1")),
            "input",
        ),
        (
            "array message",
            Way::Chat,
            Way::Chat.says(json!([["user", "x"]])),
            "messages",
        ),
        (
            "array message",
            Way::Claude,
            Way::Claude.says(json!([["user", "x"]])),
            "messages",
        ),
        (
            "the model last",
            Way::Chat,
            Way::Chat.says(json!([{ "role": "user", "content": "x" }, { "role": "assistant", "content": "y" }])),
            "end with a message of the user",
        ),
        (
            "the model last",
            Way::Claude,
            Way::Claude.says(json!([{ "role": "user", "content": "x" }, { "role": "assistant", "content": "y" }])),
            "end with a message of the user",
        ),
        (
            "the model last",
            Way::Responses,
            Way::Responses.says(json!([{ "role": "user", "content": "x" }, { "role": "assistant", "content": "y" }])),
            "end with a message of the user",
        ),
        (
            "no call",
            Way::Chat,
            Way::Chat.says(json!([
            { "role": "user", "content": "x" },
            { "role": "tool", "tool_call_id": "c9", "content": "y" }])),
            "c9",
        ),
        (
            "no call",
            Way::Claude,
            Way::Claude.says(json!([{ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "c9", "content": "y" }] }])),
            "c9",
        ),
        (
            "no call",
            Way::Responses,
            Way::Responses.says(json!([
            { "type": "function_call_output", "call_id": "c9", "output": "y" }])),
            "c9",
        ),
        (
            "unknown field",
            Way::Api,
            Way::Api.with("temprature", json!(1)),
            "/temprature",
        ),
        (
            "wrong type",
            Way::Api,
            Way::Api.with("settings", json!({ "top_p": "high" })),
            "/settings/top_p",
        ),
    ];
    for (case, way, body, says) in cases {
        let answer = hostile.posted(way, body.to_string()).await;
        way.refuses(case, &answer, says);
        hostile.is_well().await;
    }
    hostile.end().await;
}

/// A conversation with two calls of these ids.
fn chat_calls(one: &str, other: &str) -> Value {
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } });
    json!([
        { "role": "user", "content": "x" },
        { "role": "assistant", "content": null, "tool_calls": [call(one), call(other)] },
        { "role": "tool", "tool_call_id": one, "content": "y" },
        { "role": "tool", "tool_call_id": other, "content": "z" },
    ])
}

fn claude_calls(one: &str, other: &str) -> Value {
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "f", "input": {} });
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "y" });
    json!([
        { "role": "user", "content": "x" },
        { "role": "assistant", "content": [call(one), call(other)] },
        { "role": "user", "content": [result(one), result(other)] },
    ])
}

fn responses_calls(one: &str, other: &str) -> Value {
    let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": "{}" });
    let result = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "y" });
    json!([
        { "role": "user", "content": "x" },
        call(one), call(other), result(one), result(other),
    ])
}

/// As many calls in one reply, with a result for each, the last one first; ids that all are the same, if so.
fn crowd(way: Way, many: usize, same: bool) -> Value {
    let id = |n: usize| {
        if same {
            "!".to_owned()
        } else {
            format!("c{n}")
        }
    };
    let ids: Vec<String> = (0..many).map(id).collect();
    let user = json!({ "role": "user", "content": "x" });
    let mut items = vec![user];
    match way {
        Way::Chat => {
            let call = |id: &String| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } });
            let result =
                |id: &String| json!({ "role": "tool", "tool_call_id": id, "content": "y" });
            if same {
                for id in &ids {
                    items.push(json!({ "role": "assistant", "tool_calls": [call(id)] }));
                    items.push(result(id));
                }
            } else {
                let calls: Vec<Value> = ids.iter().map(call).collect();
                items.push(json!({ "role": "assistant", "tool_calls": calls }));
                items.extend(ids.iter().rev().map(result));
            }
        }
        Way::Claude => {
            let call =
                |id: &String| json!({ "type": "tool_use", "id": id, "name": "f", "input": {} });
            let result =
                |id: &String| json!({ "type": "tool_result", "tool_use_id": id, "content": "y" });
            let calls: Vec<Value> = ids.iter().map(call).collect();
            let results: Vec<Value> = ids.iter().rev().map(result).collect();
            items.push(json!({ "role": "assistant", "content": calls }));
            items.push(json!({ "role": "user", "content": results }));
        }
        Way::Api | Way::Responses => {
            let call = |id: &String| json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": "{}" });
            let result = |id: &String| json!({ "type": "function_call_output", "call_id": id, "output": "y" });
            items.extend(ids.iter().map(call));
            items.extend(ids.iter().rev().map(result));
        }
    }
    way.says(json!(items))
}

#[tokio::test]
async fn a_conversation_of_many_calls_holds_nobody_up() {
    let hostile = Hostile::started("body = \"16MiB\"\n").await;
    for (way, same) in [
        (Way::Chat, false),
        (Way::Chat, true),
        (Way::Claude, false),
        (Way::Responses, false),
    ] {
        let body = crowd(way, 10_000, same).to_string();
        let answer = hostile.posted(way, body).await;
        assert!(answer.status < 500, "{way:?}, {same}: {answer:?}");
        hostile.is_well().await;
    }
    // By the work that it took, as others may be at work on this machine: a second each, and ten times that
    // where each result looks for its call among all of them.
    if let Some(worked) = hostile.worked() {
        assert!(worked < Duration::from_secs(15), "it worked for {worked:?}");
    }
    hostile.end().await;
}

#[tokio::test]
async fn too_much_of_anything_is_refused_and_strange_schemas_harm_nobody() {
    let hostile = Hostile::hurried().await;
    let circle = json!({ "$ref": "#/$defs/a", "type": "object",
        "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } });
    let itself = json!({ "type": "object", "properties": { "child": { "$ref": "#" } } });
    let remote =
        json!({ "type": "object", "properties": { "x": { "$ref": "http://127.0.0.1:1/x" } } });
    for way in WAYS {
        let tools: Vec<Value> = (0..10_000)
            .map(|nth| way.tool(&format!("tool_{nth}"), &json!({ "type": "object" })))
            .collect();
        let many = hostile
            .posted(way, way.with("tools", json!(tools)).to_string())
            .await;
        way.refuses("10,000 tools", &many, "tools");
        hostile.is_well().await;
        let same = way.tool("same", &json!({ "type": "object" }));
        let twice = way.with("tools", json!([same, same]));
        way.refuses(
            "two of a name",
            &hostile.posted(way, twice.to_string()).await,
            "same",
        );
        for (case, schema) in [
            ("circle", &circle),
            ("itself", &itself),
            ("remote", &remote),
        ] {
            let body = way.with("tools", json!([way.tool("strange", schema)]));
            let answer = hostile.posted(way, body.to_string()).await;
            // It may be taken: nothing is validated against it before a call.
            assert!(answer.status < 500, "{way:?}, {case}: {answer:?}");
            hostile.is_well().await;
        }
        let large = way.asks(&"x".repeat(3 << 20));
        let large = hostile.posted(way, large.to_string()).await;
        assert_eq!(large.status, 413, "{large:?}");
        way.refuses("3 MB", &large, "");
        // 100 MB are refused before they are sent, and while they come without a length.
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n",
            hostile.path(way),
            hostile.gateway.address()
        );
        let announced = hostile
            .raw(format!("{head}content-length: 104857600\r\n\r\n{{").as_bytes())
            .await;
        assert!(announced.starts_with("HTTP/1.1 413"), "{announced}");
        let mut stream = hostile.connected().await;
        let (mut reading, mut writing) = stream.split();
        let piece = format!("10000\r\n{}\r\n", " ".repeat(0x1_0000));
        let sending = async {
            let head = format!("{head}transfer-encoding: chunked\r\n\r\n");
            let mut sent = writing.write_all(head.as_bytes()).await;
            for _ in 0..1600 {
                if sent.is_err() {
                    break;
                }
                sent = writing.write_all(piece.as_bytes()).await;
            }
        };
        let answering = async {
            let mut answer = vec![0; 12];
            let read = tokio::time::timeout(TIME_LIMIT, reading.read_exact(&mut answer)).await;
            assert!(read.is_ok(), "{way:?}: it hangs");
            String::from_utf8_lossy(&answer).into_owned()
        };
        tokio::select! {
            answer = answering => assert!(answer.starts_with("HTTP/1.1 413"), "{answer}"),
            () = async { sending.await; std::future::pending::<()>().await } => {}
        }
        drop(stream);
        hostile.is_well().await;
    }
    hostile.end().await;
}
