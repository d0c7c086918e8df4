//! Turns in the language of their provider: what only the vendor knows goes there, comes back, and stays in the history.

use jackfield_testkit::server::{Response, TestServer};
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, Kept};

const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";

/// A gateway in front of this server, which is OpenAI and Anthropic.
async fn gateway(kept: &Kept, server: &TestServer) -> Gateway {
    let url = server.base_url();
    let config = format!(
        "model = \"openai/gpt-6-sol\"\n\n[providers.claude]\nbase_url = \"{url}\"\n\n\
         [providers.openai]\nbase_url = \"{url}/v1\"\n"
    );
    let gateway = kept.gateway().plain().configured(config);
    let gateway = gateway.env("OPENAI_API_KEY", "sk-of-openai-0123");
    Gateway::listening(
        gateway
            .env("ANTHROPIC_API_KEY", "sk-of-claude-0123")
            .start(),
    )
    .await
}

/// The events of a stream, each with its type as its name.
fn events(events: &[Value]) -> Response {
    let texts = events.iter().map(|event| {
        let kind = event["type"].as_str().expect("a type");
        format!("event: {kind}\ndata: {event}\n\n")
    });
    Response::event_stream(texts.collect::<String>())
}

/// Asks in a session.
async fn ask(gateway: &Gateway, path: &str, session: &str, body: &Value) -> Answer {
    let asking = gateway.post(path, body).header("x-session-id", session);
    let answer = asking
        .header("anthropic-beta", "web-search-2025-03-05")
        .answered()
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("x-jackfield-path"), "turn");
    answer
}

/// The data of the events of a stream as JSON.
fn data(answer: &Answer) -> Vec<Value> {
    let events = answer.events().into_iter();
    let events = events.filter(|data| data != "[DONE]");
    events
        .map(|data| serde_json::from_str(&data).expect("JSON"))
        .collect()
}

