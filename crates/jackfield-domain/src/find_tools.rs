//! `find_tools`: the tool by which a model finds the deferred tools of its turn.
//!
//! It runs like any other tool, and its outcome names what was found. The loop adds those tools to the turn in the
//! fact of the outcome, and offers them from the next model call on.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::block::RanBy;
use crate::ids::{ToolName, ToolboxId};
use crate::outcome::{OutcomePart, ToolResult};
use crate::tool::{
    Catalog, CatalogEntry, InputFormat, Permission, Safety, ToolDefinition, ToolOrigin, ToolSpec,
    UnknownPolicy,
};

/// The entry of the tool, for a catalog with these deferred tools. It names their toolboxes, so that a model knows
/// what there is to find.
#[must_use]
pub fn entry(catalog: &Catalog) -> Option<CatalogEntry> {
    let deferred = catalog.iter().filter(|tool| tool.discovery.is_some());
    let toolboxes: BTreeSet<&str> = deferred.map(|tool| tool.origin.toolbox.as_str()).collect();
    let mut toolboxes: Vec<&str> = toolboxes.into_iter().collect();
    if toolboxes.len() > LISTED {
        toolboxes.truncate(LISTED);
        toolboxes.push("others");
    }
    let description = format!(
        "{DESCRIPTION} There are tools of: {}.",
        toolboxes.join(", ")
    );
    let spec = ToolSpec {
        description: description.into(),
        icon: Some("🔎".into()),
        input: InputFormat::Json(Arc::new(schema())),
        name: NAME.into(),
        output: None,
        safety: Safety::ReadOnly,
        time_limit: None,
        title: Some("Find tools".into()),
    };
    Some(CatalogEntry {
        asked_by: None,
        digest: spec.digest(),
        discovery: None,
        icon: spec.icon,
        origin: ToolOrigin {
            tool: spec.name,
            toolbox: ToolboxId::parse(TOOLBOX).ok()?,
        },
        definition: Arc::new(ToolDefinition {
            description: spec.description,
            extensions: Vec::new(),
            input: spec.input,
            name: ToolName::parse(NAME).ok()?,
            output: None,
            strict: None,
        }),
        // It has no effect, and finds only tools of the turn.
        permission: Permission::Allow,
        ran_by: RanBy::Engine,
        safety: spec.safety,
        time_limit: None,
        title: spec.title,
        when_unknown: UnknownPolicy::Report,
    })
}

/// Whether a tool is `find_tools`.
#[must_use]
pub fn is(tool: &CatalogEntry) -> bool {
    tool.origin.toolbox.as_str() == TOOLBOX && *tool.origin.tool == *NAME
}

/// The outcome of a search that found these tools, the best first.
#[must_use]
pub fn outcome(found: &[&CatalogEntry]) -> ToolResult {
    let tools = found.iter().map(|tool| {
        let text = tool.definition.description.trim();
        let short = &text[..text.floor_char_boundary(SHOWN)];
        json!({ "name": tool.definition.name.as_str(), "description": short })
    });
    let tools: Vec<Value> = tools.collect();
    let message = if tools.is_empty() {
        "No tool fits. Search with other words, or do without."
    } else {
        "You can call these tools from now on."
    };
    ToolResult::text(json!({ "message": message, "tools": tools }).to_string())
}

/// The names of the tools in an outcome, in their order; none if it is not one of a search.
#[must_use]
pub fn names(outcome: &ToolResult) -> Vec<ToolName> {
    let text = outcome.content.first().and_then(OutcomePart::as_text);
    let Some(Ok(found)) = text.map(serde_json::from_str::<Value>) else {
        return Vec::new();
    };
    let tools = found["tools"].as_array().into_iter().flatten();
    let names = tools.filter_map(|tool| ToolName::parse(tool["name"].as_str()?).ok());
    names.collect()
}

/// The JSON Schema of its arguments.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "What the tool should do, in a few words; or `select:` and exact names of tools, \
                                separated by commas.",
                "maxLength": 1000,
            },
            "limit": {
                "type": "integer",
                "description": "The most tools to find.",
                "minimum": 1,
                "maximum": MAX_FOUND,
                "default": DEFAULT_FOUND,
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    })
}

/// Its own name, and the one that models see.
pub const NAME: &str = "find_tools";
/// The most tools that one search finds.
pub const MAX_FOUND: usize = 20;
/// How many tools a search finds that does not say how many it wants.
pub const DEFAULT_FOUND: usize = 5;
/// The toolbox in its origin, which no configured server can have as its id.
const TOOLBOX: &str = "builtin";
/// Its description for models.
const DESCRIPTION: &str = "Finds tools that are not loaded yet. Say in a few words what you need to do; the tools \
    that fit best can be called from the next step on. Search before you conclude that there is no tool for \
    something.";
/// The most toolboxes that its description names.
const LISTED: usize = 50;
/// The most bytes of a description in an outcome; the definition of a found tool has all of it.
const SHOWN: usize = 300;
