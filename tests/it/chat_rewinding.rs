//! Turns that are left out or run again, and answers that are copied.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;

use crate::harness::{Size, Terminal, jackfield, kept};

async fn said(terminal: &mut Terminal, line: &str, answer: &str) {
    terminal.line(line).await;
    terminal.shows(answer).await;
    terminal.prompts().await;
}

/// The texts of the messages of a request.
fn texts(claude: &ScriptedClaude, nth: usize) -> Vec<String> {
    let messages = claude.requests()[nth]["messages"].clone();
    let messages = messages.as_array().cloned().unwrap_or_default();
    let text = |message: &serde_json::Value| message["content"][0]["text"].as_str().map(str::to_owned);
    messages.iter().filter_map(text).collect()
}

#[tokio::test]
async fn the_last_answer_is_copied_as_the_model_wrote_it() {
    let claude = ScriptedClaude::start([ScriptTurn::text("It is **68**.")]).await;
    let chat = jackfield(["chat"]).at(&claude.base_url());
    let mut terminal = chat.at_terminal(Size(40, 100));
    terminal.prompts().await;
    said(&mut terminal, "/copy", "there is no answer yet").await;
    said(&mut terminal, "17 * 4?", "\nIt is 68.\n").await;
    said(&mut terminal, "/copy", "13 characters for the clipboard").await;
    assert_eq!(terminal.clipboard(), "SXQgaXMgKio2OCoqLg==");
    kept(&claude);
}

#[tokio::test]
async fn the_last_turns_are_left_out_one_by_one_and_run_again() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text("one"),
        ScriptTurn::text("two"),
        ScriptTurn::text("two again"),
        ScriptTurn::text("three"),
        ScriptTurn::text("anew"),
    ])
    .await;
    let chat = jackfield(["chat"]).at(&claude.base_url());
    let mut terminal = chat.at_terminal(Size(60, 100));
    terminal.prompts().await;
    said(&mut terminal, "/undo", "nothing was said yet").await;
    said(&mut terminal, "first", "\none\n").await;
    said(&mut terminal, "second", "\ntwo\n").await;
    said(&mut terminal, "/retry", "\ntwo again\n").await;
    assert_eq!(texts(&claude, 2), ["first", "one", "second"]);
    said(&mut terminal, "/undo", "left out, with its answer: second; it is still in session ").await;
    said(&mut terminal, "third", "\nthree\n").await;
    assert_eq!(texts(&claude, 3), ["first", "one", "third"]);
    said(&mut terminal, "/undo", "left out, with its answer: third").await;
    said(&mut terminal, "/undo", "left out, with its answer: first").await;
    terminal.line("/undo").await;
    let none = |screen: &str| screen.matches("nothing was said yet").count();
    terminal.until("told again", |screen| none(screen) == 2).await;
    terminal.prompts().await;
    said(&mut terminal, "fourth", "\nanew\n").await;
    assert_eq!(texts(&claude, 4), ["fourth"]);
    kept(&claude);
}
