//! What a session is to those who go on with it behind the gateway: whose it is, which words are new in it,
//! and which tools hold.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, Kept, kept};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MODEL: &str = "claude-sonnet-5";

const TOKENS: &str = "[serve.tokens.all]\nenv = \"ALL\"\nprincipal = \"us\"\n\
                      [serve.tokens.few]\nenv = \"FEW\"\nprincipal = \"us\"\ntools = [\"builtin/calc*\"]\n\
                      [serve.tokens.other]\nenv = \"OTHER\"\n\
                      [serve.tokens.root]\nenv = \"ROOT\"\nadmin = true\n";
const ALL: &str = "all-0123456789abcdef";
const FEW: &str = "few-0123456789abcdef";
const OTHER: &str = "other-0123456789abcdef";
const ROOT: &str = "root-0123456789abcdef";

async fn gateway(claude: &ScriptedClaude, sessions: &Kept) -> Gateway {
    let serve = sessions.gateway().at_with(&claude.base_url(), TOKENS);
    let serve = serve.env("ALL", ALL).env("FEW", FEW);
    let serve = serve.env("OTHER", OTHER).env("ROOT", ROOT);
    Gateway::listening(serve.start()).await
}

fn asks(content: &str) -> Value {
    json!({ "model": MODEL, "messages": [{ "role": "user", "content": content }] })
}

/// The body with a tool of the client's.
fn with_mine(path: &str, mut body: Value) -> Value {
    body["tools"] = if path == RESPONSES {
        json!([{ "type": "function", "name": "mine", "parameters": { "type": "object" } }])
    } else {
        json!([{ "type": "function", "function": {
            "name": "mine", "parameters": { "type": "object" },
        } }])
    };
    body
}

/// The tools that the model was offered last.
fn offered(claude: &ScriptedClaude) -> Vec<String> {
    let requests = claude.requests();
    let last = requests.last().expect("a request");
    let tools = last["tools"].as_array().into_iter().flatten();
    let names = tools.filter_map(|tool| tool["name"].as_str());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort_unstable();
    names
}

const OURS: [&str; 2] = ["calculator", "current_datetime"];
const BOTH: [&str; 3] = ["calculator", "current_datetime", "mine"];

struct Client<'a> {
    gateway: &'a Gateway,
    path: &'static str,
    token: &'static str,
}

impl Client<'_> {
    /// Sends this, with these headers.
    async fn sends(&self, body: &Value, headers: &[(&str, &str)]) -> Answer {
        let mut asking = self
            .gateway
            .post(self.path, body)
            .header("x-api-key", self.token);
        for (name, value) in headers {
            asking = asking.header(name, value);
        }
        let answer = asking.answered().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer
    }
}

