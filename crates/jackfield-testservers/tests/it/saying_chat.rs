//! What the script says, as Chat Completions says it.

#![expect(clippy::unwrap_used, reason = "a broken answer fails the test")]

use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;
use jackfield_testservers::openai::{ScriptedOpenAi, VendorQuirks};
use jackfield_testservers::script::{Script, ScriptPart, ScriptTurn, json as file};
use serde_json::{Value, json};

use crate::http::{Response, ask};

const PATH: &str = "/v1/chat/completions";

fn question() -> Value {
    json!({ "model": "gpt-4.1", "messages": [{ "role": "user", "content": "a" }] })
}

async fn asked(server: &ScriptedOpenAi, more: Value) -> Response {
    let mut body = question();
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    ask(&server.base_url(), PATH, &body).await
}

/// The chunks of a stream that ends as it should.
fn chunks(response: &Response) -> Vec<Value> {
    let (chunks, end) = response.body.rsplit_once("data: [DONE]\n\n").unwrap();
    assert_eq!(end, "");
    let chunks = chunks.split_terminator("\n\n");
    chunks
        .map(|chunk| serde_json::from_str(chunk.strip_prefix("data: ").unwrap()).unwrap())
        .collect()
}

/// The texts of a field of the deltas, put together.
fn joined(chunks: &[Value], pointer: &str) -> String {
    let texts = chunks
        .iter()
        .filter_map(|chunk| chunk.pointer(pointer)?.as_str());
    texts.collect()
}

fn everything() -> ScriptTurn {
    ScriptTurn::reply([
        ScriptPart::Thinking {
            signature: "x".to_owned(),
            text: "Let me think about 东京.".to_owned(),
        },
        ScriptPart::Text("First I need the weather.".to_owned()),
        ScriptPart::Call {
            arguments: r#"{"location": "Paris"}"#.to_owned(),
            id: None,
            name: "get_weather".to_owned(),
        },
        ScriptPart::TextCall {
            id: Some("call_7".to_owned()),
            input: "print(東)".to_owned(),
            name: "run".to_owned(),
        },
    ])
    .using(Usage {
        cache_read: 5,
        cache_write: 7,
        input: 40,
        output: 9,
        reasoning: 3,
        ..Usage::default()
    })
}

#[tokio::test]
async fn a_whole_reply_is_a_document() {
    let server = ScriptedOpenAi::start([everything()]).await;
    let said = asked(&server, json!({})).await;
    assert!(said.head.contains("x-request-id: req_"), "{}", said.head);
    let said = said.json();
    assert_eq!(said["object"], "chat.completion");
    assert!(said["id"].as_str().unwrap().starts_with("chatcmpl-"));
    let choice = &said["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    let id = choice["message"]["tool_calls"][0]["id"].as_str().unwrap();
    assert_eq!((id.starts_with("call_"), id.len()), (true, 29));
    assert_eq!(
        choice["message"],
        json!({
            "role": "assistant",
            "content": "First I need the weather.",
            "refusal": null,
            "annotations": [],
            "tool_calls": [
                { "id": id, "type": "function", "function": { "name": "get_weather", "arguments": "{\"location\": \"Paris\"}" } },
                { "id": "call_7", "type": "custom", "custom": { "name": "run", "input": "print(東)" } },
            ],
        })
    );
    let usage = &said["usage"];
    assert_eq!(usage["prompt_tokens"], 40);
    assert_eq!(usage["total_tokens"], 49);
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 5);
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 3);
}

