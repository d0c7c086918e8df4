//! Tools and the choice among them.

use std::collections::HashSet;
use std::fmt::Display;
use std::sync::Arc;

use jackfield_domain::ids::ToolName;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::Extension;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{Grammar, InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Value, json};

use crate::notes::Notes;
use crate::schema::Change;

/// The argument field that holds the text of a text tool, in dialects and on servers that only have JSON arguments.
pub const TEXT_FIELD: &str = "input";

/// The schema for a text tool where there are none: one field holds the text.
#[must_use]
pub fn text_input(grammar: Option<&Grammar>) -> Value {
    let description = match grammar {
        Some(grammar) => format!(
            "The whole input as text. It has to follow this {} grammar:\n{}",
            grammar.syntax, grammar.definition
        ),
        None => "The whole input as text.".to_owned(),
    };
    json!({
        "type": "object",
        "properties": { TEXT_FIELD: { "type": "string", "description": description } },
        "required": [TEXT_FIELD],
        "additionalProperties": false,
    })
}

/// The definition of a vendor's own tool, which only models of this dialect are offered, in this form.
#[must_use]
pub fn vendor_tool(dialect: &str, name: ToolName, json: Value) -> ToolDefinition {
    ToolDefinition {
        description: "".into(),
        extensions: vec![Extension {
            dialect: dialect.into(),
            path: String::new(),
            json,
        }],
        input: InputFormat::Json(Arc::new(json!({ "type": "object" }))),
        name,
        output: None,
        strict: None,
    }
}

/// The dialect and the form of a vendor's own tool; `None` for any other tool.
#[must_use]
pub fn vendor_form(definition: &ToolDefinition) -> Option<&Extension> {
    let mut extensions = definition.extensions.iter();
    extensions.find(|extension| {
        extension.path.is_empty() && extension.json.get("type").is_some_and(Value::is_string)
    })
}

/// The offered tools, each made from its index and definition; notes those that are left out: a second one with the
/// same name, those that are not `permitted`, if only some are, and the own tools of other vendors than that of
/// `dialect`; `None` leaves out all of those.
pub fn offered<T>(
    request: &ModelRequest,
    permitted: Option<&[&str]>,
    dialect: Option<&str>,
    notes: &mut Notes,
    mut tool: impl FnMut(usize, &ToolDefinition, &mut Notes) -> T,
) -> Vec<T> {
    let mut names = HashSet::with_capacity(request.tools.len());
    let mut tools = Vec::with_capacity(request.tools.len());
    for (n, definition) in request.tools.iter().enumerate() {
        let name = definition.name.as_str();
        let path = format_args!("tools[{n}]");
        if names.contains(name) {
            notes.dropped(NoteEffect::Meaning, "tool_name_twice", path);
        } else if permitted.is_some_and(|permitted| !permitted.contains(&name)) {
            notes.dropped(NoteEffect::Cost, "tool_not_chosen", path);
        } else if vendor_form(definition).is_some_and(|form| dialect != Some(&*form.dialect)) {
            notes.dropped(NoteEffect::Quality, "hosted_tool_left_out", path);
        } else {
            names.insert(name);
            if definition.output.is_some() {
                let path = format_args!("{path}.output");
                notes.dropped(NoteEffect::Cosmetic, "output_schema_not_sent", path);
            }
            tools.push(tool(n, definition, notes));
        }
    }
    tools
}

/// The tools that a choice names, to be [`offered`] alone where the choice itself cannot be sent; `None` if it names
/// none that there is, as then all are offered.
#[must_use]
pub fn chosen(request: &ModelRequest) -> Option<Vec<&str>> {
    let names: Vec<&str> = match &request.choice {
        ToolChoice::Named(name) => vec![name.as_str()],
        ToolChoice::Only { tools, .. } => tools.iter().map(ToolName::as_str).collect(),
        ToolChoice::Auto | ToolChoice::Forbidden | ToolChoice::Required => return None,
    };
    let mut tools = request.tools.iter();
    let is_any = tools.any(|tool| names.contains(&tool.name.as_str()));
    is_any.then_some(names)
}

/// Notes a choice that cannot be sent, as no tool is offered; `sent` is what the request has in its place.
pub fn choice_without_tools(request: &ModelRequest, sent: &ToolChoice, notes: &mut Notes) {
    if request.choice == *sent {
        return;
    }
    let effect = match request.choice {
        ToolChoice::Auto | ToolChoice::Forbidden => NoteEffect::Cosmetic,
        ToolChoice::Named(_) | ToolChoice::Only { .. } | ToolChoice::Required => {
            NoteEffect::Meaning
        }
    };
    notes.approximated(effect, "choice_without_tools", "choice");
}

impl Notes {
    /// Notes the changes of a schema, each with its place below this path.
    pub fn schema_changes(&mut self, at: impl Display, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            let path = format_args!("{at}#{}", change.pointer);
            self.approximated(change.effect, change.code, path);
        }
    }
}
