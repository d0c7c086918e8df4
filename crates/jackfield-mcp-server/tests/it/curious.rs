//! A toolbox that asks its caller for all that can be asked, and the client that is asked.

use std::sync::Arc;

use jackfield_domain::ids::ToolboxId;
use jackfield_engine::{Engine, ToolboxStatus};
use jackfield_mcp_server::{HttpService, ToolServer};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::CuriousToolbox;
use serde_json::{Value, json};

use crate::harness::{Wire, options, request, text};
use crate::streamable::{Client, hello_with, next, stream, whole};

fn server() -> ToolServer {
    let standing = ToolboxStatus {
        prefix: Some("".into()),
        server: None,
        trusted: true,
    };
    let id = ToolboxId::parse("curious").expect("an id");
    let builder = Engine::builder(Arc::new(MemoryJournal::default()));
    let engine = builder.toolbox_as(CuriousToolbox::port(id), standing);
    ToolServer::new(engine.build(), options())
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "day": { "type": "string" } } })
}

fn everything() -> Value {
    json!({ "elicitation": { "form": {} }, "roots": {}, "sampling": {} })
}

fn wonder(about: &str) -> Value {
    json!({ "name": "wonder", "arguments": { "about": about } })
}

/// A request of the newer era by a client with these capabilities, with more parameters.
fn modern(method: &str, mut params: Value, capabilities: &Value, more: &Value) -> Value {
    for (name, value) in more.as_object().into_iter().flatten() {
        params[name] = value.clone();
    }
    let mut body = request(1, method, params);
    body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    body
}

