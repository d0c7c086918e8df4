//! Brook as a [`Toolbox`]: a tool that reads, and one that writes. To do: your own tools.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use serde_json::{Value, json};

/// Notes, in memory. To do: what your tools work with; a database, if it is to outlive the process.
#[derive(Debug)]
pub struct BrookToolbox {
    id: ToolboxId,
    notes: Mutex<Vec<String>>,
}

impl Default for BrookToolbox {
    fn default() -> Self {
        Self {
            id: ToolboxId::parse("brook").expect("an id"),
            notes: Mutex::default(),
        }
    }
}

impl BrookToolbox {
    /// All notes, for the contract.
    pub fn notes(&self) -> Vec<String> {
        self.lock().clone()
    }

    fn find(&self, word: &str) -> ToolResult {
        let notes = self.lock();
        let found: Vec<&str> = notes
            .iter()
            .map(String::as_str)
            .filter(|note| note.contains(word))
            .collect();
        if found.is_empty() {
            return ToolResult::text(format!("no note contains `{word}`"));
        }
        ToolResult::text(found.join("\n"))
    }

    /// To do: `run.key` is the same when a call is repeated, as after a crash. Store it and the outcome together with
    /// the effect, in one transaction, and return the outcome of a key that is known. A tool that cannot is
    /// `Safety::Unknown`, and never repeated.
    fn note(&self, _run: &ToolRun, text: &str) -> ToolResult {
        let mut notes = self.lock();
        notes.push(text.to_owned());
        ToolResult::text(format!("this is note {}", notes.len()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Toolbox for BrookToolbox {
    fn id(&self) -> &ToolboxId {
        &self.id
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let find = "Finds notes by a word in them.";
        let note = "Keeps a note.";
        Ok(vec![
            spec("find", find, "word", Safety::ReadOnly),
            spec("note", note, "text", Safety::Idempotent),
        ])
    }

    async fn call(
        &self,
        run: &ToolRun,
        call: &CallContext,
        _: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let argument = |name: &str| run.arguments()?.get(name)?.as_str();
        // To do: await what takes time, and never block; dropping the future cancels the call. Right before the tool
        // acts, after every wait, `call.begin()` tells whether it still may.
        call.begin()?;
        let result = match &*run.tool.tool {
            "find" => argument("word").map(|word| self.find(word)),
            "note" => argument("text").map(|text| self.note(run, text)),
            other => {
                let message = format!("there is no tool `{other}`");
                return Err(ToolFailure::not_sent(ToolFailureKind::UnknownTool, message).into());
            }
        };
        // A tool's own failure is a result, because the model can do something about it.
        let result = result.unwrap_or_else(|| ToolResult::error("an argument is missing"));
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
        icon: None,
        input: InputFormat::Json(Arc::new(schema)),
        name: name.into(),
        output: None,
        safety,
        time_limit: None,
        title: None,
    }
}
