//! Standard output, standard error, and what does not belong there.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::json;

use crate::harness::{Jackfield, Ran, jackfield, kept, shell};

#[tokio::test]
async fn what_is_no_terminal_gets_no_escape_codes() {
    let ran = ask(jackfield(["ask", "hello"])).await;
    assert!(
        !ran.out.contains(ESCAPE) && !ran.err.contains(ESCAPE),
        "{ran:?}"
    );
}

#[tokio::test]
async fn no_color_wins_over_what_would_force_colours() {
    let forced = || jackfield(["ask", "hello"]).env("CLICOLOR_FORCE", "1");
    let ran = ask(forced()).await;
    assert!(ran.err.contains(ESCAPE), "{ran:?}");
    let ran = ask(forced().env("NO_COLOR", "1")).await;
    assert!(
        !ran.out.contains(ESCAPE) && !ran.err.contains(ESCAPE),
        "{ran:?}"
    );
}

#[tokio::test]
async fn colours_that_are_asked_for_are_never_in_the_answer() {
    let ran = ask(jackfield(["ask", "--color", "always", "hello"])).await;
    assert!(ran.err.contains(ESCAPE), "{ran:?}");
    assert!(!ran.out.contains(ESCAPE), "{ran:?}");
}

#[tokio::test]
async fn escape_codes_of_a_model_do_not_reach_standard_error() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "\u{1b}[31m1+1\u{7}" })),
        ScriptTurn::call("tool\u{1b}[2J", &json!({})),
        ScriptTurn::text("Done."),
    ])
    .await;
    let ran = jackfield(["ask", "hello"])
        .at(&claude.base_url())
        .run()
        .await;
    ran.answers("Done.\n");
    let is_foreign = |c: char| c.is_control() && c != '\n';
    assert!(!ran.err.contains(is_foreign), "{:?}", ran.err);
    kept(&claude);
}

#[tokio::test]
async fn the_answer_alone_is_on_standard_output() {
    let ran = ask(jackfield(["ask", "--verbose", "hello"])).await;
    assert_eq!(ran.out, "It is 2.\n");
    ran.says("calculator(expression: \"1+1\")");
}

#[tokio::test]
async fn where_both_streams_are_one_a_call_begins_a_line_and_a_pipe_gets_the_answer_alone() {
    let calculate = "calculator(expression: \"1+1\")\n";
    for (line, both) in [
        ("\"$jackfield\" ask hello 2>&1", true),
        (
            "\"$jackfield\" ask hello > both.txt 2>&1; cat both.txt",
            true,
        ),
        ("\"$jackfield\" ask hello | cat", false),
    ] {
        let claude = ScriptedClaude::start([
            ScriptTurn::reply([ScriptPart::Text("Let me see.".to_owned())])
                .and_call("calculator", &json!({ "expression": "1+1" })),
            ScriptTurn::text("It is 2."),
        ])
        .await;
        let ran = shell(line).at(&claude.base_url()).run().await;
        kept(&claude);
        if !both {
            ran.answers("Let me see.\n\nIt is 2.\n");
            continue;
        }
        assert!(ran.out.starts_with("Let me see.\n\n🧮 "), "{}", ran.out);
        assert!(ran.out.contains(calculate), "{}", ran.out);
        assert!(ran.out.contains("\n\nIt is 2.\n\nclaude/"), "{}", ran.out);
        assert!(!ran.out.contains(ESCAPE), "{:?}", ran.out);
    }
}

#[tokio::test]
async fn standard_input_is_the_question_or_stands_below_it() {
    for (arguments, question) in [
        (["ask", "-"], "Привет! 你好！\nline 2"),
        (
            ["ask", "Explain this:"],
            "Explain this:\n\nПривет! 你好！\nline 2",
        ),
    ] {
        let claude = ScriptedClaude::start([ScriptTurn::text("Hello!")]).await;
        let ask = jackfield(arguments).stdin("Привет! 你好！\nline 2\n");
        ask.at(&claude.base_url()).run().await.answers("Hello!\n");
        let asked = claude.requests()[0]["messages"][0]["content"][0]["text"].clone();
        assert_eq!(asked, question);
        kept(&claude);
    }
}

async fn ask(jackfield: Jackfield) -> Ran {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" })),
        ScriptTurn::text("It is 2."),
    ])
    .await;
    let ran = jackfield.at(&claude.base_url()).run().await;
    ran.answers("It is 2.\n");
    kept(&claude);
    ran
}

const ESCAPE: char = '\u{1b}';
