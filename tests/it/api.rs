//! The gateway's own API: sessions, turns, calls, client tools, approvals, and what is told of them.

use std::collections::BTreeSet;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Script, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, Kept, kept};

/// A gateway in front of a model that says this.
pub(crate) async fn gateway(kept: &Kept, script: impl Into<Script>) -> (Gateway, ScriptedClaude) {
    let claude = ScriptedClaude::start(script).await;
    let running = kept.gateway().at(&claude.base_url()).start();
    (Gateway::listening(running).await, claude)
}

/// The path of a new session.
pub(crate) async fn session(gateway: &Gateway) -> String {
    let made = gateway.raw("POST", "/api/v1/sessions").answered().await;
    let view = made.is(201);
    let path = format!("/api/v1/sessions/{}", view["id"].as_str().expect("an id"));
    assert_eq!(made.header("location"), path);
    path
}

/// What a message comes to.
pub(crate) async fn post(gateway: &Gateway, session: &str, body: &Value) -> Answer {
    gateway
        .post(&format!("{session}/turns"), body)
        .answered()
        .await
}

/// It is a problem of this kind.
#[track_caller]
pub(crate) fn is_problem(answer: &Answer, status: u16, kind: &str) -> Value {
    assert_eq!(answer.header("content-type"), "application/problem+json");
    let problem = answer.is(status);
    assert_eq!(
        problem["type"],
        format!("urn:jackfield:problem:{kind}"),
        "{problem}"
    );
    assert_eq!(problem["status"], status, "{problem}");
    assert!(!problem["detail"].as_str().expect("words").is_empty());
    problem
}

/// Whether a document has all fields of a part of it, with their values.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(key, part)| whole.get(key).is_some_and(|whole| holds(whole, part))),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len()
                && whole
                    .iter()
                    .zip(part)
                    .all(|(whole, part)| holds(whole, part))
        }
        (whole, part) => whole == part,
    }
}

