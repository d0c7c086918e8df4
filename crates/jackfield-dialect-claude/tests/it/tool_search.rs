//! Deferred tools in the vendor's form: what a request defers, and what the result of a search refers to.

use std::sync::Arc;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::request;
use jackfield_dialect_rules::claude;
use jackfield_domain::block::{Block, Content, RanBy, ToolCall};
use jackfield_domain::find_tools;
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Value, json};

use crate::arb::owner;
use crate::examples::{of, outcome};

fn definition(name: &str) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        description: format!("Does {name}.").into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(json!({ "type": "object" }))),
        name: ToolName::parse(name).expect("a name"),
        output: None,
        strict: None,
    })
}

fn search(id: &str) -> Block {
    let name = ToolName::parse(find_tools::NAME).expect("a name");
    Content::ToolCall(Arc::new(ToolCall {
        id: ToolCallId::parse(id).expect("an id"),
        input: ToolInput::Json(JsonInput::parse(r#"{"query":"it"}"#)),
        name: (&name).into(),
        ran_by: RanBy::Engine,
        upstream: None,
    }))
    .into()
}

/// The result of a search, as the model gets it.
fn found(names: &[&str]) -> ToolResult {
    let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
    ToolResult::text(json!({ "tools": tools }).to_string())
}

/// A request after a search, if there is a result of one: `find_tools` and these revealed tools are offered, and
/// `a`, `b` and `c` can be found.
fn request(revealed: &[&str], result: Option<ToolResult>) -> ModelRequest {
    let mut messages = vec![Message::user("hello")];
    if let Some(result) = result {
        messages.push(Message::new(Role::Assistant, vec![search("call_1")]));
        messages.push(Message::new(Role::Tool, vec![outcome("call_1", result)]));
    }
    let offered = [find_tools::NAME].iter().chain(revealed);
    ModelRequest {
        searchable: Arc::new(["a", "b", "c"].map(definition).to_vec()),
        tools: Arc::new(offered.map(|name| definition(name)).collect()),
        ..of(messages)
    }
}

/// The body of a request, which the vendor takes.
fn body(request: &ModelRequest, profile: &Profile) -> Value {
    let (body, _) = request::to_wire(request, &owner(), profile, true).expect("it can be said");
    let body = serde_json::to_value(&body).expect("JSON");
    let broken = claude::check(&body, profile);
    assert!(broken.is_empty(), "{broken:?}\n{body:#}");
    body
}

/// The tools of a body, those in brackets deferred.
fn tools(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().into_iter().flatten();
    let names = tools.map(|tool| {
        let name = tool["name"].as_str().unwrap_or_default();
        if tool["defer_loading"] == true {
            format!("({name})")
        } else {
            name.to_owned()
        }
    });
    names.collect()
}

#[test]
fn tools_that_can_be_found_are_deferred_and_stay_so_when_they_are() {
    let all = ["find_tools", "(a)", "(b)", "(c)"];
    for (revealed, result, references) in [
        (&[][..], None, None),
        (&["c", "a"], Some(found(&["c", "a"])), Some(&["c", "a"][..])),
        // What is not there any more is not referred to: the vendor would refuse the request.
        (&["b"], Some(found(&["gone", "b"])), Some(&["b"])),
        (&[], Some(found(&["gone"])), None),
        (&[], Some(found(&[])), None),
        (&[], Some(ToolResult::error("not now")), None),
    ] {
        let sent = body(&request(revealed, result.clone()), &Profile::NEWEST);
        assert_eq!(tools(&sent), all);
        let content = &sent["messages"][2]["content"][0]["content"];
        let expected = match references {
            Some(names) => names
                .iter()
                .map(|name| json!({ "type": "tool_reference", "tool_name": name }))
                .collect(),
            None => result.map_or(Value::Null, |result| result.to_text().into()),
        };
        assert_eq!(*content, expected);
    }
}

#[test]
fn a_revealed_tool_that_no_result_refers_to_is_loaded() {
    let sent = body(&request(&["b"], None), &Profile::NEWEST);
    assert_eq!(tools(&sent), ["find_tools", "b", "(a)", "(c)"]);
}

#[test]
fn a_server_without_references_gets_what_is_offered() {
    let profile = Profile {
        tool_references: false,
        ..Profile::NEWEST
    };
    let sent = body(&request(&["b"], Some(found(&["b"]))), &profile);
    assert_eq!(tools(&sent), ["find_tools", "b"]);
    let content = &sent["messages"][2]["content"][0]["content"];
    assert_eq!(*content, json!(found(&["b"]).to_text()));
}
