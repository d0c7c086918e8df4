//! Assistants, as they are named in place of a model.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::Value;

use crate::harness::{Kept, offered};

const REVIEWER: &str = r#"
[policy.tools]
"builtin/*" = "allow"

[assistants.reviewer]
model = "claude/claude-sonnet-5"
system = "You review."
tools = ["builtin/calc*"]
settings.max_output_tokens = 77

[assistants.secret]
kept = false
"#;

/// The sessions that are kept.
async fn sessions_of(kept: &Kept) -> Value {
    let list = kept.run(&["sessions", "list", "--json"]).run().await;
    serde_json::from_str(&list.out).expect("a list")
}

#[tokio::test]
async fn the_command_line_asks_an_assistant_by_its_name() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Fine.").again()]).await;
    let kept = Kept::new();
    let ask = |arguments: &[&str]| {
        let ask = kept.run(&[&["ask", "Well?"], arguments].concat());
        ask.at_with(&claude.base_url(), REVIEWER)
    };
    ask(&["-m", "reviewer"]).run().await.answers("Fine.\n");
    let requests = claude.requests();
    assert_eq!(requests[0]["model"], "claude-sonnet-5");
    assert_eq!(offered(&requests[0]), ["calculator"]);
    assert_eq!(requests[0]["max_tokens"], 77);
    assert!(requests[0]["system"].to_string().contains("You review."));
    let list = sessions_of(&kept).await;
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{list}");
    // What is not kept leaves nothing.
    ask(&["-m", "secret"]).run().await.answers("Fine.\n");
    assert_eq!(sessions_of(&kept).await, list);
    // The default one is the model of the configuration with all tools.
    ask(&["-m", "jackfield"]).run().await.answers("Fine.\n");
    ask(&[]).run().await.answers("Fine.\n");
    let requests = claude.requests();
    assert_eq!(requests[2], requests[3]);
    assert_eq!(offered(&requests[2]), ["calculator", "current_datetime"]);
    let wrong = ask(&["-m", "revewer"]).run().await;
    wrong.fails(3, "`revewer` is neither an alias", "claude/revewer");
    assert!(
        wrong.err.contains("did you mean `reviewer`?"),
        "{}",
        wrong.err
    );
}

#[tokio::test]
async fn a_chat_goes_on_with_an_assistant() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Fine.").again()]).await;
    let kept = Kept::new();
    let chat = kept.run(&["chat"]).at_with(&claude.base_url(), REVIEWER);
    let chat = chat.stdin("Hello\n/model\n/model reviewer\nWell?\n");
    let ran = chat.run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err
            .contains("from now on: reviewer, with claude/claude-sonnet-5"),
        "{}",
        ran.err
    );
    let requests = claude.requests();
    assert_eq!(offered(&requests[0]), ["calculator", "current_datetime"]);
    assert_eq!(offered(&requests[1]), ["calculator"]);
    assert!(requests[1]["system"].to_string().contains("You review."));
}

#[tokio::test]
async fn the_models_of_providers_are_listed_with_their_assistants() {
    let claude = ScriptedClaude::start([]).await;
    let models = Kept::new().run(&["models"]);
    let ran = models.at_with(&claude.base_url(), REVIEWER).run().await;
    let lines: Vec<&str> = ran.out.lines().collect();
    let named = |line: &&&str| line.contains("claude-sonnet-5") && line.contains("reviewer");
    assert_eq!(lines.iter().filter(named).count(), 1, "{}", ran.out);
}
