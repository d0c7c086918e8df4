//! What is wrong is refused in the vendor's form, and reported.

use jackfield_testservers::openai::{ScriptedOpenAi, VendorQuirks};
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

use crate::http::{ask, get, send};

#[tokio::test]
async fn a_refusal_has_the_vendors_form() {
    let server = ScriptedOpenAi::start([ScriptTurn::text("never said")]).await;
    let base = server.base_url();
    let body = json!({ "model": "gpt-4.1", "input": "a", "stop": "b" });
    let refused = ask(&base, "/v1/responses", &body).await;
    assert_eq!(refused.status, 400);
    assert!(
        refused.head.contains("x-request-id: req_"),
        "{}",
        refused.head
    );
    assert_eq!(
        refused.json(),
        json!({ "error": {
            "message": "Unknown parameter: 'stop'.",
            "type": "invalid_request_error",
            "param": "stop",
            "code": "unknown_parameter",
        }})
    );
    let good = json!({ "model": "gpt-4.1", "input": "a" }).to_string();
    let bare = send(&base, "POST", "/v1/responses", &[], &good).await;
    assert_eq!(bare.status, 401);
    assert_eq!(bare.json()["error"]["code"], "invalid_api_key");
    let violations = server.violations();
    assert_eq!(violations.len(), 2);
    assert_eq!(violations[0], "request 0: stop: Unknown parameter: 'stop'.");
    assert!(violations[1].starts_with("request 1: authorization: You didn't provide"));
    assert_eq!(server.unused(), 1);
}

#[tokio::test]
async fn mistral_refuses_in_words_of_its_own() {
    let server = ScriptedOpenAi::like(VendorQuirks::Mistral, []).await;
    let base = server.base_url();
    let mut body = json!({
        "model": "mistral-large-latest",
        "seed": 1,
        "messages": [{ "role": "user", "content": "a" }],
    });
    let extra = ask(&base, "/v1/chat/completions", &body).await;
    assert_eq!(extra.status, 422);
    assert_eq!(extra.json()["detail"][0]["loc"], json!(["body", "seed"]));
    body = json!({
        "model": "mistral-large-latest",
        "messages": [{ "role": "assistant", "content": "a" }],
    });
    let order = ask(&base, "/v1/chat/completions", &body).await;
    assert_eq!(
        (order.status, order.json()["object"].as_str()),
        (400, Some("error"))
    );
    assert_eq!(server.violations().len(), 2);
}

#[tokio::test]
async fn paths_are_the_servers_own() {
    let server = ScriptedOpenAi::start([]).await;
    let models = get(&server.base_url(), "/v1/models").await.json();
    assert_eq!(models["object"], "list");
    assert_eq!(models["data"][0]["object"], "model");
    let body = json!({});
    for (like, path, status) in [
        (VendorQuirks::OpenAi, "/chat/completions", 404),
        (VendorQuirks::OpenAi, "/v1/messages", 404),
        (VendorQuirks::Mistral, "/v1/responses", 404),
        (VendorQuirks::DeepSeek, "/chat/completions", 400),
    ] {
        let server = ScriptedOpenAi::like(like, []).await;
        let refused = ask(&server.base_url(), path, &body).await;
        assert_eq!(refused.status, status, "{like:?} {path}");
        assert_eq!(server.violations().is_empty(), status == 404);
    }
}

#[tokio::test]
async fn ollama_needs_no_key() {
    let server = ScriptedOpenAi::like(VendorQuirks::Ollama, [ScriptTurn::text("hello")]).await;
    let body = json!({ "model": "qwen3", "messages": [{ "role": "user", "content": "a" }] });
    let path = "/v1/chat/completions";
    let said = send(&server.base_url(), "POST", path, &[], &body.to_string()).await;
    assert_eq!(said.status, 200);
    assert_eq!(server.violations(), [""; 0]);
}

#[tokio::test]
async fn a_request_without_a_turn_left_is_a_violation() {
    let server = ScriptedOpenAi::start([]).await;
    let body = json!({ "model": "gpt-4.1", "input": "a" });
    let refused = ask(&server.base_url(), "/v1/responses", &body).await;
    assert_eq!(refused.status, 500);
    assert_eq!(refused.json()["error"]["type"], "server_error");
    assert_eq!(
        server.violations(),
        ["request 0: the script has nothing to say to this"]
    );
}
