//! Responses that break, and pages that are no replies.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

use crate::http::{post, question, send};

fn streamed(text: &str) -> String {
    let mut body = question(text);
    body["stream"] = json!(true);
    body.to_string()
}

#[tokio::test]
async fn a_reply_can_be_cut_after_some_bytes() {
    let server = ScriptedClaude::start([
        ScriptTurn::text("never told to its end").cut_after(120),
        ScriptTurn::text("nor is this").cut_after(120),
    ])
    .await;
    for body in [streamed("a"), question("a").to_string()] {
        let cut = post(&server.base_url(), "/v1/messages", &body).await;
        assert_eq!(cut.status, 200);
        assert_eq!(cut.body.len(), 120, "{}", cut.body);
    }
}

#[tokio::test]
async fn a_reply_can_wait_at_a_gate() {
    let gate = Gate::new();
    let turn = ScriptTurn::text("in two halves").pause_after(60, &gate);
    let server = ScriptedClaude::start([turn]).await;
    let base = server.base_url();
    let asking = tokio::spawn(async move { post(&base, "/v1/messages", &streamed("a")).await });
    gate.reached().await;
    assert!(!asking.is_finished());
    gate.open();
    let whole = asking.await.unwrap();
    assert!(
        whole
            .body
            .ends_with("data: {\"type\":\"message_stop\"}\n\n")
    );
}

#[tokio::test]
async fn a_reply_can_fall_silent() {
    let server = ScriptedClaude::start([ScriptTurn::text("and then").stall_after(60)]).await;
    let base = server.base_url();
    let asking = tokio::spawn(async move { post(&base, "/v1/messages", &streamed("a")).await });
    server.server().request(0).await;
    asking.abort();
    server.server().closed_by_client(0).await;
}

#[tokio::test]
async fn pages_and_errors_are_sent_as_they_are() {
    let server = ScriptedClaude::start([
        ScriptTurn::html(502, "<html>bad gateway</html>"),
        ScriptTurn::status(
            529,
            &json!({ "type": "error", "error": { "type": "overloaded_error", "message": "" } }),
        ),
    ])
    .await;
    let page = post(&server.base_url(), "/v1/messages", &streamed("a")).await;
    assert_eq!(
        (page.status, page.body.as_str()),
        (502, "<html>bad gateway</html>")
    );
    assert!(page.head.contains("content-type: text/html"));
    let error = post(&server.base_url(), "/v1/messages", &streamed("a")).await;
    assert_eq!(error.status, 529);
    assert_eq!(error.json()["error"]["type"], "overloaded_error");
}

#[tokio::test]
async fn a_request_that_breaks_a_rule_is_refused_and_reported() {
    let server = ScriptedClaude::start([ScriptTurn::text("never said")]).await;
    let mut body = question("a");
    body["n"] = json!(2);
    let refused = post(&server.base_url(), "/v1/messages", &body.to_string()).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["type"], "invalid_request_error");
    let (base, good) = (server.base_url(), question("a").to_string());
    let bare = send(&base, "POST", "/v1/messages", &[], &good).await;
    assert_eq!(bare.status, 400);
    assert_eq!(
        server.violations(),
        [
            "request 0: n: extra inputs are not permitted",
            "request 1: x-api-key: a key is needed, here or as `Authorization: Bearer`",
            "request 1: anthropic-version: header is required",
        ]
    );
    assert_eq!(server.unused(), 1);
}

#[tokio::test]
async fn the_dialects_own_judge_is_heard_too() {
    let server = ScriptedClaude::start([ScriptTurn::text("never said")]).await;
    let mut body = question("a");
    body["tools"] = json!([{ "name": "add", "input_schema": { "type": "object" } }]);
    body["tool_choice"] = json!({ "type": "any" });
    let refused = post(&server.base_url(), "/v1/messages", &body.to_string()).await;
    assert_eq!(refused.status, 400);
    let violations = server.violations();
    assert!(violations[0].contains("tool_choice"), "{violations:?}");
    assert!(violations[0].contains("cannot be forced"), "{violations:?}");
}

#[test]
fn violations_that_nobody_looks_at_fail_the_test() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let dropped = std::panic::catch_unwind(|| {
        runtime.block_on(async {
            let server = ScriptedClaude::start([]).await;
            post(&server.base_url(), "/v1/messages", "{}").await;
        });
    });
    let panic = dropped.unwrap_err();
    let report = panic.downcast_ref::<String>().unwrap();
    assert!(
        report.contains("request 0: model: a text is needed"),
        "{report}"
    );
}
