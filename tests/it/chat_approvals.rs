//! Approvals in a conversation.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{McpServer, Size, Terminal, jackfield, kept, tool};

async fn asked(turns: Vec<ScriptTurn>) -> (Terminal, ScriptedClaude) {
    let claude = ScriptedClaude::start(turns).await;
    let more = "[policy.tools]\n\"*\" = \"ask\"";
    let chat = jackfield(["chat"]).at_with(&claude.base_url(), more);
    let mut terminal = chat.at_terminal(Size(60, 80));
    terminal.prompts().await;
    terminal.line("calculate").await;
    terminal.shows("answer:").await;
    (terminal, claude)
}

fn sum(expression: &str) -> ScriptTurn {
    ScriptTurn::call("calculator", &json!({ "expression": expression }))
}

fn part(expression: &str) -> ScriptPart {
    ScriptPart::Call {
        arguments: json!({ "expression": expression }).to_string(),
        id: None,
        name: "calculator".to_owned(),
    }
}

fn outcome(claude: &ScriptedClaude, nth: usize) -> Value {
    let messages = claude.requests()[nth]["messages"].clone();
    messages
        .as_array()
        .and_then(|all| all.last().cloned())
        .unwrap_or_default()
}

#[tokio::test]
async fn once_is_once_and_for_the_session_is_for_all_turns() {
    let (mut terminal, claude) = asked(vec![
        sum("1+1"),
        sum("2+2"),
        ScriptTurn::text("done"),
        sum("3+3").when("more"),
        ScriptTurn::text("all done"),
    ])
    .await;
    terminal
        .shows("Run 🧮 calculator(expression: \"1+1\")?")
        .await;
    terminal.line("y").await;
    terminal
        .shows("Run 🧮 calculator(expression: \"2+2\")?")
        .await;
    terminal
        .until("asked again", |screen| screen.ends_with("answer:"))
        .await;
    for no_answer in ["what?", "a different sum, please", "yes, but not that one"] {
        terminal.line(no_answer).await;
        // With what was typed: the question before it looks the same, and what is typed there is no answer
        // to the next one.
        let again = format!(
            "answer: {no_answer}\nan answer is one of the letters alone, or n and why\nanswer:"
        );
        terminal
            .until("asked again", |screen| screen.ends_with(&again))
            .await;
    }
    terminal.line("a").await;
    terminal.shows("\ndone\n").await;
    terminal.prompts().await;
    terminal.line("more").await;
    terminal.shows("\nall done\n").await;
    terminal.prompts().await;
    assert_eq!(
        terminal.screen().matches("? Run ").count(),
        2,
        "{}",
        terminal.screen()
    );
    kept(&claude);
}

#[tokio::test]
async fn forever_is_a_rule_of_the_configuration() {
    let (mut terminal, claude) = asked(vec![
        sum("1+1"),
        ScriptTurn::text("done"),
        sum("2+2").when("more"),
        ScriptTurn::text("all done"),
    ])
    .await;
    let file = terminal.home().join(".config/jackfield/jackfield.toml");
    let before = std::fs::read_to_string(&file).expect("it is configured");
    assert_eq!(
        terminal.screen().matches("\"1+1\"").count(),
        1,
        "{}",
        terminal.screen()
    );
    terminal.line("f").await;
    terminal
        .shows("from now on `builtin/calculator` runs without a question")
        .await;
    terminal.shows("\ndone\n").await;
    terminal.prompts().await;
    let after = std::fs::read_to_string(&file).expect("it is there");
    assert_eq!(
        after.trim_end(),
        format!("{}\n\"builtin/calculator\" = \"allow\"", before.trim_end())
    );
    // In another conversation of this run, too.
    terminal.line("/clear").await;
    terminal.shows("a new conversation").await;
    terminal.prompts().await;
    terminal.line("more").await;
    terminal.shows("\nall done\n").await;
    terminal.prompts().await;
    assert_eq!(
        terminal.screen().matches("? Run ").count(),
        1,
        "{}",
        terminal.screen()
    );
    kept(&claude);
}

/// A conversation in which the call of this tool has no known outcome, at the question about it.
async fn unknown(tool: Value) -> (Terminal, McpServer, ScriptedClaude) {
    let name = tool["name"].as_str().expect("a name").to_owned();
    let calls = json!({ name.as_str(): [{ "die": 3 }] });
    let server = McpServer::new(json!({ "tools": [tool], "calls": calls }));
    let call = ScriptTurn::call(&format!("bank__{name}"), &json!({}));
    let claude = ScriptedClaude::start([call, ScriptTurn::text("who knows")]).await;
    let policy = "[policy]\nunknown = \"ask\"\n[policy.tools]\n\"*\" = \"allow\"";
    let chat = jackfield(["chat"]).servers([("bank", server.entry())]);
    let mut terminal = chat
        .at_with(&claude.base_url(), policy)
        .at_terminal(Size(60, 120));
    terminal.prompts().await;
    terminal.line("go").await;
    let choices = "[t]ell the model  [r]un again";
    terminal.shows(choices).await;
    terminal.shows("answer:").await;
    (terminal, server, claude)
}

