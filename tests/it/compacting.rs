//! Compaction: in a chat by hand, by the share of the window, after a request that was too long, and over the API.

use jackfield_domain::usage::Usage;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::api::{is_problem, post, session};
use crate::harness::{Gateway, Jackfield, Kept, Ran, Size, kept};

/// A context window that one long message almost fills, and a price at which a token is a millionth.
const SMALL: &str = "[models.\"claude/claude-opus-5-5\"]\ncontext_window = 1200\n\
                     [prices.\"claude/claude-opus-5-5\"]\ninput = 1\noutput = 1\n";

/// A message of about a thousand tokens.
fn long() -> String {
    "hello... ".repeat(444)
}

/// What the answer to a long message used.
fn almost_full() -> Usage {
    Usage {
        input: 1000,
        output: 2,
        ..Usage::default()
    }
}

/// A summary; its request has the conversation as one text.
fn summary() -> ScriptTurn {
    ScriptTurn::text("They said hello.").when("Summarize the conversation above")
}

/// The texts of the messages of a request.
fn texts(claude: &ScriptedClaude, nth: usize) -> Vec<String> {
    let messages = claude.requests()[nth]["messages"].clone();
    let messages = messages.as_array().cloned().unwrap_or_default();
    let texts = |message: &Value| {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        let texts = blocks.iter().filter_map(|block| block["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    };
    messages.iter().map(texts).collect()
}

/// The binary with these arguments, on this file.
fn run(arguments: &[&str], claude: &ScriptedClaude, files: &Kept, more: &str) -> Jackfield {
    files.run(arguments).at_with(&claude.base_url(), more)
}

#[track_caller]
fn read(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_str(&ran.out).expect("JSON")
}

#[tokio::test]
async fn in_a_chat_a_summary_replaces_the_beginning_in_a_fork_and_all_of_it_is_kept() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text("one"),
        ScriptTurn::text("two"),
        summary(),
        ScriptTurn::text("three"),
    ])
    .await;
    let files = Kept::new();
    let chat = files.run(&["chat"]).at_with(&claude.base_url(), SMALL);
    let mut terminal = chat.at_terminal(Size(60, 200));
    terminal.prompts().await;
    for (line, shown) in [
        ("/compact", "nothing was said yet"),
        ("first of all", "\none\n"),
        ("/compact", "has nothing that a summary could replace yet"),
        ("second", "\ntwo\n"),
        ("/compact", "compacted: 2 messages into a summary · "),
        ("third", "\nthree\n"),
    ] {
        terminal.line(line).await;
        terminal.shows(shown).await;
        terminal.prompts().await;
    }
    let screen = terminal.screen();
    assert!(screen.contains(" USD; session "), "{screen}");
    let asked = texts(&claude, 2);
    assert!(
        asked[0].contains("first of all") && !asked[0].contains("second"),
        "{asked:?}"
    );
    let asked = texts(&claude, 3);
    assert!(asked[0].ends_with("They said hello.\nsecond"), "{asked:?}");
    assert_eq!(asked[1..], ["two", "third"]);
    terminal.line("/usage").await;
    terminal.shows("all").await;
    terminal.prompts().await;
    terminal.line("/quit").await;
    drop(terminal);
    kept(&claude);

    // The session before has everything and no summary; the fork says what was replaced.
    let list = read(&files.run(&["sessions", "list", "--json"]).run().await);
    let ids: Vec<String> = list
        .as_array()
        .expect("sessions")
        .iter()
        .filter_map(|row| row["id"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(ids.len(), 2, "{list:#}");
    let fork = files.run(&["sessions", "show", &ids[0]]).run().await;
    assert!(
        fork.out.contains("── compacted: 2 messages into a summary"),
        "{}",
        fork.out
    );
    let before = files.run(&["sessions", "show", &ids[1]]).run().await;
    assert!(
        before.out.contains("first of all") && !before.out.contains("compacted"),
        "{}",
        before.out
    );
    // What the summary used is in the reports.
    let told = read(
        &run(&["usage", "--json"], &claude, &files, SMALL)
            .run()
            .await,
    );
    assert_eq!(told["total"]["replies"], 4, "{told:#}");
    let replayed = files.run(&["replay", &ids[0]]).run().await;
    assert_eq!(replayed.code, Some(0), "{}\n{}", replayed.out, replayed.err);
}

#[tokio::test]
async fn a_question_compacts_its_session_at_the_share_of_the_window() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Yes.").using(almost_full()),
        summary(),
        ScriptTurn::text("No."),
        ScriptTurn::text("Again."),
    ])
    .await;
    let files = Kept::new();
    let ask = |question: &str| {
        let arguments = ["ask", "--session", "talk", question];
        run(&arguments, &claude, &files, SMALL)
    };
    ask(&long()).run().await.answers("Yes.\n");
    let ran = ask("And now?").run().await;
    ran.answers("No.\n");
    ran.says("compacted: 2 messages into a summary · ");
    let asked = texts(&claude, 2);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(
        asked[0].ends_with("They said hello.\nAnd now?"),
        "{asked:?}"
    );
    // It goes on from there.
    ask("And then?").run().await.answers("Again.\n");
    assert_eq!(texts(&claude, 3).len(), 3);
    kept(&claude);

    let shown = files.run(&["sessions", "show", "talk"]).run().await;
    let whole = [
        "hello...",
        "── compacted: 2 messages into a summary",
        "And now?",
    ];
    assert!(
        whole.iter().all(|part| shown.out.contains(part)),
        "{}",
        shown.out
    );
    let exported = files
        .run(&["sessions", "export", "talk", "--format", "json"])
        .run()
        .await;
    let turn = read(&exported)["turns"][1].clone();
    assert_eq!(turn["compactions"][0]["replaced"], 2, "{turn:#}");
    assert!(
        turn["compactions"][0]["cost"]["amount"].is_string(),
        "{turn:#}"
    );
    // A fork at the turn before has the whole beginning.
    let forked = files
        .run(&["sessions", "fork", "talk", "--at", "1"])
        .run()
        .await;
    let shown = files
        .run(&["sessions", "show", forked.out.trim()])
        .run()
        .await;
    assert!(shown.out.contains("hello..."), "{}", shown.out);
}

