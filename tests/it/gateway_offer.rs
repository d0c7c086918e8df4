//! Which server tools a request to a plain model gets without asking, and which it gets at most.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, McpServer, offered, tool};

const MODEL: &str = "claude-sonnet-5";

async fn plain(claude: &ScriptedClaude, sessions: &Kept, more: &str) -> Gateway {
    let serve = sessions.gateway().plain();
    let serve = serve.at_with(&claude.base_url(), more);
    Gateway::listening(serve.start()).await
}

fn bodies() -> [(&'static str, Value); 3] {
    let said = json!([{ "role": "user", "content": "hi" }]);
    [
        (
            "/v1/chat/completions",
            json!({ "model": MODEL, "messages": said }),
        ),
        (
            "/v1/messages",
            json!({ "model": MODEL, "max_tokens": 100, "messages": said }),
        ),
        (
            "/v1/responses",
            json!({ "model": MODEL, "input": "hi", "store": false }),
        ),
    ]
}

#[tokio::test]
async fn a_plain_model_gets_no_tools_that_nobody_asked_for() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let sessions = Kept::new();
    let gateway = plain(&claude, &sessions, "").await;
    for (path, body) in bodies() {
        let answer = gateway.post(path, &body).answered().await;
        answer.is(200);
        // Nothing of it is kept.
        assert_eq!(answer.headers.get("x-session-id"), None, "{path}");
        let requests = claude.requests();
        let last = requests.last().expect("a request");
        assert_eq!(last["tools"], Value::Null, "{path}");
        // The default prompt is about tools.
        assert_eq!(last["system"], Value::Null, "{path}");
        let asking = gateway.post(path, &body);
        let answer = asking.header("x-jackfield-tools", "all").answered().await;
        answer.is(200);
        answer.header("x-session-id");
        let requests = claude.requests();
        let last = requests.last().expect("a request");
        assert_eq!(offered(last), ["calculator", "current_datetime"], "{path}");
    }
    gateway.end().await;
}

#[tokio::test]
async fn what_is_offered_without_asking_is_a_setting_below_what_the_token_allows() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let (few, none) = ("few-0123456789abcdef", "none-0123456789abcdef");
    let tokens = "[serve.tokens.few]\nenv = \"FEW\"\ntools = [\"builtin/calc*\"]\n\
                  [serve.tokens.none]\nenv = \"NONE\"\ntools = \"none\"\n";
    let both = &["calculator", "current_datetime"][..];
    let calculator = &["calculator"][..];
    for (offer, token, expected) in [
        ("\"all\"", few, calculator),
        ("\"all\"", none, &[]),
        ("\"none\"", few, &[]),
        ("[]", few, &[]),
        ("[\"builtin/*\"]", few, calculator),
        ("[\"builtin/current_datetime\"]", few, &[]),
        ("[\"nothing/*\"]", few, &[]),
        ("[\"builtin/*\"]", "", both),
        ("[\"builtin/calculator\", \"gone/*\"]", "", calculator),
    ] {
        let sessions = Kept::new();
        let tokens = if token.is_empty() { "" } else { tokens };
        let more = format!("[serve]\noffer = {offer}\n{tokens}");
        let serve = sessions.gateway().plain();
        let serve = serve.at_with(&claude.base_url(), &more);
        let serve = serve.env("FEW", few).env("NONE", none);
        let gateway = Gateway::listening(serve.start()).await;
        let [(path, body), ..] = bodies();
        let asking = gateway.post(path, &body).header("x-api-key", token);
        asking.answered().await.is(200);
        let requests = claude.requests();
        let last = requests.last().expect("a request");
        assert_eq!(offered(last), expected, "{offer} for {token}");
        gateway.end().await;
    }
}

/// The gateway hides denied tools, and tools that need an approval where no client can give one.
#[tokio::test]
async fn the_model_of_a_client_sees_only_tools_that_may_run() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("files__denied", &json!({})),
        ScriptTurn::text("It is not there."),
    ])
    .await;
    let write =
        json!({ "name": "write", "description": "Writes.", "inputSchema": { "type": "object" } });
    let files = McpServer::new(json!({
        "instructions": "Read before you write.", "tools": [tool("read"), tool("denied"), write],
    }));
    let other = McpServer::new(json!({
        "instructions": "Only ever denied.", "tools": [tool("other")],
    }));
    let sessions = Kept::new();
    let more = "[serve]\noffer = \"all\"\n[policy.tools]\n\"files/denied\" = \"deny\"\n\
                \"other/*\" = \"deny\"\n\"builtin/*\" = \"ask\"\n";
    let serve = sessions.gateway().plain();
    let serve = serve.at_with(&claude.base_url(), more);
    let serve = serve.servers([("files", files.trusted()), ("other", other.trusted())]);
    let gateway = Gateway::listening(serve.start()).await;
    let [(path, body), ..] = bodies();
    let answer = gateway.post(path, &body).answered().await;
    answer.is(200);
    let requests = claude.requests();
    assert_eq!(offered(&requests[0]), ["files__read"]);
    let system = requests[0]["system"].to_string();
    assert!(system.contains("Read before you write."), "{system}");
    assert!(!system.contains("Only ever denied."), "{system}");
    // Neither the rule nor the file that it is in is named.
    let outcome = requests[1]["messages"].to_string();
    assert!(outcome.contains("There is no tool named"), "{outcome}");
    for advice in ["policy.tools", "deny", "allow"] {
        assert!(!outcome.contains(advice), "{advice}: {outcome}");
    }
    assert_eq!(files.count("call"), 0);
    gateway.end().await;
}
