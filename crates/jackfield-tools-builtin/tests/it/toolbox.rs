//! The built-in tools behind the port.

use std::time::{Duration, SystemTime};

use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_domain::ids::{IdempotencyKey, ToolAttempt, ToolCallId, ToolboxId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{InputFormat, Safety, ToolOrigin};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, ToolError, Toolbox as _};
use jackfield_tools_builtin::{Builtins, CurrentDatetime};
use serde_json::{Value, json};

fn builtins() -> Builtins {
    let clock = || SystemTime::UNIX_EPOCH + Duration::from_secs(1_782_907_200);
    Builtins::new(CurrentDatetime::new(clock))
}

#[expect(
    clippy::unwrap_used,
    reason = "the ids are constants that follow the rule"
)]
fn run(tool: &str, input: ToolInput, max_bytes: usize) -> ToolRun {
    ToolRun {
        attempt: ToolAttempt {
            call: ToolCallId::parse("call-1").unwrap(),
            attempt: 1,
        },
        fresh: false,
        input,
        key: IdempotencyKey::parse("key-1").unwrap(),
        max_bytes,
        time_limit: Duration::from_secs(10),
        tool: ToolOrigin {
            tool: tool.into(),
            toolbox: ToolboxId::parse("builtin").unwrap(),
        },
    }
}

async fn call(tool: &str, arguments: &Value) -> Result<ToolResult, ToolError> {
    let input = ToolInput::Json(JsonInput::parse(&arguments.to_string()));
    match builtins()
        .call(&run(tool, input, 10_000), &CallContext::default(), &mut ())
        .await?
    {
        ToolEnd::Finished(result) => Ok(result),
        ToolEnd::Asked { .. } => panic!("a built-in tool asked a question"),
    }
}

#[tokio::test]
async fn both_tools_are_listed_as_read_only_with_object_schemas() {
    let tools = builtins().list().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["calculator", "current_datetime"]);
    for tool in tools {
        assert_eq!(tool.safety, Safety::ReadOnly);
        assert!(tool.title.is_some() && tool.icon.is_some() && tool.output.is_some());
        let InputFormat::Json(schema) = tool.input else {
            panic!("{} takes text", tool.name);
        };
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
    }
}

#[tokio::test]
async fn the_calculator_answers_in_text_and_json() {
    let result = call("calculator", &json!({"expression": "100 + 10%"})).await;
    let result = result.unwrap();
    assert_eq!(result.to_text(), "110");
    assert!(!result.is_error);
    let structured = json!({"expression": "100 + 10%", "result": "110", "exact": true});
    assert_eq!(result.structured.as_deref(), Some(&structured));
}

#[tokio::test]
async fn the_clock_answers_in_text_and_json() {
    let result = call("current_datetime", &json!({"timezone": "tokyo"})).await;
    let result = result.unwrap();
    assert_eq!(
        result.to_text(),
        "2026-07-01T21:00:00+09:00 (Wednesday, Asia/Tokyo)"
    );
    assert_eq!(result.structured.unwrap()["weekday"], "Wednesday");
}

#[tokio::test]
async fn what_a_tool_refuses_is_an_outcome() {
    let refused = [
        (
            "calculator",
            json!({"expression": "1/0"}),
            "division by zero",
        ),
        ("calculator", json!({}), "`expression` is missing"),
        (
            "current_datetime",
            json!({"timezone": "Tokio"}),
            "Europe/Paris",
        ),
    ];
    for (tool, arguments, expected) in refused {
        let result = call(tool, &arguments).await.unwrap();
        assert!(result.is_error, "{arguments}");
        assert!(result.to_text().contains(expected), "{arguments}");
        assert_eq!(result.structured, None);
    }
}

#[tokio::test]
async fn what_cannot_be_run_is_proved_not_to_have_been() {
    let unknown = call("abacus", &json!({})).await.unwrap_err().failure;
    assert_eq!(unknown.kind, ToolFailureKind::UnknownTool);
    assert_eq!(unknown.disposition, Disposition::NotSent);
    let text = run("calculator", ToolInput::Text("1+1".into()), 10_000);
    let failure = builtins()
        .call(&text, &CallContext::default(), &mut ())
        .await
        .unwrap_err()
        .failure;
    assert_eq!(failure.kind, ToolFailureKind::InvalidArguments);
    assert_eq!(failure.disposition, Disposition::NotSent);
}

#[tokio::test]
async fn an_outcome_is_cut_to_what_is_of_use() {
    let input = ToolInput::Json(JsonInput::parse(r#"{"expression": "2^300"}"#));
    let end = builtins()
        .call(
            &run("calculator", input, 10),
            &CallContext::default(),
            &mut (),
        )
        .await;
    let ToolEnd::Finished(result) = end.unwrap() else {
        panic!("a built-in tool asked a question");
    };
    assert!(result.to_text().contains("[cut: "));
    assert_eq!(result.structured, None);
}
