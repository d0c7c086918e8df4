//! Maps tools and tool choice.

use std::sync::Arc;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::tools::{choice_without_tools, offered};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{Grammar, ToolChoice, ToolDefinition};
use serde_json::{Map, Value};

use super::extensions;
use crate::chat::{DIALECT, wire};
use crate::profile::Profile;
use crate::tools::{Choice, Input, MissingTools, choice, input, permitted};

/// The tools offered to the model.
#[derive(Debug, Default)]
pub(super) struct OfferedTools {
    pub(super) choice: Option<wire::ToolChoice>,
    pub(super) parallel: Option<bool>,
    pub(super) tools: Vec<wire::Tool>,
}

pub(super) fn to_wire(
    request: &ModelRequest,
    profile: &Profile,
    notes: &mut Notes,
) -> OfferedTools {
    let permitted = permitted(request, profile.tool_choice);
    let tools = offered(
        request,
        permitted.as_deref(),
        Some(DIALECT),
        notes,
        |n, definition, notes| tool(n, definition, profile, notes),
    );
    let choice = if tools.is_empty() {
        choice_without_tools(request, &ToolChoice::Auto, notes);
        None
    } else {
        let named = |name: &str| named(&tools, name);
        choice(request, profile.tool_choice, MISSING, named, notes).map(chosen)
    };
    let path = "settings.parallel_calls";
    let parallel = request.settings.parallel_calls.filter(|_| {
        let effect = match (tools.is_empty(), profile.parallel_calls) {
            (true, _) => NoteEffect::Cosmetic,
            (false, false) => NoteEffect::Quality,
            (false, true) => return true,
        };
        notes.dropped(effect, "parallel_calls_not_sent", path);
        false
    });
    OfferedTools {
        choice,
        parallel,
        tools,
    }
}

const MISSING: MissingTools = MissingTools {
    named: "choice_not_forced",
    some: "choice_of_missing_tools",
};

fn chosen(choice: Choice<wire::ToolChoice>) -> wire::ToolChoice {
    match choice {
        Choice::Subset { required, tools } => wire::ToolChoice::AllowedTools {
            kind: "allowed_tools".to_owned(),
            allowed_tools: wire::AllowedTools {
                mode: if required { "required" } else { "auto" }.to_owned(),
                tools,
            },
        },
        Choice::Tool(tool) => tool,
        Choice::Word(word) => wire::ToolChoice::Mode(word.to_owned()),
    }
}

/// The choice of a tool by its name, if it is offered.
fn named(tools: &[wire::Tool], name: &str) -> Option<wire::ToolChoice> {
    tools.iter().find_map(|tool| match tool {
        wire::Tool::Custom { custom } => (custom.name == name).then(|| wire::ToolChoice::Custom {
            kind: "custom".to_owned(),
            custom: wire::ToolName {
                name: name.to_owned(),
            },
        }),
        wire::Tool::Function { function, .. } => {
            (function.name == name).then(|| wire::ToolChoice::Function {
                kind: "function".to_owned(),
                function: wire::ToolName {
                    name: name.to_owned(),
                },
            })
        }
        wire::Tool::Other(_) => None,
    })
}

fn tool(n: usize, definition: &ToolDefinition, profile: &Profile, notes: &mut Notes) -> wire::Tool {
    let name = definition.name.as_str().to_owned();
    let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let mut extra = Map::new();
    extensions::apply_to_tool(&mut extra, n, &definition.extensions, notes);
    match input(n, definition, profile, notes) {
        Input::Function { parameters, strict } => {
            let (description, rest) = split(&definition.description, profile.longest_description);
            wire::Tool::Function {
                function: wire::Function {
                    name,
                    description: said(description),
                    parameters: Some(describe(n, parameters, rest, notes)),
                    strict,
                    extra,
                },
                extra: Map::new(),
            }
        }
        Input::Text(grammar) => wire::Tool::Custom {
            custom: wire::CustomTool {
                name,
                description: said(&definition.description),
                format: grammar.map(format),
                extra,
            },
        },
    }
}

/// A description in two: the first part has at most this many characters, and ends with a word if it can.
fn split(description: &str, longest: usize) -> (&str, &str) {
    let Some((end, _)) = description.char_indices().nth(longest) else {
        return (description, "");
    };
    let (most, _) = description.split_at(end);
    let last = most.rfind(char::is_whitespace).filter(|last| *last > 0);
    description.split_at(last.unwrap_or(end))
}

/// The schema with the rest of a description that is too long: no description in a schema has a limit.
fn describe(n: usize, schema: Arc<Value>, rest: &str, notes: &mut Notes) -> Arc<Value> {
    if rest.is_empty() {
        return schema;
    }
    let path = format_args!("tools[{n}]");
    notes.approximated(NoteEffect::Quality, "description_split", path);
    let mut schema = Arc::unwrap_or_clone(schema);
    if let Value::Object(fields) = &mut schema {
        let own = fields.get("description").and_then(Value::as_str);
        let whole = match own {
            Some(own) => format!("{rest}\n\n{own}"),
            None => rest.to_owned(),
        };
        fields.insert("description".to_owned(), whole.trim_start().into());
    }
    Arc::new(schema)
}

fn format(grammar: &Grammar) -> wire::TextFormat {
    wire::TextFormat::Grammar {
        grammar: wire::Grammar {
            definition: (*grammar.definition).to_owned(),
            syntax: (*grammar.syntax).to_owned(),
        },
    }
}