fn claude_blocks() -> [Value; 4] {
    let source = json!({ "type": "web_search_result", "url": "https://rust.example", "title": "Rust", "encrypted_content": "EqgC" });
    [
        json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": { "query": "rust" }, "caller": { "type": "direct" } }),
        json!({ "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [source] }),
        json!({ "type": "of_tomorrow", "z": 1, "a": { "b": [] } }),
        json!({ "type": "text", "text": "Rust is fast.", "citations": [{ "type": "web_search_result_location", "url": "https://rust.example", "title": "Rust", "cited_text": "fast", "encrypted_index": "Eo8B" }] }),
    ]
}

fn claude_stream(blocks: &[Value]) -> Response {
    let mut all = vec![
        json!({ "type": "message_start", "message": { "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": [], "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 7, "output_tokens": 1 } } }),
    ];
    for (index, block) in blocks.iter().enumerate() {
        let mut start = block.clone();
        let mut deltas = Vec::new();
        if block["type"] == "server_tool_use" {
            start["input"] = json!({});
            deltas.push(
                json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() }),
            );
        }
        if block["type"] == "text" {
            start = json!({ "type": "text", "text": "" });
            deltas.push(json!({ "type": "citations_delta", "citation": block["citations"][0] }));
            deltas.push(json!({ "type": "text_delta", "text": block["text"] }));
        }
        all.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        let deltas = deltas.into_iter();
        all.extend(
            deltas.map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ),
        );
        all.push(json!({ "type": "content_block_stop", "index": index }));
    }
    all.push(json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn", "stop_sequence": null }, "usage": { "output_tokens": 9 } }));
    all.push(json!({ "type": "message_stop" }));
    events(&all)
}

/// The blocks of a streamed message.
fn claude_message(events: &[Value]) -> Vec<Value> {
    let mut blocks: Vec<Value> = Vec::new();
    for event in events {
        let index = event["index"].as_u64().unwrap_or_default() as usize;
        let delta = &event["delta"];
        match event["type"].as_str() {
            Some("content_block_start") => blocks.push(event["content_block"].clone()),
            Some("content_block_delta") => match delta["type"].as_str() {
                Some("text_delta") => {
                    let text = blocks[index]["text"].as_str().unwrap_or_default();
                    let text = text.to_owned() + delta["text"].as_str().expect("text");
                    blocks[index]["text"] = text.into();
                }
                Some("citations_delta") => {
                    blocks[index]["citations"] = json!([delta["citation"]]);
                }
                Some("input_json_delta") => {
                    let text = delta["partial_json"].as_str().expect("text");
                    if !text.is_empty() {
                        blocks[index]["input"] = serde_json::from_str(text).expect("whole");
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
    blocks
}

#[tokio::test]
async fn hosted_tools_of_claude_are_a_part_of_a_turn() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let gateway = gateway(&kept, &server).await;
    let tools = json!([
        { "name": "clock", "description": "The time", "input_schema": { "type": "object" } },
        { "type": "web_search_20260318", "name": "web_search", "max_uses": 3, "new": { "b": 1, "a": 2 } },
    ]);
    let body = |stream: bool, messages: &Value| {
        json!({ "model": "claude/claude-opus-5-5", "max_tokens": 500, "stream": stream, "tools": tools,
                "of_tomorrow": { "z": 1.5, "a": [] }, "messages": messages })
    };
    let question = json!({ "role": "user", "content": "What is Rust?" });
    let mut nth = 0;
    for stream in [false, true] {
        let blocks = claude_blocks();
        server.answer(claude_stream(&blocks));
        let answer = ask(&gateway, MESSAGES, "new", &body(stream, &json!([question]))).await;
        let seen = server.request(nth).await;
        let sent: Value = serde_json::from_str(&seen.text()).expect("JSON");
        assert_eq!(sent["tools"], tools);
        assert_eq!(sent["of_tomorrow"], json!({ "z": 1.5, "a": [] }));
        let betas = seen.header("anthropic-beta").expect("betas");
        assert!(betas.contains("web-search-2025-03-05"), "{betas}");
        let content = if stream {
            claude_message(&data(&answer))
        } else {
            let message: Value = serde_json::from_str(answer.text()).expect("JSON");
            message["content"].as_array().expect("blocks").clone()
        };
        assert_eq!(content, blocks);
        // The session has them, also if the client sends only what is new.
        let session = answer.header("x-session-id").to_owned();
        server.answer(claude_stream(&[
            json!({ "type": "text", "text": "Yes.", "citations": [{ "type": "char_location" }] }),
        ]));
        let more = json!([{ "role": "user", "content": "Really?" }]);
        ask(&gateway, MESSAGES, &session, &body(stream, &more)).await;
        let sent: Value =
            serde_json::from_str(&server.request(nth + 1).await.text()).expect("JSON");
        assert_eq!(sent["messages"][1]["content"], json!(blocks));
        assert_eq!(sent["tools"], tools);
        nth += 2;
    }
    gateway.end().await;
}

fn response_items() -> [Value; 4] {
    [
        json!({ "type": "web_search_call", "id": "ws_1", "status": "completed", "action": { "type": "search", "query": "rust", "sources": [{ "type": "url", "url": "https://rust.example" }] } }),
        json!({ "type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1+1", "container_id": "cntr_1", "outputs": [] }),
        json!({ "type": "of_tomorrow_call", "id": "ot_1", "z": 1, "a": { "b": [] } }),
        json!({ "type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [{ "type": "output_text", "text": "Rust is fast.", "annotations": [{ "type": "url_citation", "url": "https://rust.example", "title": "Rust", "start_index": 0, "end_index": 4 }] }] }),
    ]
}

fn response_stream(items: &[Value]) -> Response {
    let response = |status: &str, output: &[Value]| {
        json!({ "id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "gpt-6-sol",
                "output": output, "usage": { "input_tokens": 7, "output_tokens": 9, "total_tokens": 16 } })
    };
    let mut all =
        vec![json!({ "type": "response.created", "response": response("in_progress", &[]) })];
    for (n, item) in items.iter().enumerate() {
        all.push(json!({ "type": "response.output_item.added", "output_index": n, "item": item }));
        all.push(json!({ "type": "response.output_item.done", "output_index": n, "item": item }));
    }
    all.push(json!({ "type": "response.completed", "response": response("completed", items) }));
    for (n, event) in all.iter_mut().enumerate() {
        event["sequence_number"] = n.into();
    }
    events(&all)
}

#[tokio::test]
async fn hosted_tools_of_openai_are_a_part_of_a_turn() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let gateway = gateway(&kept, &server).await;
    // In the order of their names: that of the hosted search is a second one.
    let tools = json!([
        { "type": "code_interpreter", "container": { "type": "auto" } },
        { "type": "tool_of_tomorrow", "z": 1.5, "a": [] },
        { "type": "function", "name": "web_search", "parameters": { "type": "object", "properties": {} }, "strict": false },
        { "type": "web_search", "external_web_access": true },
    ]);
    let body = |stream: bool, input: &Value, more: Value| {
        let mut body = json!({ "model": "openai/gpt-6-sol", "stream": stream, "tools": tools, "input": input,
                "tool_choice": { "type": "code_interpreter" }, "max_tool_calls": 5, "include": ["web_search_call.action.sources"],
                "of_tomorrow": { "z": 1.5, "a": [] } });
        for (key, value) in more.as_object().expect("fields") {
            body[key] = value.clone();
        }
        body
    };
    let mut nth = 0;
    for stream in [false, true] {
        let items = response_items();
        server.answer(response_stream(&items));
        let asked = body(stream, &json!("What is Rust?"), json!({}));
        let answer = ask(&gateway, RESPONSES, "new", &asked).await;
        let sent: Value = serde_json::from_str(&server.request(nth).await.text()).expect("JSON");
        assert_eq!(sent["tools"], tools);
        assert_eq!(sent["tool_choice"], json!({ "type": "code_interpreter" }));
        assert_eq!(sent["max_tool_calls"], 5);
        assert_eq!(sent["of_tomorrow"], json!({ "z": 1.5, "a": [] }));
        assert_eq!(
            sent["include"],
            json!([
                "reasoning.encrypted_content",
                "web_search_call.action.sources"
            ])
        );
        let response = if stream {
            data(&answer).pop().expect("an event")["response"].clone()
        } else {
            serde_json::from_str(answer.text()).expect("JSON")
        };
        let output = response["output"].as_array().expect("items");
        assert_eq!(output[..3], items[..3], "{response:#}");
        assert_eq!(
            output[3]["content"][0]["annotations"],
            items[3]["content"][0]["annotations"]
        );
        // A later response has them, too.
        server.answer(response_stream(&[]));
        let previous = json!({ "previous_response_id": response["id"] });
        let more = body(stream, &json!("Really?"), previous);
        let answered = gateway.post(RESPONSES, &more).answered().await;
        assert_eq!(answered.status, 200, "{answered:?}");
        let sent: Value =
            serde_json::from_str(&server.request(nth + 1).await.text()).expect("JSON");
        let input = sent["input"].as_array().expect("items");
        assert_eq!(input[1..4], items[..3], "{sent:#}");
        nth += 2;
    }
    gateway.end().await;
}

#[tokio::test]
async fn what_a_turn_cannot_carry_is_refused_by_name() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let gateway = gateway(&kept, &server).await;
    let claude = |fields: Value| {
        let mut body = json!({ "model": "claude/claude-opus-5-5", "max_tokens": 5,
                               "messages": [{ "role": "user", "content": "Hello" }] });
        for (key, value) in fields.as_object().expect("fields") {
            body[key] = value.clone();
        }
        body
    };
    for (path, body) in [
        (MESSAGES, claude(json!({ "container": "c" }))),
        (
            MESSAGES,
            claude(json!({ "mcp_servers": [{ "type": "url" }] })),
        ),
        (
            MESSAGES,
            claude(json!({ "tools": [{ "type": "mcp_toolset", "mcp_server_name": "x" }] })),
        ),
        (
            RESPONSES,
            json!({ "model": "openai/gpt-6-sol", "input": "Hello", "tools": [{ "type": "mcp", "server_label": "x" }] }),
        ),
        // The vendor's tools are no other vendor's.
        (
            RESPONSES,
            json!({ "model": "claude/claude-opus-5-5", "input": "Hello", "tools": [{ "type": "web_search" }] }),
        ),
        (
            MESSAGES,
            json!({ "model": "openai/gpt-6-sol", "max_tokens": 5, "messages": [{ "role": "user", "content": "Hello" }],
                    "tools": [{ "type": "web_search_20260318", "name": "web_search" }] }),
        ),
    ] {
        let asking = gateway.post(path, &body).header("x-session-id", "new");
        let answer = asking.answered().await;
        assert_eq!(answer.status, 400, "{body} {answer:?}");
        let text = answer.text();
        assert!(
            text.contains("not_supported") || text.contains("unsupported_parameter"),
            "{text}"
        );
    }
    assert_eq!(server.connections(), 0);
    gateway.end().await;
}
