//! Servers over Streamable HTTP, in both eras.

use std::time::{Duration, Instant};

use jackfield_domain::failure::Disposition;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::Toolbox as _;
use jackfield_tools_mcp::{Era, ServerState};
use serde_json::{Value, json};

use crate::harness::{Heard, Scripted, run, script, soon, tool};

fn of_era(era: &str, answers: &str, mut script: Value) -> Value {
    script["era"] = json!(era);
    script["http"]["answers"] = json!(answers);
    script
}

#[tokio::test]
async fn each_era_is_found_and_called_in_either_form_of_answers() {
    for (era, found) in [("modern", Era::Stateless), ("legacy", Era::Handshake)] {
        for answers in ["json", "events"] {
            let script = of_era(era, answers, script("greet", &json!([{ "text": "hello" }])));
            let server = Scripted::over_http(script);
            assert_eq!(server.names().await, ["greet"]);
            let result = server.result("greet", json!({ "to": "zürich" })).await;
            assert!(!result.is_error, "{result:?}");
            let ServerState::Ready { era: met, .. } = server.toolbox.state() else {
                panic!("{:?}", server.toolbox.state());
            };
            assert_eq!(met, found);
            assert_eq!(server.count("call greet"), 1);
            server.toolbox.stop().await;
            let ended = usize::from(found == Era::Handshake);
            assert_eq!(server.count("the session is ended"), ended);
            server.kept();
        }
    }
}

#[tokio::test]
async fn a_server_of_both_eras_is_spoken_to_in_the_newer_one() {
    let server = Scripted::over_http(script("greet", &json!([{ "text": "hello" }])));
    server.result("greet", json!({})).await;
    assert_eq!(server.count("a session is begun"), 0);
    server.kept();
}

#[tokio::test]
async fn an_older_revision_without_a_session_is_spoken() {
    let mut script = of_era(
        "legacy",
        "json",
        script("greet", &json!([{ "text": "hello" }])),
    );
    script["version"] = json!("2025-03-26");
    script["http"]["sessionless"] = json!(true);
    let server = Scripted::over_http(script);
    server.result("greet", json!({})).await;
    server.kept();
}

#[tokio::test]
async fn progress_arrives_in_order_before_the_answer() {
    for era in ["modern", "legacy"] {
        let steps = json!([
            { "progress": [1, 2, "half"] }, { "progress": [2, 2, "whole"] }, { "text": "done" }
        ]);
        let server = Scripted::over_http(of_era(era, "events", script("work", &steps)));
        let mut heard = Heard::default();
        let ended = soon(server.toolbox.call(
            &run("work", json!({})),
            &CallContext::default(),
            &mut heard,
        ))
        .await;
        ended.unwrap();
        let done: Vec<f64> = heard.progress.iter().map(|(done, _, _)| *done).collect();
        assert_eq!(done, [1.0, 2.0], "{era}");
        server.kept();
    }
}

#[tokio::test]
async fn the_headers_of_the_configuration_are_sent_and_its_values_are_not_shown() {
    let mut script = script("greet", &json!([{ "text": "hello" }]));
    script["http"]["token"] = json!("Bearer of-good-news");
    let server = Scripted::over_http_with(script, |config, _| {
        let headers = &mut config.http.as_mut().unwrap().headers;
        headers.push(("Authorization".to_owned(), "Bearer of-good-news".to_owned()));
        let shown = format!("{config:?}");
        assert!(
            shown.contains("Authorization") && !shown.contains("of-good-news"),
            "{shown}"
        );
    });
    server.result("greet", json!({})).await;
    let requests = server.http.as_ref().unwrap().requests();
    let with_name = requests
        .iter()
        .filter(|(_, headers)| headers.contains_key("mcp-name"));
    assert_eq!(with_name.count(), 1);
    server.kept();
}

