//! Tools: their definitions, and the catalog of a turn.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::block::RanBy;
use crate::digest::{Digest, canonical_json};
use crate::ids::{ToolName, ToolboxId, WaitId};
use crate::naming::tool_name;
use crate::opaque::Extension;
use crate::text::hidden;

/// The definition of a tool, as models get it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// What it does and when to use it.
    pub description: Arc<str>,
    /// Fields of a single dialect.
    pub extensions: Vec<Extension>,
    /// Its input format.
    pub input: InputFormat,
    /// Its model-facing name.
    pub name: ToolName,
    /// The JSON Schema of its structured results, if it declares one.
    pub output: Option<Arc<Value>>,
    /// Whether the provider should enforce the input schema; `None` leaves it to the provider.
    pub strict: Option<bool>,
}

/// The input format of a tool.
#[derive(Clone, Debug, PartialEq)]
pub enum InputFormat {
    /// A JSON object that matches this schema, JSON Schema 2020-12.
    Json(Arc<Value>),
    /// Free text, with an optional grammar.
    Text(Option<Grammar>),
}

/// A grammar for free text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Grammar {
    /// The grammar.
    pub definition: Arc<str>,
    /// Its language: `lark` or `regex`.
    pub syntax: Arc<str>,
}

/// A tool, as its toolbox lists it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// What it does and when to use it.
    pub description: Arc<str>,
    /// For people: one character, often an emoji.
    pub icon: Option<Arc<str>>,
    /// Its input format.
    pub input: InputFormat,
    /// Its own name, in any format.
    pub name: Arc<str>,
    /// The JSON Schema of its structured results, if it declares one.
    pub output: Option<Arc<Value>>,
    /// The known safety of its effects, from a trusted source.
    pub safety: Safety,
    /// Its time limit, if it needs another one than the other tools.
    pub time_limit: Option<Duration>,
    /// For people: its display name.
    pub title: Option<Arc<str>>,
}

/// Hints of a tool's server about its effects, for forwarding to other programs. Jackfield itself decides by
/// [`Safety`] only. `None` means that the server does not say.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ToolHints {
    /// Whether it may make destructive changes.
    pub destructive: Option<bool>,
    /// Whether a second call with the same arguments has no further effect.
    pub idempotent: Option<bool>,
    /// Whether it interacts with the world outside its server.
    pub open_world: Option<bool>,
    /// Whether it is read-only.
    pub read_only: Option<bool>,
    /// For people: its display name.
    pub title: Option<Arc<str>>,
}

/// What is known of a tool's effects.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Safety {
    /// A repetition with the same idempotency key has no further effect, and the same outcome.
    Idempotent,
    /// Read-only.
    ReadOnly,
    /// Unknown: each call may have an effect.
    Unknown,
}

crate::named! { Safety: Idempotent = "idempotent", ReadOnly = "read_only", Unknown = "unknown" }

impl Safety {
    /// Whether a call that may have run can be repeated.
    #[must_use]
    pub const fn may_repeat(self) -> bool {
        match self {
            Self::Idempotent | Self::ReadOnly => true,
            Self::Unknown => false,
        }
    }
}

/// Whether a tool may run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Permission {
    /// It may run.
    Allow,
    /// Each call needs an approval.
    Ask,
    /// It may not run; names the reason, and the setting that would change it.
    Deny(Arc<str>),
    /// It may run: it needs approvals, but a session grant covers all of its calls.
    Granted {
        /// The person who granted it.
        by: Arc<str>,
        /// The approval of the session that they answered.
        wait: WaitId,
    },
}

/// What to do with a call whose outcome is unknown.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum UnknownPolicy {
    /// Ask a person.
    Ask,
    /// Report it to the model.
    #[default]
    Report,
    /// Run it again.
    Retry,
}

crate::named! { UnknownPolicy: Ask = "ask", Report = "report", Retry = "retry" }

