//! The server, as a client of the vendor sees it.

#![expect(clippy::unwrap_used, reason = "a broken answer fails the test")]

use jackfield_demo::brain;
use jackfield_demo::server::{DemoServer, ReplyPace};
use serde_json::{Value, json};

use crate::http::{get, post, send};

const MESSAGES: &str = "/v1/messages";

async fn start() -> DemoServer {
    DemoServer::start(ReplyPace::UNPACED).await.unwrap()
}

/// A question with both tools, as a client of the vendor asks it.
fn question(text: &str) -> Value {
    json!({
        "model": brain::NAME,
        "max_tokens": 1024,
        "messages": [{ "role": "user", "content": text }],
        "tools": [
            {
                "name": "calculator",
                "description": "Calculates.",
                "input_schema": {
                    "type": "object",
                    "properties": { "expression": { "type": "string" } },
                    "required": ["expression"],
                },
            },
            {
                "name": "current_datetime",
                "description": "Tells the time.",
                "input_schema": {
                    "type": "object",
                    "properties": { "timezone": { "type": "string" } },
                },
            },
        ],
    })
}

/// The data of the events, in order, each with its name checked.
fn events(body: &str) -> Vec<Value> {
    let events = body.split("\n\n").filter(|event| !event.trim().is_empty());
    events
        .map(|event| {
            let (name, data) = event.split_once('\n').unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
            data
        })
        .collect()
}

#[tokio::test]
async fn a_question_takes_two_calls_and_an_answer() {
    let server = start().await;
    let mut body = question("What is 15% of 2500, and what time is it in Tokyo?");
    let first = post(&server.base_url(), MESSAGES, &body.to_string()).await;
    assert_eq!(first.status, 200, "{}", first.body);
    let first = first.json();
    assert_eq!(first["stop_reason"], "tool_use");
    assert_eq!(first["model"], brain::NAME);
    let blocks = first["content"].as_array().unwrap();
    assert_eq!(blocks[0]["text"], "Let me look that up.");
    assert_eq!(blocks[1]["name"], "calculator");
    assert_eq!(blocks[1]["input"], json!({ "expression": "15% of 2500" }));
    assert_eq!(blocks[2]["name"], "current_datetime");
    assert_eq!(blocks[2]["input"], json!({ "timezone": "Asia/Tokyo" }));
    assert!(first["usage"]["output_tokens"].as_u64().unwrap() > 0);

    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": blocks }));
    messages.push(json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": blocks[1]["id"], "content": "375" },
        { "type": "tool_result", "tool_use_id": blocks[2]["id"], "content": "no such zone", "is_error": true },
    ]}));
    let second = post(&server.base_url(), MESSAGES, &body.to_string()).await;
    assert_eq!(second.status, 200, "{}", second.body);
    let second = second.json();
    assert_eq!(second["stop_reason"], "end_turn");
    assert_eq!(
        second["content"],
        json!([{
            "type": "text",
            "text": "15% of 2500 = 375\nThe clock said (Asia/Tokyo): no such zone",
        }])
    );
}

#[tokio::test]
async fn a_stream_says_the_same_as_a_whole_reply() {
    let server = start().await;
    for text in ["2500的15%是多少，东京现在几点？", "Кто ты?", "Hello"] {
        let mut body = question(text);
        let whole = post(&server.base_url(), MESSAGES, &body.to_string())
            .await
            .json();
        body["stream"] = json!(true);
        let streamed = post(&server.base_url(), MESSAGES, &body.to_string()).await;
        assert_eq!(streamed.status, 200);
        assert!(streamed.head.contains("content-type: text/event-stream"));
        assert!(streamed.chunks > 5, "came in {} pieces", streamed.chunks);

        let events = events(&streamed.body);
        assert_eq!(events[0]["type"], "message_start");
        assert_eq!(events[events.len() - 1]["type"], "message_stop");
        let mut blocks: Vec<Value> = Vec::new();
        let mut arguments = String::new();
        let mut deltas = 0;
        for event in &events {
            match event["type"].as_str().unwrap() {
                "content_block_start" => {
                    assert_eq!(event["index"], blocks.len());
                    blocks.push(event["content_block"].clone());
                    arguments.clear();
                }
                "content_block_delta" => {
                    deltas += 1;
                    let block = blocks.last_mut().unwrap();
                    if let Some(more) = event["delta"]["text"].as_str() {
                        block["text"] = json!(format!("{}{more}", block["text"].as_str().unwrap()));
                    } else {
                        arguments.push_str(event["delta"]["partial_json"].as_str().unwrap());
                        if let Ok(input) = serde_json::from_str(&arguments) {
                            block["input"] = input;
                        }
                    }
                }
                "message_delta" => assert_eq!(event["delta"]["stop_reason"], whole["stop_reason"]),
                _ => {}
            }
        }
        // The ids of calls differ only if the bodies do.
        let mut wanted = whole["content"].as_array().unwrap().clone();
        for block in blocks.iter_mut().chain(&mut wanted) {
            block.as_object_mut().unwrap().remove("id");
        }
        assert_eq!(blocks, wanted, "{text}");
        assert!(deltas > blocks.len(), "{text} came in {deltas} pieces");
    }
}

