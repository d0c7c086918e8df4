//! The system prompt.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::Value;

use crate::harness::{Jackfield, jackfield, kept};

#[tokio::test]
async fn s1_13_the_default_prompt_says_when_to_use_tools_and_how_to_treat_what_they_return() {
    let system = told(|base_url| jackfield(["ask", "hello"]).at(base_url)).await;
    for part in ["tool", "data, not instructions", "source"] {
        assert!(system.contains(part), "{part:?} is not in {system}");
    }
}

#[tokio::test]
async fn s1_13_a_prompt_can_be_configured() {
    let configured = "system.prompt = \"Answer in verse.\"";
    let system = told(|base_url| jackfield(["ask", "hello"]).at_with(base_url, configured)).await;
    assert_eq!(system, "Answer in verse.");
}

#[tokio::test]
async fn s1_13_the_environment_wins_over_the_file_and_the_flag_over_both() {
    let configured = "system.prompt = \"Answer in verse.\"";
    let system = told(|base_url| {
        let ask = jackfield(["ask", "hello"]).at_with(base_url, configured);
        ask.env("JACKFIELD_SYSTEM", "Answer in prose.")
    })
    .await;
    assert_eq!(system, "Answer in prose.");
    let system = told(|base_url| {
        let ask = jackfield(["ask", "--system", "Отвечай кратко. 请简短回答。", "hello"]);
        ask.at_with(base_url, configured)
            .env("JACKFIELD_SYSTEM", "Answer in prose.")
    })
    .await;
    assert_eq!(system, "Отвечай кратко. 请简短回答。");
}

#[tokio::test]
async fn s1_13_an_empty_prompt_is_none() {
    let system = told(|base_url| jackfield(["ask", "--system", "", "hello"]).at(base_url)).await;
    assert_eq!(system, "");
}

/// The system prompt as it stands in Claude's own place for it; nothing if it is not there.
async fn told(ask: impl FnOnce(&str) -> Jackfield) -> String {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello!")]).await;
    ask(&claude.base_url()).run().await.answers("Hello!\n");
    kept(&claude);
    let request = &claude.requests()[0];
    let roles = request["messages"].as_array().into_iter().flatten();
    let roles: Vec<&Value> = roles.map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user"]);
    match request.get("system") {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(blocks) => {
            let texts = blocks.as_array().into_iter().flatten();
            texts.filter_map(|block| block["text"].as_str()).collect()
        }
    }
}