#[tokio::test]
async fn a_call_that_may_act_runs_again_only_after_a_second_yes() {
    let (mut terminal, server, claude) = unknown(tool("pay")).await;
    terminal.line("r").await;
    let about = "`bank__pay` may act a second time: Does pay.; r again runs it";
    terminal.shows(about).await;
    // The question is asked so often, and so often once more.
    let asked = |choices: usize, again: usize| {
        move |screen: &str| {
            let count = |text: &str| screen.matches(text).count();
            let is_there = count("an answer is t,") + count("It is not known") == choices;
            is_there && count("may act a second time") == again && screen.ends_with("answer:")
        }
    };
    terminal.until("asked once more", asked(1, 1)).await;
    assert_eq!(server.count("call pay"), 1);
    // Anything else takes the first yes back.
    terminal.line("hm").await;
    terminal.until("asked again", asked(2, 1)).await;
    terminal.line("r").await;
    terminal.until("asked once more", asked(2, 2)).await;
    assert_eq!(server.count("call pay"), 1);
    terminal.line("r").await;
    terminal.until("the second question", asked(3, 2)).await;
    assert_eq!(server.count("call pay"), 2);
    terminal.line("t").await;
    terminal.shows("\nwho knows\n").await;
    assert_eq!(server.count("call pay"), 2);
    kept(&claude);
}

#[tokio::test]
async fn the_tools_of_a_server_that_only_read_are_allowed_at_once() {
    let mut remove = tool("remove");
    remove["annotations"] = json!({ "readOnlyHint": false });
    let server = McpServer::new(json!({ "tools": [tool("list"), tool("read"), remove] }));
    let call = |name: &str| ScriptTurn::call(name, &json!({}));
    let claude = ScriptedClaude::start([
        call("files__list"),
        call("files__read"),
        call("files__remove"),
        ScriptTurn::text("done"),
    ])
    .await;
    let chat = jackfield(["chat"]).servers([("files", server.entry())]);
    let mut terminal = chat.at(&claude.base_url()).at_terminal(Size(60, 120));
    terminal.prompts().await;
    terminal.line("go").await;
    terminal.shows("? Run ⚙ files__list()?").await;
    terminal.shows("all [r]eading tools of files").await;
    terminal.shows("answer:").await;
    terminal.line("r").await;
    terminal
        .shows("tools of `files` that only read run without a question")
        .await;
    // What does not say so is asked about, and has no such answer.
    terminal.shows("? Run ⚙ files__remove()?").await;
    terminal
        .until("asked", |screen| screen.ends_with("answer:"))
        .await;
    terminal.line("r").await;
    terminal
        .shows("the server does not say that this tool only reads")
        .await;
    terminal
        .until("asked again", |screen| screen.ends_with("answer:"))
        .await;
    terminal.line("y").await;
    terminal.shows("\ndone\n").await;
    terminal.prompts().await;
    let screen = terminal.screen();
    assert_eq!(screen.matches("? Run ").count(), 2, "{screen}");
    assert_eq!(screen.matches("⚙ files__read()").count(), 1, "{screen}");
    kept(&claude);
}

#[tokio::test]
async fn a_no_has_its_reason() {
    let (mut terminal, claude) = asked(vec![sum("1+1"), ScriptTurn::text("as you like")]).await;
    terminal.line("n not today").await;
    terminal.shows("calculator · denied · ").await;
    terminal.shows("\nas you like\n").await;
    terminal.prompts().await;
    assert!(outcome(&claude, 1).to_string().contains("not today"));
    kept(&claude);
}

#[tokio::test]
async fn arguments_are_edited_in_place_and_the_model_is_told() {
    let (mut terminal, claude) = asked(vec![sum("1+1"), ScriptTurn::text("so be it")]).await;
    terminal.line("e").await;
    terminal.shows("arguments: {\"expression\":\"1+1\"}").await;
    terminal.types("\u{7f}\u{7f}0\r").await;
    terminal.shows("these are no arguments").await;
    terminal
        .until("asked again", |screen| screen.ends_with("answer:"))
        .await;
    terminal.line("e").await;
    terminal
        .until("the arguments", |screen| {
            screen.ends_with("arguments: {\"expression\":\"1+1\"}")
        })
        .await;
    terminal.types("\u{7f}\u{7f}0\"}\r").await;
    terminal
        .shows("calculator runs with edited arguments: expression: \"1+10\"")
        .await;
    terminal.shows("done in").await;
    terminal.shows("\nso be it\n").await;
    terminal.prompts().await;
    let outcome = outcome(&claude, 1).to_string();
    assert!(
        outcome.contains("arguments that an approver changed"),
        "{outcome}"
    );
    assert!(outcome.contains("11"), "{outcome}");
    kept(&claude);
}