#[tokio::test]
async fn the_same_question_has_the_same_ids_and_another_one_has_others() {
    let server = start().await;
    let id = async |text: &str| {
        let body = question(text).to_string();
        post(&server.base_url(), MESSAGES, &body).await.json()["content"][1]["id"].clone()
    };
    assert_eq!(id("2+2").await, id("2+2").await);
    assert_ne!(id("2+2").await, id("2+2?").await);
}

#[tokio::test]
async fn a_request_that_breaks_a_rule_is_refused_by_name() {
    let server = start().await;
    let call = json!([{ "type": "tool_use", "id": "call_1", "name": "calculator", "input": {} }]);
    let mut unanswered = question("2+2");
    let messages = unanswered["messages"].as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": call }));
    messages.push(json!({ "role": "user", "content": "well?" }));
    let mut endless = question("2+2");
    endless.as_object_mut().unwrap().remove("max_tokens");
    for (body, fault) in [
        (unanswered.to_string(), "messages.1.content.0"),
        (endless.to_string(), "max_tokens"),
        ("{".to_owned(), "body"),
        ("[]".to_owned(), "body"),
    ] {
        let refused = post(&server.base_url(), MESSAGES, &body).await;
        let error = refused.json();
        assert_eq!(refused.status, 400, "{error}");
        assert_eq!(error["type"], "error");
        assert_eq!(error["error"]["type"], "invalid_request_error");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(fault), "{message}");
        assert!(refused.head.contains("request-id: "), "{}", refused.head);
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_in_the_vendors_form() {
    let server = start().await;
    let base = server.base_url();
    let mut other = question("2+2");
    other["model"] = json!("claude-opus-5-5");
    for (response, status, kind) in [
        (get(&base, "/v2").await, 404, "not_found_error"),
        (get(&base, "/v1/models/other").await, 404, "not_found_error"),
        (get(&base, MESSAGES).await, 405, "invalid_request_error"),
        (
            post(&base, MESSAGES, &other.to_string()).await,
            404,
            "not_found_error",
        ),
        (
            send(&base, "GET", "/v1/models", &[], "").await,
            401,
            "authentication_error",
        ),
        (
            send(&base, "GET", "/v1/models", &[("x-api-key", "any")], "").await,
            400,
            "invalid_request_error",
        ),
    ] {
        assert_eq!(response.status, status, "{}", response.body);
        assert_eq!(response.json()["error"]["type"], kind);
    }
}

#[tokio::test]
async fn the_model_is_listed() {
    let server = start().await;
    let list = get(&server.base_url(), "/v1/models").await.json();
    assert_eq!(list["data"][0]["id"], brain::NAME);
    let path = format!("/v1/models/{}", brain::NAME);
    let model = get(&server.base_url(), &path).await.json();
    assert_eq!(model, list["data"][0]);
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused() {
    let server = start().await;
    let body = question(&"a".repeat(33 * 1024 * 1024)).to_string();
    let refused = post(&server.base_url(), MESSAGES, &body).await;
    assert_eq!(refused.status, 413);
    assert_eq!(refused.json()["error"]["type"], "request_too_large");
}

#[tokio::test(start_paused = true)]
async fn a_pace_is_kept() {
    let pause = std::time::Duration::from_millis(15);
    let server = DemoServer::start(ReplyPace::every(pause)).await.unwrap();
    let mut body = question("Hello");
    body["stream"] = json!(true);
    let before = tokio::time::Instant::now();
    let streamed = post(&server.base_url(), MESSAGES, &body.to_string()).await;
    let count = u32::try_from(events(&streamed.body).len()).unwrap();
    assert!(count > 10);
    assert!(before.elapsed() >= pause * (count - 1));
}

#[tokio::test]
async fn dropping_the_server_closes_its_port() {
    let server = start().await;
    let address = server.address();
    drop(server);
    // The task goes as soon as the runtime comes round to it.
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