/// A tool of a catalog, with all decisions about it.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogEntry {
    /// The provider that runs the tool itself, and asks whether it may. Such a tool is not offered to models, and its
    /// outcome is the permission alone. `None` for all other tools.
    pub asked_by: Option<Arc<str>>,
    /// The definition, as its toolbox gives it.
    pub definition: Arc<ToolDefinition>,
    /// The digest of the toolbox's whole definition; approvals and recovery are bound to it.
    pub digest: Digest,
    /// How far a search has come to it; `None` if models are offered it from the beginning.
    pub discovery: Option<Discovery>,
    /// For people: one character.
    pub icon: Option<Arc<str>>,
    /// The tool's origin.
    pub origin: ToolOrigin,
    /// Whether it may run.
    pub permission: Permission,
    /// Who runs it.
    pub ran_by: RanBy,
    /// What is known of its effects.
    pub safety: Safety,
    /// The time limit of a call; `None` is the turn's limit.
    pub time_limit: Option<Duration>,
    /// For people: its display name.
    pub title: Option<Arc<str>>,
    /// What to do with a call whose outcome is unknown.
    pub when_unknown: UnknownPolicy,
}

impl CatalogEntry {
    /// A tool of a toolbox that the driver of the loop runs, under the name that [`tool_name`] gives it.
    #[must_use]
    pub fn new(toolbox: ToolboxId, tool: ToolSpec, permission: Permission) -> Self {
        Self {
            asked_by: None,
            digest: tool.digest(),
            discovery: None,
            icon: tool.icon,
            definition: Arc::new(ToolDefinition {
                description: tool.description,
                extensions: Vec::new(),
                input: tool.input,
                name: tool_name(&toolbox, &tool.name),
                output: tool.output,
                strict: None,
            }),
            origin: ToolOrigin {
                tool: tool.name,
                toolbox,
            },
            permission,
            ran_by: RanBy::Engine,
            safety: tool.safety,
            time_limit: tool.time_limit,
            title: tool.title,
            when_unknown: UnknownPolicy::Report,
        }
    }

    /// The definition as models get it: a tool of a server without tag letters, and a client's own as it is.
    #[must_use]
    pub fn definition_for_models(&self) -> Arc<ToolDefinition> {
        let definition = &self.definition;
        if self.ran_by == RanBy::Client {
            return Arc::clone(definition);
        }
        let description = hidden::without_tags(&definition.description);
        let input = match &definition.input {
            InputFormat::Json(schema) => hidden::json_without_tags(schema),
            InputFormat::Text(_) => None,
        };
        let output = definition.output.as_deref();
        let output = output.and_then(hidden::json_without_tags);
        if description.is_none() && input.is_none() && output.is_none() {
            return Arc::clone(definition);
        }
        let mut mended = ToolDefinition::clone(definition);
        if let Some(description) = description {
            mended.description = description.into();
        }
        if let Some(schema) = input {
            mended.input = InputFormat::Json(Arc::new(schema));
        }
        if let Some(schema) = output {
            mended.output = Some(Arc::new(schema));
        }
        Arc::new(mended)
    }

    /// Whether a search has to find it before models are offered it.
    #[must_use]
    pub fn is_deferred(&self) -> bool {
        self.discovery == Some(Discovery::Deferred)
    }
}

/// The state of a tool that models find by a search.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Discovery {
    /// No search has found it: models are not offered it, and cannot call it.
    Deferred,
    /// A search has found it, as the one of this number. It is offered after the tools with lower numbers, so that
    /// the beginning of a request stays the same.
    Revealed(u32),
}

/// The origin of a tool.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ToolOrigin {
    /// The tool's own name in the toolbox.
    pub tool: Arc<str>,
    /// The toolbox.
    pub toolbox: ToolboxId,
}

/// The tools of a turn, by their model-facing names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    /// Each entry is allocated separately: a tree node reserves space for eleven entries, even if it has one.
    entries: BTreeMap<ToolName, Arc<CatalogEntry>>,
}

