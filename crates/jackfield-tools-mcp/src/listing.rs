//! The list of a server's tools, built page by page within limits.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::tool::ToolSpec;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::clock::after;
use crate::config::{ClientSettings, ServerConfig};
use crate::gate::{DefinitionGate, Review, review};
use crate::mapping::definition::{self, MappedTool};
use crate::mirrored;

/// A list of a server's tools.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    /// The number of list changes when this list was requested.
    changes: u64,
    /// All tools, including those that the review refused.
    pub(crate) defined: Arc<[MappedTool]>,
    /// The end of the server's time to live; `None` if the list is valid until a list change.
    fresh_until: Option<Instant>,
    /// The number of this request among those for the list.
    request_number: u64,
    /// Problems with the list, such as tools that were left out, one sentence each.
    problems: Vec<String>,
    /// The result of the review.
    pub(crate) review: Review,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListPage<'a> {
    #[serde(default)]
    next_cursor: Option<String>,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(default)]
    ttl_ms: Option<Value>,
}

impl Listing {
    /// The same list after its review.
    pub(crate) async fn reviewed(mut self, gate: Option<&Arc<dyn DefinitionGate>>) -> Self {
        self.review = review(gate, definitions(&self.defined)).await;
        self
    }

    /// The problems that only the server can solve, in sentences.
    pub(crate) fn skipped_tools(&self) -> Vec<String> {
        self.problems.clone()
    }

    /// The tools that may be used.
    pub(crate) fn tools(&self) -> Vec<ToolSpec> {
        usable_tools(&self.defined, &self.review)
    }

    /// Whether the list is still valid by the server's time to live or its list changes.
    ///
    /// `changes` is the number of list changes so far, and `announces_changes` whether the server announces them.
    pub(crate) fn is_fresh(&self, changes: u64, announces_changes: bool) -> bool {
        let fresh = match self.fresh_until {
            None => announces_changes,
            Some(until) => Instant::now() < until,
        };
        fresh && self.is_unchanged(changes)
    }

    /// Whether the list was requested after this number of requests.
    pub(crate) const fn is_requested_after(&self, times: u64) -> bool {
        self.request_number > times
    }

    /// Whether the server has not announced a list change since; `changes` is their number so far.
    pub(crate) const fn is_unchanged(&self, changes: u64) -> bool {
        self.changes == changes
    }

    /// Whether the list has a tool of this name.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.defined.iter().any(|known| &*known.tool.name == tool)
    }
}

/// The server's definitions of these tools.
pub(crate) fn definitions(defined: &[MappedTool]) -> Vec<Arc<Value>> {
    defined
        .iter()
        .map(|one| Arc::clone(&one.definition))
        .collect()
}

/// The specifications of the tools that the review did not refuse.
pub(crate) fn usable_tools(defined: &[MappedTool], review: &Review) -> Vec<ToolSpec> {
    let tools = defined.iter().map(|one| &one.tool);
    tools
        .filter(|tool| !review.refused.contains_key(&tool.name))
        .cloned()
        .collect()
}

/// A list that is being read.
pub(crate) struct PartialList<'a> {
    /// The definitions of the previous list, by the digests of their texts.
    previous: HashMap<Digest, &'a MappedTool>,
    cursors: HashSet<String>,
    defined: Vec<MappedTool>,
    /// Whether calls repeat arguments in headers.
    mirrors: bool,
    names: HashSet<Arc<str>>,
    problems: Vec<String>,
    too_many: bool,
    /// The shortest time to live of the pages.
    ttl: Duration,
}

impl<'a> PartialList<'a> {
    /// A list without pages. Definitions whose text equals that in the previous list are not parsed again. `mirrors`
    /// is whether calls repeat arguments in headers.
    pub(crate) fn new(previous: Option<&'a Listing>, mirrors: bool) -> Self {
        let previous = previous.map(|before| &*before.defined).unwrap_or_default();
        Self {
            previous: previous.iter().map(|one| (one.source, one)).collect(),
            cursors: HashSet::new(),
            defined: Vec::new(),
            mirrors,
            names: HashSet::new(),
            problems: Vec::new(),
            too_many: false,
            ttl: Duration::MAX,
        }
    }