#[tokio::test]
async fn tools_that_a_follow_up_leaves_out_are_those_of_its_session() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions).await;
    let chat = |token| Client {
        gateway: &gateway,
        path: CHAT,
        token,
    };
    let all = ("x-jackfield-tools", "all");
    let first = with_mine(CHAT, asks("hi"));
    let told = chat(ALL).sends(&first, &[all]).await;
    assert_eq!(offered(&claude), BOTH);
    let session = ("x-session-id", told.header("x-session-id"));
    // By the name of the session; what a token may use, holds in any case.
    chat(ALL).sends(&asks("and?"), &[session]).await;
    assert_eq!(offered(&claude), BOTH);
    chat(FEW).sends(&asks("and then?"), &[session]).await;
    assert_eq!(offered(&claude), ["calculator", "mine"]);
    // Said is said, for this side too.
    let none = ("x-jackfield-tools", "none");
    chat(ALL).sends(&asks("so?"), &[session, none]).await;
    assert_eq!(offered(&claude), ["mine"]);
    // A list without any tool is one.
    let mut without = asks("without");
    without["tools"] = json!([]);
    chat(ALL).sends(&without, &[session]).await;
    assert_eq!(offered(&claude), OURS);
    chat(ALL).sends(&asks("still?"), &[session]).await;
    assert_eq!(offered(&claude), OURS);

    // By what was said, the same.
    let first = with_mine(CHAT, asks("hello"));
    let told = chat(ALL).sends(&first, &[all]).await;
    let message = &told.is(200)["choices"][0]["message"];
    let history = |more: &str| {
        json!({ "model": MODEL, "messages": [
            first["messages"][0], message, { "role": "user", "content": more },
        ] })
    };
    let next = chat(ALL).sends(&history("and?"), &[]).await;
    assert_eq!(next.header("x-session-id"), told.header("x-session-id"));
    assert_eq!(offered(&claude), BOTH);
    // And where it forks, those of the place.
    let fork = chat(ALL).sends(&history("or?"), &[]).await;
    assert_ne!(fork.header("x-session-id"), told.header("x-session-id"));
    assert_eq!(offered(&claude), BOTH);
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn tools_that_a_response_leaves_out_are_those_of_the_one_before() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions).await;
    let client = Client {
        gateway: &gateway,
        path: RESPONSES,
        token: ALL,
    };
    let asks = |input: &str, previous: &Value| json!({ "model": MODEL, "input": input, "previous_response_id": previous });
    let first = with_mine(RESPONSES, asks("hi", &Value::Null));
    let told = client.sends(&first, &[]).await.is(200);
    assert_eq!(offered(&claude), ["mine"]);
    // The tools of this side were none, and are none.
    let next = client.sends(&asks("and?", &told["id"]), &[]).await.is(200);
    assert_eq!(offered(&claude), ["mine"]);
    let mut without = asks("without", &next["id"]);
    without["tools"] = json!([]);
    client.sends(&without, &[]).await;
    assert_eq!(offered(&claude), OURS);
    // From an earlier one: those of that one.
    client.sends(&asks("or?", &told["id"]), &[]).await;
    assert_eq!(offered(&claude), ["mine"]);
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn a_session_that_no_token_has_begun_is_there_for_admins_alone() {
    let claude = ScriptedClaude::start([ScriptTurn::text("A secret.").again()]).await;
    let sessions = Kept::new();
    let asked = sessions.run(&["chat"]).stdin("Tell me.\n");
    let asked = asked.at_with(&claude.base_url(), "").run().await;
    assert_eq!(asked.code, Some(0), "{}", asked.err);
    let list = sessions.run(&["sessions", "list", "--json"]).run().await;
    let rows: Value = serde_json::from_str(&list.out).expect("a list");
    let work = rows[0]["id"].as_str().expect("an id");
    let gateway = gateway(&claude, &sessions).await;
    for path in [CHAT, "/v1/messages", RESPONSES] {
        let mut body = asks("What was it?");
        body["max_tokens"] = 100.into();
        if path == RESPONSES {
            body = json!({ "model": MODEL, "input": "What was it?" });
        }
        for token in [ALL, OTHER] {
            let asking = gateway.post(path, &body).header("x-api-key", token);
            let refused = asking.header("x-session-id", work).answered().await;
            assert_eq!(refused.status, 404, "{path}: {refused:?}");
        }
    }
    assert_eq!(claude.requests().len(), 1);
    let root = gateway
        .post(CHAT, &asks("What was it?"))
        .header("x-api-key", ROOT);
    let told = root.header("x-session-id", work).answered().await;
    told.is(200);
    assert_eq!(told.header("x-session-id"), work);
    let history = claude.requests()[1].to_string();
    assert!(history.contains("A secret."), "{history}");
    // One that the own API made for a token is that token's before anything is said in it.
    let made = gateway.raw("POST", "/api/v1/sessions").body("{}");
    let made = made.header("x-api-key", ALL).answered().await.is(201);
    let name = made["id"].as_str().expect("an id");
    let asking = |token| {
        let asking = gateway.post(CHAT, &asks("hi")).header("x-api-key", token);
        asking.header("x-session-id", name).answered()
    };
    assert_eq!(asking(OTHER).await.status, 404);
    assert_eq!(asking(ALL).await.status, 200);
    assert_eq!(asking(OTHER).await.status, 404);
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn the_same_words_in_another_session_or_later_in_the_same_one_are_another_request() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("One."),
        ScriptTurn::text("Other."),
        ScriptTurn::text("Lost in one.").pause_after(0, &gate),
        ScriptTurn::text("Of the other."),
        ScriptTurn::text("Something else."),
        ScriptTurn::text("Once more."),
    ])
    .await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions).await;
    let client = Client {
        gateway: &gateway,
        path: CHAT,
        token: ALL,
    };
    let one = client.sends(&asks("one"), &[]).await;
    let other = client.sends(&asks("other"), &[]).await;
    let one = ("x-session-id", one.header("x-session-id"));
    let other = ("x-session-id", other.header("x-session-id"));
    let go_on = asks("Go on.");
    let lost = gateway.post(CHAT, &go_on).header("x-api-key", ALL);
    let lost = lost.header(one.0, one.1).sent().await;
    gate.reached().await;
    drop(lost);
    // What broke in one session is not owed to the other, even if that says that it asks again.
    let repeat = ("x-stainless-retry-count", "1");
    let told = client.sends(&go_on, &[other, repeat]).await;
    assert!(told.said().contains("Of the other."), "{told:?}");
    gate.open();
    until_at_rest(&gateway, one.1).await;
    // It went on otherwise: what broke then is not what the same words ask for now.
    let told = client.sends(&asks("Something else?"), &[one]).await;
    assert!(told.said().contains("Something else."), "{told:?}");
    let told = client.sends(&go_on, &[one]).await;
    assert!(told.said().contains("Once more."), "{told:?}");
    // And where nothing came after it, it is.
    let told = client.sends(&go_on, &[one, repeat]).await;
    assert!(told.said().contains("Once more."), "{told:?}");
    gateway.end().await;
    kept(&claude);
}

/// Waits until no turn of a session is open.
async fn until_at_rest(gateway: &Gateway, session: &str) {
    let path = format!("/api/v1/sessions/{session}/events?until=rest");
    let events = gateway.get(&path).header("x-api-key", ROOT);
    assert_eq!(events.answered().await.status, 200);
}
