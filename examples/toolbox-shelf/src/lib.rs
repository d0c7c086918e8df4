//! A shelf of books as a [`Toolbox`]: one tool that looks, and one that acts.
//!
//! This is the toolbox to copy for tools that are written in Rust; the guide
//! `docs/guides/add-an-adapter.md` goes through it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::{IdempotencyKey, InvalidId, ToolboxId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use serde_json::{Value, json};

/// The books of a small library, and what is lent of them.
///
/// Both what is lent and the keys are in memory: a restart forgets them, and a call that is repeated after a crash
/// lends its book again. A real toolbox stores the key and the outcome with the effect, in one transaction of its
/// database, or sends the key to a server that does; then its contract has no exception for a restart.
#[derive(Debug)]
pub struct Shelf {
    id: ToolboxId,
    /// What was answered under each key: a call that is made again gets the same answer.
    lent: Mutex<BTreeMap<IdempotencyKey, ToolResult>>,
    runs: AtomicUsize,
}

impl Shelf {
    /// A shelf of which nothing is lent.
    ///
    /// # Errors
    ///
    /// None: `shelf` is an id.
    pub fn new() -> Result<Self, InvalidId> {
        Ok(Self {
            id: ToolboxId::parse("shelf")?,
            lent: Mutex::default(),
            runs: AtomicUsize::new(0),
        })
    }

    /// What is lent, one text for each time; the contract looks at it.
    #[must_use]
    pub fn lent(&self) -> Vec<String> {
        let lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        let lent = lent.values().filter(|result| !result.is_error);
        lent.map(ToolResult::to_text).collect()
    }

    /// How often tools ran; the contract looks at it.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// What a tool's own failure is: an outcome, because the model can do something about it.
    fn find(word: &str) -> ToolResult {
        let word = word.to_lowercase();
        let fits = |book: &&&str| book.to_lowercase().contains(&word);
        let found: Vec<&str> = BOOKS.iter().filter(fits).copied().collect();
        if found.is_empty() {
            return ToolResult::text(format!("no book has `{word}` in its title"));
        }
        ToolResult::text(found.join("\n"))
    }

    /// Lends a book, once for each key: so a call whose answer got lost may be made again.
    fn lend(&self, key: &IdempotencyKey, title: &str) -> ToolResult {
        let mut lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = lent.get(key) {
            return before.clone();
        }
        let result = if BOOKS.contains(&title) {
            ToolResult::text(format!("`{title}` is lent, as number {}", lent.len() + 1))
        } else {
            ToolResult::error(format!("there is no `{title}`: ask `find` for a title"))
        };
        lent.insert(key.clone(), result.clone());
        result
    }
}

#[async_trait]
impl Toolbox for Shelf {
    fn id(&self) -> &ToolboxId {
        &self.id
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let find = "Finds books by a word of their title. Use it before a title is needed.";
        let lend = "Lends a book, by its exact title.";
        Ok(vec![
            spec("find", find, "word", Safety::ReadOnly),
            spec("lend", lend, "title", Safety::Idempotent),
        ])
    }

    async fn call(
        &self,
        run: &ToolRun,
        call: &CallContext,
        _: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let argument = |name: &str| run.arguments()?.get(name)?.as_str();
        let tool = &*run.tool.tool;
        // What is proved not to have run is said so; then it may be tried again, whatever it does.
        if !["find", "lend"].contains(&tool) {
            let message = format!("the shelf has no tool `{tool}`");
            return Err(ToolFailure::not_sent(ToolFailureKind::UnknownTool, message).into());
        }
        // Right before it runs, after every wait.
        call.begin()?;
        self.runs.fetch_add(1, Ordering::Relaxed);
        let result = match (tool, argument("word"), argument("title")) {
            ("find", Some(word), _) => Self::find(word),
            ("lend", _, Some(title)) => self.lend(&run.key, title),
            _ => ToolResult::error("an argument is missing: see the schema"),
        };
        Ok(ToolEnd::Finished(
            result.cut(run.max_bytes).unwrap_or(result),
        ))
    }
}

fn spec(name: &str, description: &str, argument: &str, safety: Safety) -> ToolSpec {
    let schema: Value = json!({
        "type": "object",
        "properties": { argument: { "type": "string" } },
        "required": [argument],
    });
    ToolSpec {
        description: description.into(),
        icon: Some("📚".into()),
        input: InputFormat::Json(Arc::new(schema)),
        name: name.into(),
        output: None,
        safety,
        time_limit: None,
        title: None,
    }
}

const BOOKS: &[&str] = &["Erewhon", "The Sea, the Sea", "The Waves", "Sea Room"];
