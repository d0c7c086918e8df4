//! A conversation at a terminal.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

use crate::harness::{Jackfield, Size, jackfield, kept};

/// The usual terminal.
const USUAL: Size = Size(40, 80);

fn chat() -> Jackfield {
    jackfield(["chat"])
}

#[tokio::test]
async fn a_conversation_of_two_turns_keeps_what_was_said() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text("It is **68**."),
        ScriptTurn::text("- half is 34\n- a third is 22.67").when("half"),
    ])
    .await;
    let mut terminal = chat().at(&claude.base_url()).at_terminal(USUAL);
    terminal.shows("/help says what can be typed").await;
    terminal.prompts().await;
    terminal.line("What is 17 * 4?").await;
    terminal.shows("\nIt is 68.\n").await;
    terminal.prompts().await;
    terminal.line("And half of that?").await;
    terminal.shows("\n• half is 34\n• a third is 22.67\n").await;
    terminal.prompts().await;
    terminal.line("/usage").await;
    terminal.shows("all  200 tokens in, 40 out · 2 turns").await;
    terminal.prompts().await;
    terminal.types("\u{4}").await;
    assert_eq!(terminal.ends().await, Some(0));
    let messages = claude.requests()[1]["messages"].to_string();
    assert!(
        messages.contains("17 * 4") && messages.contains("**68**"),
        "{messages}"
    );
    kept(&claude);
}

#[tokio::test]
async fn what_was_said_is_recalled_in_this_run_and_in_the_next() {
    let claude = ScriptedClaude::start([ScriptTurn::text("one"), ScriptTurn::text("two")]).await;
    let mut terminal = chat().at(&claude.base_url()).at_terminal(USUAL);
    terminal.prompts().await;
    terminal.line("first").await;
    terminal.shows("\none\n").await;
    terminal.prompts().await;
    terminal.types("\u{1b}[A").await;
    terminal
        .until("recalled", |screen| screen.ends_with("> first"))
        .await;
    terminal.types(" again\r").await;
    terminal.shows("\ntwo\n").await;
    terminal.prompts().await;
    let file = terminal.home().join(".local/state/jackfield/history");
    let kept_lines = std::fs::read_to_string(&file).expect("there is a history");
    assert!(kept_lines.contains("first\nfirst again\n"), "{kept_lines}");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &file.metadata().expect("it is there").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    terminal.line("/quit").await;
    assert_eq!(terminal.ends().await, Some(0));
    let last = claude.requests()[1]["messages"][2].to_string();
    assert!(last.contains("first again"), "{last}");
    kept(&claude);
}

#[tokio::test]
async fn no_history_keeps_nothing() {
    let claude = ScriptedClaude::start([ScriptTurn::text("one")]).await;
    let chat = jackfield(["chat", "--no-history"]).at(&claude.base_url());
    let mut terminal = chat.at_terminal(USUAL);
    terminal.prompts().await;
    terminal.line("first").await;
    terminal.shows("\none\n").await;
    terminal.prompts().await;
    assert!(
        !terminal
            .home()
            .join(".local/state/jackfield/history")
            .exists()
    );
    terminal.line("/exit").await;
    assert_eq!(terminal.ends().await, Some(0));
}

#[tokio::test]
async fn several_lines_are_one_message_pasted_or_typed() {
    let claude =
        ScriptedClaude::start([ScriptTurn::text("pasted"), ScriptTurn::text("typed")]).await;
    let mut terminal = chat().at(&claude.base_url()).at_terminal(USUAL);
    terminal.prompts().await;
    terminal
        .types("\u{1b}[200~cp a \\\rb\r/quit\r\u{1b}[201~")
        .await;
    terminal.shows("/quit").await;
    terminal.types("\r").await;
    terminal.shows("\npasted\n").await;
    terminal.prompts().await;
    terminal.types("one\\\r").await;
    terminal.types("two\u{1b}\rthree\r").await;
    terminal.shows("\ntyped\n").await;
    terminal.prompts().await;
    let said = |nth: usize| {
        let requests = claude.requests();
        let messages = requests[nth]["messages"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        messages
            .last()
            .map(|last| last["content"][0]["text"].clone())
    };
    assert_eq!(said(0), Some(json!("cp a \\\nb\n/quit")));
    assert_eq!(said(1), Some(json!("one\ntwo\nthree")));
    kept(&claude);
}

#[tokio::test]
async fn commands_stand_behind_a_slash() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text("new").when("//"),
        ScriptTurn::text("a path").when("/etc/hosts"),
        ScriptTurn::text("anew").when("who am I"),
    ])
    .await;
    let more =
        "aliases.fast = \"claude/claude-haiku-5-5\"\n[policy.tools]\n\"calculator\" = \"allow\"";
    let chat = jackfield(["chat", "--system", "Be brief."]);
    let mut terminal = chat
        .at_with(&claude.base_url(), more)
        .at_terminal(Size(60, 100));
    terminal.prompts().await;
    terminal.line("/help").await;
    terminal.shows("/model [NAME]").await;
    terminal.prompts().await;
    terminal.line("/hepl").await;
    terminal
        .shows("there is no command /hepl; did you mean `/help`?")
        .await;
    terminal.prompts().await;
    terminal.line("/model").await;
    terminal.shows("fast is claude/claude-haiku-5-5").await;
    terminal.shows("vllm/MODEL").await;
    terminal.prompts().await;
    terminal.line("/model fats").await;
    terminal.shows("did you mean `fast`?").await;
    terminal.prompts().await;
    terminal.line("/model mistral/small").await;
    terminal.shows("there is no key for `mistral`").await;
    terminal.prompts().await;
    terminal.line("/model fast").await;
    terminal.shows("from now on: claude/claude-haiku-5-5").await;
    terminal.prompts().await;
    terminal.line("/tools").await;
    terminal.shows("current_datetime").await;
    terminal.prompts().await;
    terminal.line("/tools calculator").await;
    terminal.shows("Arguments, as JSON Schema").await;
    terminal.prompts().await;
    terminal.line("/tools calc").await;
    terminal.shows("there is no tool `calc`").await;
    terminal.prompts().await;
    terminal.line("/system").await;
    terminal.shows("\nBe brief.").await;
    terminal.line("/system Be loud.").await;
    terminal.prompts().await;
    terminal.line("////").await;
    terminal.shows("\nnew\n").await;
    terminal.prompts().await;
    terminal.line("/etc/hosts?").await;
    terminal.shows("\na path\n").await;
    terminal.prompts().await;
    terminal.line("/clear").await;
    terminal
        .shows("a new conversation: the model sees nothing of the one before")
        .await;
    terminal.prompts().await;
    terminal.line("who am I").await;
    terminal.shows("\nanew\n").await;
    terminal.prompts().await;
    terminal.types("/qu\t\r").await;
    assert_eq!(terminal.ends().await, Some(0));
    let requests = claude.requests();
    assert_eq!(requests[0]["model"], "claude-haiku-5-5");
    assert!(requests[0]["system"].to_string().contains("Be loud."));
    assert_eq!(requests[2]["messages"].as_array().map(Vec::len), Some(1));
    kept(&claude);
}

