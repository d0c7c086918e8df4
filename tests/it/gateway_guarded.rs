//! The gateway, as it is run: who may ask, how much, and what stays.

use std::time::Duration;

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, kept};

const CHAT: &str = "/v1/chat/completions";

/// Two tokens, of two principals.
const TOKENS: &str = "[serve.tokens.one]\nenv = \"ONE\"\n[serve.tokens.other]\nenv = \"OTHER\"\n";
const ONE: &str = "one-0123456789abcdef";
const OTHER: &str = "other-0123456789abcdef";

async fn gateway(claude: &ScriptedClaude, sessions: &Kept, more: &str) -> Gateway {
    let serve = sessions.gateway().at_with(&claude.base_url(), more);
    let serve = serve.env("ONE", ONE).env("OTHER", OTHER);
    Gateway::listening(serve.start()).await
}

fn hi() -> Value {
    asks("hi")
}

fn asks(content: &str) -> Value {
    json!({ "model": "claude-sonnet-5", "messages": [{ "role": "user", "content": content }] })
}

fn content(said: &Value) -> &str {
    let content = &said["choices"][0]["message"]["content"];
    content
        .as_str()
        .unwrap_or_else(|| panic!("no words: {said}"))
}

/// What the list of sessions says of them.
async fn listed(sessions: &Kept) -> Vec<Value> {
    let list = sessions.run(&["sessions", "list", "--json"]).run().await;
    serde_json::from_str(&list.out).expect("a list")
}

#[tokio::test]
async fn an_address_that_others_reach_needs_a_token() {
    let sessions = Kept::new();
    let serve = sessions
        .run(&["serve", "--bind", "0.0.0.0:0"])
        .configured("");
    let ran = serve.run().await;
    ran.fails(3, "no token is configured", "openssl rand");
}

#[tokio::test]
async fn without_the_right_token_nothing_is_answered() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, TOKENS).await;
    for path in [CHAT, "/v1/messages", "/v1/responses", "/v1/models"] {
        for token in [None, Some("wrong-0123456789abcdef"), Some(""), Some("one")] {
            let asking = if path == "/v1/models" {
                gateway.get(path)
            } else {
                gateway.post(path, &hi())
            };
            let asking = match token {
                None => asking,
                Some(token) => asking.header("authorization", &format!("Bearer {token}")),
            };
            let refused = asking.answered().await;
            let error = refused.is(401);
            assert_eq!(
                error["error"]["type"], "authentication_error",
                "{path}: {error}"
            );
        }
    }
    assert_eq!(claude.requests().len(), 0);
    for (name, value) in [
        ("authorization", format!("Bearer {ONE}")),
        ("authorization", format!("bearer {OTHER}")),
        ("x-api-key", ONE.to_owned()),
    ] {
        let answer = gateway
            .post(CHAT, &hi())
            .header(name, &value)
            .answered()
            .await;
        assert_eq!(content(&answer.is(200)), "Hello.");
    }
    gateway.end().await;
}

#[tokio::test]
async fn two_who_say_the_same_never_meet() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello, you.").again()]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, TOKENS).await;
    let as_of = |token: &str, user: Option<&str>, body: &Value| {
        let mut body = body.clone();
        if let Some(user) = user {
            body["user"] = user.into();
        }
        gateway.post(CHAT, &body).header("x-api-key", token)
    };
    let mut seen: Vec<String> = Vec::new();
    for (token, user) in [
        (ONE, None),
        (OTHER, None),
        (ONE, Some("ann")),
        (ONE, Some("bob")),
    ] {
        let first = as_of(token, user, &hi()).answered().await;
        let said = first.is(200);
        let session = first.header("x-session-id").to_owned();
        assert!(!seen.contains(&session), "{session} is met again");
        // The same conversation goes on with one's own.
        let next = json!({ "model": "claude-sonnet-5", "messages": [
            hi()["messages"][0],
            said["choices"][0]["message"],
            { "role": "user", "content": "and then?" },
        ] });
        let second = as_of(token, user, &next).answered().await;
        second.is(200);
        assert_eq!(second.header("x-session-id"), session);
        // Nobody else's is found by its name.
        for other in &seen {
            let refused = as_of(token, user, &hi()).header("x-session-id", other);
            assert_eq!(
                refused.answered().await.is(404)["error"]["code"],
                "session_not_found"
            );
        }
        // Nor by saying that it was sent before.
        let repeat = as_of(token, user, &hi()).header("x-stainless-retry-count", "1");
        assert_eq!(repeat.answered().await.header("x-session-id"), session);
        seen.push(session);
    }
    gateway.end().await;
}

/// A reply that no file may contain.
const WORDS: &str = "The heron stands in the reeds.";

