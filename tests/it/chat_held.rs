//! The session of an open chat: nobody deletes it, and others may go on with it.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, Ran, Size, Terminal, kept};

/// The usual terminal.
const USUAL: Size = Size(40, 80);

/// Asks this in the session, in a process of its own.
async fn ask(sessions: &Kept, claude: &ScriptedClaude, question: &str) -> Ran {
    let ask = sessions.run(&["ask", "--session", "trip", question]);
    ask.at(&claude.base_url()).run().await
}

/// A chat in the session that waits for a message.
async fn chat(sessions: &Kept, claude: &ScriptedClaude) -> Terminal {
    let chat = sessions.run(&["chat", "--session", "trip"]);
    let mut terminal = chat.at(&claude.base_url()).at_terminal(USUAL);
    terminal.prompts().await;
    terminal
}

/// Deletes the session.
async fn delete(sessions: &Kept) -> Ran {
    let delete = sessions.run(&["sessions", "delete", "trip", "--yes"]);
    delete.run().await
}

/// What a command says in JSON.
async fn json(sessions: &Kept, arguments: &[&str]) -> Value {
    let ran = sessions.run(arguments).more(&["--json"]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_str(&ran.out).expect("a document")
}

#[tokio::test]
async fn what_a_chat_has_open_is_neither_deleted_nor_pruned() {
    let sessions = Kept::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Hello, Ada."),
        ScriptTurn::text("Other."),
        ScriptTurn::text("You are Ada.").when("who am I"),
    ])
    .await;
    ask(&sessions, &claude, "I am Ada.").await;
    let mut terminal = chat(&sessions, &claude).await;
    // On leaving, this one keeps next to nothing.
    let other = sessions.run(&["ask", "--session", "other", "Something else."]);
    let other = other.at_with(&claude.base_url(), "journal.keep_bytes = \"1B\"");
    other.run().await.answers("Other.\n");
    let list = json(&sessions, &["sessions", "list"]).await;
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{list:#}");
    let row = &list[0];
    assert_eq!(
        (&row["id"], &row["state"], &row["in_use"]),
        (&json!("trip"), &json!("in_use"), &json!(true))
    );
    let refused = delete(&sessions).await;
    assert_eq!(refused.code, Some(12), "{}", refused.err);
    for told in ["session trip is open elsewhere", "`jackfield chat`"] {
        assert!(refused.err.contains(told), "{}", refused.err);
    }
    let gateway = sessions.gateway().at(&claude.base_url());
    let gateway = Gateway::listening(gateway.start()).await;
    let refused = gateway.raw("DELETE", "/api/v1/sessions/trip").answered();
    let refused = refused.await.is(409);
    assert_eq!(refused["type"], "urn:jackfield:problem:busy");
    gateway.end().await;
    let prune = ["sessions", "prune", "--over", "1B"];
    let pruned = json(&sessions, &prune).await;
    assert_eq!(
        (&pruned["sessions"], &pruned["held"]),
        (&json!([]), &json!(["trip"]))
    );
    let told = sessions.run(&prune).run().await;
    assert!(
        told.err.contains("session trip stays: it is open"),
        "{}",
        told.err
    );
    // It has its memory, and says so.
    terminal.line("who am I").await;
    terminal.shows("\nYou are Ada.\n").await;
    terminal.prompts().await;
    let sent = claude.requests()[2]["messages"].to_string();
    assert!(sent.contains("I am Ada."), "{sent}");
    terminal.types("\u{4}").await;
    assert_eq!(terminal.ends().await, Some(0));
    let deleted = delete(&sessions).await;
    assert_eq!(deleted.code, Some(0), "{}", deleted.err);
    kept(&claude);
}

#[tokio::test]
async fn a_chat_that_is_killed_or_begins_anew_holds_its_session_no_more() {
    let sessions = Kept::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("one"), ScriptTurn::text("two")]).await;
    ask(&sessions, &claude, "first").await;
    let mut terminal = chat(&sessions, &claude).await;
    assert_eq!(delete(&sessions).await.code, Some(12));
    terminal.line("/clear").await;
    terminal
        .shows("a new conversation: the model sees nothing of the one before")
        .await;
    terminal.prompts().await;
    let deleted = delete(&sessions).await;
    assert_eq!(deleted.code, Some(0), "{}", deleted.err);
    ask(&sessions, &claude, "second").await;
    let mut other = chat(&sessions, &claude).await;
    assert_eq!(delete(&sessions).await.code, Some(12));
    other.kill().await;
    let deleted = delete(&sessions).await;
    assert_eq!(deleted.code, Some(0), "{}", deleted.err);
    kept(&claude);
}

#[tokio::test]
async fn a_turn_that_another_process_puts_into_an_open_chat_is_shown_there() {
    let sessions = Kept::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Hello, Ada."),
        ScriptTurn::text("It rains in Berlin."),
        ScriptTurn::text("Ten degrees."),
        ScriptTurn::text("All of it.").when("what do you know"),
    ])
    .await;
    ask(&sessions, &claude, "I am Ada.").await;
    let mut terminal = chat(&sessions, &claude).await;
    // At a line in which nothing stands, and at one that is being typed.
    let asked = ask(&sessions, &claude, "How is Berlin?").await;
    asked.answers("It rains in Berlin.\n");
    terminal.shows("turn 2 from elsewhere").await;
    terminal
        .shows("> How is Berlin?\nIt rains in Berlin.\n")
        .await;
    terminal.prompts().await;
    terminal.types("what do").await;
    terminal.shows("> what do").await;
    ask(&sessions, &claude, "How warm is it?").await;
    terminal.shows("turn 3 from elsewhere").await;
    let typed = |screen: &str| screen.ends_with("> How warm is it?\nTen degrees.\n> what do");
    terminal.until("goes on with the line", typed).await;
    terminal.line(" you know").await;
    terminal.shows("\nAll of it.\n").await;
    terminal.prompts().await;
    // Its own turn is not shown twice.
    let screen = terminal.screen();
    assert_eq!(screen.matches("from elsewhere").count(), 2, "{screen}");
    let sent = claude.requests()[3]["messages"].to_string();
    for said in ["I am Ada.", "How is Berlin?", "Ten degrees."] {
        assert!(sent.contains(said), "{sent}");
    }
    kept(&claude);
}
