//! Questions of tools, which the client answers.

use jackfield_domain::tool::Safety;
use jackfield_domain::wait::{ElicitationAnswer, Question};
use jackfield_mcp_server::{HttpReply, ServerSettings};
use jackfield_testkit::fakes::{CalledWhat, ScriptedCall, ScriptedToolbox};
use serde_json::{Value, json};

use crate::harness::{Wire, request, server, toolbox};
use crate::streamable::{Client, hello_with, legacy, next, stream, whole};

fn form() -> Question {
    Question {
        message: "Which day?".into(),
        sampling: None,
        schema: Some(std::sync::Arc::new(schema())),
        url: None,
    }
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "day": { "type": "string" } } })
}

fn page() -> Question {
    Question {
        message: "Sign in.".into(),
        sampling: None,
        schema: None,
        url: Some("https://login.example/".into()),
    }
}

/// A tool that asks this once, and is done then.
fn asking(question: Question) -> ScriptedToolbox {
    let tools = toolbox("ours");
    tools
        .tool("book", Safety::ReadOnly)
        .push_call("book", ScriptedCall::asks(question, json!({ "n": 1 })))
        .push_resume(ScriptedCall::text("booked"));
    tools
}

/// The answers that the tool got.
fn answers(tools: &ScriptedToolbox) -> Vec<Option<ElicitationAnswer>> {
    let calls = tools.calls().into_iter();
    let answers = calls.filter_map(|call| match call.what {
        CalledWhat::Resume { answer, .. } => Some(answer),
        CalledWhat::Run(_) => None,
    });
    answers.collect()
}

fn accepted(content: Value) -> Option<ElicitationAnswer> {
    Some(ElicitationAnswer::Accepted(content.into()))
}

/// A call of the newer era, by a client with these capabilities.
async fn call(client: &Client, capabilities: Value, more: Value) -> (u16, Value) {
    let mut params = json!({ "name": "book", "arguments": {} });
    if let (Some(params), Some(more)) = (params.as_object_mut(), more.as_object()) {
        params.extend(more.clone());
    }
    let mut body = request(1, "tools/call", params);
    body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    let pairs = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "book"),
    ];
    whole(client.post(&pairs, &body).await)
}

fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

#[tokio::test]
async fn a_client_of_the_newer_era_gets_the_question_as_the_result_and_answers_with_the_call() {
    let tools = asking(form());
    let client = Client::of(&tools);
    let (_, asked) = call(&client, forms(), json!({})).await;
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let asked = &result["inputRequests"]["question"];
    assert_eq!(asked["method"], "elicitation/create");
    assert_eq!(asked["params"]["message"], "Which day?");
    assert_eq!(asked["params"]["requestedSchema"], schema());
    let answer = json!({ "action": "accept", "content": { "day": "Monday" } });
    let again = json!({
        "inputResponses": { "question": answer },
        "requestState": result["requestState"],
    });
    // Another client, and another tool, do not find it.
    let other = Client {
        name: "two",
        server: client.server.clone(),
        service: client.service.clone(),
    };
    let (_, refused) = call(&other, forms(), again.clone()).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let (_, ended) = call(&client, forms(), again.clone()).await;
    assert_eq!(ended["result"]["content"][0]["text"], "booked", "{ended}");
    assert_eq!(answers(&tools), [accepted(json!({ "day": "Monday" }))]);
    // The answer counts once.
    let (_, refused) = call(&client, forms(), again).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_has_declined() {
    let message = Question {
        sampling: Some(json!({}).into()),
        ..page()
    };
    let cases = [
        (form(), json!({})),
        (form(), json!({ "elicitation": { "url": {} } })),
        (page(), forms()),
        (
            message,
            json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {} }),
        ),
    ];
    for (question, capabilities) in cases {
        let tools = asking(question);
        let (_, ended) = call(&Client::of(&tools), capabilities, json!({})).await;
        assert_eq!(ended["result"]["content"][0]["text"], "booked", "{ended}");
        assert_eq!(answers(&tools), [Some(ElicitationAnswer::Declined)]);
    }
}

#[tokio::test]
async fn a_client_that_may_not_answer_for_a_person_has_declined() {
    for question in [form(), page()] {
        let tools = asking(question);
        let mut client = Client::of(&tools);
        client.server = client.server.with(ServerSettings {
            asks_people: false,
            ..ServerSettings::default()
        });
        let capabilities = json!({ "elicitation": { "form": {}, "url": {} }, "roots": {} });
        let (_, ended) = call(&client, capabilities, json!({})).await;
        assert_eq!(ended["result"]["content"][0]["text"], "booked", "{ended}");
        assert_eq!(answers(&tools), [Some(ElicitationAnswer::Declined)]);
    }
}