#[tokio::test]
async fn what_has_neither_session_nor_tools_leaves_none_of_its_words() {
    let claude = ScriptedClaude::start([ScriptTurn::text(WORDS).again()]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, "").await;
    let has_words = || {
        let folder = sessions.file();
        let folder = folder.parent().expect("a folder");
        let entries = std::fs::read_dir(folder).expect("a folder");
        let files = entries.map(|entry| entry.expect("a file").path());
        let mut files = files.filter(|path| path.is_file());
        files.any(|path| {
            let bytes = std::fs::read(path).expect("a file");
            bytes
                .windows(WORDS.len())
                .any(|part| part == WORDS.as_bytes())
        })
    };
    let tool = json!([{ "type": "function", "function": { "name": "mine", "parameters": {
        "type": "object",
    } } }]);
    for stream in [false, true] {
        let mut body = hi();
        body["stream"] = stream.into();
        let none = gateway
            .post(CHAT, &body)
            .header("x-jackfield-tools", "none");
        let none = none.answered().await;
        assert_eq!(none.status, 200, "{none:?}");
        assert!(!none.headers.contains_key("x-session-id"), "{none:?}");
        body["tools"] = tool.clone();
        let own = gateway.post(CHAT, &body).answered().await;
        assert_eq!(own.status, 200, "{own:?}");
        assert!(!own.headers.contains_key("x-session-id"), "{own:?}");
    }
    let unstored = json!({ "model": "claude-sonnet-5", "input": "hi", "store": false });
    gateway
        .post("/v1/responses", &unstored)
        .header("x-jackfield-tools", "none")
        .answered()
        .await
        .is(200);
    assert!(!has_words(), "the words of a reply are kept");
    // With tools of this side it is another matter.
    gateway
        .post(CHAT, &hi())
        .answered()
        .await
        .header("x-session-id");
    assert!(has_words(), "nothing is kept");
    gateway.end().await;
}

#[tokio::test]
async fn what_is_no_request_is_refused_in_the_form_of_its_path() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let sessions = Kept::new();
    let more = "[serve.limits]\nbody = \"4KiB\"\nheaders = 20\n";
    let gateway = gateway(&claude, &sessions, more).await;
    for path in [CHAT, "/v1/messages", "/v1/responses"] {
        let is_claude = path == "/v1/messages";
        let form = |body: &Value| {
            let error = &body["error"];
            assert_eq!(body["type"] == "error", is_claude, "{body}");
            assert!(
                error["type"].is_string() && error["message"].is_string(),
                "{body}"
            );
        };
        let large = gateway
            .post(path, &asks(&"x".repeat(5000)))
            .answered()
            .await;
        form(&large.is(413));
        for broken in ["", "{", "[]", "null", "\u{feff}{}", "{\"model\": 7}"] {
            form(
                &gateway
                    .raw("POST", path)
                    .body(broken)
                    .answered()
                    .await
                    .is(400),
            );
        }
        form(
            &gateway
                .raw("POST", path)
                .body(b"\xff\xfe{}".as_slice())
                .answered()
                .await
                .is(400),
        );
        form(&gateway.get(path).answered().await.is(405));
        form(
            &gateway
                .post(&format!("{path}/nothing/here"), &hi())
                .answered()
                .await
                .is(404),
        );
        form(
            &gateway
                .post(path, &hi())
                .host("evil.example")
                .answered()
                .await
                .is(403),
        );
        let page = gateway
            .post(path, &hi())
            .header("origin", "https://evil.example");
        form(&page.answered().await.is(403));
    }
    // The server is as well as before.
    assert_eq!(
        content(&gateway.post(CHAT, &hi()).answered().await.is(200)),
        "Hello."
    );
    assert_eq!(claude.requests().len(), 1);
    gateway.end().await;
}

#[tokio::test]
async fn more_than_are_answered_at_once_are_told_to_come_again() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Slowly.")
            .when("slow")
            .pause_after(0, &gate),
        ScriptTurn::text("Hello."),
    ])
    .await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, "[serve.limits]\nstreams = 1\n").await;
    let slow = gateway.post(CHAT, &asks("slow")).sent().await;
    gate.reached().await;
    let refused = gateway.post(CHAT, &hi()).answered().await;
    assert_eq!(refused.is(429)["error"]["code"], "rate_limit_exceeded");
    assert_eq!(refused.header("retry-after"), "1");
    gate.open();
    assert_eq!(content(&slow.answered().await.is(200)), "Slowly.");
    // Its place is free a moment after its last byte.
    let answer = loop {
        let answer = gateway.post(CHAT, &hi()).answered().await;
        if answer.status != 429 {
            break answer;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(content(&answer.is(200)), "Hello.");
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn it_ends_when_what_is_under_way_has_ended() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Done.").pause_after(0, &gate)]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, "").await;
    let mut body = hi();
    body["stream"] = true.into();
    let under_way = gateway.post(CHAT, &body).sent().await;
    gate.reached().await;
    gateway.running.terminate();
    // Nobody is taken in any more.
    while tokio::net::TcpStream::connect(gateway.address())
        .await
        .is_ok()
    {
        tokio::task::yield_now().await;
    }
    gate.open();
    let answer = under_way.answered().await;
    assert!(
        answer.said().contains("Done.") && answer.body.contains("[DONE]"),
        "{answer:?}"
    );
    let ran = gateway.running.end().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    kept(&claude);
}

#[tokio::test]
async fn a_turn_that_is_killed_goes_on_at_the_next_start_and_is_collected() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Lost.").pause_after(0, &gate),
        ScriptTurn::text("Here it is."),
    ])
    .await;
    let sessions = Kept::new();
    let first = gateway(&claude, &sessions, "").await;
    let asking = first.post(CHAT, &asks("Do it.")).sent().await;
    gate.reached().await;
    first.running.kill();
    first.running.end().await;
    drop(asking);
    let second = gateway(&claude, &sessions, "").await;
    let again = second
        .post(CHAT, &asks("Do it."))
        .header("x-stainless-retry-count", "1");
    let again = again.answered().await;
    assert_eq!(content(&again.is(200)), "Here it is.");
    let rows = listed(&sessions).await;
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["id"], again.header("x-session-id"));
    assert_eq!(rows[0]["turns"], 1, "{rows:?}");
    second.end().await;
    gate.open();
    kept(&claude);
}

