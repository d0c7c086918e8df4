//! All that a server has, for a person who wants to know it.

use std::sync::Arc;

use jackfield_domain::tool::{InputFormat, ToolSpec};
use jackfield_ports::context_source::{ContextSource as _, PromptSpec, ResourceList};
use jackfield_tools_mcp::ServerDetails;
use serde_json::Value;

use crate::servers::toolbox::{ServerTest, ServerToolbox};

/// All that a server has.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerInspection {
    /// Its tools as it defines them, in the order in which it lists them.
    pub definitions: Vec<Arc<Value>>,
    /// What it says of itself; `None` if it cannot be used.
    pub details: Option<ServerDetails>,
    /// What was wrong with its messages and definitions, and was put right; each in a sentence.
    pub mended: Vec<String>,
    /// Its prompts.
    pub prompts: Vec<PromptSpec>,
    /// Its resources and templates.
    pub resources: ResourceList,
    /// Whether it can be used, and its problems.
    pub test: ServerTest,
}

impl ServerToolbox {
    /// Starts it, and lists everything that it has.
    pub async fn inspect(&self) -> ServerInspection {
        let mut inspection = ServerInspection {
            definitions: Vec::new(),
            details: None,
            mended: Vec::new(),
            prompts: Vec::new(),
            resources: ResourceList::default(),
            test: self.test().await,
        };
        let Some(mcp) = self.mcp() else {
            return inspection;
        };
        let Ok(details) = mcp.details().await else {
            return inspection;
        };
        inspection.details = Some(details);
        inspection.definitions = mcp
            .remembered()
            .map(|memory| memory.definitions)
            .unwrap_or_default();
        let (resources, prompts) = tokio::join!(mcp.resources(), mcp.prompts());
        match resources {
            Ok(resources) => inspection.resources = resources,
            Err(error) => inspection.test.problems.push(error.message),
        }
        match prompts {
            Ok(prompts) => inspection.prompts = prompts,
            Err(error) => inspection.test.problems.push(error.message),
        }
        let problems = inspection.resources.problems.iter().cloned();
        inspection.test.problems.extend(problems);
        let tools = inspection.test.tools.iter();
        inspection.mended = tools
            .filter_map(|tool| mended_tool(tool, &inspection.definitions))
            .collect();
        let lines = self.log();
        let repaired = lines
            .iter()
            .filter(|line| line.starts_with(REPAIRED))
            .count();
        if repaired > 0 {
            let message = "of its messages were no JSON: what JSON does not have was replaced";
            inspection.mended.push(format!("{repaired} {message}"));
        }
        inspection
    }
}

/// What was put right in the definition of a tool.
fn mended_tool(tool: &ToolSpec, definitions: &[Arc<Value>]) -> Option<String> {
    let mut definitions = definitions.iter();
    let name = &*tool.name;
    let sent = definitions.find(|one| one.get("name").and_then(Value::as_str) == Some(name))?;
    let InputFormat::Json(used) = &tool.input else {
        return None;
    };
    if sent.get("inputSchema") != Some(&**used) {
        return Some(format!(
            "the input schema of the tool `{name}` was completed: it did not describe an object"
        ));
    }
    let repaired = jackfield_engine::is_schema_repaired(tool);
    repaired
        .then(|| format!("the input schema of the tool `{name}` was repaired: it was not valid"))
}

/// The prefix in the log of a message whose JSON was repaired.
const REPAIRED: &str = "[not JSON, on standard output";
