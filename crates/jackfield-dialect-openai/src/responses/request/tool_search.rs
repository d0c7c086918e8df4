//! Tool search in the vendor's form: `find_tools` is sent as a search that the client runs, and the result of a search
//! holds the definitions of what it found, so that what the vendor has cached of a conversation stays valid.
//!
//! The form is of the vendor's guide on tool search, and its SDK's types (2026-11).

use std::sync::Arc;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::tool_search::SearchedTools;
use jackfield_domain::find_tools;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Map, Value, json};

use super::tools;
use crate::profile::Profile;
use crate::responses::wire;

/// A request whose searches are sent in this form.
#[derive(Debug)]
pub(super) struct SearchedRequest {
    /// The request, with the tools that it sends itself.
    pub(super) request: ModelRequest,
    /// The tools, by what loads them.
    tools: SearchedTools,
}

impl SearchedRequest {
    /// The request in this form; `None` if it has no tools to find, or the server does not know the form.
    ///
    /// A choice among tools must name them in the request, which does not have those that a result loads.
    pub(super) fn new(request: &ModelRequest, profile: &Profile) -> Option<Self> {
        let is_free = match request.choice {
            ToolChoice::Auto | ToolChoice::Forbidden | ToolChoice::Required => true,
            ToolChoice::Named(_) | ToolChoice::Only { .. } => false,
        };
        let mut tools = request.tools.iter();
        let has_search = tools.any(|tool| tool.name.as_str() == find_tools::NAME);
        if !profile.tool_search || request.searchable.is_empty() || !is_free || !has_search {
            return None;
        }
        let tools = SearchedTools::new(request);
        Some(Self {
            request: ModelRequest {
                tools: Arc::new(tools.loaded.clone()),
                ..request.clone()
            },
            tools,
        })
    }

    /// The item of a search's result: the tools that it found.
    pub(super) fn output(
        &self,
        call: &ToolCallId,
        call_id: String,
        profile: &Profile,
        notes: &mut Notes,
    ) -> wire::Item {
        let found = self.tools.found.get(call).into_iter().flatten();
        let tools = found.map(|tool| {
            let mut tool = tools::tool(0, tool, profile, notes);
            tool.extra.insert("defer_loading".to_owned(), true.into());
            tool
        });
        let tools: Vec<wire::Tool> = tools.collect();
        item(OUTPUT, call_id, "tools", json!(tools))
    }
}

/// The item of a search.
pub(super) fn call(call_id: String, arguments: &str) -> wire::Item {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
    item(CALL, call_id, "arguments", arguments)
}

fn item(kind: &str, call_id: String, key: &str, value: Value) -> wire::Item {
    wire::Item::Other(Map::from_iter([
        ("type".to_owned(), kind.into()),
        ("call_id".to_owned(), call_id.into()),
        ("execution".to_owned(), CLIENT.into()),
        ("status".to_owned(), "completed".into()),
        (key.to_owned(), value),
    ]))
}

/// `find_tools`, as a search that the client runs.
pub(super) fn tool(definition: &ToolDefinition) -> wire::Tool {
    wire::Tool {
        kind: "tool_search".to_owned(),
        name: None,
        description: Some((*definition.description).to_owned()),
        parameters: match &definition.input {
            InputFormat::Json(schema) => Some(Arc::clone(schema)),
            InputFormat::Text(_) => None,
        },
        format: None,
        strict: None,
        extra: Map::from_iter([("execution".to_owned(), CLIENT.into())]),
    }
}

/// The fields of a search in a reply, as those of a call of `find_tools`; other items stay as they are.
///
/// The item's id is left out: it could be sent back only with a search.
pub(crate) fn read_call(fields: Map<String, Value>) -> Map<String, Value> {
    let is = |key: &str, value: &str| fields.get(key).and_then(Value::as_str) == Some(value);
    if !is("type", CALL) || !is("execution", CLIENT) {
        return fields;
    }
    let mut call = Map::from_iter([
        ("type".to_owned(), "function_call".into()),
        ("name".to_owned(), find_tools::NAME.into()),
    ]);
    for key in ["arguments", "call_id"] {
        if let Some(value) = fields.get(key) {
            call.insert(key.to_owned(), value.clone());
        }
    }
    call
}

/// The type of a search's item.
const CALL: &str = "tool_search_call";
/// The type of the item of a search's result.
const OUTPUT: &str = "tool_search_output";
const CLIENT: &str = "client";
