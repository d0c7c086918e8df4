//! Lines of Claude Code that have another form than those that are known.

use jackfield_domain::failure::ModelFailureKind;
use jackfield_domain::outcome::ToolResult;
use jackfield_provider_claude_code::{ClaudeCode, ClaudeCodeConfig};
use jackfield_testservers::script::ScriptTurn;

use crate::calls::{check_resumed, two_calls};
use crate::harness::{Asked, Talk, World};

/// The program, which writes these lines behind each line about a message, and `end` in place of the end of a turn.
fn speaking(world: &World, lines: &str, end: Option<&str>) -> ClaudeCodeConfig {
    let mut config = world.config("");
    let end = end.map_or_else(|| "\"$line\"".to_owned(), |end| format!("'{end}'"));
    let script = format!(
        r#"'{}' "$@" | while IFS= read -r line; do
            case $line in
                *'"type":"assistant"'*) printf '%s\n' "$line" '{lines}' ;;
                *'"type":"result"'*) printf '%s\n' {end} ;;
                *) printf '%s\n' "$line" ;;
            esac
        done"#,
        config.command
    );
    config.command = "sh".to_owned();
    config.arguments = ["-c".to_owned(), script, "sh".to_owned()].into();
    config
}

/// A turn of a program that writes these lines.
async fn ask(lines: &str, end: Option<&str>) -> Asked {
    let world = World::new([ScriptTurn::text("Hello.")]).await;
    let model = ClaudeCode::new(speaking(&world, lines, end));
    Talk::new("Hello!").ask(&model).await
}

#[tokio::test]
async fn lines_that_say_nothing_known_are_left_out() {
    for line in [
        "",
        r#"{"type":"news"}"#,
        r#"{"type":"control_request"}"#,
        r#"{"type":"stream_event","event":7}"#,
        r#"{"type":"user","message":"hi"}"#,
        r#"{"type":"system","subtype":[]}"#,
        r#"{"type":"system","subtype":"init"}"#,
        r#"{"type":"assistant","uuid":"1","parent_tool_use_id":"2"}"#,
    ] {
        let asked = ask(&[line; 50].join("\n"), None).await;
        assert!(asked.end.is_ok(), "{line}: {asked:?}");
    }
}

#[tokio::test]
async fn a_few_lines_of_something_else_are_left_out_and_many_are_an_error() {
    for line in ["Welcome!", "[1]", r#"{"no":"type"}"#, r#"{"type":7}"#] {
        let few = ask(&[line; 20].join("\n"), None).await;
        assert!(few.end.is_ok(), "{line}: {few:?}");
        let many = ask(&[line; 21].join("\n"), None).await;
        let kind = many.end.map_err(|failure| failure.kind);
        assert_eq!(kind, Err(ModelFailureKind::ProtocolViolation), "{line}");
    }
}

#[tokio::test]
async fn a_refusal_without_a_reason_is_a_failure() {
    let line = r#"{"type":"control_response","response":{"subtype":"error"}}"#;
    let failure = ask(line, None).await.end.unwrap_err();
    let message = "it refused to begin: ";
    assert!(failure.message.ends_with(message), "{failure:?}");
}

#[tokio::test]
async fn a_result_that_cannot_be_read_is_a_failure() {
    let end = r#"{"type":"result","is_error":"no","subtype":"success"}"#;
    let asked = ask("", Some(end)).await;
    assert!(asked.end.is_err(), "{asked:?}");
}

#[tokio::test]
async fn a_session_is_resumed_at_a_line_of_the_main_conversation() {
    let world = World::new([two_calls(), ScriptTurn::text("Done.")]).await;
    let of_subagent = r#"{"type":"assistant","uuid":"1","parent_tool_use_id":"2"}"#;
    let model = ClaudeCode::new(speaking(&world, of_subagent, None));
    let mut talk = Talk::new("Add and look!");
    talk.go_on(&model).await;
    world.kill_last().await;
    talk.results([ToolResult::text("2"), ToolResult::text("3")]);
    talk.go_on(&model).await;
    check_resumed(&world);
}
