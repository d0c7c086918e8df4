//! The gateway as whoever runs it sees it: its log, its end, and what is wrong behind it.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, PAGE_TOKEN, jackfield, kept, shell};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";

fn asks(content: &str) -> Value {
    json!({
        "model": "claude-sonnet-5",
        "max_tokens": 100,
        "messages": [{ "role": "user", "content": content }],
    })
}

/// The lines of a log of JSON that tell of requests.
fn answered(log: &str) -> Vec<Value> {
    let lines = log.lines().filter(|line| line.starts_with('{'));
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines
        .filter(|line| line["target"] == "jackfield_http::access")
        .collect()
}

#[tokio::test]
async fn each_request_is_a_line_of_the_log_and_nothing_that_was_said_is_in_it() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("A secret answer."),
        ScriptTurn::text("One in pieces."),
        ScriptTurn::text("Of this the end is not heard.").pause_after(400, &gate),
    ])
    .await;
    let sessions = Kept::new();
    // That nobody reads is seen when something is written.
    let more = "[serve]\nlog = \"json\"\nkeep_alive = \"100ms\"\n";
    let serve = sessions.gateway().at_with(&claude.base_url(), more);
    let mut gateway = Gateway::listening(serve.start()).await;
    let whole = gateway
        .post(CHAT, &asks("a secret question"))
        .answered()
        .await;
    whole.is(200);
    let mut streamed = asks("and in pieces?");
    streamed["stream"] = json!(true);
    let pieces = gateway.post(MESSAGES, &streamed).answered().await;
    pieces.events();
    // A program that watches asks this all the time.
    gateway.get("/healthz").answered().await.is(200);
    gateway.post(CHAT, &json!({})).answered().await.is(400);
    let mut left = gateway.post(MESSAGES, &streamed).sent().await;
    left.until("message_start").await;
    drop(left);
    gateway.running.err.until("broken").await;
    let log = gateway.running.err.so_far();
    for line in log.lines() {
        let object: Result<Value, _> = serde_json::from_str(line);
        assert!(object.is_ok_and(|object| object.is_object()), "{line}");
    }
    let lines = answered(&log);
    let seen: Vec<_> = lines
        .iter()
        .map(|line| {
            let (level, path) = (&line["level"], &line["path"]);
            (level, path, &line["status"], &line["code"], &line["broken"])
        })
        .collect();
    let (info, nothing) = (&json!("INFO"), &Value::Null);
    let (ok, bad) = (&json!(200), &json!(400));
    let invalid = &json!("invalid_request");
    assert_eq!(
        seen,
        [
            (info, &json!(CHAT), ok, nothing, nothing),
            (info, &json!(MESSAGES), ok, nothing, nothing),
            (info, &json!(CHAT), bad, invalid, nothing),
            (info, &json!(MESSAGES), ok, nothing, &json!(true)),
        ]
    );
    let first = &lines[0];
    assert_eq!(first["request"], whole.header("x-request-id"));
    assert_eq!(first["session"], whole.header("x-session-id"));
    assert!(
        first["turn"].is_string() && first["ms"].is_number(),
        "{first}"
    );
    assert_eq!(first["method"], "POST");
    let log = gateway.running.err.so_far();
    assert!(!log.contains("secret"), "{log}");
    gate.open();
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn what_the_log_says_of_a_turn_has_its_id_and_that_of_its_session() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::status(
            400,
            &json!({ "error": { "type": "invalid_request_error" } }),
        ),
        ScriptTurn::text("Of this the end is lost.").pause_after(400, &gate),
        ScriptTurn::text("Said again."),
    ])
    .await;
    let sessions = Kept::new();
    let more = "serve.log = \"json\"\n";
    let serve = || {
        let serve = sessions.gateway().at_with(&claude.base_url(), more);
        serve.env("JACKFIELD_LOG", "info,jackfield_engine=debug")
    };
    let gateway = Gateway::listening(serve().start()).await;
    gateway.post(CHAT, &asks("Hello")).answered().await.is(400);
    let mut streamed = asks("Hello again");
    streamed["stream"] = json!(true);
    let mut left = gateway.post(MESSAGES, &streamed).sent().await;
    gate.reached().await;
    left.until("message_start").await;
    gateway.running.kill();
    let log = gateway.running.end().await.err;
    let refused = line(&log, "a model call failed");
    let answer = answered(&log).remove(0);
    assert_eq!(refused["turn"], answer["turn"], "{log}");
    assert_eq!(refused["session"], answer["session"], "{log}");
    assert!(answer["turn"].is_string() && answer["session"].is_string());
    let mut gateway = Gateway::listening(serve().start()).await;
    gateway.running.err.until("a turn was taken up").await;
    let taken_up = line(&gateway.running.err.so_far(), "a turn was taken up");
    let turn = taken_up["turn"].as_str().expect("its id");
    let head = left.so_far();
    assert!(head.contains(&format!("msg_{turn}")), "{turn} {head}");
    let session = taken_up["session"].as_str().expect("its session");
    assert!(
        head.contains(&format!("x-session-id: {session}\r\n")),
        "{head}"
    );
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn what_was_written_while_it_ended_is_owed_to_nobody_at_the_next_start() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Written to its end.").pause_after(400, &gate),
        ScriptTurn::text("Asked anew."),
    ])
    .await;
    let sessions = Kept::new();
    // The head of a stream comes with its first piece, or after this.
    let more = "serve.keep_alive = \"100ms\"\n";
    let serve = || sessions.gateway().at_with(&claude.base_url(), more);
    let mut gateway = Gateway::listening(serve().start()).await;
    let mut streamed = asks("Hello");
    streamed["stream"] = json!(true);
    let mut reading = gateway.post(MESSAGES, &streamed).sent().await;
    gate.reached().await;
    reading.until("message_start").await;
    gateway.running.terminate();
    gateway.running.err.until("ending").await;
    gate.open();
    reading.until("message_stop").await;
    let ran = gateway.running.end().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let gateway = Gateway::listening(serve().start()).await;
    let answer = gateway.post(MESSAGES, &streamed).answered().await;
    assert!(answer.said().contains("Asked"), "{answer:?}");
    gateway.end().await;
    kept(&claude);
}

