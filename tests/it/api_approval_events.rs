//! The gateway's own API: the open questions of all sessions as events.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

use crate::harness::{Gateway, Kept, kept};

#[tokio::test]
async fn questions_are_told_as_they_are_asked_and_answered_by_whichever_process() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("Not allowed."),
    ])
    .await;
    let asks = "[policy.tools]\n\"*\" = \"ask\"\n[serve.tokens.a]\nenv = \"A\"\nadmin = true\n\
                [serve.tokens.b]\nenv = \"B\"\n";
    let run = files.gateway().at_with(&claude.base_url(), asks);
    let run = run
        .env("A", "a-0123456789abcdef")
        .env("B", "b-0123456789abcdef");
    let gateway = Gateway::listening(run.start()).await;
    let as_token = |method: &str, path: &str, token: &str| {
        let asking = gateway.raw(method, path);
        asking.header("authorization", &format!("Bearer {token}-0123456789abcdef"))
    };
    let mut all = as_token("GET", "/api/v1/approvals/events", "a")
        .sent()
        .await;
    let mut own = as_token("GET", "/api/v1/approvals/events", "b")
        .sent()
        .await;
    for stream in [&mut all, &mut own] {
        stream.until("data: {\"approvals\":[],\"next\":null}").await;
    }
    let made = as_token("POST", "/api/v1/sessions", "a").answered().await;
    let session = made.header("location").to_owned();
    let body = json!({ "message": "What is 6*7?", "mode": "background" });
    let asking = as_token("POST", &format!("{session}/turns"), "a");
    let asking = asking.header("content-type", "application/json");
    asking.body(body.to_string()).answered().await.is(202);
    all.until("\"tool\":\"calculator\"").await;
    // Another process answers.
    let listed = files.run(&["approvals", "list", "--json"]).run().await;
    let listed: Vec<serde_json::Value> = serde_json::from_str(&listed.out).expect("a list");
    let id = listed[0]["id"].as_str().expect("an id");
    let denied = files.run(&["approvals", "deny", id]).run().await;
    assert_eq!(denied.code, Some(0), "{denied:?}");
    // The next event, in a chunk of its own.
    all.until("\"ended\":null}],\"next\":null}\n\n\r\n35\r\nevent: approvals\ndata: {\"approvals\":[],\"next\":null}")
        .await;
    let rest = as_token("GET", &format!("{session}/events?until=rest"), "a");
    rest.answered().await;
    kept(&claude);
    gateway.end().await;
    // Whose session it is not has heard of nothing.
    let heard = own.answered().await;
    assert_eq!(heard.status, 200, "{heard:?}");
    assert!(!heard.body.contains("calculator"), "{heard:?}");
}
