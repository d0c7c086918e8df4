//! Tools of both sides behind the gateway: which run here, which are the client's, and who is asked.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, McpServer, kept, offered};

const CHAT: &str = "/v1/chat/completions";
const MODEL: &str = "claude-sonnet-5";

async fn gateway(claude: &ScriptedClaude, sessions: &Kept, more: &str) -> Gateway {
    let serve = sessions.gateway().at_with(&claude.base_url(), more);
    Gateway::listening(serve.start()).await
}

fn mine() -> Value {
    json!([{ "type": "function", "function": {
        "name": "mine", "parameters": { "type": "object" },
    } }])
}

fn asks(content: &str) -> Value {
    json!({ "model": MODEL, "messages": [{ "role": "user", "content": content }] })
}

fn with_mine(content: &str) -> Value {
    let mut body = asks(content);
    body["tools"] = mine();
    body
}

fn content(said: &Value) -> &str {
    let content = &said["choices"][0]["message"]["content"];
    content
        .as_str()
        .unwrap_or_else(|| panic!("no words: {said}"))
}

/// The history with the reply and a result for its only call.
fn answered(asked: &Value, said: &Value, result: &str) -> Value {
    let message = &said["choices"][0]["message"];
    let call = &message["tool_calls"][0]["id"];
    let result = json!({ "role": "tool", "tool_call_id": call, "content": result });
    json!({ "model": MODEL, "messages": [asked["messages"][0], message, result] })
}

#[tokio::test]
async fn which_tools_of_this_side_are_used_is_said_by_setting_token_and_header() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let sessions = Kept::new();
    let more = "[serve.tokens.few]\nenv = \"FEW\"\ntools = [\"builtin/calc*\"]\n\
                [serve.tokens.many]\nenv = \"MANY\"\n";
    let (few, many) = ("few-0123456789abcdef", "many-0123456789abcdef");
    let serve = sessions.gateway().at_with(&claude.base_url(), more);
    let serve = serve.env("FEW", few).env("MANY", many);
    let gateway = Gateway::listening(serve.start()).await;
    let both = ["calculator", "current_datetime"];
    for (token, own, header, expected) in [
        (many, false, None, &both[..]),
        (many, false, Some("none"), &[]),
        (many, false, Some("builtin/current*"), &["current_datetime"]),
        (many, true, None, &["mine"]),
        (
            many,
            true,
            Some("all"),
            &["calculator", "current_datetime", "mine"],
        ),
        (few, false, None, &["calculator"]),
        (few, false, Some("all"), &["calculator"]),
        (few, false, Some("builtin/*"), &["calculator"]),
        (few, false, Some("builtin/calculator"), &["calculator"]),
        (few, false, Some("builtin/current_datetime"), &[]),
        (few, true, Some("*"), &["calculator", "mine"]),
    ] {
        let body = if own { with_mine("hi") } else { asks("hi") };
        let mut asking = gateway.post(CHAT, &body).header("x-api-key", token);
        if let Some(header) = header {
            asking = asking.header("x-jackfield-tools", header);
        }
        asking.answered().await.is(200);
        let requests = claude.requests();
        let last = requests.last().expect("a request");
        assert_eq!(offered(last), expected, "{header:?} of {token}, own: {own}");
    }
    let broken = gateway.post(CHAT, &asks("hi")).header("x-api-key", many);
    let broken = broken.header("x-jackfield-tools", "a,,b").answered().await;
    assert!(
        broken.is(400)["error"]["message"]
            .to_string()
            .contains("x-jackfield-tools")
    );
    gateway.end().await;
}