/// The first line of a log of JSON with this message.
fn line(log: &str, message: &str) -> Value {
    let lines = log.lines().filter(|line| line.starts_with('{'));
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let found = lines.find(|line| line["message"] == message);
    found.unwrap_or_else(|| panic!("nothing says {message:?}: {log}"))
}

#[tokio::test]
async fn what_was_said_is_in_the_log_where_that_is_asked_for() {
    let claude = ScriptedClaude::start([ScriptTurn::text("A secret answer.")]).await;
    let sessions = Kept::new();
    let more = "[serve]\nlog_content = true\n";
    let serve = sessions.gateway().at_with(&claude.base_url(), more);
    let gateway = Gateway::listening(serve.start()).await;
    let answer = gateway.post(CHAT, &asks("a question")).answered().await;
    answer.is(200);
    gateway.running.terminate();
    let ran = gateway.running.end().await;
    let id = answer.header("x-request-id");
    let line = |what: &str| {
        let mut lines = ran.err.lines();
        lines.find(|line| line.contains(what) && line.contains(id))
    };
    assert!(
        line("asked").is_some_and(|line| line.contains("a question")),
        "{}",
        ran.err
    );
    assert!(
        line("said").is_some_and(|line| line.contains("A secret answer.")),
        "{}",
        ran.err
    );
    kept(&claude);
}