#[tokio::test]
async fn a_question_that_is_too_long_is_asked_again_with_a_summary_unless_that_is_turned_off() {
    let refusal = json!({ "type": "error", "error": {
        "type": "invalid_request_error",
        "message": "prompt is too long: 250000 tokens > 200000 maximum",
    } });
    for (more, goes_on) in [("", true), ("compaction.at = 0\n", false)] {
        let mut script = vec![ScriptTurn::text("Yes."), ScriptTurn::status(400, &refusal)];
        if goes_on {
            script.extend([summary(), ScriptTurn::text("No.")]);
        }
        let claude = ScriptedClaude::start(script).await;
        let files = Kept::new();
        let ask = |question: &str| {
            let arguments = ["ask", "--json", "--session", "talk", question];
            run(&arguments, &claude, &files, more)
        };
        assert_eq!(ask(&long()).run().await.code, Some(0));
        let ran = ask("And now?").run().await;
        kept(&claude);
        if !goes_on {
            ran.says_line("help: ", "`/compact` in `jackfield chat`");
            continue;
        }
        let events = ran.events();
        let kinds: Vec<&str> = events
            .iter()
            .filter_map(|event| event["event"].as_str())
            .collect();
        let place = |kind| kinds.iter().position(|known| *known == kind);
        assert!(place("retry") < place("compacted"), "{kinds:?}");
        let compacted = &events[place("compacted").expect("a compaction")];
        assert_eq!(compacted["replaced"], 2, "{compacted}");
        assert_eq!(compacted["why_not"], Value::Null);
        assert_eq!(ran.last_event()["answer"], "No.");
    }
}

#[tokio::test]
async fn without_a_summary_a_question_is_asked_with_the_whole_conversation() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Yes.").using(almost_full()),
        ScriptTurn::text(" ").when("Summarize the conversation above"),
        ScriptTurn::text("No."),
    ])
    .await;
    let files = Kept::new();
    let ask = |question: &str| {
        let arguments = ["ask", "--session", "talk", question];
        run(&arguments, &claude, &files, SMALL)
    };
    ask(&long()).run().await.answers("Yes.\n");
    let ran = ask("And now?").run().await;
    ran.answers("No.\n");
    ran.says("not compacted, the whole conversation stays: the summary is empty");
    assert_eq!(texts(&claude, 2).len(), 3);
    kept(&claude);
}

#[tokio::test]
async fn over_the_api_a_compaction_is_an_event_and_can_be_asked_for() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Yes.").using(almost_full()),
        summary(),
        ScriptTurn::text("No."),
        ScriptTurn::text("Maybe."),
        summary(),
        ScriptTurn::text("Well."),
    ])
    .await;
    let files = Kept::new();
    let running = files.gateway().at_with(&claude.base_url(), SMALL).start();
    let gateway = Gateway::listening(running).await;
    let session = session(&gateway).await;
    let none = gateway.post(&format!("{session}/compact"), &json!({}));
    is_problem(&none.answered().await, 409, "conflict");
    let ask = async |session: &str, message: &str| {
        let answer = post(&gateway, session, &json!({ "message": message })).await;
        answer.is(200)["answer"].as_str().map(str::to_owned)
    };
    assert_eq!(ask(&session, &long()).await.as_deref(), Some("Yes."));
    assert_eq!(ask(&session, "And now?").await.as_deref(), Some("No."));
    let events = gateway.get(&format!("{session}/events?until=rest"));
    let events = events.answered().await.body;
    let event = events
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter_map(|data| serde_json::from_str::<Value>(data).ok())
        .find(|event| event["event"] == "compacted");
    let event = event.expect("a compaction");
    assert_eq!(event["replaced"], 2, "{event:#}");
    assert!(event["cost"]["amount"].is_string(), "{event:#}");
    assert_eq!(ask(&session, "And then?").await.as_deref(), Some("Maybe."));

    let fork = gateway.post(&format!("{session}/compact"), &json!({}));
    let fork = fork.answered().await.is(201);
    assert_eq!(fork["forked_from"]["turn"], 3, "{fork}");
    let fork = format!("/api/v1/sessions/{}", fork["id"].as_str().expect("an id"));
    assert_eq!(ask(&fork, "So?").await.as_deref(), Some("Well."));
    let asked = texts(&claude, 5);
    assert!(
        asked[0].ends_with("They said hello.\nAnd then?"),
        "{asked:?}"
    );
    assert_eq!(asked[1..], ["Maybe.", "So?"]);
    kept(&claude);
    gateway.end().await;
}