#[tokio::test]
async fn ctrl_c_stops_an_answer_and_the_conversation_goes_on() {
    let long: String = (0..100).map(|n| format!("line {n}\n")).collect();
    let claude = ScriptedClaude::start([
        ScriptTurn::text(&long).stall_after(4_000),
        ScriptTurn::text("still here").when("are you there"),
    ])
    .await;
    let mut terminal = chat().at(&claude.base_url()).at_terminal(USUAL);
    terminal.prompts().await;
    terminal.line("tell me").await;
    terminal.shows("line 1\n").await;
    terminal.types("\u{3}").await;
    terminal.shows("! cancelled").await;
    terminal.prompts().await;
    terminal.line("are you there?").await;
    terminal.shows("\nstill here\n").await;
    terminal.prompts().await;
    claude.server().closed_by_client(0).await;
    kept(&claude);
}

#[tokio::test]
async fn ctrl_c_clears_the_line_and_twice_leaves() {
    let claude = ScriptedClaude::start([]).await;
    let mut terminal = chat().at(&claude.base_url()).at_terminal(USUAL);
    terminal.prompts().await;
    terminal.types("not this").await;
    terminal.shows("> not this").await;
    terminal.types("\u{3}").await;
    terminal.prompts().await;
    terminal.types("\u{3}").await;
    terminal.shows("Ctrl-C again, or Ctrl-D, leaves").await;
    terminal.prompts().await;
    terminal.types("\u{3}").await;
    assert_eq!(terminal.ends().await, Some(0));
}

#[tokio::test]
async fn what_is_typed_meanwhile_is_the_next_message_and_does_not_mix_with_the_answer() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("first line\n\nlast line").pause_after(900, &gate),
        ScriptTurn::text("two"),
        ScriptTurn::text("three"),
    ])
    .await;
    let mut terminal = chat().at(&claude.base_url()).at_terminal(USUAL);
    terminal.prompts().await;
    terminal.line("go").await;
    claude.server().request(0).await;
    terminal.types("second\rthird\rfour").await;
    gate.open();
    terminal.shows("last line\n").await;
    terminal.shows("> second\n").await;
    terminal.shows("> third\n").await;
    terminal
        .until("typed", |screen| screen.ends_with("> four"))
        .await;
    let screen = terminal.screen();
    assert!(screen.contains("first line\n\nlast line\n"), "{screen}");
    kept(&claude);
}

#[tokio::test]
async fn a_turn_that_fails_says_what_to_do_and_the_next_one_works() {
    let error = |kind: &str, message: &str| json!({ "type": "error", "error": { "type": kind, "message": message } });
    let claude = ScriptedClaude::start([
        ScriptTurn::status(401, &error("authentication_error", "invalid x-api-key")),
        ScriptTurn::status(
            400,
            &error(
                "invalid_request_error",
                "prompt is too long: 300000 tokens > 200000 maximum",
            ),
        ),
        ScriptTurn::status(404, &error("not_found_error", "model: claude-opus-5-5")),
        ScriptTurn::text("at last"),
    ])
    .await;
    let mut terminal = chat().at(&claude.base_url()).at_terminal(USUAL);
    for (line, says) in [
        ("one", "help: check the key of `claude`"),
        ("two", "help: shorten the question"),
        ("three", "take another with /model"),
        ("four", "\nat last\n"),
    ] {
        terminal.prompts().await;
        terminal.line(line).await;
        terminal.shows(says).await;
    }
    terminal.prompts().await;
    kept(&claude);
}