#[tokio::test]
async fn the_lines_of_requests_can_be_left_out_and_no_file_is_coloured() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    let sessions = Kept::new();
    let more = "serve.access_log = false\n";
    let serve = sessions.gateway().at_with(&claude.base_url(), more);
    let gateway = Gateway::listening(serve.start()).await;
    gateway.post(CHAT, &asks("hi")).answered().await.is(200);
    gateway.post(CHAT, &json!({})).answered().await.is(400);
    gateway.running.terminate();
    let ran = gateway.running.end().await;
    // Where it listens, with the page and three base URLs, and that it ended: after its last connection, if the client's was still
    // open.
    let own = ran.err.lines().filter(|line| !line.contains("ending; "));
    assert_eq!(own.count(), 6, "{}", ran.err);
    ran.says("  Page:              http://127.0.0.1:");
    ran.says("  OpenAI clients:    OPENAI_BASE_URL=http://127.0.0.1:");
    assert!(!ran.err.contains("answered"), "{}", ran.err);
    kept(&claude);
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    let serve = sessions.gateway().at(&claude.base_url());
    let gateway = Gateway::listening(serve.start()).await;
    gateway.post(CHAT, &asks("hi")).answered().await.is(200);
    gateway.running.terminate();
    let ran = gateway.running.end().await;
    assert!(ran.err.contains("answered request=req_"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "{}", ran.err);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_gateway_that_may_use_one_core_serves_several_at_once() {
    let gate = Gate::new();
    let computes = json!({ "expression": "6 * 7" });
    let claude = ScriptedClaude::start([
        ScriptTurn::text("First, in the end.").pause_after(400, &gate),
        ScriptTurn::call("calculator", &computes),
        ScriptTurn::text("It is 42."),
    ])
    .await;
    let sessions = Kept::new();
    let more = "[serve]\nkeep_alive = \"100ms\"\n";
    let serve = sessions.gateway().at_with(&claude.base_url(), more);
    let gateway = Gateway::listening(serve.on_one_core().start()).await;
    let mut streamed = asks("slowly");
    streamed["stream"] = json!(true);
    let mut slow = gateway.post(MESSAGES, &streamed).sent().await;
    slow.until("message_start").await;
    gate.reached().await;
    let quick = gateway.post(CHAT, &asks("6 * 7?")).answered().await;
    let said = quick.is(200);
    assert_eq!(said["choices"][0]["message"]["content"], "It is 42.");
    gate.open();
    let slow = slow.answered().await;
    assert!(slow.text().contains("the end."), "{}", slow.text());
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn whoever_asks_twice_for_the_end_does_not_wait_for_what_is_under_way() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Never.").pause_after(0, &gate)]).await;
    let sessions = Kept::new();
    let mut gateway = Gateway::listening(sessions.gateway().at(&claude.base_url()).start()).await;
    let asked = gateway.post(CHAT, &asks("hi")).sent().await;
    gate.reached().await;
    gateway.running.terminate();
    gateway
        .running
        .err
        .until("asked again, it ends at once")
        .await;
    gateway.running.terminate();
    let ran = gateway.running.end().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.says("turns that were not over go on at the next start");
    drop(asked);
    gate.open();
    let state = sessions.run(&["sessions", "list", "--json"]).run().await;
    assert!(state.out.contains("\"open\""), "{}", state.out);
}

#[tokio::test]
async fn a_terminal_that_is_closed_ends_it_in_order_unless_it_was_told_not_to_mind() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("To the end.").pause_after(0, &gate),
        ScriptTurn::text("And on."),
    ])
    .await;
    let sessions = Kept::new();
    let mut gateway = Gateway::listening(sessions.gateway().at(&claude.base_url()).start()).await;
    let asked = gateway.post(CHAT, &asks("hi")).sent().await;
    gate.reached().await;
    // Some hear of it twice.
    for _ in 0..2 {
        gateway.running.signal("-HUP");
        gateway
            .running
            .err
            .until("asked again, it ends at once")
            .await;
    }
    gate.open();
    let answer = asked.answered().await;
    assert!(answer.said().contains("To the end."), "{}", answer.body);
    let ran = gateway.running.end().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);

    let deaf = shell("trap '' HUP; exec \"$jackfield\" serve --bind 127.0.0.1:0");
    let deaf = deaf.env("JACKFIELD_DB", sessions.file());
    let gateway = Gateway::listening(deaf.at(&claude.base_url()).start()).await;
    gateway.running.signal("-HUP");
    gateway.post(CHAT, &asks("hi")).answered().await.is(200);
    gateway.end().await;
}