fn legacy(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// Makes a request that asks once, which the client answers with this result; gives what was asked, and the response.
async fn answered(
    method: &str,
    params: &Value,
    capabilities: &Value,
    response: &Value,
) -> [(Value, Value); 2] {
    let mut wire = Wire::to(server());
    wire.greet_with("2025-11-25", capabilities.clone()).await;
    let asked = wire.answer(legacy(method, params)).await;
    let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": response });
    let older = (asked, wire.answer(reply).await);

    let mut wire = Wire::to(server());
    let first = modern(method, params.clone(), capabilities, &json!({}));
    let result = wire.answer(first).await["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{result}");
    let again = json!({
        "inputResponses": { "question": response },
        "requestState": result["requestState"],
    });
    let again = modern(method, params.clone(), capabilities, &again);
    let asked = result["inputRequests"]["question"].clone();
    [older, (asked, wire.answer(again).await)]
}

#[tokio::test]
async fn a_client_with_a_model_gives_the_message_that_a_tool_wants() {
    let message = json!({
        "content": { "type": "text", "text": "yes" },
        "model": "anvil-2",
        "role": "assistant",
        "stopReason": "endTurn",
    });
    let both = answered("tools/call", &wonder("message"), &everything(), &message).await;
    for (question, ended) in both {
        assert_eq!(question["method"], "sampling/createMessage", "{question}");
        let params = &question["params"];
        assert_eq!(params["maxTokens"], 50);
        assert_eq!(
            params["messages"],
            CuriousToolbox::message_request()["messages"]
        );
        assert_eq!(params["systemPrompt"], "Say yes or no.");
        assert!(params["includeContext"].is_null(), "{question}");
        assert_ne!(params["_meta"]["progressToken"], 3);
        let given: Value = serde_json::from_str(text(&ended)).expect("JSON");
        assert_eq!(given, message);
    }
    // What is no message is none.
    for (_, ended) in answered("tools/call", &wonder("message"), &everything(), &json!({})).await {
        assert_eq!(text(&ended), "null");
    }
}

#[tokio::test]
async fn a_client_without_a_model_is_not_asked_for_a_message() {
    for capabilities in [json!({}), json!({ "elicitation": {} })] {
        let mut wire = Wire::to(server());
        wire.greet_with("2025-11-25", capabilities.clone()).await;
        let older = wire.answer(legacy("tools/call", &wonder("message"))).await;
        let mut wire = Wire::to(server());
        let body = modern("tools/call", wonder("message"), &capabilities, &json!({}));
        assert_eq!(text(&older), "it needs a model");
        let refused = wire.answer(body).await;
        assert_eq!(refused["error"]["code"], -32021, "{refused}");
        let data = json!({ "requiredCapabilities": { "sampling": {} } });
        assert_eq!(refused["error"]["data"], data);
    }
}

#[tokio::test]
async fn a_message_that_the_client_refuses_is_declined() {
    for (code, expected) in [(-1, "Some(Declined)"), (-32603, "null")] {
        let mut wire = Wire::to(server());
        wire.greet_with("2025-11-25", everything()).await;
        let asked = wire.answer(legacy("tools/call", &wonder("message"))).await;
        let error = json!({ "code": code, "message": "no" });
        let refused = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
        assert_eq!(text(&wire.answer(refused).await), expected);
    }
}

#[tokio::test]
async fn a_tool_gets_the_folders_of_the_client() {
    let roots = json!([{ "name": "Work", "uri": "file:///work" }, { "uri": "file:///home" }]);
    let response = json!({ "roots": roots });
    let both = answered("tools/call", &wonder("roots"), &everything(), &response).await;
    for (asked, ended) in both {
        assert_eq!(asked["method"], "roots/list", "{asked}");
        let given: Value = serde_json::from_str(text(&ended)).expect("JSON");
        assert_eq!(given, roots);
    }
}

#[tokio::test]
async fn a_prompt_and_a_read_ask_in_either_era() {
    let answer = json!({ "action": "accept", "content": { "day": "Monday" } });
    let prompt = json!({ "name": "greet", "arguments": { "who": "Ann", "where": null } });
    let both = answered("prompts/get", &prompt, &everything(), &answer).await;
    for (asked, made) in both {
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        assert_eq!(asked["params"]["requestedSchema"], schema());
        let text = made["result"]["messages"][0]["content"]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{made}"));
        // The argument that is null counts as missing.
        assert!(text.starts_with(r#"{"who": "Ann"} Accepted"#), "{text}");
        assert!(text.contains("Monday"), "{text}");
    }
    let read = json!({ "uri": "note://a" });
    let both = answered("resources/read", &read, &everything(), &answer).await;
    for (_, read) in both {
        let text = &read["result"]["contents"][0]["text"];
        assert!(
            text.as_str().is_some_and(|text| text.contains("Monday")),
            "{read}"
        );
    }
}

#[tokio::test]
async fn an_answer_counts_for_its_own_request_alone() {
    let mut wire = Wire::to(server());
    let prompt = json!({ "name": "greet" });
    let first = modern("prompts/get", prompt.clone(), &everything(), &json!({}));
    let asked = wire.answer(first).await;
    let again = json!({
        "inputResponses": { "question": { "action": "decline" } },
        "requestState": asked["result"]["requestState"],
    });
    for (method, params) in [
        ("resources/read", json!({ "uri": "greet" })),
        ("tools/call", wonder("message")),
    ] {
        let other = modern(method, params, &everything(), &again);
        let refused = wire.answer(other).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let own = modern("prompts/get", prompt, &everything(), &again);
    let made = wire.answer(own).await;
    assert!(made.to_string().contains("Declined"), "{made}");
}

/// The levels of the log messages before the response, and the response.
async fn logged(wire: &mut Wire, body: Value) -> (Vec<String>, Value) {
    let mut levels = Vec::new();
    let mut message = wire.answer(body).await;
    while message["method"] == "notifications/message" {
        let params = &message["params"];
        let level = params["level"].as_str().expect("a level").to_owned();
        assert_eq!(params["data"], json!({ "said": level }));
        assert_eq!(params["logger"], "parts");
        levels.push(level);
        message = wire.hear().await;
    }
    (levels, message)
}

#[tokio::test]
async fn a_client_gets_the_log_messages_of_its_level() {
    let mut wire = Wire::to(server());
    let hello = wire.greet("2025-11-25").await;
    assert_eq!(hello["result"]["capabilities"]["logging"], json!({}));
    let (levels, _) = logged(&mut wire, legacy("tools/call", &wonder("log"))).await;
    assert_eq!(levels.first().map(String::as_str), Some("info"));
    let level = legacy("logging/setLevel", &json!({ "level": "error" }));
    let set = wire.answer(level).await;
    assert!(set["error"].is_null(), "{set}");
    let (levels, _) = logged(&mut wire, legacy("tools/call", &wonder("log"))).await;
    assert_eq!(levels, ["error", "critical", "alert", "emergency"]);

    let mut wire = Wire::to(server());
    let mut body = modern("tools/call", wonder("log"), &json!({}), &json!({}));
    let (levels, ended) = logged(&mut wire, body.clone()).await;
    assert!(levels.is_empty(), "{levels:?}");
    assert_eq!(text(&ended), "None");
    body["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("alert");
    let (levels, _) = logged(&mut wire, body).await;
    assert_eq!(levels, ["alert", "emergency"]);
    let refused = modern(
        "logging/setLevel",
        json!({ "level": "debug" }),
        &json!({}),
        &json!({}),
    );
    let refused = wire.answer(refused).await;
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
}

#[tokio::test]
async fn a_session_over_http_keeps_its_level() {
    let client = Client {
        name: "one",
        server: server(),
        service: HttpService::new(),
    };
    let hello = hello_with("2025-11-25", json!({}));
    let session = client.begin_with("2025-11-25", hello).await;
    let level = legacy("logging/setLevel", &json!({ "level": "emergency" }));
    let (status, set) = whole(client.in_session(&session, &level).await);
    assert_eq!((status, &set["result"]), (200, &json!({})), "{set}");
    let call = legacy("tools/call", &wonder("log"));
    let mut calling = stream(client.in_session(&session, &call).await);
    let logged = next(&mut calling).await.expect("a log message");
    assert_eq!(logged["params"]["level"], "emergency", "{logged}");
    let ended = next(&mut calling).await.expect("a response");
    assert_eq!(text(&ended), "Some(Emergency)");
}

#[tokio::test]
async fn a_request_of_the_newest_revision_that_begins_a_session_is_of_no_known_method() {
    let client = Client {
        name: "one",
        server: server(),
        service: HttpService::new(),
    };
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "initialize"),
    ];
    let full = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {
        "name": "test", "version": "1",
    } });
    for params in [full, json!({})] {
        let body = modern("initialize", params, &json!({}), &json!({}));
        let (status, refused) = whole(client.post(&headers, &body).await);
        assert_eq!(
            (status, &refused["error"]["code"]),
            (404, &json!(-32601)),
            "{refused}"
        );
    }
}