#[tokio::test]
async fn one_reply_has_calls_of_both_sides_and_each_is_run_once() {
    let counter = McpServer::of("count", &json!([{ "text": "counted" }]));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("tally__count", &json!({})).and_call("mine", &json!({ "n": 1 })),
        ScriptTurn::text("Both are done."),
    ])
    .await;
    let sessions = Kept::new();
    let more = "[policy.tools]\n\"tally/*\" = \"allow\"\n";
    let serve = sessions.gateway().at_with(&claude.base_url(), more);
    let serve = serve.servers([("tally", counter.trusted())]);
    let gateway = Gateway::listening(serve.start()).await;
    let asked = with_mine("Do both.");
    let first = gateway
        .post(CHAT, &asked)
        .header("x-jackfield-tools", "all");
    let first = first.answered().await;
    let said = first.is(200);
    let calls = said["choices"][0]["message"]["tool_calls"]
        .as_array()
        .expect("calls");
    // What runs here is not the client's to run.
    assert_eq!(calls.len(), 1, "{said}");
    assert_eq!(calls[0]["function"]["name"], "mine");
    counter.until("call count").await;
    let results = answered(&asked, &said, "done");
    let second = gateway.post(CHAT, &results).answered().await;
    assert_eq!(content(&second.is(200)), "Both are done.");
    assert_eq!(second.header("x-session-id"), first.header("x-session-id"));
    // The same results again are answered by the same reply.
    let again = gateway.post(CHAT, &results).answered().await;
    assert_eq!(again.is(200)["id"], second.is(200)["id"]);
    // Others for the same call are a contradiction.
    let other = answered(&asked, &said, "something else");
    let other = gateway.post(CHAT, &other).answered().await;
    assert_eq!(other.is(409)["error"]["code"], "conflict");
    let outcomes = &claude.requests()[1]["messages"][2]["content"];
    assert_eq!(outcomes.as_array().map(Vec::len), Some(2), "{outcomes}");
    assert_eq!(counter.count("call count"), 1, "{:?}", counter.log());
    gateway.end().await;
    counter.kept_and_gone().await;
    kept(&claude);
}

#[tokio::test]
async fn s3_07_results_that_come_too_late_go_on_in_a_turn_of_their_own() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("mine", &json!({})),
        ScriptTurn::text("Late, but well."),
    ])
    .await;
    let sessions = Kept::new();
    let more = "[limits]\nclient_tool = \"200ms\"\n";
    let gateway = gateway(&claude, &sessions, more).await;
    let asked = with_mine("Do it.");
    let first = gateway
        .post(CHAT, &asked)
        .header("x-jackfield-tools", "all");
    let first = first.answered().await;
    let said = first.is(200);
    let session = first.header("x-session-id").to_owned();
    let expired = async {
        loop {
            let list = sessions.run(&["sessions", "list", "--json"]).run().await;
            let rows: Value = serde_json::from_str(&list.out).expect("a list");
            if rows[0]["open"].is_null() {
                return;
            }
        }
    };
    let patience = std::time::Duration::from_secs(60);
    assert!(
        tokio::time::timeout(patience, expired).await.is_ok(),
        "it waits on"
    );
    // The model was not asked again for it.
    assert_eq!(claude.requests().len(), 1);
    let late = answered(&asked, &said, "done");
    let late = gateway.post(CHAT, &late).answered().await;
    assert_eq!(content(&late.is(200)), "Late, but well.");
    assert_eq!(late.header("x-session-id"), session);
    // It is still offered its tool, which the client did not repeat.
    assert!(offered(&claude.requests()[1]).contains(&"mine"));
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn a_call_waits_for_a_word_that_somebody_gives_elsewhere() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
    ])
    .await;
    let sessions = Kept::new();
    let more = "[serve]\napprovals = \"wait\"\n[policy.tools]\n\"*\" = \"ask\"\n";
    let gateway = gateway(&claude, &sessions, more).await;
    let asking = gateway.post(CHAT, &asks("How much?")).sent().await;
    let question = async {
        loop {
            let list = sessions.run(&["approvals", "list", "--json"]).run().await;
            let waits: Value = serde_json::from_str(&list.out).expect("a list");
            if let Some(id) = waits[0]["id"].as_str() {
                return id.to_owned();
            }
        }
    };
    let patience = std::time::Duration::from_secs(60);
    let question = tokio::time::timeout(patience, question)
        .await
        .expect("a question");
    let allowed = sessions.run(&["approvals", "allow", &question]).run().await;
    assert_eq!(allowed.code, Some(0), "{}", allowed.err);
    assert_eq!(content(&asking.answered().await.is(200)), "It is 42.");
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn while_nothing_is_to_be_told_a_stream_says_that_it_lives() {
    let gate = Gate::new();
    let script = [0, 1, 2].map(|_| ScriptTurn::text("At last.").pause_after(0, &gate));
    let claude = ScriptedClaude::start(script).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, "[serve]\nkeep_alive = \"20ms\"\n").await;
    let mut waiting = Vec::new();
    for (path, sign) in [
        (CHAT, ": keep-alive"),
        ("/v1/responses", ": keep-alive"),
        ("/v1/messages", "event: ping"),
    ] {
        let mut body = asks("Take your time.");
        body["stream"] = true.into();
        if path == "/v1/responses" {
            body["input"] = "Take your time.".into();
            body.as_object_mut().expect("fields").remove("messages");
        } else if path == "/v1/messages" {
            body["max_tokens"] = 100.into();
        }
        let mut sent = gateway.post(path, &body).sent().await;
        sent.until(sign).await;
        waiting.push(sent);
    }
    gate.open();
    for sent in waiting {
        let answer = sent.answered().await;
        assert!(answer.said().contains("At last."), "{answer:?}");
    }
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn our_own_words_stand_only_before_the_tools_that_run_here() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text("a"),
        ScriptTurn::text("b"),
        ScriptTurn::text("c"),
    ])
    .await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, "").await;
    let asks = |system: &str| {
        let user = json!({ "role": "user", "content": "hi" });
        let system = json!({ "role": "system", "content": system });
        json!({ "model": "claude/claude-sonnet-5", "messages": [system, user] })
    };
    let plain = json!({
        "model": "claude/claude-sonnet-5",
        "messages": [{ "role": "user", "content": "hi" }],
    });
    let with_tools = gateway.post("/v1/chat/completions", &plain);
    with_tools.answered().await.is(200);
    let without = gateway.post("/v1/chat/completions", &plain);
    let without = without.header("x-jackfield-tools", "none");
    without.answered().await.is(200);
    let own = gateway.post("/v1/chat/completions", &asks("Speak French."));
    own.answered().await.is(200);
    let requests = claude.requests();
    let systems: Vec<String> = requests
        .iter()
        .map(|request| request["system"].to_string())
        .collect();
    assert!(systems[0].contains("tools"), "{systems:?}");
    assert_eq!(systems[1], "null");
    assert!(systems[2].contains("Speak French."), "{systems:?}");
    assert!(!systems[2].contains("tools"), "{systems:?}");
    gateway.end().await;
}

