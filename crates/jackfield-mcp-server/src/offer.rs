//! Selects the tools of an engine that are offered.

use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::policy::{Policy, PolicyRule, RuleVerdict};
use jackfield_domain::tool::{CatalogEntry, InputFormat, Permission, Safety, ToolOrigin};
use jackfield_engine::{ToolOffer, ToolboxProblem};
use serde_json::{Map, Value};

use crate::selection::SelectedTool;

/// The tools of an engine, as the server offers them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Offer {
    /// The patterns that match no tool.
    pub idle: Vec<Arc<str>>,
    /// The toolboxes whose tools are unavailable.
    pub problems: Vec<ToolboxProblem>,
    /// The tools of a selection as they are, in the order of `tools`; empty without a selection.
    selected: Vec<(SelectedTool, CatalogEntry)>,
    /// The tools that are left out for a reason that only their toolbox can remove.
    pub skipped: Vec<ToolboxProblem>,
    /// The offered tools, by name.
    pub tools: Vec<CatalogEntry>,
    /// The requested tools that are not offered.
    pub withheld: Vec<WithheldTool>,
}

/// A tool that is not offered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WithheldTool {
    pub name: String,
    /// The reason, and how to change that.
    pub reason: String,
}

/// Which tools of an engine are offered.
#[derive(Clone, Debug)]
pub(crate) enum ToolSelection {
    /// Those that match one of these patterns.
    Patterns(Arc<[Arc<str>]>),
    Tools(Arc<[SelectedTool]>),
}

impl ToolSelection {
    pub(crate) fn offer(&self, offered: ToolOffer) -> Offer {
        match self {
            Self::Patterns(patterns) => Offer::from_tools(offered, patterns),
            Self::Tools(tools) => Offer::from_selection(offered, tools),
        }
    }

    /// Whether the tools were named one by one.
    pub(crate) const fn is_selection(&self) -> bool {
        matches!(self, Self::Tools(_))
    }
}

impl Offer {
    fn from_tools(offered: ToolOffer, patterns: &[Arc<str>]) -> Self {
        let mut offer = Self {
            problems: offered.problems,
            skipped: offered.skipped,
            ..Self::default()
        };
        let tools: Vec<&CatalogEntry> = offered.catalog.iter().collect();
        for pattern in patterns {
            if !tools.iter().any(|tool| fits(pattern, tool)) {
                offer.idle.push(Arc::clone(pattern));
            }
        }
        for tool in tools {
            if !patterns.iter().any(|pattern| fits(pattern, tool)) {
                continue;
            }
            match reason(tool) {
                None => offer.tools.push(tool.clone()),
                Some(why) => offer.withheld.push(WithheldTool {
                    name: tool.definition.name.to_string(),
                    reason: why,
                }),
            }
        }
        offer
    }

    /// The tools of a selection. One that is not there is withheld.
    fn from_selection(offered: ToolOffer, selection: &[SelectedTool]) -> Self {
        let mut offer = Self {
            problems: offered.problems,
            skipped: offered.skipped,
            ..Self::default()
        };
        for selected in selection {
            let origin = &selected.origin;
            let found = offered.catalog.iter().find(|tool| tool.origin == *origin);
            let why = match found {
                None => Some(offer.why_missing(origin)),
                Some(tool) => reason(tool),
            };
            match (found, why) {
                (Some(tool), None) => {
                    offer.tools.push(selected.shown(tool));
                    offer.selected.push((selected.clone(), tool.clone()));
                }
                (_, why) => offer.withheld.push(WithheldTool {
                    name: selected.name.to_string(),
                    reason: why.unwrap_or_default(),
                }),
            }
        }
        offer
    }

    /// Why a tool of a selection is not there: a problem of its toolbox, as with a changed definition, if one is
    /// known.
    fn why_missing(&self, origin: &ToolOrigin) -> String {
        let mut problems = self.problems.iter().chain(&self.skipped);
        let problem = problems.find(|problem| problem.toolbox == origin.toolbox);
        let ToolOrigin { tool, toolbox } = origin;
        match problem {
            Some(problem) => format!(
                "the tool `{toolbox}/{tool}` is not there: {}",
                problem.message
            ),
            None => format!("the tool `{toolbox}/{tool}` is not there"),
        }
    }

    /// A call as the tool itself takes it: the tool, and its arguments with the fixed ones.
    pub(crate) fn resolve<'a>(
        &'a self,
        tool: &'a CatalogEntry,
        arguments: Map<String, Value>,
    ) -> (&'a CatalogEntry, Map<String, Value>) {
        let name = &tool.definition.name;
        let mut selected = self.selected.iter();
        match selected.find(|(selected, _)| selected.name == *name) {
            Some((selected, own)) => (own, selected.complete(arguments)),
            None => (tool, arguments),
        }
    }

    /// A digest of what a list of the tools shows.
    pub(crate) fn fingerprint(&self) -> Digest {
        let mut bytes = Vec::new();
        for tool in &self.tools {
            bytes.extend_from_slice(tool.definition.name.as_str().as_bytes());
            bytes.extend_from_slice(tool.digest.as_bytes());
            bytes.push(0);
        }
        Digest::of(&bytes)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&CatalogEntry> {
        let mut tools = self.tools.iter();
        tools.find(|tool| tool.definition.name.as_str() == name)
    }

    /// The error for a name that is not offered.
    pub(crate) fn not_offered_message(&self, name: &str) -> String {
        let shown: String = name.chars().take(MAX_NAME).collect();
        if let Some(withheld) = self.withheld.iter().find(|tool| tool.name == name) {
            return format!("the tool `{shown}` is not offered: {}", withheld.reason);
        }
        let names = self.tools.iter().map(|tool| tool.definition.name.as_str());
        let offered_names: Vec<&str> = names.take(MAX_NAMES).collect();
        format!(
            "there is no tool `{shown}`; there are: {}",
            offered_names.join(", ")
        )
    }
}

/// Why a tool cannot be offered, if so.
fn reason(tool: &CatalogEntry) -> Option<String> {
    match (&tool.permission, &tool.definition.input) {
        (Permission::Deny(why), _) => Some(why.to_string()),
        // Grants belong to sessions, and calls over MCP have none.
        (Permission::Ask | Permission::Granted { .. }, _) => {
            Some("it needs approval, and there is no one to ask".to_owned())
        }
        (Permission::Allow, InputFormat::Json(schema)) if schema.is_object() => None,
        (Permission::Allow, _) => Some("it takes something else than a JSON object".to_owned()),
    }
}

/// Whether a pattern over `toolbox/tool` matches a tool, with the semantics of policy rules.
fn fits(pattern: &Arc<str>, tool: &CatalogEntry) -> bool {
    let rule = PolicyRule {
        pattern: Arc::clone(pattern),
        verdict: RuleVerdict::Allow,
    };
    let policy = Policy {
        can_ask: false,
        rules: vec![rule],
    };
    policy.permission(&tool.origin, Safety::Unknown, false) == Permission::Allow
}

/// The maximum length of a tool name for models.
const MAX_NAME: usize = 128;
/// How many names an error lists.
const MAX_NAMES: usize = 50;
