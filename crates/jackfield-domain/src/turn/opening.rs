//! The basis of a turn: the messages that it begins with, and the tool definitions for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde_json::json;

use crate::block::{Content, RanBy};
use crate::ids::ToolName;
use crate::message::{Message, Messages, Role};
use crate::outcome::ToolOutcome;
use crate::setup::Setup;
use crate::tool::{CatalogEntry, InputFormat, ToolDefinition};

/// The [definitions] of a turn, computed on first use. The computation visits every message before the turn,
/// and in a fold over many turns only the last one needs it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definitions(OnceLock<Arc<Vec<Arc<ToolDefinition>>>>);

impl Definitions {
    /// The definitions of a turn with this setup and these messages before it.
    pub(super) fn get(
        &self,
        setup: &Setup,
        before: &[Arc<Message>],
    ) -> &Arc<Vec<Arc<ToolDefinition>>> {
        self.0
            .get_or_init(|| Arc::new(definitions(setup, before.iter())))
    }
}

impl From<Vec<Arc<ToolDefinition>>> for Definitions {
    fn from(definitions: Vec<Arc<ToolDefinition>>) -> Self {
        Self(OnceLock::from(Arc::new(definitions)))
    }
}

impl PartialEq for Definitions {
    /// Values that are not computed yet follow from the rest of the turn.
    fn eq(&self, other: &Self) -> bool {
        let computed = self.0.get().zip(other.0.get());
        computed.is_none_or(|(one, other)| one == other)
    }
}

/// The tool definitions for a model: those that are offered from the beginning, a stub for each tool that occurs
/// only in the history, and those that searches have found. The last come last, so that what a provider has cached
/// of the beginning of a request stays valid.
///
/// Never empty if the history has calls, because some providers reject that.
pub(super) fn definitions<'a>(
    setup: &Setup,
    messages: impl Iterator<Item = &'a Arc<Message>>,
) -> Vec<Arc<ToolDefinition>> {
    let mut definitions: Vec<Arc<ToolDefinition>> = setup
        .catalog
        .initial()
        .map(CatalogEntry::definition_for_models)
        .collect();
    let mut missing_tools: BTreeSet<ToolName> = BTreeSet::new();
    let mut has_invalid_name = false;
    // A deferred tool is still there, so a stub would be wrong.
    let is_there = |name: &str| {
        let tool = setup.catalog.tool(name);
        tool.is_some_and(|tool| tool.asked_by.is_none())
    };
    for call in messages.flat_map(|message| message.calls()) {
        if call.ran_by != RanBy::Provider && !is_there(call.name.as_str()) {
            match ToolName::parse(call.name.as_str()) {
                Ok(name) => _ = missing_tools.insert(name),
                Err(_) => has_invalid_name = true,
            }
        }
    }
    let mut revealed = setup.catalog.revealed().peekable();
    // An invalid tool name cannot be sent, but at least one definition is needed.
    if has_invalid_name
        && definitions.is_empty()
        && missing_tools.is_empty()
        && revealed.peek().is_none()
    {
        missing_tools.insert(ToolName::fallback());
    }
    definitions.extend(missing_tools.into_iter().map(|name| {
        Arc::new(ToolDefinition {
            description: "No longer available. Do not call it.".into(),
            extensions: Vec::new(),
            input: InputFormat::Json(Arc::new(json!({
                "type": "object", "properties": {},
            }))),
            name,
            output: None,
            strict: None,
        })
    }));
    definitions.extend(revealed.map(CatalogEntry::definition_for_models));
    definitions
}

/// The messages up to the late client results, which replace the outcomes that stood in for them.
///
/// Models see as much of them as of any other outcome.
pub(super) fn with_client_results(
    before: &[Arc<Message>],
    results: &[Arc<ToolOutcome>],
    shown: usize,
) -> Messages {
    let mut by_call = BTreeMap::new();
    for new in results {
        by_call.entry(&new.call).or_insert(new);
    }
    let replacement = |outcome: &ToolOutcome| by_call.get(&outcome.call).copied();
    let has_replacement = |message: &Arc<Message>| {
        message.role == Role::Tool
            && message.blocks.iter().any(|block| match &block.content {
                Content::ToolOutcome(outcome) => replacement(outcome).is_some(),
                Content::Audio(_)
                | Content::Document(_)
                | Content::Image(_)
                | Content::Opaque(_)
                | Content::Refusal(_)
                | Content::Text(_)
                | Content::Thinking(_)
                | Content::ToolCall(_) => false,
            })
    };
    let Some(place) = before.iter().rposition(has_replacement) else {
        return Messages::with_history(Arc::new(before.to_vec()));
    };
    let mut messages = before[..=place].to_vec();
    let mut message = Message::clone(&messages[place]);
    for block in &mut message.blocks {
        if let Content::ToolOutcome(outcome) = &block.content
            && let Some(new) = replacement(outcome)
        {
            let new = match new.result.for_models(Some(shown)) {
                Some(result) => Arc::new(ToolOutcome {
                    call: new.call.clone(),
                    opaque: new.opaque.clone(),
                    result,
                }),
                None => Arc::clone(new),
            };
            block.content = Content::ToolOutcome(new);
        }
    }
    messages[place] = Arc::new(message);
    Messages::with_history(Arc::new(messages))
}
