//! Permissions of a provider's own tools.

use jackfield_domain::outcome::ToolResult;
use jackfield_domain::own_tool::{Verdict, allowed};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Map, Value, json};

fn fields(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn outcome(arguments: &Value) -> ToolResult {
    allowed(&ToolInput::Json(JsonInput::from(fields(arguments))))
}

#[test]
fn an_allowed_call_has_the_arguments_that_were_allowed() {
    let long = json!({ "text": "x".repeat(LONGEST) });
    let longer = json!({ "text": "y".repeat(LONGEST) });
    let too_long = "the changed arguments are too long to be passed on";
    for (allowed, asked, expected) in [
        (
            json!({ "a": 1 }),
            json!({ "a": 1 }),
            Verdict::Allowed(fields(&json!({ "a": 1 }))),
        ),
        (
            json!({ "a": 2 }),
            json!({ "a": 1 }),
            Verdict::Allowed(fields(&json!({ "a": 2 }))),
        ),
        (long.clone(), long.clone(), Verdict::Allowed(fields(&long))),
        (longer, long, Verdict::Denied(too_long.to_owned())),
    ] {
        assert_eq!(Verdict::read(&outcome(&allowed), &fields(&asked)), expected);
    }
}

#[test]
fn every_other_outcome_is_a_denial() {
    for (result, reason) in [
        (ToolResult::error("Not now."), "Not now."),
        (ToolResult::text("Allowed."), "the permission was not given"),
    ] {
        let read = Verdict::read(&result, &Map::new());
        assert_eq!(read, Verdict::Denied(reason.to_owned()));
    }
}

/// The most bytes of arguments that an outcome repeats.
const LONGEST: usize = 32 << 10;
