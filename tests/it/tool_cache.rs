//! Results that are used again: for which principal, how surfaces show it, and that a killed process leaves none.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::api::{post, session};
use crate::harness::{Gateway, Kept, McpServer, jackfield, kept, tool};

/// A server of a tool that changes nothing, and of one that may.
fn shop() -> McpServer {
    let buy = json!({ "name": "buy", "description": "Buys.", "inputSchema": { "type": "object" } });
    McpServer::new(json!({
        "tools": [tool("search"), buy],
        "calls": {
            "search": [{ "text": "found" }],
            "buy": [{ "text": "bought" }],
        },
    }))
}

/// A model that makes each of these calls in a turn of its own.
async fn model<const N: usize>(calls: [(&str, Value); N]) -> ScriptedClaude {
    let turns = calls.into_iter().flat_map(|(name, arguments)| {
        [
            ScriptTurn::call(name, &arguments),
            ScriptTurn::text("There."),
        ]
    });
    ScriptedClaude::start(turns.collect::<Vec<_>>()).await
}

const CONFIG: &str = "[policy.tools]\n\"*\" = \"allow\"\n\
                      [tool_cache.ttl_of]\n\"shop/*\" = \"1h\"\n";

/// The only call of the turn that a message to a new session leads to.
async fn call(gateway: &Gateway) -> Value {
    let session = session(gateway).await;
    let answered = post(gateway, &session, &json!({ "message": "Go on." })).await;
    let turn = answered.is(200);
    let mut call = turn["calls"][0].clone();
    call["turn"] = turn["id"].clone();
    call["session"] = turn["session"].clone();
    call
}

#[tokio::test]
async fn an_equal_call_of_another_session_is_cached_until_something_may_have_changed() {
    let (files, server) = (Kept::new(), shop());
    let claude = model([
        ("shop__search", json!({ "for": "tea", "most": 3 })),
        ("shop__search", json!({ "most": 3, "for": "tea" })),
        ("shop__buy", json!({})),
        ("shop__search", json!({ "for": "tea", "most": 3 })),
    ])
    .await;
    let run = files.gateway().servers([("shop", server.trusted())]);
    let gateway = Gateway::listening(run.at_with(&claude.base_url(), CONFIG).start()).await;
    let first = call(&gateway).await;
    let second = call(&gateway).await;
    assert_eq!(first["cached"], Value::Null);
    let from = json!({ "session": first["session"], "turn": first["turn"], "call": first["id"] });
    assert_eq!(second["cached"], from);
    assert_eq!(second["status"], "done");
    assert_eq!(second["result"], first["result"]);
    assert_eq!(server.count("call search"), 1, "{:?}", server.log());
    assert_eq!(call(&gateway).await["result"]["text"], "bought");
    let third = call(&gateway).await;
    assert_eq!(third["cached"], Value::Null);
    assert_eq!(server.count("call search"), 2, "{:?}", server.log());
    // What is shown elsewhere says so, too.
    let cached = second["session"].as_str().expect("an id");
    let path = format!("/api/v1/sessions/{cached}/export");
    let export = gateway.get(&path).answered().await.is(200);
    assert_eq!(export["turns"][0]["calls"][0]["cached"], from);
    let on = |arguments: &[&str]| files.run(arguments);
    let audit = on(&["audit", "--json", "--outcome", "cached"]).run().await;
    let audit: Value = serde_json::from_str(&audit.out).expect("JSON");
    assert_eq!(audit.as_array().map(Vec::len), Some(1), "{audit}");
    assert_eq!(audit[0]["closed"]["cached"], from);
    let origin = format!(
        "cached from {} of turn {} in session {}",
        text(&from["call"]),
        text(&from["turn"]),
        text(&from["session"])
    );
    for arguments in [["audit", cached].as_slice(), &["sessions", "show", cached]] {
        let shown = on(arguments).run().await;
        assert!(shown.out.contains(&origin), "{}", shown.out);
    }
    let facts = on(&["sessions", "export", cached, "--facts"]).run().await;
    kept(&claude);
    gateway.end().await;
    server.kept_and_gone().await;
    let replay = jackfield(["replay", "--facts", "facts.jsonl"]);
    let ran = replay.in_project("facts.jsonl", &facts.out).run().await;
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
}

#[tokio::test]
async fn a_killed_gateway_leaves_no_result_to_the_next_one() {
    let (files, server) = (Kept::new(), shop());
    let calls = ["tea"; 3].map(|what| ("shop__search", json!({ "for": what })));
    let claude = model(calls).await;
    let start = || {
        let run = files.gateway().servers([("shop", server.trusted())]);
        Gateway::listening(run.at_with(&claude.base_url(), CONFIG).start())
    };
    let gateway = start().await;
    assert_eq!(call(&gateway).await["result"]["text"], "found");
    assert!(call(&gateway).await["cached"].is_object());
    gateway.running.kill();
    gateway.running.end().await;
    let gateway = start().await;
    let third = call(&gateway).await;
    assert_eq!(third["cached"], Value::Null);
    assert_eq!(server.count("call search"), 2, "{:?}", server.log());
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn clients_with_different_principals_share_nothing() {
    let (files, server) = (Kept::new(), shop());
    let calls = ["tea"; 4].map(|what| ("shop__search", json!({ "for": what })));
    let claude = model(calls).await;
    let tokens = "[serve.tokens.ann]\nenv = \"ANN\"\n\
                  [serve.tokens.phone]\nenv = \"PHONE\"\nprincipal = \"ann\"\n\
                  [serve.tokens.ben]\nenv = \"BEN\"\n";
    let run = files.gateway().servers([("shop", server.trusted())]);
    let run = run.env("ANN", ANN).env("PHONE", PHONE).env("BEN", BEN);
    let run = run.at_with(&claude.base_url(), &format!("{CONFIG}{tokens}"));
    let gateway = Gateway::listening(run.start()).await;
    let (mut seen, mut sessions) = (Vec::new(), Vec::new());
    for token in [ANN, BEN, PHONE, BEN] {
        let token = format!("Bearer {token}");
        let made = gateway.raw("POST", "/api/v1/sessions");
        let made = made.header("authorization", &token).answered().await;
        let made = made.is(201);
        let path = format!("/api/v1/sessions/{}/turns", text(&made["id"]));
        let sent = gateway.post(&path, &json!({ "message": "Go on." }));
        let sent = sent.header("authorization", &token).answered().await;
        let turn = sent.is(200);
        let from = turn["calls"][0]["cached"]["session"].as_str();
        let from = from.map(str::to_owned);
        sessions.push(text(&made["id"]).to_owned());
        seen.push(from);
    }
    let [ann, ben, ..] = &sessions[..] else {
        panic!("{sessions:?}");
    };
    let wanted = [None, None, Some(ann.clone()), Some(ben.clone())];
    assert_eq!(seen, wanted);
    assert_eq!(server.count("call search"), 2, "{:?}", server.log());
    kept(&claude);
    gateway.end().await;
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

const ANN: &str = "a-token-of-ann-that-is-long-enough-0123456789";
const PHONE: &str = "a-token-of-phone-that-is-long-enough-01234567";
const BEN: &str = "a-token-of-ben-that-is-long-enough-0123456789";
