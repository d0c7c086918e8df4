//! Own tools of a provider: the provider runs them itself, and asks whether it may.
//!
//! A call of such a tool is a question for a permission. It goes through policy, approval and journal like any other
//! call, and its outcome is the permission alone.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::digest::{Digest, canonical_json};
use crate::ids::{ToolName, ToolboxId};
use crate::naming::tool_name;
use crate::outcome::{OutcomePart, ToolResult};
use crate::tool::{InputFormat, Safety, ToolOrigin, ToolSpec};
use crate::tool_input::ToolInput;

/// The own tool of this name, for a catalog. Nothing is known of its arguments.
#[must_use]
pub fn spec(tool: &str) -> ToolSpec {
    ToolSpec {
        description: format!("The permission to use the tool {tool}.").into(),
        icon: None,
        input: InputFormat::Json(Arc::new(json!({ "type": "object" }))),
        name: tool.into(),
        output: None,
        // A permission that is given again has no further effect.
        safety: Safety::Idempotent,
        time_limit: None,
        title: None,
    }
}

/// The origin of an own tool, by which policy rules name it: the provider stands for the toolbox. `None` if the
/// provider's name is no id of a toolbox.
#[must_use]
pub fn origin(provider: &str, tool: &str) -> Option<ToolOrigin> {
    let toolbox = ToolboxId::parse(provider).ok()?;
    let tool = tool.into();
    Some(ToolOrigin { tool, toolbox })
}

/// The name of an own tool in calls.
#[must_use]
pub fn name(origin: &ToolOrigin) -> ToolName {
    tool_name(&origin.toolbox, &origin.tool)
}

/// The outcome of a call that is allowed, with the arguments that are.
#[must_use]
pub fn allowed(input: &ToolInput) -> ToolResult {
    let arguments = match input {
        ToolInput::Json(input) => input.object().map(|fields| fields.as_ref().clone()),
        ToolInput::Text(_) => Err("text"),
    };
    let structured = match arguments {
        Ok(arguments) => {
            let arguments = Value::Object(arguments);
            let text = canonical_json(&arguments);
            // Models and the journal do not need a long text twice.
            if text.len() > LONGEST {
                json!({ "behavior": "allow", "input_digest": digest(&text).to_hex() })
            } else {
                json!({ "behavior": "allow", "updatedInput": arguments })
            }
        }
        Err(_) => json!({ "behavior": "allow", "updatedInput": {} }),
    };
    ToolResult {
        structured: Some(Arc::new(structured)),
        ..ToolResult::text("Allowed.")
    }
}

/// What the outcome of a call of an own tool says.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The provider may run the tool with these arguments.
    Allowed(Map<String, Value>),
    /// It may not, for this reason.
    Denied(String),
}

impl Verdict {
    /// Reads an outcome. `asked` are the arguments that the provider asked about.
    #[must_use]
    pub fn read(result: &ToolResult, asked: &Map<String, Value>) -> Self {
        if result.is_error {
            let texts: Vec<&str> = result
                .content
                .iter()
                .filter_map(OutcomePart::as_text)
                .collect();
            return Self::Denied(texts.join("\n"));
        }
        let structured = result.structured.as_deref();
        let field = |name: &str| structured.and_then(|all| all.get(name));
        if field("behavior").and_then(Value::as_str) != Some("allow") {
            return Self::Denied("the permission was not given".to_owned());
        }
        if let Some(Value::Object(arguments)) = field("updatedInput") {
            return Self::Allowed(arguments.clone());
        }
        let allowed = field("input_digest").and_then(Value::as_str);
        let of_asked = digest(&canonical_json(&Value::Object(asked.clone()))).to_hex();
        if allowed == Some(&*of_asked) {
            Self::Allowed(asked.clone())
        } else {
            Self::Denied("the changed arguments are too long to be passed on".to_owned())
        }
    }
}

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

/// The most bytes of arguments that an outcome repeats.
const LONGEST: usize = 32 << 10;