#[tokio::test]
async fn a_message_is_answered_with_its_calls() {
    let files = Kept::new();
    let (gateway, claude) = gateway(
        &files,
        [
            ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
            ScriptTurn::text("It is 42."),
        ],
    )
    .await;
    let session = session(&gateway).await;
    let answered = post(&gateway, &session, &json!({ "message": "What is 6*7?" })).await;
    let turn = answered.is(200);
    assert_eq!(turn["answer"], "It is 42.");
    assert_eq!(
        (&turn["status"], &turn["rounds"]),
        (&json!("ended"), &json!(2))
    );
    assert_eq!(turn["end"], json!({ "kind": "answered", "finish": "stop" }));
    let calls = turn["calls"].as_array().expect("calls");
    assert_eq!(calls.len(), 1, "{turn}");
    let call = &calls[0];
    assert_eq!(call["name"], "calculator");
    assert_eq!(call["arguments"], json!({ "expression": "6*7" }));
    assert_eq!(
        (&call["status"], &call["success"]),
        (&json!("done"), &json!(true))
    );
    assert!(call["duration_ms"].is_u64(), "{call}");
    assert_eq!(
        call["source"],
        json!({ "ran_by": "engine", "server": "builtin", "tool": "calculator" })
    );
    assert_eq!(call["result"]["text"], "42");
    // Looked at later it is the same, alone and in the list and in the export.
    let path = answered.header("location").to_owned();
    assert_eq!(gateway.get(&path).answered().await.is(200), turn);
    let turns = gateway.get(&format!("{session}/turns")).answered().await;
    assert_eq!(turns.is(200), json!({ "turns": [turn], "next": null }));
    let export = gateway.get(&format!("{session}/export")).answered().await;
    let export = export.is(200);
    assert_eq!(export["format"], "jackfield.session");
    assert!(holds(&export["turns"][0], &turn), "{export:#} {turn:#}");
    let read = gateway.get(&format!("{session}/export?format=markdown"));
    let read = read.answered().await;
    assert_eq!(read.status, 200, "{read:?}");
    assert_eq!(read.header("content-type"), "text/markdown; charset=utf-8");
    assert!(read.header("content-disposition").ends_with(".md"));
    assert!(
        read.body.contains("What is 6*7?") && read.body.contains("\"6*7\""),
        "{read:?}"
    );
    // What tools were given and gave back is in neither document once it is redacted.
    for format in ["json", "markdown"] {
        let path = format!("{session}/export?format={format}&redact=true");
        let redacted = gateway.get(&path).answered().await;
        assert_eq!(redacted.status, 200, "{redacted:?}");
        assert!(redacted.body.contains("What is 6*7?"), "{redacted:?}");
        assert!(!redacted.body.contains("\"6*7\""), "{redacted:?}");
        assert!(!redacted.body.contains("\"42\""), "{redacted:?}");
        assert!(redacted.body.contains("redacted"), "{redacted:?}");
    }
    let odd = gateway.get(&format!("{session}/export?format=pdf"));
    odd.answered().await.is(400);
    let listed = gateway.get("/api/v1/sessions").answered().await.is(200);
    assert_eq!(listed["sessions"][0]["title"], "What is 6*7?", "{listed}");
    let usage = gateway.get("/api/v1/usage").answered().await.is(200);
    assert_eq!(usage["total"]["turns"], 1, "{usage}");
    assert_eq!(usage["total"]["replies"], 2, "{usage}");
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_turn_in_the_background_goes_on_by_itself_and_a_failed_call_is_no_success() {
    let files = Kept::new();
    let (gateway, claude) = gateway(
        &files,
        [
            ScriptTurn::call("calculator", &json!({ "expression": "1/0" })),
            ScriptTurn::text("It cannot be done."),
        ],
    )
    .await;
    let session = session(&gateway).await;
    let body = json!({ "message": "What is 1/0?", "mode": "background" });
    let begun = post(&gateway, &session, &body).await;
    assert_eq!(begun.is(202)["number"], 1);
    let watched = gateway.get(&format!("{session}/events?until=rest"));
    let events = watched.answered().await.json_events();
    let ended = events.last().expect("an event");
    assert_eq!(ended["turn"]["answer"], "It cannot be done.");
    let call = &ended["turn"]["calls"][0];
    assert_eq!(
        (&call["status"], &call["success"]),
        (&json!("failed"), &json!(false))
    );
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn the_clients_tools_are_waited_for_and_their_results_go_on_with_the_turn() {
    let files = Kept::new();
    let asks = ScriptTurn::call("weather", &json!({ "place": "Porto" }))
        .and_call("weather", &json!({ "place": "Faro" }));
    let (gateway, claude) = gateway(&files, [asks, ScriptTurn::text("Rain and sun.")]).await;
    let session = session(&gateway).await;
    let tool = json!({ "name": "weather", "description": "The weather",
        "input_schema": { "type": "object", "properties": { "place": { "type": "string" } } } });
    let body = json!({ "message": "The weather?", "tools": [tool] });
    let turn = post(&gateway, &session, &body).await.is(200);
    assert_eq!(turn["status"], "waiting", "{turn}");
    let waits = turn["waits"].as_array().expect("waits");
    let calls: Vec<&str> = waits
        .iter()
        .filter_map(|wait| wait["call"].as_str())
        .collect();
    assert_eq!(calls.len(), 2, "{turn}");
    assert!(waits.iter().all(|wait| wait["kind"] == "client_result"));
    assert_eq!(turn["calls"][0]["source"]["ran_by"], "client", "{turn}");
    let results = format!(
        "{session}/turns/{}/results",
        turn["id"].as_str().expect("an id")
    );
    let give = |results: &[(&str, &str)]| {
        let results = results
            .iter()
            .map(|(call, text)| json!({ "call": call, "text": text }));
        json!({ "results": results.collect::<Vec<_>>() })
    };
    let some = gateway
        .post(&results, &give(&[(calls[0], "rain")]))
        .answered()
        .await;
    let missing = is_problem(&some, 400, "results_missing");
    assert_eq!(missing["calls"], json!([calls[1]]));
    let unknown = gateway
        .post(&results, &give(&[("call_unknown", "rain")]))
        .answered()
        .await;
    is_problem(&unknown, 404, "not_found");
    let whole = give(&[(calls[0], "rain"), (calls[1], "sun")]);
    let ended = gateway.post(&results, &whole).answered().await.is(200);
    assert_eq!(ended["answer"], "Rain and sun.", "{ended}");
    assert_eq!(ended["calls"][1]["result"]["text"], "sun", "{ended}");
    // The same again is answered with what came of it, another one is not taken.
    let again = gateway.post(&results, &whole).answered().await.is(200);
    assert_eq!(again["answer"], "Rain and sun.", "{again}");
    let other = give(&[(calls[0], "snow"), (calls[1], "sun")]);
    let other = gateway.post(&results, &other).answered().await;
    assert_eq!(
        is_problem(&other, 409, "conflict")["calls"],
        json!([calls[0]])
    );
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_key_makes_a_repetition_safe_also_after_kill_9() {
    let files = Kept::new();
    let claude =
        ScriptedClaude::start([ScriptTurn::text("Once."), ScriptTurn::text("Twice.")]).await;
    let start = || files.gateway().at(&claude.base_url()).start();
    let gateway = Gateway::listening(start()).await;
    let session = session(&gateway).await;
    let body = json!({ "message": "Hello" });
    let ask = |gateway: &Gateway, body: &Value| {
        let asking = gateway.post(&format!("{session}/turns"), body);
        asking.header("idempotency-key", "k1").answered()
    };
    let (one, other) = tokio::join!(ask(&gateway, &body), ask(&gateway, &body));
    assert_eq!(one.is(200), other.is(200));
    gateway.running.kill();
    gateway.running.end().await;
    let gateway = Gateway::listening(start()).await;
    let again = ask(&gateway, &body).await;
    assert_eq!(again.is(200), one.is(200));
    assert_eq!(again.header("idempotent-replayed"), "true");
    let misused = ask(&gateway, &json!({ "message": "Goodbye" })).await;
    assert_eq!(
        is_problem(&misused, 409, "conflict")["turn"],
        one.is(200)["id"]
    );
    // Without a key it is another message.
    let twice = post(&gateway, &session, &body).await.is(200);
    assert_eq!(twice["answer"], "Twice.");
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_running_turn_is_cancelled_and_a_busy_session_says_so() {
    let files = Kept::new();
    let (gateway, claude) =
        gateway(&files, [ScriptTurn::text("Never said.").stall_after(300)]).await;
    let session = session(&gateway).await;
    let body = json!({ "message": "Hello", "mode": "background" });
    let begun = post(&gateway, &session, &body).await;
    let turn = begun.header("location").to_owned();
    let second = post(&gateway, &session, &json!({ "message": "And?" })).await;
    assert_eq!(
        is_problem(&second, 409, "busy")["turn"],
        begun.is(202)["id"]
    );
    let deleted = gateway.raw("DELETE", &session).answered().await;
    let problem = is_problem(&deleted, 409, "busy");
    assert_eq!(problem["turn"], begun.is(202)["id"]);
    let cancelled = gateway
        .raw("POST", &format!("{turn}/cancel"))
        .answered()
        .await;
    assert_eq!(cancelled.is(200)["end"]["kind"], "cancelled");
    // Once more changes nothing.
    let again = gateway
        .raw("POST", &format!("{turn}/cancel"))
        .answered()
        .await;
    assert_eq!(again.is(200), cancelled.is(200));
    let deleted = gateway.raw("DELETE", &session).answered().await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    is_problem(&gateway.get(&session).answered().await, 404, "not_found");
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_fork_stands_beside_its_origin() {
    let files = Kept::new();
    let script = [
        ScriptTurn::text("One."),
        ScriptTurn::text("Two."),
        ScriptTurn::text("Three."),
    ];
    let (gateway, claude) = gateway(&files, script).await;
    let session = session(&gateway).await;
    for message in ["first", "second"] {
        post(&gateway, &session, &json!({ "message": message }))
            .await
            .is(200);
    }
    let forked = gateway.post(&format!("{session}/fork"), &json!({ "turn": 1 }));
    let forked = forked.answered().await.is(201);
    assert_eq!(forked["forked_from"]["turn"], 1, "{forked}");
    let fork = format!("/api/v1/sessions/{}", forked["id"].as_str().expect("an id"));
    let turn = post(&gateway, &fork, &json!({ "message": "third" }))
        .await
        .is(200);
    assert_eq!(turn["answer"], "Three.");
    let asked = claude.requests().pop().expect("a request").to_string();
    assert!(
        asked.contains("first") && !asked.contains("second"),
        "{asked}"
    );
    let nowhere = gateway.post(&format!("{session}/fork"), &json!({ "turn": 9 }));
    is_problem(&nowhere.answered().await, 400, "invalid");
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn pages_of_sessions_hold_each_once() {
    let files = Kept::new();
    let (gateway, _claude) = gateway(&files, []).await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(session(&gateway).await);
    }
    let (mut seen, mut page) = (Vec::new(), String::new());
    for _ in 0..4 {
        let listed = gateway.get(&format!("/api/v1/sessions?limit=2{page}"));
        let listed = listed.answered().await.is(200);
        let sessions = listed["sessions"].as_array().expect("sessions").clone();
        assert!(sessions.len() <= 2, "{listed}");
        let ids = sessions.iter().filter_map(|one| one["id"].as_str());
        seen.extend(ids.map(|id| format!("/api/v1/sessions/{id}")));
        match listed["next"].as_str() {
            Some(next) => page = format!("&page={next}"),
            None => break,
        }
    }
    seen.sort();
    made.sort();
    assert_eq!(seen, made);
    gateway.end().await;
}

#[tokio::test]
async fn health_needs_no_token_and_the_document_describes_every_path() {
    let files = Kept::new();
    let (gateway, _claude) = gateway(&files, []).await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(gateway.get(path).answered().await.is(200)["status"], "ok");
    }
    let document = gateway.get("/api/v1/openapi.json").answered().await.is(200);
    assert!(
        document["openapi"]
            .as_str()
            .expect("a version")
            .starts_with("3.1")
    );
    for (path, verbs) in document["paths"].as_object().expect("paths") {
        for verb in verbs.as_object().expect("verbs").keys() {
            let path = path.replace(['{', '}'], "");
            if path.ends_with("/approvals/events") {
                // It ends with its connection alone.
                let mut sent = gateway.raw(&verb.to_uppercase(), &path).sent().await;
                sent.until("event: approvals\ndata: {\"approvals\":[],\"next\":null}")
                    .await;
                continue;
            }
            let answer = gateway.raw(&verb.to_uppercase(), &path).answered().await;
            assert_ne!(answer.status, 405, "{verb} {path}: {answer:?}");
            assert!(
                !answer.body.contains("there is nothing at"),
                "{verb} {path}"
            );
        }
    }
    // What is not there is named as it was asked for.
    for (method, path, status) in [
        ("GET", "/api/v1/turns", 404),
        ("PATCH", "/api/v1/sessions", 405),
        ("POST", "/healthz", 405),
        ("DELETE", "/readyz", 405),
    ] {
        let problem = gateway.raw(method, path).answered().await.is(status);
        let detail = problem["detail"].as_str().expect("a detail");
        assert!(detail.contains(path), "{problem}");
    }
    is_sound(&document);
    let page = gateway.get("/api/v1/docs").answered().await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    // It names nothing that is elsewhere.
    for file in [
        "/api/v1/docs",
        "/api/v1/docs/page.js",
        "/api/v1/docs/page.css",
    ] {
        let file = gateway.get(file).answered().await;
        assert_eq!(file.status, 200);
        assert!(
            !file.body.contains("http://") && !file.body.contains("https://"),
            "{}",
            file.body
        );
    }
    gateway.end().await;
}

/// What OpenAPI asks of a document beyond its form, and the document of its answers: each operation has an id
/// of its own, each answer is described, each default is of its type, and problems are what they are sent as.
#[track_caller]
fn is_sound(document: &Value) {
    let mut ids = BTreeSet::new();
    for (path, verbs) in document["paths"].as_object().expect("paths") {
        for (verb, operation) in verbs.as_object().expect("verbs") {
            let id = operation["operationId"].as_str().expect("an id");
            assert!(ids.insert(id), "{verb} {path}: there is another {id}");
            let answers = operation["responses"].as_object().expect("answers");
            for (status, answer) in answers {
                let said = answer["description"].as_str().unwrap_or_default();
                assert!(!said.is_empty(), "{verb} {path}: {status} is not described");
                if matches!(status.as_bytes()[0], b'4' | b'5') {
                    let problem = &answer["content"]["application/problem+json"]["schema"]["$ref"];
                    assert_eq!(problem, "#/components/schemas/Problem", "{verb} {path}");
                }
            }
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let schema = &parameter["schema"];
                let default = &schema["default"];
                assert!(
                    schema["type"] != "object" && schema["allOf"].is_null(),
                    "{verb} {path}: {parameter}"
                );
                assert!(
                    default.is_null() || schema["type"] == "integer" && default.is_u64(),
                    "{verb} {path}: {parameter}"
                );
            }
            let has_problems = answers.contains_key("4XX") && answers.contains_key("5XX");
            assert_eq!(has_problems, path != "/healthz", "{verb} {path}");
        }
    }
    assert!(document["components"]["schemas"]["Problem"].is_object());
}
