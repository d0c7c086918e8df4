//! Tool search in a vendor's own form: which tools of a request the results of its searches load.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jackfield_domain::block::Content;
use jackfield_domain::find_tools;
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::ToolDefinition;

/// The tools of a request, by what loads them.
#[derive(Clone, Debug, Default)]
pub struct SearchedTools {
    /// What each search of the conversation found and can still be called. A search that found nothing is missing.
    pub found: HashMap<ToolCallId, Vec<Arc<ToolDefinition>>>,
    /// The offered tools that no result in the conversation loads.
    pub loaded: Vec<Arc<ToolDefinition>>,
}

impl SearchedTools {
    /// The tools of this request.
    #[must_use]
    pub fn new(request: &ModelRequest) -> Self {
        let searchable: HashSet<&ToolName> =
            request.searchable.iter().map(|tool| &tool.name).collect();
        let offered: HashMap<&ToolName, &Arc<ToolDefinition>> = request
            .tools
            .iter()
            .map(|tool| (&tool.name, tool))
            .collect();
        let mut found = HashMap::new();
        for (call, names) in results(request) {
            let names = names.iter().filter(|name| searchable.contains(name));
            let tools = names.filter_map(|name| offered.get(name).copied().cloned());
            let tools: Vec<Arc<ToolDefinition>> = tools.collect();
            if !tools.is_empty() {
                found.insert(call.clone(), tools);
            }
        }
        let by_results = found.values().flatten().map(|tool| &tool.name);
        let by_results: HashSet<&ToolName> = by_results.collect();
        let loaded = request.tools.iter();
        let loaded = loaded.filter(|tool| !by_results.contains(&tool.name));
        let loaded = loaded.cloned().collect();
        Self { found, loaded }
    }
}

/// What each search of the conversation found.
fn results(request: &ModelRequest) -> Vec<(&ToolCallId, Vec<ToolName>)> {
    let calls = request.messages.iter().flat_map(|message| message.calls());
    let searches = calls.filter(|call| call.name.as_str() == find_tools::NAME);
    let searches: HashSet<&ToolCallId> = searches.map(|call| &call.id).collect();
    let mut results = Vec::new();
    for block in request.messages.iter().flat_map(|message| &message.blocks) {
        if let Content::ToolOutcome(outcome) = &block.content
            && searches.contains(&outcome.call)
            && !outcome.result.is_error
        {
            results.push((&outcome.call, find_tools::names(&outcome.result)));
        }
    }
    results
}