#[tokio::test]
async fn a_journal_that_fails_is_told_in_each_dialect_and_needs_no_restart_when_it_is_well_again() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let sessions = Kept::new();
    let mut gateway = Gateway::listening(sessions.gateway().at(&claude.base_url()).start()).await;
    let responses = json!({ "model": "claude-sonnet-5", "input": "hi" });
    let ways = [
        (CHAT, asks("hi"), "/error/code", "service_unavailable"),
        (
            MESSAGES,
            asks("hi"),
            "/error/details/error_code",
            "unavailable",
        ),
        (
            "/v1/responses",
            responses,
            "/error/code",
            "service_unavailable",
        ),
    ];
    // It was well a moment ago: what comes then counts.
    gateway.get("/readyz").answered().await.is(200);
    let away = sessions.file().with_file_name("away.db");
    std::fs::rename(sessions.file(), &away).expect("it can be moved");
    for (path, body, place, code) in &ways {
        let refused = gateway.post(path, body).answered().await;
        let said = refused.is(503);
        assert_eq!(said.pointer(place), Some(&json!(code)), "{said}");
        assert_eq!(refused.header("retry-after"), "1");
        assert!(
            !refused.headers.contains_key("x-should-retry"),
            "{refused:?}"
        );
        let id = refused.header("x-request-id");
        gateway
            .running
            .err
            .until(&format!("the journal fails request={id}"))
            .await;
    }
    gateway.get("/readyz").answered().await.is(503);
    // What is kept nowhere needs no journal.
    let passing = gateway
        .post(CHAT, &asks("hi"))
        .header("x-jackfield-tools", "none");
    passing.answered().await.is(200);
    std::fs::rename(&away, sessions.file()).expect("it can be moved");
    for (path, body, ..) in &ways {
        gateway.post(path, body).answered().await.is(200);
    }
    gateway.end().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_journal_that_cannot_be_written_is_named_before_anything_is_served() {
    // Not even root can make a file there.
    let file = "/sys/kernel/sessions.db";
    let claude = ScriptedClaude::start(Vec::<ScriptTurn>::new()).await;
    let ran = jackfield(["serve", "--bind", "127.0.0.1:0"])
        .at(&claude.base_url())
        .env("JACKFIELD_DB", file)
        .run()
        .await;
    let cause = "conversations cannot be kept there";
    ran.fails(3, cause, "name a file that can be written");
    ran.says(&format!("{file} cannot be opened"));
}

#[tokio::test]
async fn the_link_to_the_page_is_printed_again_and_a_log_has_no_token() {
    let page = async |more: &[&str]| {
        let run = jackfield(["page", "--bind", "127.0.0.1:1"]).configured(more.concat());
        run.run().await
    };
    let ran = page(&[]).await;
    assert_eq!(ran.out, format!("http://127.0.0.1:1/#token={PAGE_TOKEN}\n"));
    // Where a key is needed, the link is no secret.
    let ran = page(&["[serve.tokens.one]\nenv = \"ONE\"\n"]).await;
    assert_eq!(ran.out, "http://127.0.0.1:1/\n");
    let nowhere = jackfield(["page"]).env("XDG_DATA_HOME", "/proc/nowhere");
    let ran = nowhere.run().await;
    assert_eq!((ran.code, &*ran.out), (Some(3), ""), "{}", ran.err);
    ran.says("set XDG_DATA_HOME to another one");
    let files = Kept::new();
    let claude = ScriptedClaude::start([]).await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    gateway.running.terminate();
    let ran = gateway.running.end().await;
    ran.says("`jackfield page` prints its link");
    assert!(!ran.err.contains(PAGE_TOKEN), "{}", ran.err);
}