impl Catalog {
    /// The tool of this name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&CatalogEntry> {
        self.entries
            .get(&ToolName::parse(name).ok()?)
            .map(|tool| &**tool)
    }

    /// All tools, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &CatalogEntry> {
        self.entries.values().map(|tool| &**tool)
    }

    /// The tools that models are offered: first those that are offered from the beginning, by name, then those that
    /// searches found, in their order.
    pub fn offered(&self) -> impl Iterator<Item = &CatalogEntry> {
        self.initial().chain(self.revealed())
    }

    /// The tools that models are offered from the beginning, by name.
    pub fn initial(&self) -> impl Iterator<Item = &CatalogEntry> {
        self.iter()
            .filter(|tool| tool.asked_by.is_none() && tool.discovery.is_none())
    }

    /// The tools that searches have found, in their order.
    pub fn revealed(&self) -> impl Iterator<Item = &CatalogEntry> {
        let mut revealed: Vec<(u32, &CatalogEntry)> = self
            .iter()
            .filter_map(|tool| match tool.discovery? {
                Discovery::Deferred => None,
                Discovery::Revealed(number) => Some((number, tool)),
            })
            .collect();
        revealed.sort_by_key(|(number, _)| *number);
        revealed.into_iter().map(|(_, tool)| tool)
    }

    /// The definitions of the tools that searches find, whether one has found them or not, by name.
    pub fn searchable(&self) -> impl Iterator<Item = Arc<ToolDefinition>> {
        let searchable = self.iter().filter(|tool| tool.discovery.is_some());
        searchable.map(CatalogEntry::definition_for_models)
    }

    /// The deferred tools of these names as revealed ones, in this order; `None` if none of them is deferred.
    pub(crate) fn reveal(&self, names: &[ToolName]) -> Option<Self> {
        let last = self.iter().filter_map(|tool| match tool.discovery? {
            Discovery::Deferred => None,
            Discovery::Revealed(number) => Some(number),
        });
        let first = last.max().map_or(0, |last| last.saturating_add(1));
        let deferred = names
            .iter()
            .filter_map(|name| self.entries.get(name))
            .filter(|tool| tool.is_deferred());
        let revealed = deferred.zip(0u32..).map(|(tool, place)| CatalogEntry {
            discovery: Some(Discovery::Revealed(first.saturating_add(place))),
            ..CatalogEntry::clone(tool)
        });
        let revealed: Self = revealed.collect();
        (!revealed.is_empty()).then_some(revealed)
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A digest of all definitions, names and decisions.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let lines: Vec<String> = self
            .iter()
            .map(|tool| {
                format!(
                    "{} {} {:?}",
                    tool.definition.name, tool.digest, tool.permission
                )
            })
            .collect();
        Digest::of_parts(lines.iter().map(String::as_str))
    }
}

impl FromIterator<CatalogEntry> for Catalog {
    /// Of two tools with one name, the later one wins.
    fn from_iter<T: IntoIterator<Item = CatalogEntry>>(tools: T) -> Self {
        let named = tools
            .into_iter()
            .map(|tool| (tool.definition.name.clone(), Arc::new(tool)));
        Self {
            entries: named.collect(),
        }
    }
}

impl ToolSpec {
    /// The digest of the whole definition.
    ///
    /// It is the digest of the canonical JSON of an object with these fields. The JSON is assembled as text,
    /// because copying thousands of schemas into one value took longer than everything else.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let text = |text: Option<&str>| canonical_json(&Value::from(text));
        let input = match &self.input {
            InputFormat::Json(schema) => format!("{{\"schema\":{}}}", canonical_json(schema)),
            InputFormat::Text(None) => text(Some("text")),
            InputFormat::Text(Some(grammar)) => canonical_json(
                &json!({ "grammar": *grammar.definition, "syntax": *grammar.syntax }),
            ),
        };
        let output = self.output.as_deref();
        let fields = [
            ("description", text(Some(&self.description))),
            ("input", input),
            ("name", text(Some(&self.name))),
            ("output", output.map_or_else(|| text(None), canonical_json)),
            ("safety", text(Some(&format!("{:?}", self.safety)))),
            ("title", text(self.title.as_deref())),
        ];
        let fields = fields.map(|(name, value)| format!("\"{name}\":{value}"));
        Digest::of(format!("{{{}}}", fields.join(",")).as_bytes())
    }
}

/// Which tools a model may or must call.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// None.
    Forbidden,
    /// This one.
    Named(ToolName),
    /// Only these tools: the model decides, or must call one of them.
    Only {
        /// Whether one must be called.
        required: bool,
        /// The tools.
        tools: Vec<ToolName>,
    },
    /// At least one.
    Required,
}
