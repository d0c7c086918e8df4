//! Descriptions of tools that are longer than OpenAI takes.

use std::sync::Arc;

use jackfield_dialect_openai::profile::Profile;
use jackfield_domain::message::Message;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use serde_json::{Value, json};

use super::examples::{of, sent, tool};

fn described(description: &str, input: InputFormat) -> ModelRequest {
    let mut request = of(vec![Message::user("Search.")]);
    request.tools = Arc::new(vec![Arc::new(ToolDefinition {
        description: description.into(),
        input,
        ..ToolDefinition::clone(&tool("search"))
    })]);
    request
}

#[test]
fn a_long_description_goes_on_in_the_schema() {
    let begin = "слово ".repeat(170);
    let rest = "and the rest of it.";
    let schema = json!({ "type": "object", "properties": {}, "description": "Its own." });
    let whole = format!("{begin}{rest}");
    let request = described(&whole, InputFormat::Json(Arc::new(schema)));
    let (body, notes) = sent(&request, &Profile::openai("gpt-6-sol"));
    let function = &body["tools"][0]["function"];
    let said = function["description"].as_str().unwrap_or_default();
    assert!(said.chars().count() <= 1024, "{said}");
    let more = function["parameters"]["description"].as_str();
    let more = more.unwrap_or_default();
    let more = more
        .strip_suffix("\n\nIts own.")
        .unwrap_or_else(|| panic!("{more}"));
    assert_eq!(format!("{said} {more}"), whole);
    assert!(
        notes.iter().any(|note| note == "description_split"),
        "{notes:?}"
    );

    // Of other servers no limit is known.
    let (body, _) = sent(&request, &Profile::COMPATIBLE);
    assert_eq!(body["tools"][0]["function"]["description"], whole);
}

#[test]
fn a_long_description_of_a_text_tool_stays_whole() {
    let whole = "word ".repeat(300);
    let request = described(&whole, InputFormat::Text(None));
    let (body, _) = sent(&request, &Profile::openai("gpt-6-sol"));
    assert_eq!(
        body["tools"][0]["custom"]["description"],
        Value::from(whole)
    );
}
