//! Tools: their definitions, and the catalog that one turn may use.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::block::RanBy;
use crate::digest::{Digest, canonical_json};
use crate::ids::{ToolName, ToolboxId};
use crate::opaque::Extension;
use crate::policy::Permission;

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// What it does and when to use it.
    pub description: Arc<str>,
    /// Fields of one dialect alone.
    pub extensions: Vec<Extension>,
    /// What it takes.
    pub input: InputFormat,
    /// Its name for models.
    pub name: ToolName,
    /// The JSON Schema of its structured results, if it declares one.
    pub output: Option<Arc<Value>>,
    /// Whether the provider is to enforce the schema of the arguments; `None` leaves it to the provider.
    pub strict: Option<bool>,
}

/// What a tool takes.
#[derive(Clone, Debug, PartialEq)]
pub enum InputFormat {
    /// A JSON object of this schema, JSON Schema 2020-12.
    Json(Arc<Value>),
    /// Free text, of a grammar if one is given.
    Text(Option<Grammar>),
}

/// A grammar of free text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Grammar {
    /// The grammar.
    pub definition: Arc<str>,
    /// Its language: `lark` or `regex`.
    pub syntax: Arc<str>,
}

/// A tool as its toolbox offers it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// What it does and when to use it.
    pub description: Arc<str>,
    /// For people: one character, often an emoji.
    pub icon: Option<Arc<str>>,
    /// What it takes.
    pub input: InputFormat,
    /// Its own name, which need not fit any rule.
    pub name: Arc<str>,
    /// The JSON Schema of its structured results, if it declares one.
    pub output: Option<Arc<Value>>,
    /// What is known of its effects, from someone who may be believed.
    pub safety: Safety,
    /// The longest that it may take, if it needs another limit than the rest.
    pub time_limit: Option<Duration>,
    /// For people: its name in words.
    pub title: Option<Arc<str>>,
}

/// What a tool's own server says of it, for programs that are told of it by us. Nothing here decides about it:
/// that is what its [`Safety`] is for. What is not said is not known.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ToolHints {
    /// Whether it may destroy something.
    pub destructive: Option<bool>,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent: Option<bool>,
    /// Whether it deals with things outside what its server knows.
    pub open_world: Option<bool>,
    /// Whether it changes nothing.
    pub read_only: Option<bool>,
    /// For people: its name in words.
    pub title: Option<Arc<str>>,
}

/// What is known of a tool's effects.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Safety {
    /// Twice with the same idempotency key is the same as once.
    Idempotent,
    /// It changes nothing.
    ReadOnly,
    /// Nothing is known: it may act each time.
    Unknown,
}

impl Safety {
    /// Whether a call that may have run may run again.
    #[must_use]
    pub const fn may_repeat(self) -> bool {
        match self {
            Self::Idempotent | Self::ReadOnly => true,
            Self::Unknown => false,
        }
    }
}

/// What to do about a call of which nobody knows whether it took effect.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum UnknownPolicy {
    /// Ask a person.
    Ask,
    /// Tell the model so.
    #[default]
    Report,
    /// Run it again.
    Retry,
}

/// One tool of a catalog: its definition, and every decision about it.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogEntry {
    /// What models are told.
    pub definition: Arc<ToolDefinition>,
    /// The digest of everything the toolbox says of it; approvals and recovery are bound to it.
    pub digest: Digest,
    /// For people: one character.
    pub icon: Option<Arc<str>>,
    /// Where it comes from.
    pub origin: ToolOrigin,
    /// Whether it may run.
    pub permission: Permission,
    /// Who runs it.
    pub ran_by: RanBy,
    /// What is known of its effects.
    pub safety: Safety,
    /// The longest that one call may take; `None` is the turn's limit.
    pub time_limit: Option<Duration>,
    /// For people: its name in words.
    pub title: Option<Arc<str>>,
    /// What to do when nobody knows whether a call took effect.
    pub when_unknown: UnknownPolicy,
}

/// Where a tool comes from.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ToolOrigin {
    /// Its own name there.
    pub tool: Arc<str>,
    /// The toolbox.
    pub toolbox: ToolboxId,
}

/// The tools that one turn may use, under their model-facing names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    /// Each on its own: the tree makes room for eleven of them, also where there is one.
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

    /// Whether there are none.
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
    /// Of two tools with one name the later one stays.
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
    /// The digest of everything that this says.
    ///
    /// That of the canonical JSON of an object with these fields, which is put together as text: a catalog
    /// may have thousands of schemas, and to copy them took longer than all the rest.
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

/// Which tools a model may or has to call.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum ToolChoice {
    /// Any or none, as the model sees fit.
    #[default]
    Auto,
    /// None.
    Forbidden,
    /// This one.
    Named(ToolName),
    /// Only these, as the model sees fit, or at least one of them.
    Only {
        /// Whether one has to be called.
        required: bool,
        /// The tools.
        tools: Vec<ToolName>,
    },
    /// At least one.
    Required,
}