#[tokio::test]
async fn a_streamed_reply_is_chunks_of_the_vendors_form() {
    let server = ScriptedOpenAi::start([everything()]).await;
    let options = json!({ "stream": true, "stream_options": { "include_usage": true } });
    let said = asked(&server, options).await;
    assert!(said.head.contains("content-type: text/event-stream"));
    let chunks = chunks(&said);
    for chunk in &chunks {
        assert_eq!(chunk["id"], chunks[0]["id"]);
        assert_eq!(chunk["object"], "chat.completion.chunk");
        assert!(chunk["obfuscation"].is_string(), "{chunk}");
    }
    let first = &chunks[0]["choices"][0]["delta"];
    assert_eq!(
        *first,
        json!({ "role": "assistant", "content": "", "refusal": null })
    );
    let (usage, chunks) = chunks.split_last().unwrap();
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(usage["usage"]["completion_tokens"], 9);
    for chunk in chunks {
        assert_eq!(chunk["usage"], json!(null));
    }
    let (last, rest) = chunks.split_last().unwrap();
    assert_eq!(last["choices"][0]["delta"], json!({}));
    assert_eq!(last["choices"][0]["finish_reason"], "tool_calls");
    assert!(
        rest.iter()
            .all(|chunk| chunk["choices"][0]["finish_reason"].is_null())
    );
    assert_eq!(
        joined(rest, "/choices/0/delta/content"),
        "First I need the weather."
    );
    let calls = rest
        .iter()
        .filter_map(|chunk| chunk.pointer("/choices/0/delta/tool_calls/0"));
    let (mut weather, mut run) = (Vec::new(), Vec::new());
    for call in calls {
        match call["index"].as_u64() {
            Some(0) => weather.push(call.clone()),
            _ => run.push(call.clone()),
        }
    }
    assert_eq!(
        weather[0]["function"],
        json!({ "name": "get_weather", "arguments": "" })
    );
    assert!(weather[1].get("id").is_none() && weather[1].get("type").is_none());
    assert_eq!(
        joined(&weather, "/function/arguments"),
        r#"{"location": "Paris"}"#
    );
    assert_eq!(run[0]["type"], "custom");
    assert_eq!(run[0]["custom"], json!({ "name": "run", "input": "" }));
    assert_eq!(joined(&run, "/custom/input"), "print(東)");
}

#[tokio::test]
async fn usage_and_padding_are_as_asked_for() {
    let server = ScriptedOpenAi::start(Script::by(|_| Some(everything()))).await;
    let plain = chunks(&asked(&server, json!({ "stream": true })).await);
    assert!(plain.iter().all(|chunk| chunk.get("usage").is_none()));
    assert!(plain.iter().all(|chunk| chunk["choices"] != json!([])));
    let options = json!({ "stream": true, "stream_options": { "include_obfuscation": false } });
    let bare = chunks(&asked(&server, options).await);
    assert!(bare.iter().all(|chunk| chunk.get("obfuscation").is_none()));
}

#[tokio::test]
async fn a_reply_may_come_whole_though_a_stream_was_asked_for() {
    let script = json!({ "replies": [{ "text": "hello", "whole": true }, { "text": "hello" }] });
    let server = ScriptedOpenAi::start(file::parse(&script.to_string()).unwrap()).await;
    let whole = asked(&server, json!({ "stream": true })).await;
    assert!(whole.head.contains("content-type: application/json"));
    assert_eq!(whole.json()["object"], "chat.completion");
    let streamed = asked(&server, json!({ "stream": true })).await;
    assert_eq!(
        joined(&chunks(&streamed), "/choices/0/delta/content"),
        "hello"
    );
}

#[tokio::test]
async fn finish_reasons_are_said_as_the_vendor_says_them() {
    for (finish, said) in [
        (FinishReason::ContentFilter, "content_filter"),
        (FinishReason::ContextFull, "length"),
        (FinishReason::Length, "length"),
        (FinishReason::Refused, "stop"),
        (FinishReason::Unrecognized("tired".into()), "tired"),
    ] {
        let server = ScriptedOpenAi::start([ScriptTurn::text("x").finish(finish)]).await;
        let reply = asked(&server, json!({})).await.json();
        assert_eq!(reply["choices"][0]["finish_reason"], said);
    }
    // A call that had to be is no reason to stop.
    let server = ScriptedOpenAi::start([ScriptTurn::call("add", &json!({}))]).await;
    let forced = json!({
        "tools": [{ "type": "function", "function": { "name": "add" } }],
        "tool_choice": { "type": "function", "function": { "name": "add" } },
    });
    let reply = asked(&server, forced).await.json();
    assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    assert_eq!(reply["choices"][0]["message"]["content"], json!(null));
}