    /// Adds the next page, as JSON text. Returns the cursor of the page after it, if it is to be requested.
    ///
    /// # Errors
    ///
    /// The text is not a page.
    pub(crate) fn add_page(
        &mut self,
        text: &str,
        config: &ServerConfig,
        settings: &ClientSettings,
    ) -> Result<Option<String>, serde_json::Error> {
        let page: ListPage<'_> = serde_json::from_str(text)?;
        self.ttl = self.ttl.min(time_to_live(page.ttl_ms.as_ref()));
        self.add_tools(&page.tools, config, settings);
        // An empty cursor is valid.
        let next = page.next_cursor;
        if let Some(end) = self.end_reason(next.as_deref(), settings) {
            self.problems.push(end);
            return Ok(None);
        }
        Ok(next)
    }

    /// The list of all pages, as the answer to the request of this number. `changes` is the number of list changes
    /// before it. `lifetime` is how long it is used at least; `None` if the server announces changes.
    pub(crate) fn finish(
        self,
        changes: u64,
        request_number: u64,
        lifetime: Option<Duration>,
    ) -> Listing {
        let fresh_until = lifetime.map(|lifetime| after(self.ttl.max(lifetime)));
        Listing {
            changes,
            defined: self.defined.into(),
            fresh_until,
            request_number,
            problems: self.problems,
            review: Review::default(),
        }
    }

    fn add_tools(&mut self, page: &[&RawValue], config: &ServerConfig, settings: &ClientSettings) {
        for text in page {
            if self.defined.len() >= settings.most_tools {
                self.too_many = true;
                return;
            }
            let text = text.get();
            let unchanged = self.previous.get(&Digest::of(text.as_bytes()));
            let read = unchanged.map_or_else(
                || definition::tool(text, config.trusted, config.max_duration()),
                |known| Ok(MappedTool::clone(known)),
            );
            match read {
                Ok(one) if !config.tools.admit(&one.tool.name) => {}
                Ok(one) if !self.names.insert(Arc::clone(&one.tool.name)) => {
                    let name = &one.tool.name;
                    self.add_problem(format!("it offers `{name}` twice: the first one stays"));
                }
                Ok(one) => match mirrored::fault(&one.definition).filter(|_| self.mirrors) {
                    None => self.defined.push(one),
                    Some(fault) => {
                        let name = &one.tool.name;
                        self.add_problem(format!("the tool `{name}` is left out: {fault}"));
                    }
                },
                Err(reason) => self.add_problem(reason),
            }
        }
    }

    fn add_problem(&mut self, problem: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// Why no further page is requested although there is one.
    fn end_reason(&mut self, next: Option<&str>, settings: &ClientSettings) -> Option<String> {
        let count = self.defined.len();
        let full = count >= settings.most_tools;
        if self.too_many || (full && next.is_some()) {
            return Some(format!(
                "it offers more than {} tools: the rest is left out",
                settings.most_tools
            ));
        }
        let next = next?;
        if !self.cursors.insert(next.to_owned()) {
            Some(format!(
                "its list of tools goes round in a circle: the {count} tools before that are offered"
            ))
        } else if self.cursors.len() >= settings.most_pages {
            Some(format!(
                "its list of tools has more than {} pages: the rest is left out",
                settings.most_pages
            ))
        } else {
            None
        }
    }
}

/// The time to live of a page; zero if it is missing or invalid.
fn time_to_live(ttl_ms: Option<&Value>) -> Duration {
    let millis = ttl_ms.and_then(Value::as_u64).unwrap_or(0);
    Duration::from_millis(millis).min(MAX_LIFETIME)
}

/// The longest time to live.
const MAX_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The most left-out tools that are named.
const MAX_PROBLEMS: usize = 50;