#[tokio::test]
async fn list_changes_come_over_the_stream_of_each_era() {
    for era in ["modern", "legacy"] {
        let steps = json!([{ "tools": [tool("grow"), tool("more")] }, { "text": "grown" }]);
        let mut script = of_era(era, "events", script("grow", &steps));
        script["list_changed"] = json!(true);
        script["http"]["listens"] = json!(true);
        let server = Scripted::over_http(script);
        assert_eq!(server.names().await, ["grow"], "{era}");
        let stream = if era == "modern" {
            "listens"
        } else {
            "a stream is open"
        };
        server.until(stream, 1).await;
        server.result("grow", json!({})).await;
        soon(async {
            while server.names().await.len() < 2 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        server.kept();
    }
}

#[tokio::test]
async fn a_server_that_never_answers_for_its_own_stream_holds_up_calls_once() {
    let mut script = of_era(
        "legacy",
        "json",
        script("greet", &json!([{ "text": "hello" }])),
    );
    script["http"]["listens"] = json!("never");
    let server = Scripted::over_http(script);
    server.list().await;
    server.until("a stream is asked for", 1).await;
    let before = Instant::now();
    for _ in 0..12 {
        server.result("greet", json!({})).await;
    }
    // Half a second for each would be six.
    let elapsed = before.elapsed();
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
    server.kept();
}

#[tokio::test]
async fn a_server_may_ask_and_is_answered() {
    let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let asks = r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#;
    let steps = json!([{ "raw": ping }, { "raw": asks }, { "text": "done" }]);
    let mut script = of_era("legacy", "events", script("work", &steps));
    script["http"]["listens"] = json!(true);
    let server = Scripted::over_http(script);
    server.list().await;
    server.until("a stream is open", 1).await;
    server.result("work", json!({})).await;
    server.until("replied \"p\"", 1).await;
    server.until("replied \"r\"", 1).await;
    server.kept();
}

#[tokio::test]
async fn a_broken_stream_is_taken_up_again_and_the_call_is_made_once() {
    let mut script = of_era(
        "legacy",
        "events",
        script("greet", &json!([{ "text": "hello" }])),
    );
    script["http"]["faults"] = json!({ "tools/call": [{ "break": true }] });
    let server = Scripted::over_http(script);
    let result = server.result("greet", json!({})).await;
    assert!(!result.is_error, "{result:?}");
    assert_eq!(server.count("a stream is taken up again"), 1);
    assert_eq!(server.count("call greet"), 1);
    server.kept();
}

#[tokio::test]
async fn a_forgotten_session_is_begun_anew_and_the_refused_call_is_made_once() {
    for forgets in ["tools/call", "tools/list"] {
        let mut script = of_era(
            "legacy",
            "json",
            script("greet", &json!([{ "text": "hello" }])),
        );
        script["http"]["faults"] = json!({ forgets: [{}, { "forget": true }] });
        let server = Scripted::over_http(script);
        server.result("greet", json!({})).await;
        assert_eq!(server.names().await, ["greet"], "{forgets}");
        let result = server.result("greet", json!({})).await;
        assert!(!result.is_error, "{result:?}");
        assert_eq!(server.count("a session is begun"), 2, "{forgets}");
        assert_eq!(server.effects().len(), 2, "{forgets}");
        server.kept();
    }
}

#[tokio::test]
async fn a_server_that_says_in_words_that_it_has_forgotten_the_session_is_understood() {
    let error = |message: &str| {
        let error = json!({ "code": -32000, "message": message });
        json!({ "jsonrpc": "2.0", "error": error, "id": null }).to_string()
    };
    let (json, text) = ("application/json", "text/plain");
    let cases = [
        // So do the example of the TypeScript SDK and its transport after a restart, and with them many servers.
        (
            400,
            json,
            error("Bad Request: No valid session ID provided"),
            true,
        ),
        (
            400,
            json,
            error("Bad Request: Server not initialized"),
            true,
        ),
        // So did the SDKs for Python and Rust.
        (
            400,
            text,
            "Bad Request: No valid session ID provided".to_owned(),
            true,
        ),
        (
            401,
            text,
            "Unauthorized: Session not found".to_owned(),
            true,
        ),
        (404, "text/html", "<html>not found</html>".to_owned(), true),
        (
            400,
            "text/html",
            "<html>your session has ended</html>".to_owned(),
            false,
        ),
        (400, text, "Bad Request".to_owned(), false),
        (401, text, "log in to begin a session".to_owned(), false),
    ];
    for (status, media_type, body, is_loss) in cases {
        let mut script = of_era(
            "legacy",
            "json",
            script("greet", &json!([{ "text": "hello" }])),
        );
        script["http"]["faults"] = json!({
            "tools/call": [{ "status": status, "type": media_type, "body": body }],
        });
        let server = Scripted::over_http(script);
        if is_loss {
            let result = server.result("greet", json!({})).await;
            assert!(!result.is_error, "{result:?}");
        } else {
            let failure = server.failure("greet").await;
            assert_eq!(failure.disposition, Disposition::NotSent, "{body}");
        }
        let sessions = if is_loss { 2 } else { 1 };
        assert_eq!(server.count("a session is begun"), sessions, "{body}");
        assert_eq!(server.effects().len(), usize::from(is_loss), "{body}");
        server.kept();
    }
}

#[tokio::test]
async fn a_session_that_is_always_forgotten_ends_the_call() {
    let mut script = of_era(
        "legacy",
        "json",
        script("greet", &json!([{ "text": "hello" }])),
    );
    let forget = json!({ "forget": true });
    script["http"]["faults"] = json!({ "tools/call": [forget, forget, forget] });
    let server = Scripted::over_http(script);
    let failure = server.failure("greet").await;
    assert_eq!(failure.disposition, Disposition::NotSent);
    assert!(
        failure.message.contains("has ended the session"),
        "{failure:?}"
    );
    assert_eq!(server.count("a session is begun"), 2);
    assert_eq!(server.effects().len(), 0);
}

#[tokio::test]
async fn tasks_work_over_http() {
    let script = json!({
        "era": "modern",
        "tools": [tool("long")],
        "calls": { "long": [{ "task": [
            { "status": "working", "pollIntervalMs": 50 },
            { "status": "completed", "result": { "content": [{ "type": "text", "text": "long done" }] } },
        ] }] },
    });
    let server = Scripted::over_http(script);
    let result = server.result("long", json!({})).await;
    assert!(format!("{result:?}").contains("long done"), "{result:?}");
    server.kept();
}

#[tokio::test]
async fn a_known_era_is_not_probed_for() {
    let script = of_era(
        "legacy",
        "json",
        script("greet", &json!([{ "text": "hello" }])),
    );
    let server = Scripted::over_http(script);
    server.list().await;
    let remembered = server
        .toolbox
        .remembered()
        .expect("what the next start needs");
    let next = server.restarted_with(remembered);
    soon(next.start()).await.unwrap();
    assert_eq!(
        server.count("said server/discover"),
        0,
        "it was refused before it was read"
    );
    let posts = server.http.as_ref().unwrap().requests();
    let probes = posts.iter().filter(|(_, headers)| {
        headers
            .get("mcp-method")
            .is_some_and(|method| method == "server/discover")
    });
    assert_eq!(probes.count(), 1);
}

#[tokio::test]
async fn arguments_are_repeated_in_headers_as_the_schema_asks() {
    let mut query = tool("query");
    query["inputSchema"]["properties"] = json!({
        "region": { "type": "string", "x-mcp-header": "Region" },
    });
    let mut wrong = tool("wrong");
    wrong["inputSchema"]["properties"] = json!({ "a": { "type": "array", "x-mcp-header": "A" } });
    let script = json!({
        "tools": [query, wrong],
        "calls": { "query": [{ "text": "asked" }] },
        "http": { "faults": { "tools/call": [{}, { "mismatch": true }] } },
    });
    for (era, names) in [
        ("modern", vec!["query"]),
        ("legacy", vec!["query", "wrong"]),
    ] {
        let mut script = script.clone();
        script["era"] = json!(era);
        let server = Scripted::over_http(script);
        assert_eq!(server.names().await, names);
        server.result("query", json!({ "region": "zürich" })).await;
        let requests = server.http.as_ref().unwrap().requests();
        let mirrored: Vec<_> = requests
            .iter()
            .filter_map(|(_, headers)| headers.get("mcp-param-region"))
            .collect();
        if era == "legacy" {
            assert!(mirrored.is_empty());
            continue;
        }
        assert_eq!(mirrored, ["=?base64?esO8cmljaA==?="]);
        let problems = server.problems();
        assert!(problems[0].contains("`wrong` is left out"), "{problems:?}");
        // Refused because of its headers, a call is made once the tools are listed anew.
        let lists = server.count("said tools/list");
        let result = server.result("query", json!({ "region": "us" })).await;
        assert!(!result.is_error, "{result:?}");
        assert_eq!(server.count("said tools/list"), lists + 1);
        assert_eq!(server.count("call query"), 2);
        server.kept();
    }
}

#[tokio::test]
async fn a_server_that_names_our_revision_in_a_refusal_is_asked_again_in_it() {
    let refusal = |supported: &str| {
        let error = json!({
            "code": -32022,
            "message": "Unsupported protocol version",
            "data": { "supported": [supported], "requested": "2026-07-28" },
        });
        let body = json!({ "jsonrpc": "2.0", "id": "probe", "error": error }).to_string();
        json!({ "status": 400, "type": "application/json", "body": body })
    };
    for (refusals, probes, sessions) in [
        (vec![refusal("2026-07-28")], 2, 0),
        // It contradicts itself, so the older era is tried.
        (vec![refusal("2026-07-28"), refusal("2026-07-28")], 2, 1),
        (vec![refusal("2027-01-01")], 1, 1),
    ] {
        let mut script = script("greet", &json!([{ "text": "hello" }]));
        script["http"]["faults"] = json!({ "server/discover": refusals });
        let server = Scripted::over_http(script);
        server.result("greet", json!({})).await;
        let requests = server.http.as_ref().unwrap().requests();
        let probed = requests.iter().filter(|(_, headers)| {
            let method = headers.get("mcp-method");
            method.is_some_and(|method| method == "server/discover")
        });
        assert_eq!(probed.count(), probes);
        assert_eq!(server.count("a session is begun"), sessions);
        server.kept();
    }
}