#[tokio::test]
async fn a_refusal_stands_in_its_own_field() {
    let turn = ScriptTurn::reply([ScriptPart::Refusal("I cannot do this.".to_owned())]);
    let server = ScriptedOpenAi::start(Script::by(move |_| Some(turn.clone()))).await;
    let whole = asked(&server, json!({})).await.json();
    let choice = &whole["choices"][0];
    assert_eq!(choice["message"]["refusal"], "I cannot do this.");
    assert_eq!(choice["message"]["content"], json!(null));
    assert_eq!(choice["finish_reason"], "stop");
    let streamed = chunks(&asked(&server, json!({ "stream": true })).await);
    assert_eq!(
        joined(&streamed, "/choices/0/delta/refusal"),
        "I cannot do this."
    );
}

#[tokio::test]
async fn each_kind_of_server_shows_reasoning_and_calls_in_its_own_way() {
    let turn = ScriptTurn::reply([ScriptPart::Thinking {
        signature: "x".to_owned(),
        text: "Let me think about it.".to_owned(),
    }])
    .and_call("add", &json!({ "a": "a long text" }));
    for (like, field, prefix, length) in [
        (
            VendorQuirks::DeepSeek,
            Some("reasoning_content"),
            "call_00_",
            32,
        ),
        (VendorQuirks::Mistral, None, "", 9),
        (VendorQuirks::Ollama, Some("reasoning"), "call_", 13),
        (VendorQuirks::OpenAi, None, "call_", 29),
    ] {
        let server = ScriptedOpenAi::like(like, [turn.clone(), turn.clone()]).await;
        let whole = asked(&server, json!({})).await.json();
        let message = &whole["choices"][0]["message"];
        let streamed = chunks(&asked(&server, json!({ "stream": true })).await);
        for known in ["reasoning", "reasoning_content"] {
            let shown = if field == Some(known) {
                "Let me think about it."
            } else {
                ""
            };
            assert_eq!(
                message[known].as_str().unwrap_or_default(),
                shown,
                "{like:?}"
            );
            let pointer = format!("/choices/0/delta/{known}");
            assert_eq!(joined(&streamed, &pointer), shown, "{like:?}");
        }
        let id = message["tool_calls"][0]["id"].as_str().unwrap();
        assert_eq!((id.starts_with(prefix), id.len()), (true, length), "{id}");
        let pieces = streamed
            .iter()
            .filter(|chunk| chunk.pointer("/choices/0/delta/tool_calls").is_some());
        let in_one = matches!(like, VendorQuirks::Mistral | VendorQuirks::Ollama);
        assert_eq!(pieces.count() == 1, in_one, "{like:?}");
        let last = streamed.last().unwrap();
        assert_eq!(
            last["usage"].is_object(),
            like == VendorQuirks::Mistral,
            "{like:?}"
        );
    }
}

#[tokio::test]
async fn a_turn_may_be_for_what_the_tools_said() {
    let script = json!({ "replies": [
        { "text": "No.", "refusal": "Never." },
        { "text": "Both.", "when": "one" },
        { "calls": [{ "name": "run", "input": "x" }] },
    ]});
    let server = ScriptedOpenAi::start(file::parse(&script.to_string()).unwrap()).await;
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "add", "arguments": "{}" } });
    let history = json!([
        { "role": "user", "content": "a" },
        { "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] },
        { "role": "tool", "tool_call_id": "a", "content": "one" },
        { "role": "tool", "tool_call_id": "b", "content": "two" },
    ]);
    let first = asked(&server, json!({})).await.json();
    assert_eq!(first["choices"][0]["message"]["refusal"], "Never.");
    let both = asked(&server, json!({ "messages": history })).await.json();
    assert_eq!(both["choices"][0]["message"]["content"], "Both.");
    let run = asked(&server, json!({})).await.json();
    assert_eq!(
        run["choices"][0]["message"]["tool_calls"][0]["custom"]["input"],
        "x"
    );
}
