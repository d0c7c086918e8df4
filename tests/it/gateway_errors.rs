//! The errors that a client of the gateway gets when a provider fails.

use jackfield_testkit::server::Response;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, Kept};

const MESSAGES: &str = "/v1/messages";
const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

fn asked(path: &str) -> Value {
    match path {
        RESPONSES => json!({ "model": "claude-sonnet-5", "input": "hi" }),
        _ => json!({
            "model": "claude-sonnet-5", "max_tokens": 100,
            "messages": [{ "role": "user", "content": "hi" }],
        }),
    }
}

fn failed(status: u16, kind: &str) -> Response {
    let error = json!({ "type": "error", "error": { "type": kind, "message": "It is so." } });
    Response::json(status, error.to_string()).header("request-id", "req_of_the_vendor")
}

/// The errors that clients get for this answer of the provider, in each language.
async fn told(response: &Response) -> [Answer; 3] {
    let turns = [(); 3].map(|()| ScriptTurn::wire(response.clone()));
    let claude = ScriptedClaude::start(turns).await;
    let sessions = Kept::new();
    let serve = sessions
        .gateway()
        .at_with(&claude.base_url(), "limits.model_retries = 0");
    let gateway = Gateway::listening(serve.start()).await;
    let mut answers = Vec::new();
    for path in [MESSAGES, CHAT, RESPONSES] {
        answers.push(gateway.post(path, &asked(path)).answered().await);
    }
    gateway.end().await;
    answers
        .try_into()
        .unwrap_or_else(|_| panic!("three answers"))
}

/// The status, the type and the code of Jackfield's own or the vendor's.
fn brief(answer: &Answer) -> (u16, String, String) {
    let error = &answer.is(answer.status)["error"];
    let code = match error["details"]["error_code"].as_str() {
        Some(code) => code,
        None => error["code"].as_str().unwrap_or_default(),
    };
    let kind = error["type"].as_str().unwrap_or_default();
    (answer.status, kind.to_owned(), code.to_owned())
}

#[tokio::test]
async fn a_broken_provider_is_not_told_as_one_that_has_too_much_to_do() {
    let page = Response::html(502, "<html><h1>502 Bad Gateway</h1></html>");
    for (response, of_claude, of_openai) in [
        (
            failed(500, "api_error"),
            (500, "api_error", "provider_failed"),
            (500, "server_error", "provider_failed"),
        ),
        (
            failed(500, "invalid_request_error"),
            (500, "api_error", "provider_failed"),
            (500, "server_error", "provider_failed"),
        ),
        (
            page,
            (500, "api_error", "provider_failed"),
            (500, "server_error", "provider_failed"),
        ),
        (
            failed(503, "api_error"),
            (500, "api_error", "provider_failed"),
            (500, "server_error", "provider_failed"),
        ),
        (
            failed(529, "invalid_request_error"),
            (529, "overloaded_error", "provider_overloaded"),
            (503, "server_error", "server_is_overloaded"),
        ),
        (
            failed(413, "invalid_request_error"),
            (413, "invalid_request_error", "request_too_large"),
            (413, "invalid_request_error", "request_too_large"),
        ),
    ] {
        let [messages, chat, responses] = told(&response).await;
        let owned =
            |(status, kind, code): (u16, &str, &str)| (status, kind.to_owned(), code.to_owned());
        assert_eq!(brief(&messages), owned(of_claude), "{response:?}");
        assert_eq!(brief(&chat), owned(of_openai), "{response:?}");
        assert_eq!(brief(&responses), owned(of_openai), "{response:?}");
    }
}

#[tokio::test]
async fn a_clients_program_is_told_when_to_come_again_as_the_provider_says() {
    for (header, value, seconds, millis) in [
        ("retry-after", "1.5", "2", "1500"),
        ("retry-after", "7", "7", "7000"),
        ("retry-after-ms", "250", "1", "250"),
    ] {
        for status in [429, 503] {
            for answer in told(&failed(status, "api_error").header(header, value)).await {
                assert_eq!(answer.header("retry-after"), seconds, "{answer:?}");
                assert_eq!(answer.header("retry-after-ms"), millis, "{answer:?}");
                assert!(!answer.headers.contains_key("x-should-retry"), "{answer:?}");
            }
        }
    }
    // The provider's word beats what the status says.
    for (status, kind, should) in [
        (400, "invalid_request_error", "true"),
        (500, "api_error", "false"),
    ] {
        for answer in told(&failed(status, kind).header("x-should-retry", should)).await {
            assert_eq!(answer.status, status, "{answer:?}");
            assert_eq!(answer.header("x-should-retry"), should, "{answer:?}");
        }
    }
}

#[tokio::test]
async fn the_providers_id_of_the_request_is_given_back() {
    for answer in told(&failed(500, "api_error")).await {
        let id = answer.header("x-jackfield-provider-request-id");
        assert_eq!(id, "req_of_the_vendor", "{answer:?}");
        assert!(answer.text().contains("req_of_the_vendor"), "{answer:?}");
        assert_ne!(answer.header("x-request-id"), "req_of_the_vendor");
    }
    let page = Response::html(502, "<html></html>").header("x-request-id", "of-a-proxy");
    for answer in told(&page).await {
        let id = answer.header("x-jackfield-provider-request-id");
        assert_eq!(id, "of-a-proxy", "{answer:?}");
    }
}

#[tokio::test]
async fn the_providers_id_of_the_request_is_given_back_with_replies_too() {
    let calls = ScriptTurn::call("calculate", &json!({ "expression": "1 + 1" }));
    let claude = ScriptedClaude::start([
        ScriptTurn::text("one"),
        ScriptTurn::text("two"),
        calls,
        ScriptTurn::text("three"),
    ])
    .await;
    let sessions = Kept::new();
    let gateway = Gateway::listening(sessions.gateway().at(&claude.base_url()).start()).await;
    let mut ids = Vec::new();
    for (path, is_stream) in [(MESSAGES, false), (CHAT, true), (RESPONSES, false)] {
        let mut body = asked(path);
        body["stream"] = is_stream.into();
        let answer = gateway.post(path, &body).answered().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        ids.push(answer.header("x-jackfield-provider-request-id").to_owned());
    }
    // A turn of two model requests has the id of the newer one.
    assert_eq!(ids, ["req_scripted_0", "req_scripted_1", "req_scripted_3"]);
    gateway.end().await;
}
