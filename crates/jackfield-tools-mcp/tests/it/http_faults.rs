//! Faults of servers over HTTP: each is a message that names the cause and a fix, with what is known of the call.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use std::net::TcpListener;
use std::time::Duration;

use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_tools_mcp::ServerFault;
use serde_json::{Value, json};

use crate::harness::{Scripted, script, soon};

fn scripted(era: &str, faults: &Value) -> Scripted {
    let mut script = script("greet", &json!([{ "text": "hello" }]));
    script["era"] = json!(era);
    script["http"]["faults"] = faults.clone();
    Scripted::over_http_with(script, |config, _| {
        config.call_limit = Duration::from_millis(1500);
    })
}

/// The fault of the start of a server with this script.
async fn fault(script: Value) -> ServerFault {
    let server = Scripted::over_http(script);
    soon(server.toolbox.start()).await.unwrap_err()
}

#[tokio::test]
async fn a_call_that_has_no_usable_answer_fails_with_what_is_known() {
    let page = json!({ "status": 200, "type": "text/html", "body": "<html>log in</html>" });
    let cases = [
        (
            json!({ "status": 401 }),
            Disposition::NotSent,
            "`headers`",
            0,
        ),
        (
            json!({ "status": 403 }),
            Disposition::NotSent,
            "`headers`",
            0,
        ),
        (json!({ "status": 405 }), Disposition::NotSent, "405", 0),
        (
            json!({ "status": 413 }),
            Disposition::NotSent,
            "too large",
            0,
        ),
        (
            json!({ "status": 429 }),
            Disposition::NotSent,
            "try again later",
            0,
        ),
        (json!({ "status": 400 }), Disposition::NotSent, "400", 0),
        (json!({ "status": 406 }), Disposition::NotSent, "406", 0),
        (
            json!({ "status": 408 }),
            Disposition::Unknown,
            "has not completed the request",
            0,
        ),
        (json!({ "status": 409 }), Disposition::Unknown, "409", 0),
        (json!({ "status": 422 }), Disposition::Unknown, "422", 0),
        (json!({ "status": 499 }), Disposition::Unknown, "499", 0),
        (json!({ "status": 502 }), Disposition::Unknown, "502", 0),
        (
            json!({ "status": 202 }),
            Disposition::Unknown,
            "no answer",
            0,
        ),
        (page, Disposition::Unknown, "`text/html`", 0),
        (
            json!({ "close": true }),
            Disposition::Unknown,
            "closed the connection",
            0,
        ),
        (
            json!({ "run_and_close": true }),
            Disposition::Unknown,
            "closed the connection",
            1,
        ),
        (
            json!({ "other_id": true }),
            Disposition::Unknown,
            "no answer",
            1,
        ),
        (
            json!({ "silence": true }),
            Disposition::Unknown,
            "said nothing",
            1,
        ),
        (
            json!({ "status": 200, "type": "application/json", "body": "{\"jsonrpc\":" }),
            Disposition::Unknown,
            "no answer",
            0,
        ),
        (
            json!({ "status": 307, "location": "http://elsewhere.example/mcp" }),
            Disposition::NotSent,
            "redirects to http://elsewhere.example/mcp",
            0,
        ),
    ];
    for era in ["modern", "legacy"] {
        for (fault, disposition, words, runs) in &cases {
            let server = scripted(era, &json!({ "tools/call": [fault] }));
            let failure = server.failure("greet").await;
            assert_eq!(
                failure.disposition, *disposition,
                "{era} {fault}: {failure:?}"
            );
            assert!(
                failure.message.contains(words),
                "{era} {fault}: {failure:?}"
            );
            // It was sent once, whatever came of it, and the next call works.
            assert_eq!(server.effects().len(), *runs, "{era} {fault}");
            server.result("greet", json!({})).await;
            assert_eq!(server.effects().len(), runs + 1, "{era} {fault}");
            // The server had answered the call that a silent stream keeps open, and now it is cancelled.
            if fault["silence"] != true {
                server.kept();
            }
        }
    }
}

