//! What comes of a call after it was given up: kept, shown to people, and told to no model.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, McpServer, kept};

#[tokio::test]
async fn a_server_that_answers_after_its_call_was_given_up_is_heard() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("bank__pay", &json!({})),
        ScriptTurn::text("Nobody knows."),
        ScriptTurn::text("Still nobody."),
    ])
    .await;
    let sessions = Kept::new();
    // It does not heed that it is cancelled: what it does, it does to its end.
    let pay = json!({ "name": "pay", "inputSchema": { "type": "object" } });
    let steps = json!([{ "wait": "paid, receipt 17" }]);
    let bank = McpServer::new(json!({ "tools": [pay], "calls": { "pay": steps } }));
    let bounded = bank.with(&json!({ "trust": true, "timeout": "300ms" }));
    let serve = sessions.gateway().servers([("bank", bounded)]);
    let more = "[policy.tools]\n\"bank/*\" = \"allow\"\n";
    let serve = serve.at_with(&claude.base_url(), more);
    let gateway = Gateway::listening(serve.start()).await;
    let body = json!({
        "model": "claude-sonnet-5",
        "messages": [{ "role": "user", "content": "pay" }],
    });
    let answer = gateway.post("/v1/chat/completions", &body).answered().await;
    let said = answer.is(200);
    assert_eq!(said["choices"][0]["message"]["content"], "Nobody knows.");
    let session = answer.header("x-session-id").to_owned();
    // It is there although nobody drives the session, which another process sees, too.
    let audit = loop {
        let audit = sessions.run(&["audit", "--outcome", "late", "--json"]);
        let told: Value = serde_json::from_str(&audit.run().await.out).expect("JSON");
        if told.as_array().is_some_and(|told| !told.is_empty()) {
            break told;
        }
    };
    assert_eq!(audit[0]["session"], session.as_str(), "{audit}");
    assert_eq!(audit[0]["outcome"], "unknown", "{audit}");
    let late = &audit[0]["late"];
    assert_eq!(late[0]["text"], "paid, receipt 17", "{audit}");
    assert_eq!((&late[0]["bytes"], &late[1]), (&json!(16), &Value::Null));
    let shown = sessions.run(&["sessions", "show", &session]).run().await;
    let line = "late bank__pay: 16 bytes of try 1 paid, receipt 17";
    assert!(shown.out.contains(line), "{}", shown.out);
    // The next turn of it is told nothing of that.
    let body = json!({
        "model": "claude-sonnet-5",
        "messages": [{ "role": "user", "content": "and now?" }],
    });
    let next = gateway.post("/v1/chat/completions", &body);
    let next = next.header("x-session-id", &session).answered().await;
    next.is(200);
    let replayed = sessions.run(&["replay", &session]).run().await;
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    gateway.end().await;
    kept(&claude);
    let told = format!("{:?}", claude.requests());
    assert!(!told.contains("receipt"), "{told}");
    bank.kept_and_gone().await;
}
