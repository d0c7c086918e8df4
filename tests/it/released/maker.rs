//! Makes the journal that a release leaves as its fixture: sessions of the real program first, in front of
//! scripted servers, and facts of every kind that is still missing after that.

use std::time::Duration;

use jackfield_domain::reply::FinishReason;
use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Script, ScriptPart, ScriptRequest, ScriptTurn};
use serde_json::{Value, json};

use super::kinds::Kinds;
use super::{generated, summary};
use crate::api::{post, session};
use crate::harness::{Gateway, Kept, McpServer, kept, tool};

/// More text than a record holds itself: it is kept under its digest.
const BIG: usize = 66_000;

/// Makes the journal, and says which kinds of things are in it.
pub(crate) async fn make(files: &Kept) -> Kinds {
    talks(files).await;
    breaks(files).await;
    serves(files).await;
    // Behind it, as a gateway takes up what was left at work.
    is_killed(files).await;
    let (_, seen) = summary::read(&files.file()).await;
    generated::add_missing(&files.file(), seen).await
}

/// The server of the tools that the sessions use; they find it again under the id `bank`.
pub(crate) fn bank() -> McpServer {
    let does = |name: &str, annotations: Value| {
        json!({
            "name": name,
            "description": format!("Does {name}."),
            "inputSchema": { "type": "object" },
            "annotations": annotations,
        })
    };
    let changes = || json!({ "readOnlyHint": false, "idempotentHint": false });
    McpServer::new(json!({
        "tools": [tool("statement"), does("pay", changes()), does("crash", changes())],
        "calls": {
            "statement": [{ "size": BIG }],
            "pay": [{ "text": "paid" }],
            "crash": [{ "die": 1 }],
        },
    }))
}

/// A server that answers a call after it was given up.
pub(crate) fn slow() -> McpServer {
    McpServer::new(json!({
        "tools": [tool("wait")],
        "calls": { "wait": [{ "wait": "receipt 17" }] },
    }))
}