#[tokio::test]
async fn an_answer_in_json_to_another_request_ends_the_call() {
    let mut script = script("greet", &json!([{ "text": "hello" }]));
    script["http"] =
        json!({ "answers": "json", "faults": { "tools/call": [{ "other_id": true }] } });
    let server = Scripted::over_http(script);
    let failure = server.failure("greet").await;
    assert_eq!(failure.kind, ToolFailureKind::ProtocolViolation);
    assert_eq!(failure.disposition, Disposition::Unknown);
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed() {
    let server = scripted(
        "both",
        &json!({ "tools/call": [{ "status": 307, "location": "/mcp/" }] }),
    );
    server.result("greet", json!({})).await;
    assert_eq!(server.count("path /mcp/"), 1);
    assert_eq!(server.effects().len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_cut() {
    let mut script = script("greet", &json!([{ "size": 100_000 }]));
    script["http"]["answers"] = json!("json");
    let server = Scripted::over_http_with(script, |_, settings| settings.max_message = 20_000);
    let result = server.result("greet", json!({})).await;
    assert!(format!("{result:?}").len() < 60_000);
}

#[tokio::test]
async fn a_server_that_wants_credentials_is_told_from_one_that_is_none() {
    let wants = fault(json!({ "http": { "token": "Bearer x" } })).await;
    assert!(wants.reason.contains("401"), "{wants}");
    assert!(wants.advice.contains("`headers`"), "{wants}");
    let page = json!({ "status": 200, "type": "text/html", "body": "<html>" });
    let is_page = json!({ "server/discover": [page], "initialize": [page] });
    let none = fault(json!({ "http": { "faults": is_page } })).await;
    assert!(none.reason.contains("`text/html`"), "{none}");
    assert!(none.advice.contains("`url`"), "{none}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let silent = json!([{ "silence": true }]);
    let script =
        json!({ "http": { "faults": { "server/discover": silent, "initialize": silent } } });
    let server = Scripted::over_http_with(script, |_, settings| {
        settings.probe = Duration::from_millis(50);
        settings.start_limit = Duration::from_millis(300);
    });
    let fault = soon(server.toolbox.start()).await.unwrap_err();
    assert!(
        fault.reason.contains("did not answer within 0.3 s"),
        "{fault}"
    );
    assert!(fault.advice.contains("`url`"), "{fault}");
}

#[tokio::test]
async fn a_server_that_closes_the_connection_at_the_probe_is_asked_in_the_older_way() {
    let mut script = script("greet", &json!([{ "text": "hello" }]));
    script["era"] = json!("legacy");
    script["http"]["faults"] = json!({ "server/discover": [{ "close": true }] });
    let server = Scripted::over_http(script);
    server.result("greet", json!({})).await;
    server.kept();
}

#[tokio::test]
async fn the_transport_of_2024_is_refused_by_its_name() {
    let old = fault(json!({ "http": { "old": true } })).await;
    assert!(old.reason.contains("HTTP+SSE of 2024-11-05"), "{old}");
    assert!(old.advice.contains("/mcp"), "{old}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_reported_at_once() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let server = Scripted::over_http_with(json!({}), |config, _| {
        config.http.as_mut().unwrap().url = format!("http://{address}/mcp");
    });
    let fault = soon(server.toolbox.start()).await.unwrap_err();
    assert!(fault.reason.contains("refused the connection"), "{fault}");
    assert!(fault.reason.contains("its `url`"), "{fault}");
    let failure = server.failure("greet").await;
    assert_eq!(failure.disposition, Disposition::NotSent);
    assert!(failure.message.contains("`scripted`"), "{failure:?}");
}

#[tokio::test]
async fn an_endpoint_that_cannot_be_one_is_refused_without_its_secrets() {
    let cases = [
        ("no url", "X-Key", "a", "`url`"),
        ("ftp://host/mcp", "X-Key", "a", "`https://`"),
        ("http://me:hidden-word@host/mcp", "X-Key", "a", "password"),
        (
            "http://host/mcp",
            "X-Key",
            "hidden-word\n",
            "its header `X-Key`",
        ),
        (
            "http://host/mcp",
            "Mcp-Session-Id",
            "a",
            "set by the protocol",
        ),
        (
            "http://host/mcp",
            "Content-Type",
            "a",
            "set by the protocol",
        ),
    ];
    for (url, name, value, words) in cases {
        let server = Scripted::over_http_with(json!({}), |config, _| {
            let endpoint = config.http.as_mut().unwrap();
            endpoint.url = url.to_owned();
            // A line break at the end is trimmed, so it stands in the middle.
            let value = value.replace('\n', "\nx");
            endpoint.headers = vec![(name.to_owned(), value)];
        });
        let fault = soon(server.toolbox.start()).await.unwrap_err();
        assert!(fault.to_string().contains(words), "{fault}");
        assert!(!fault.to_string().contains("hidden-word"), "{fault}");
    }
}

#[tokio::test]
async fn a_key_that_the_server_repeats_is_not_shown() {
    let body =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"bad token of-bad-news"}}"#;
    let refusal = json!({ "status": 401, "type": "application/json", "body": body });
    let script = json!({ "http": { "faults": { "server/discover": [refusal] } } });
    let server = Scripted::over_http_with(script, |config, _| {
        let headers = &mut config.http.as_mut().unwrap().headers;
        headers.push(("Authorization".to_owned(), "Bearer of-bad-news".to_owned()));
    });
    let fault = soon(server.toolbox.start()).await.unwrap_err();
    assert!(fault.reason.contains("bad token [redacted]"), "{fault}");
}

#[tokio::test]
async fn faults_are_hidden_from_callers_where_the_settings_say_so() {
    let mut script = script("greet", &json!([{ "text": "hello" }]));
    script["http"]["faults"] = json!({ "tools/call": [{ "status": 502 }] });
    let server = Scripted::over_http_with(script, |_, settings| settings.expose_faults = false);
    let failure = server.failure("greet").await;
    assert!(failure.message.contains("the log says why"), "{failure:?}");
    assert!(!failure.message.contains("127.0.0.1"), "{failure:?}");
}