#[tokio::test]
async fn a_client_that_went_away_gets_its_answer_and_nothing_is_begun_twice() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Here it is.").pause_after(0, &gate),
        ScriptTurn::text("Another one."),
    ])
    .await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, "").await;
    let mut body = asks("Do it.");
    body["stream"] = true.into();
    let asking = gateway.post(CHAT, &body).sent().await;
    gate.reached().await;
    drop(asking);
    gate.open();
    let again = gateway
        .post(CHAT, &body)
        .header("x-stainless-retry-count", "1");
    let answer = again.answered().await;
    assert!(answer.said().contains("Here it is."), "{answer:?}");
    assert_eq!(claude.requests().len(), 1);
    // Once it was whole, the same words are another question.
    let next = gateway.post(CHAT, &body).answered().await;
    assert!(next.said().contains("Another one."), "{next:?}");
    assert_ne!(next.header("x-session-id"), answer.header("x-session-id"));
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn a_key_is_used_for_one_request_and_its_answer_given_again() {
    let claude = ScriptedClaude::start([ScriptTurn::text("One."), ScriptTurn::text("Two.")]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, "").await;
    let with_key = |body: &Value, key: &str| {
        gateway
            .post(CHAT, body)
            .header("idempotency-key", key)
            .answered()
    };
    let first = with_key(&hi(), "k-1").await;
    let again = with_key(&hi(), "k-1").await;
    assert_eq!(first.is(200)["id"], again.is(200)["id"]);
    assert_eq!(content(&again.is(200)), "One.");
    let refused = with_key(&asks("something else"), "k-1").await;
    assert_eq!(refused.is(409)["error"]["code"], "conflict");
    assert_eq!(content(&with_key(&hi(), "k-2").await.is(200)), "Two.");
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn what_gets_lost_is_noted_or_refused_by_name() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, "").await;
    let mut body = hi();
    body["seed"] = 7.into();
    let noted = gateway.post(CHAT, &body).answered().await;
    noted.is(200);
    let notes: Value = serde_json::from_str(noted.header("x-jackfield-notes")).expect("JSON");
    let mut paths = notes
        .as_array()
        .expect("a list")
        .iter()
        .map(|note| &note["path"]);
    assert!(paths.any(|path| path == "settings.seed"), "{notes}");
    let refused = gateway
        .post(CHAT, &body)
        .header("x-jackfield-strict", "cosmetic");
    let refused = refused.answered().await;
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(refused.body.contains("seed"), "{refused:?}");
    assert_eq!(claude.requests().len(), 1);
    gateway.end().await;
}

#[tokio::test]
async fn turns_that_nobody_waits_for_have_their_places_too() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Slowly.")
            .when("slow")
            .pause_after(0, &gate),
        ScriptTurn::text("Hello."),
    ])
    .await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions, "[serve.limits]\nstreams = 1\n").await;
    let background = |input: &str| {
        let body = json!({ "model": "claude-sonnet-5", "input": input, "background": true });
        gateway.post("/v1/responses", &body).answered()
    };
    let slow = background("slow").await.is(200);
    gate.reached().await;
    for refused in [
        background("more").await,
        gateway.post(CHAT, &hi()).answered().await,
    ] {
        refused.is(429);
        assert_eq!(refused.header("retry-after"), "1");
    }
    // What is there already is given all the same.
    let id = slow["id"].as_str().expect("an id");
    let shown = gateway.get(&format!("/v1/responses/{id}"));
    shown.answered().await.is(200);
    gate.open();
    let patience = Duration::from_secs(60);
    let told = async { while gateway.post(CHAT, &hi()).answered().await.status == 429 {} };
    assert!(
        tokio::time::timeout(patience, told).await.is_ok(),
        "no place is left"
    );
    gateway.end().await;
    kept(&claude);
}
