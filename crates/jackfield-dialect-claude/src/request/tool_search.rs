//! Tool search in the vendor's form: the definitions of deferred tools are part of every request, and the result of a
//! search refers to those that it found, so that what the vendor has cached of a conversation stays valid.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jackfield_dialect_kit::outgoing::tool_search::SearchedTools;
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::ToolDefinition;
use serde_json::{Map, Value, json};

use crate::options::Profile;
use crate::wire;

/// A request whose deferred tools are sent in this form.
#[derive(Debug)]
pub(super) struct SearchedRequest {
    deferred: HashSet<String>,
    found: HashMap<ToolCallId, Vec<Arc<ToolDefinition>>>,
    /// The request, with the tools that are sent.
    pub(super) request: ModelRequest,
}

/// The names of the tools that the result of each search refers to.
pub(super) type References = HashMap<ToolCallId, Vec<String>>;

impl SearchedRequest {
    /// The request in this form; `None` if it has no deferred tools, or the server does not know the form.
    ///
    /// A tool that a search found, and whose result the conversation does not have any more, is sent like one that
    /// was offered from the beginning: nothing else would load it.
    pub(super) fn new(request: &ModelRequest, profile: &Profile) -> Option<Self> {
        if !profile.tool_references || request.searchable.is_empty() {
            return None;
        }
        let SearchedTools { found, loaded } = SearchedTools::new(request);
        let mut tools = loaded;
        let sent: HashSet<ToolName> = tools.iter().map(|tool| tool.name.clone()).collect();
        let deferred = request.searchable.iter();
        let deferred: Vec<_> = deferred.filter(|tool| !sent.contains(&tool.name)).collect();
        tools.extend(deferred.iter().copied().cloned());
        Some(Self {
            deferred: deferred.iter().map(|tool| tool.name.to_string()).collect(),
            found,
            request: ModelRequest {
                tools: Arc::new(tools),
                ..request.clone()
            },
        })
    }

    /// Marks the deferred ones of these tools, and returns what results refer to.
    pub(super) fn defer(&self, tools: &mut [wire::Tool]) -> References {
        let mut sent: HashSet<&str> = HashSet::new();
        for tool in tools.iter_mut() {
            let Some(name) = tool.name.as_deref() else {
                continue;
            };
            if let Some(name) = self.deferred.get(name) {
                tool.extra.insert(DEFER.to_owned(), Value::Bool(true));
                sent.insert(name);
            }
        }
        // A reference to a tool that the request does not have is refused.
        let found = self.found.iter().map(|(call, names)| {
            let names = names.iter().map(|tool| tool.name.as_str());
            let names = names.filter(|name| sent.contains(name));
            (call.clone(), names.map(str::to_owned).collect())
        });
        found.collect()
    }
}

/// The content of a result that refers to these tools.
pub(super) fn references(names: &[String]) -> wire::Content {
    let references = names.iter().map(|name| {
        let mut fields = Map::new();
        fields.insert("type".to_owned(), json!("tool_reference"));
        fields.insert("tool_name".to_owned(), json!(name));
        wire::Block::Other(fields)
    });
    wire::Content::Blocks(references.collect())
}

/// The field of a deferred tool.
pub(super) const DEFER: &str = "defer_loading";