#[tokio::test]
async fn ctrl_c_at_a_question_ends_the_turn() {
    let (mut terminal, claude) =
        asked(vec![sum("1+1"), ScriptTurn::text("back").when("hello")]).await;
    terminal.types("\u{3}").await;
    terminal.shows("! cancelled").await;
    terminal.prompts().await;
    terminal.line("hello").await;
    terminal.shows("\nback\n").await;
    kept(&claude);
}

#[tokio::test]
async fn what_was_typed_before_a_question_is_no_answer_to_it() {
    let gate = jackfield_testkit::server::Gate::new();
    let claude = ScriptedClaude::start([
        sum("1+1").pause_after(200, &gate),
        ScriptTurn::text("done"),
        ScriptTurn::text("yes?").when("y"),
    ])
    .await;
    let more = "[policy.tools]\n\"*\" = \"ask\"";
    let chat = jackfield(["chat"]).at_with(&claude.base_url(), more);
    let mut terminal = chat.at_terminal(Size(60, 80));
    terminal.prompts().await;
    terminal.line("calculate").await;
    claude.server().request(0).await;
    terminal.types("y").await;
    gate.open();
    terminal
        .until("a question", |screen| screen.ends_with("answer:"))
        .await;
    terminal.line("n").await;
    terminal.shows("denied").await;
    terminal.shows("\ndone\n").await;
    terminal
        .until("what was typed", |screen| screen.ends_with("> y"))
        .await;
    terminal.types("\r").await;
    terminal.shows("\nyes?\n").await;
    kept(&claude);
}

#[tokio::test]
async fn whoever_is_asked_sees_all_of_the_arguments() {
    let expression = format!("1 + {} + 2 * 3", "1 + ".repeat(60));
    let (mut terminal, claude) = asked(vec![sum(&expression), ScriptTurn::text("fine")]).await;
    terminal.shows("+ 2 * 3\"").await;
    terminal.line("n").await;
    terminal.shows("\nfine\n").await;
    terminal.prompts().await;
    kept(&claude);
}

#[tokio::test]
async fn two_calls_are_asked_about_one_after_another_at_forty_columns() {
    let claude = ScriptedClaude::start([
        ScriptTurn::reply([part("1 + 1"), part("2 + 2")]),
        ScriptTurn::text("done"),
    ])
    .await;
    let more = "[policy.tools]\n\"*\" = \"ask\"";
    let chat = jackfield(["chat"]).at_with(&claude.base_url(), more);
    let mut terminal = chat.at_terminal(Size(60, 40));
    terminal.prompts().await;
    terminal.line("calculate").await;
    for (nth, answer) in ["y", "n не сейчас"].into_iter().enumerate() {
        terminal
            .until("a question", |screen| {
                screen.matches("? Run ").count() == nth + 1 && screen.ends_with("answer:")
            })
            .await;
        terminal.line(answer).await;
    }
    terminal.shows("\ndone\n").await;
    terminal.prompts().await;
    let told = outcome(&claude, 1).to_string();
    assert!(told.contains("не сейчас"), "{told}");
    let screen = terminal.screen();
    let question = "? Run 🧮 calculator(expression: \"1 +\n  1\")?\n  \
                    [y]es  [a]lways this session\n    [f]orever  all [r]eading tools of\n    \
                    builtin  [e]dit  [n]o, because …\nanswer: y\n";
    assert!(screen.contains(question), "{screen}");
    kept(&claude);
}

#[tokio::test]
async fn edited_arguments_that_the_tool_does_not_take_do_not_run() {
    let (mut terminal, claude) = asked(vec![sum("1+1"), ScriptTurn::text("I see")]).await;
    terminal.line("e {\"expression\": 7}").await;
    terminal.shows("\nI see\n").await;
    terminal.prompts().await;
    let told = outcome(&claude, 1).to_string();
    assert!(
        told.contains("expression") && told.contains("is_error\":true"),
        "{told}"
    );
    kept(&claude);
}

#[tokio::test]
async fn an_edit_of_several_lines_is_shown_once_as_a_diff() {
    let files = McpServer::new(json!({
        "tools": [{ "name": "edit", "inputSchema": { "type": "object" } }],
    }));
    let edit = json!({ "path": "a.txt", "old_string": "one\ntwo", "new_string": "one\n2" });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("files__edit", &edit),
        ScriptTurn::text("Not changed."),
    ])
    .await;
    let chat = jackfield(["chat"]).at(&claude.base_url());
    let chat = chat.servers([("files", files.entry())]);
    let mut terminal = chat.at_terminal(Size(60, 80));
    terminal.prompts().await;
    terminal.line("change it").await;
    terminal
        .shows("? Run ⚙ files__edit?\n    path: \"a.txt\"\n")
        .await;
    terminal.shows("│  one\n    │- two\n    │+ 2\n").await;
    terminal.shows("answer:").await;
    terminal.line("n").await;
    terminal.shows("Not changed.").await;
    assert!(
        !terminal.screen().contains("one\\ntwo"),
        "{}",
        terminal.screen()
    );
    kept(&claude);
}
