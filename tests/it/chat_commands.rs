//! What a chat does beside sending what is typed: files that go along, messages of an editor, turns that are left
//! out or run again, answers that are copied.

use jackfield_testkit::server::{Response, TestServer};
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
    let text =
        |message: &serde_json::Value| message["content"][0]["text"].as_str().map(str::to_owned);
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
async fn files_that_a_message_names_go_with_it() {
    let claude = ScriptedClaude::start([ScriptTurn::text("seen")]).await;
    let chat = jackfield(["chat"])
        .in_project("notes.md", "# Notes\n")
        .in_project("plan.png", b"\x89PNG\r\n\x1a\n0123")
        .in_project("program", b"\0\xff");
    let mut terminal = chat.at(&claude.base_url()).at_terminal(Size(40, 100));
    terminal.prompts().await;
    said(&mut terminal, "what is @program", "this is no text").await;
    said(&mut terminal, "does @plan.png fit @notes.md?", "\nseen\n").await;
    assert!(terminal.screen().contains("\nwith plan.png, notes.md\n"));
    let content = claude.requests()[0]["messages"][0]["content"].clone();
    let kinds = content.as_array().into_iter().flatten();
    let kinds: Vec<_> = kinds
        .map(|block| block["type"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(kinds, ["image", "text", "text"]);
    assert_eq!(
        content[1]["text"],
        "<file name=\"notes.md\">\n# Notes\n</file>"
    );
    assert_eq!(content[2]["text"], "does @plan.png fit @notes.md?");
    kept(&claude);
}

#[tokio::test]
async fn a_message_is_written_in_the_persons_own_editor() {
    let claude = ScriptedClaude::start([ScriptTurn::text("read")]).await;
    let chat = jackfield(["chat"])
        .in_project(
            "editor",
            "printf ' and\\nmore\\n' >> \"$2\"; test \"$1\" = save\n",
        )
        .env("EDITOR", "sh editor save");
    let mut terminal = chat.at(&claude.base_url()).at_terminal(Size(40, 100));
    terminal.prompts().await;
    said(&mut terminal, "/edit some", "\nread\n").await;
    assert_eq!(texts(&claude, 0), ["some and\nmore"]);
    let screen = terminal.screen();
    assert!(screen.contains("\n> some and\n> more\n"), "{screen}");
    // The line editor still has the terminal.
    terminal.types("typed").await;
    terminal
        .until("typed", |screen| screen.ends_with("> typed"))
        .await;
    kept(&claude);
}

#[tokio::test]
async fn what_an_editor_does_not_save_is_not_sent() {
    let claude = ScriptedClaude::start([]).await;
    for (editor, told) in [
        ("false", "the editor `false` cannot be used"),
        ("true", "it is empty, and is not sent"),
    ] {
        let chat = jackfield(["chat"])
            .env("VISUAL", editor)
            .env("EDITOR", "no-such-editor");
        let mut terminal = chat.at(&claude.base_url()).at_terminal(Size(40, 100));
        terminal.prompts().await;
        said(&mut terminal, "/edit", told).await;
    }
    assert_eq!(claude.requests().len(), 0);
}

#[tokio::test]
async fn a_model_and_a_session_are_picked_by_number_and_tab_shows_what_there_is() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text("one"),
        ScriptTurn::text("two"),
        ScriptTurn::text("three"),
    ])
    .await;
    let more = "aliases.fast = \"claude/claude-haiku-5-5\"";
    let chat = jackfield(["chat"]).at_with(&claude.base_url(), more);
    let mut terminal = chat.at_terminal(Size(60, 100));
    terminal.prompts().await;
    said(&mut terminal, "first", "\none\n").await;
    said(&mut terminal, "/model", "*  2  claude/claude-opus-5-5").await;
    assert!(
        terminal
            .screen()
            .contains("   1  fast is claude/claude-haiku-5-5\n")
    );
    said(
        &mut terminal,
        "/model 1",
        "from now on: claude/claude-haiku-5-5",
    )
    .await;
    said(&mut terminal, "/model 9", "`9` is neither an alias nor").await;
    said(&mut terminal, "/clear", "a new conversation").await;
    said(&mut terminal, "second", "\ntwo\n").await;
    said(&mut terminal, "/sessions", "  first  ").await;
    said(&mut terminal, "/sessions 2", "── turn 1").await;
    said(&mut terminal, "third", "\nthree\n").await;
    assert_eq!(texts(&claude, 2), ["first", "one", "third"]);
    terminal.types("\t").await;
    terminal.shows("/undo     leave out the last message").await;
    terminal
        .until("the prompt again", |screen| screen.ends_with("> /"))
        .await;
    terminal.types("mod\tfa\t").await;
    terminal
        .until("completed", |screen| screen.ends_with("> /model fast"))
        .await;
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
    said(
        &mut terminal,
        "/undo",
        "left out, with its answer: second; it is still in session ",
    )
    .await;
    said(&mut terminal, "third", "\nthree\n").await;
    assert_eq!(texts(&claude, 3), ["first", "one", "third"]);
    said(&mut terminal, "/undo", "left out, with its answer: third").await;
    said(&mut terminal, "/undo", "left out, with its answer: first").await;
    terminal.line("/undo").await;
    let none = |screen: &str| screen.matches("nothing was said yet").count();
    terminal
        .until("told again", |screen| none(screen) == 2)
        .await;
    terminal.prompts().await;
    said(&mut terminal, "fourth", "\nanew\n").await;
    assert_eq!(texts(&claude, 4), ["fourth"]);
    kept(&claude);
}

#[tokio::test]
async fn models_that_a_server_lists_are_picked_by_number_and_tab_knows_providers_in_use() {
    let claude = ScriptedClaude::start([ScriptTurn::text("one")]).await;
    let api = TestServer::start().await;
    let models = r#"{"object":"list","data":[{"id":"small-1","object":"model"},{"id":"large-1","object":"model"}]}"#;
    api.answer(Response::json(200, models));
    let more = format!(
        "[providers.kit]\nkind = \"openai-compatible\"\nbase_url = \"{}/v1\"",
        api.base_url()
    );
    let chat = jackfield(["chat"]).at_with(&claude.base_url(), &more);
    let mut terminal = chat.at_terminal(Size(60, 100));
    terminal.prompts().await;
    said(&mut terminal, "/model", "  3  kit/large-1").await;
    let screen = terminal.screen();
    assert!(!screen.contains("kit/MODEL"), "{screen}");
    said(&mut terminal, "/model 3", "from now on: kit/large-1").await;
    // A built-in provider without a key is not completed.
    terminal.types("/model mistr\tx").await;
    terminal
        .until("as typed", |screen| screen.ends_with("> /model mistrx"))
        .await;
    terminal.types("\u{15}/model ki\t").await;
    terminal
        .until("completed", |screen| screen.ends_with("> /model kit/"))
        .await;
}