/// As both vendors do: a choice that no offered tool fulfils is refused, and not loosened.
#[tokio::test]
async fn a_choice_of_a_tool_that_is_not_offered_is_refused_in_each_language() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, "[serve]\npassthrough = \"never\"\n").await;
    let said = json!([{ "role": "user", "content": "hi" }]);
    let schema = json!({ "type": "object" });
    let chat = json!({ "model": MODEL, "messages": said, "tools": mine() });
    let messages = json!({
        "model": MODEL, "max_tokens": 100, "messages": said,
        "tools": [{ "name": "mine", "input_schema": schema }],
    });
    let responses = json!({
        "model": MODEL, "input": said, "store": false,
        "tools": [{ "type": "function", "name": "mine", "parameters": schema, "strict": false }],
    });
    let other = "other";
    for (path, mut body, named, any) in [
        (
            CHAT,
            chat,
            json!({ "type": "function", "function": { "name": other } }),
            json!("required"),
        ),
        (
            "/v1/messages",
            messages,
            json!({ "type": "tool", "name": other }),
            json!({ "type": "any" }),
        ),
        (
            "/v1/responses",
            responses,
            json!({ "type": "function", "name": other }),
            json!("required"),
        ),
    ] {
        for (choice, tools) in [(named, body["tools"].clone()), (any, json!([]))] {
            body["tool_choice"] = choice;
            body["tools"] = tools;
            let asking = gateway.post(path, &body);
            let refused = asking.header("x-jackfield-tools", "none").answered().await;
            let error = &refused.is(400)["error"];
            let message = error["message"].as_str().unwrap_or_default();
            assert!(message.contains("tool_choice"), "{path}: {error}");
        }
    }
    assert_eq!(claude.requests().len(), 0);
    gateway.end().await;
}