#[tokio::test]
async fn a_client_of_the_older_era_is_asked_on_the_stream_of_its_call() {
    let cases = [
        (
            form(),
            json!({ "result": { "action": "accept", "content": { "day": "Monday" } } }),
            accepted(json!({ "day": "Monday" })),
        ),
        (
            page(),
            json!({ "result": { "action": "accept" } }),
            accepted(json!({})),
        ),
        (
            form(),
            json!({ "result": { "action": "decline" } }),
            Some(ElicitationAnswer::Declined),
        ),
        (
            form(),
            json!({ "error": { "code": -32603, "message": "no screen" } }),
            Some(ElicitationAnswer::Dismissed),
        ),
    ];
    for (question, response, expected) in cases {
        let tools = asking(question);
        let client = Client::of(&tools);
        let capabilities = json!({ "elicitation": { "form": {}, "url": {} } });
        let session = client
            .begin_with("2025-11-25", hello_with("2025-11-25", capabilities))
            .await;
        let body = legacy("tools/call", json!({ "name": "book", "arguments": {} }));
        let mut calling = stream(client.in_session(&session, &body).await);
        let asked = next(&mut calling).await.expect("a question");
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let mut answer = response;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = asked["id"].clone();
        // A response without a question changes nothing.
        let strange = json!({ "jsonrpc": "2.0", "id": "9/9", "result": { "action": "accept" } });
        for message in [strange, answer] {
            let taken = client.in_session(&session, &message).await;
            assert!(matches!(taken, HttpReply::Accepted), "{taken:?}");
        }
        let ended = next(&mut calling).await.expect("a response");
        assert_eq!(ended["id"], 7);
        assert_eq!(ended["result"]["content"][0]["text"], "booked", "{ended}");
        assert_eq!(answers(&tools), [expected]);
    }
}

#[tokio::test]
async fn a_client_at_two_streams_is_asked_in_either_era() {
    let tools = asking(form());
    let mut wire = Wire::to(server(&tools));
    wire.greet_with("2025-11-25", forms()).await;
    wire.say(json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": "book", "arguments": {} },
    }))
    .await;
    let asked = wire.hear().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let answer = json!({ "action": "accept", "content": { "day": "Monday" } });
    let response = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer });
    let ended = wire.answer(response).await;
    assert_eq!(ended["result"]["content"][0]["text"], "booked", "{ended}");
    assert_eq!(answers(&tools), [accepted(json!({ "day": "Monday" }))]);

    let tools = asking(form());
    let mut wire = Wire::to(server(&tools));
    let with = |more: Value| {
        let mut body = request(1, "tools/call", json!({ "name": "book", "arguments": {} }));
        body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = forms();
        if let (Some(params), Value::Object(more)) = (body["params"].as_object_mut(), more) {
            params.extend(more);
        }
        body
    };
    let asked = wire.answer(with(json!({}))).await;
    let state = asked["result"]["requestState"].clone();
    let responses = json!({ "question": { "action": "decline" } });
    let again = with(json!({ "inputResponses": responses, "requestState": state }));
    let ended = wire.answer(again).await;
    assert_eq!(ended["result"]["content"][0]["text"], "booked", "{ended}");
    assert_eq!(answers(&tools), [Some(ElicitationAnswer::Declined)]);
}

#[tokio::test]
async fn a_client_of_the_older_era_is_asked_before_a_read() {
    let tools = toolbox("ours");
    tools.asking_resource("note://a", form());
    let mut wire = Wire::to(server(&tools));
    wire.greet_with("2025-11-25", forms()).await;
    wire.say(json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "resources/read",
        "params": { "uri": "note://a" },
    }))
    .await;
    let asked = wire.hear().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    assert_eq!(asked["params"]["message"], "Which day?");
    let answer = json!({ "action": "accept", "content": { "day": "Monday" } });
    let response = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer });
    let read = wire.answer(response).await;
    let text = &read["result"]["contents"][0]["text"];
    assert_eq!(text, r#"{"day":"Monday"}"#, "{read}");

    // One that cannot be asked has declined.
    let mut wire = Wire::to(server(&tools));
    wire.greet("2025-11-25").await;
    wire.ask(1, "resources/read", json!({ "uri": "note://a" }))
        .await;
    let refused = wire.hear().await;
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("got no answer"), "{refused}");
}
