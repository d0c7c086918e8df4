//! Assistants behind the gateway: clients name them as models, and request none of their tools.

use jackfield_domain::fact::Fact;
use jackfield_ports::journal::Journal as _;
use jackfield_ports::journal::sessions::SessionQuery;
use jackfield_store_sqlite::{Options, SqliteJournal};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, offered};

const CHAT: &str = "/v1/chat/completions";

const ASSISTANTS: &str = r#"
[aliases]
fast = "claude/claude-haiku-5-5"

[policy.tools]
"builtin/current*" = "ask"

[assistants.reviewer]
model = "fast"
system = "You review."
tools = ["builtin/*"]
limits.rounds = 3
settings.max_output_tokens = 77

[assistants.patient]
approvals = "wait"

[assistants.secret]
kept = false
tools = "none"
"#;

async fn gateway(claude: &ScriptedClaude, sessions: &Kept, more: &str) -> Gateway {
    let serve = sessions.gateway().plain();
    let serve = serve.at_with(&claude.base_url(), &format!("{ASSISTANTS}{more}"));
    let serve = serve.env("FEW", FEW).env("NONE", NONE);
    Gateway::listening(serve.start()).await
}

/// A request in each language.
fn bodies(model: &str) -> [(&'static str, Value); 3] {
    let said = json!([{ "role": "user", "content": "hi" }]);
    [
        (CHAT, json!({ "model": model, "messages": said })),
        (
            "/v1/messages",
            json!({ "model": model, "max_tokens": 100, "messages": said }),
        ),
        (
            "/v1/responses",
            json!({ "model": model, "input": "hi", "store": false }),
        ),
    ]
}

fn last(claude: &ScriptedClaude) -> Value {
    claude.requests().last().expect("a request").clone()
}

#[tokio::test]
async fn an_assistant_is_named_as_a_model_in_each_language_and_has_its_tools() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Fine.").again()]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, "").await;
    for (path, body) in bodies("reviewer") {
        let answer = gateway.post(path, &body).answered().await;
        assert_eq!(answer.is(200)["model"], "reviewer", "{path}");
        let asked = last(&claude);
        assert_eq!(asked["model"], "claude-haiku-5-5", "{path}");
        assert!(
            asked["system"].to_string().contains("You review."),
            "{path}"
        );
        // A tool that needs an approval is not offered where no client can give one.
        assert_eq!(offered(&asked), ["calculator"], "{path}");
        // Its turns are kept, and say of which assistant they are.
        answer.header("x-session-id");
    }
    for (path, body) in bodies("secret") {
        let answer = gateway.post(path, &body).answered().await;
        answer.is(200);
        assert_eq!(offered(&last(&claude)), [""; 0], "{path}");
        assert_eq!(answer.headers.get("x-session-id"), None, "{path}");
    }
    // Where a client can, it is offered.
    for (path, body) in bodies("patient") {
        gateway.post(path, &body).answered().await.is(200);
        let both = ["calculator", "current_datetime"];
        assert_eq!(offered(&last(&claude)), both, "{path}");
    }
    gateway.end().await;
    let journal = SqliteJournal::open(sessions.file(), Options::default()).expect("a journal");
    let query = SessionQuery {
        limit: 100,
        ..SessionQuery::default()
    };
    let rows = journal.sessions(&query).await;
    let mut named = Vec::new();
    for row in rows.expect("a list") {
        let loaded = journal.load(&row.session).await.expect("a session");
        for fact in loaded.steps.iter().flat_map(|step| &step.facts) {
            if let Fact::TurnOpened { setup, .. } = fact {
                named.push(setup.assistant.as_deref().unwrap_or_default().to_owned());
                assert_eq!(
                    setup.limits.rounds == 3,
                    named.ends_with(&["reviewer".to_owned()])
                );
            }
        }
    }
    named.sort_unstable();
    let expected = [
        "patient", "patient", "patient", "reviewer", "reviewer", "reviewer",
    ];
    assert_eq!(named, expected);
}

#[tokio::test]
async fn a_token_and_a_header_are_below_an_assistant_and_an_assistant_below_a_token() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Fine.").again()]).await;
    let sessions = Kept::new();
    let more = "[serve.tokens.few]\nenv = \"FEW\"\ntools = [\"builtin/calc*\"]\n\
                [serve.tokens.none]\nenv = \"NONE\"\ntools = \"none\"\n\
                [assistants.clock]\ntools = [\"builtin/current*\"]\napprovals = \"wait\"\n";
    let gateway = gateway(&claude, &sessions, more).await;
    let calculator = &["calculator"][..];
    for (model, token, header, expected) in [
        ("patient", FEW, None, calculator),
        ("patient", FEW, Some("all"), calculator),
        ("patient", FEW, Some("none"), &[]),
        ("patient", NONE, None, &[]),
        ("patient", NONE, Some("all"), &[]),
        ("clock", FEW, None, &[]),
        ("clock", FEW, Some("builtin/calculator"), &[]),
        ("jackfield", FEW, None, calculator),
        ("fast", FEW, None, &[]),
        ("fast", FEW, Some("all"), calculator),
    ] {
        let [(path, body), ..] = bodies(model);
        let mut asking = gateway.post(path, &body).header("x-api-key", token);
        if let Some(header) = header {
            asking = asking.header("x-jackfield-tools", header);
        }
        asking.answered().await.is(200);
        assert_eq!(
            offered(&last(&claude)),
            expected,
            "{model} {token} {header:?}"
        );
    }
    gateway.end().await;
}