/// Both, as they are configured.
pub(crate) fn servers(bank: &McpServer, slow: &McpServer) -> [(&'static str, Value); 2] {
    let bounded = slow.with(&json!({ "trust": true, "timeout": "300ms" }));
    [("bank", bank.trusted()), ("slow", bounded)]
}

/// Answers, calls, reasoning, a fork, and a text that is kept once for two sessions.
async fn talks(files: &Kept) {
    let (bank, thought) = (bank(), |text: &str| ScriptPart::Thinking {
        signature: "c2lnbmVk".to_owned(),
        text: text.to_owned(),
    });
    let claude = ScriptedClaude::start([
        ScriptTurn::reply([
            thought("A product of two numbers."),
            ScriptPart::Text("First the sum.".to_owned()),
        ])
        .and_call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
        ScriptTurn::call("bank__statement", &json!({ "month": "May" })),
        ScriptTurn::text("That is a long statement."),
        ScriptTurn::text("The fork goes on."),
        ScriptTurn::text("As much as I may say").finish(FinishReason::Length),
    ])
    .await;
    let more = "[policy.tools]\n\"bank/*\" = \"allow\"\n";
    let run = |arguments: &[&str]| {
        let run = files.run(arguments).at_with(&claude.base_url(), more);
        run.servers([("bank", bank.trusted())]).run()
    };
    for question in ["What is 6 * 7?", "My statement?"] {
        let ran = run(&["ask", "--session", "finished", question]).await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let forked = run(&["sessions", "fork", "finished", "--at", "2"]).await;
    assert_eq!(forked.code, Some(0), "{}", forked.err);
    let ran = run(&["ask", "--session", forked.out.trim(), "And now?"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    run(&["ask", "--session", "short", "Say all that you know."]).await;
    kept(&claude);
    bank.kept_and_gone().await;
}

/// Turns that end without an answer.
async fn breaks(files: &Kept) {
    let claude = ScriptedClaude::start([
        ScriptTurn::status(400, &json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "no" } })),
        ScriptTurn::text("This answer breaks off in the middle of its words. ".repeat(40)).cut_after(1_500),
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" })),
        ScriptTurn::text("Two, and no more rounds."),
    ])
    .await;
    for (name, question, more) in [
        ("failed", "Is this allowed?", ""),
        ("interrupted", "Tell me a story.", ""),
        ("limited", "Go on for ever.", "[limits]\nrounds = 2\n"),
    ] {
        let run = files.run(&["ask", "--session", name, question]);
        run.at_with(&claude.base_url(), more).run().await;
    }
    kept(&claude);
}

/// A turn that was left at work, and one that was taken up in vain until it was parked.
async fn is_killed(files: &Kept) {
    for (name, times) in [("open", 0), ("parked", 3)] {
        let gates: Vec<Gate> = (0..=times).map(|_| Gate::new()).collect();
        let called = ScriptTurn::call("calculator", &json!({ "expression": "3*14" }));
        let held = gates
            .iter()
            .map(|gate| ScriptTurn::text("It is 42.").pause_after(1, gate));
        let turns: Vec<ScriptTurn> = std::iter::once(called).chain(held).collect();
        let claude = ScriptedClaude::start(turns).await;
        for (nth, gate) in gates.iter().enumerate() {
            let life = match nth {
                0 => files.run(&["ask", "--session", name, "--json", "What is 3 * 14?"]),
                _ => files.run(&["sessions", "resume", name, "--json"]),
            };
            let running = life.at(&claude.base_url()).start();
            gate.reached().await;
            running.kill();
            running.end().await;
            gate.open();
        }
    }
}

/// Turns of the gateway: waiting for a person, for a client, for what became of a call; given up, and over.
async fn serves(files: &Kept) {
    let (bank, slow) = (bank(), slow());
    let claude = ScriptedClaude::start(Script::by(reply)).await;
    let serve = files.gateway().servers(servers(&bank, &slow));
    let serve = serve.at_with(&claude.base_url(), SERVE);
    let gateway = Gateway::listening(serve.start()).await;
    let tool = json!({ "name": "mine", "description": "The client's own.",
        "input_schema": { "type": "object" } });
    let mut paths = Vec::new();
    for (message, status) in MESSAGES {
        let path = session(&gateway).await;
        let body = json!({ "message": message, "tools": [tool], "server_tools": ["*"] });
        let turn = post(&gateway, &path, &body).await.is(200);
        assert_eq!(turn["status"], *status, "{message}: {turn}");
        paths.push((path, turn));
    }
    // The last of them is answered by its client.
    let (path, turn) = paths.last().expect("a session");
    let results = format!(
        "{path}/turns/{}/results",
        turn["id"].as_str().expect("an id")
    );
    let call = turn["waits"][0]["call"].clone();
    let given = json!({ "results": [{ "call": call, "text": "done by the client" }] });
    let ended = gateway.post(&results, &given).answered().await.is(200);
    assert_eq!(ended["answer"], "Thank you.", "{ended}");
    is_chatted(&gateway).await;
    is_cancelled(&gateway).await;
    gateway.end().await;
    is_late(files).await;
}

/// Conversations that their client keeps itself.
async fn is_chatted(gateway: &Gateway) {
    let tools = json!([{ "type": "function", "function": {
        "name": "mine", "parameters": { "type": "object" } } }]);
    let user = json!({ "role": "user", "content": "Ask my side." });
    let mut body = json!({ "model": "claude-sonnet-5", "messages": [user], "tools": tools });
    // Without tools of the gateway nothing of it would be kept.
    let chat = |body: &Value| {
        let asking = gateway.post("/v1/chat/completions", body);
        asking.header("x-jackfield-tools", "all").answered()
    };
    let said = chat(&body).await.is(200);
    let message = &said["choices"][0]["message"];
    let result = json!({ "role": "tool", "content": "a result",
        "tool_call_id": message["tool_calls"][0]["id"] });
    body["messages"] = json!([user, message, result]);
    let said = chat(&body).await.is(200);
    assert_eq!(said["choices"][0]["message"]["content"], "Thank you.");
    // One that waits for its client for ever.
    let user = json!({ "role": "user", "content": "Ask my side, and wait." });
    body["messages"] = json!([user]);
    chat(&body).await.is(200);
}

/// A turn that is cancelled while its model speaks.
async fn is_cancelled(gateway: &Gateway) {
    let path = session(gateway).await;
    let body = json!({ "message": "Stall.", "mode": "background" });
    let begun = post(gateway, &path, &body).await;
    let cancel = format!("{}/cancel", begun.header("location"));
    let cancelled = gateway.raw("POST", &cancel).answered().await;
    assert_eq!(cancelled.is(200)["end"]["kind"], "cancelled");
}

/// Waits until what a server said after its call was given up is kept.
async fn is_late(files: &Kept) {
    let heard = async {
        loop {
            let audit = files.run(&["audit", "--outcome", "late", "--json"]).run();
            let told: Value = serde_json::from_str(&audit.await.out).expect("JSON");
            if told.as_array().is_some_and(|told| !told.is_empty()) {
                return;
            }
        }
    };
    let patience = Duration::from_secs(60);
    assert!(
        tokio::time::timeout(patience, heard).await.is_ok(),
        "nothing came late"
    );
}

/// What the model says, by what it was asked last.
fn reply(asked: &ScriptRequest<'_>) -> Option<ScriptTurn> {
    let last = asked.last_text.as_str();
    let calls = |name: &str| ScriptTurn::call(name, &json!({ "n": 1 }));
    Some(match last {
        "What is 2 * 21?" => ScriptTurn::call("calculator", &json!({ "expression": "2*21" })),
        "Crash, please." => calls("bank__crash"),
        "Wait, please." => calls("slow__wait"),
        "Stall." => ScriptTurn::text("I am about to say something.").stall_after(300),
        last if last.starts_with("Ask my side") => calls("mine"),
        _ => ScriptTurn::text("Thank you."),
    })
}

/// What is asked over the gateway, and what it comes to.
const MESSAGES: &[(&str, &str)] = &[
    ("What is 2 * 21?", "waiting"),
    ("Crash, please.", "waiting"),
    ("Wait, please.", "ended"),
    ("Ask my side, too.", "waiting"),
    ("Ask my side.", "waiting"),
];

/// The configuration of the gateway that makes the fixture.
const SERVE: &str = "[limits]\napproval = \"36500d\"\nclient_tool = \"36500d\"\n\
    [policy.tools]\ncalculator = \"ask\"\n\"bank/*\" = \"allow\"\n\"slow/*\" = \"allow\"\n\
    [policy.unknown_of]\n\"bank/*\" = \"ask\"\n";