#[tokio::test]
async fn a_clients_tools_stand_beside_those_of_its_assistant() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" }))
            .and_call("mine", &json!({})),
        ScriptTurn::text("Both are done."),
    ])
    .await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, "").await;
    let [(path, mut body), ..] = bodies("reviewer");
    body["tools"] = json!([{ "type": "function", "function": {
        "name": "mine", "parameters": { "type": "object" },
    } }]);
    let first = gateway.post(path, &body).answered().await;
    let said = first.is(200);
    let message = &said["choices"][0]["message"];
    let call = &message["tool_calls"][0];
    assert_eq!(call["function"]["name"], "mine", "{said}");
    assert_eq!(offered(&claude.requests()[0]), ["calculator", "mine"]);
    let result = json!({ "role": "tool", "tool_call_id": call["id"], "content": "done" });
    body["messages"] = json!([body["messages"][0], message, result]);
    body.as_object_mut().expect("fields").remove("tools");
    let second = gateway.post(path, &body).answered().await;
    assert_eq!(
        second.is(200)["choices"][0]["message"]["content"],
        "Both are done."
    );
    assert_eq!(second.header("x-session-id"), first.header("x-session-id"));
    gateway.end().await;
}

#[tokio::test]
async fn turns_of_the_api_are_of_the_default_assistant_unless_they_name_a_model() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Fine.").again()]).await;
    let sessions = Kept::new();
    let more = "[assistants.jackfield]\nsystem = \"You are Jack.\"\ntools = [\"builtin/*\"]\n";
    let gateway = gateway(&claude, &sessions, more).await;
    let made = gateway
        .post("/api/v1/sessions", &json!({}))
        .answered()
        .await;
    let session = made.is(201)["id"].as_str().expect("an id").to_owned();
    let turns = format!("/api/v1/sessions/{session}/turns");
    // People can be asked by way of the API.
    let both = &["calculator", "current_datetime"][..];
    let mine = json!([{ "name": "mine", "description": "", "input_schema": { "type": "object" } }]);
    for (body, tools, prompt) in [
        (json!({}), both, "You are Jack."),
        (json!({ "tools": mine }), &["mine"], "You are Jack."),
        (json!({ "model": "reviewer" }), both, "You review."),
        (
            json!({ "model": "reviewer", "tools": mine }),
            &["calculator", "current_datetime", "mine"],
            "You review.",
        ),
        (
            json!({ "model": "reviewer", "server_tools": ["builtin/calc*"] }),
            &["calculator"],
            "You review.",
        ),
        (json!({ "model": "fast" }), &[], ""),
        (
            json!({ "model": "fast", "server_tools": ["builtin/calc*"] }),
            &["calculator"],
            "",
        ),
    ] {
        let mut asked = body.clone();
        asked["message"] = "hi".into();
        gateway.post(&turns, &asked).answered().await.is(200);
        let asked = last(&claude);
        assert_eq!(offered(&asked), tools, "{body}");
        let system = asked["system"].to_string();
        assert!(system.contains(prompt), "{body}: {system}");
    }
    gateway.end().await;
}

#[tokio::test]
async fn assistants_are_listed_with_the_models() {
    let claude = ScriptedClaude::start([]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, "").await;
    let ids = |list: &Value, key: &str| -> Vec<String> {
        let list = list[key].as_array().expect("a list").iter();
        list.take(5)
            .filter_map(|model| model["id"].as_str().map(str::to_owned))
            .collect()
    };
    let names = ["jackfield", "patient", "reviewer", "secret", "fast"];
    let listed = gateway.get("/v1/models").answered().await.is(200);
    assert_eq!(ids(&listed, "data"), names);
    let claude_list = gateway.get("/v1/models");
    let listed = claude_list.header("anthropic-version", "2023-06-01");
    assert_eq!(ids(&listed.answered().await.is(200), "data"), names);
    let listed = gateway.get("/api/v1/models").answered().await.is(200);
    assert_eq!(ids(&listed, "models"), names);
    let reviewer = &listed["models"][2];
    assert_eq!(reviewer["assistant_with"], "claude/claude-haiku-5-5");
    assert_eq!(reviewer.get("alias_of"), None);
    let one = gateway.get("/v1/models/reviewer").answered().await;
    assert_eq!(one.is(200)["id"], "reviewer");
    gateway.end().await;
}

/// Secrets of tokens.
const FEW: &str = "few-0123456789abcdef";
const NONE: &str = "none-0123456789abcdef";
