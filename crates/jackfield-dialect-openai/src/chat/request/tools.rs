//! Maps tools and tool choice.

use std::sync::Arc;

use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::ids::ToolName;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{Grammar, InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Map, Value, json};

use super::extensions;
use crate::chat::wire;
use crate::profile::{Profile, ToolChoiceForms};
use crate::schema;

/// The argument field that holds the text of a text tool, where a server takes only JSON.
pub(crate) const TEXT_FIELD: &str = "input";

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
    let parallel = request.settings.parallel_calls;
    let forms = profile.tool_choice;
    let path = "settings.parallel_calls";
    let left_out = forms == ToolChoiceForms::Ignored && request.choice == ToolChoice::Forbidden;
    let mut offered = OfferedTools::default();
    if left_out {
        for n in 0..request.tools.len() {
            let path = format_args!("tools[{n}]");
            notes.dropped(NoteEffect::Cost, "tool_not_chosen", path);
        }
        notes.approximated(NoteEffect::Cosmetic, "choice_without_tools", "choice");
    } else {
        offered.tools = tools(request, profile, notes);
        offered.choice = choice(request, forms, &offered.tools, notes);
    }
    if parallel.is_some() {
        if offered.tools.is_empty() {
            notes.dropped(NoteEffect::Cosmetic, "parallel_calls_not_sent", path);
        } else if profile.parallel_calls {
            offered.parallel = parallel;
        } else {
            notes.dropped(NoteEffect::Quality, "parallel_calls_not_sent", path);
        }
    }
    offered
}

fn tools(request: &ModelRequest, profile: &Profile, notes: &mut Notes) -> Vec<wire::Tool> {
    let chosen = chosen_names(request, profile.tool_choice);
    let mut names: Vec<&str> = Vec::with_capacity(request.tools.len());
    let mut tools = Vec::with_capacity(request.tools.len());
    for (n, definition) in request.tools.iter().enumerate() {
        let name = definition.name.as_str();
        let path = format_args!("tools[{n}]");
        if names.contains(&name) {
            notes.dropped(NoteEffect::Meaning, "tool_name_twice", path);
        } else if chosen.as_ref().is_some_and(|names| !names.contains(&name)) {
            notes.dropped(NoteEffect::Cost, "tool_not_chosen", path);
        } else {
            names.push(name);
            tools.push(tool(n, definition, profile, notes));
        }
    }
    tools
}

/// The tools that a choice permits, where the server cannot express the choice; `None` if all are offered, also if
/// none would be left.
fn chosen_names(request: &ModelRequest, forms: ToolChoiceForms) -> Option<Vec<&str>> {
    let names: Vec<&str> = match &request.choice {
        ToolChoice::Named(name) if forms < ToolChoiceForms::Named => vec![name.as_str()],
        ToolChoice::Only { tools, .. } if forms < ToolChoiceForms::Subset => {
            tools.iter().map(ToolName::as_str).collect()
        }
        ToolChoice::Auto
        | ToolChoice::Forbidden
        | ToolChoice::Named(_)
        | ToolChoice::Only { .. }
        | ToolChoice::Required => return None,
    };
    let mut tools = request.tools.iter();
    tools
        .any(|tool| names.contains(&tool.name.as_str()))
        .then_some(names)
}

fn choice(
    request: &ModelRequest,
    forms: ToolChoiceForms,
    tools: &[wire::Tool],
    notes: &mut Notes,
) -> Option<wire::ToolChoice> {
    if tools.is_empty() {
        let effect = match request.choice {
            ToolChoice::Auto => return None,
            ToolChoice::Forbidden => NoteEffect::Cosmetic,
            ToolChoice::Named(_) | ToolChoice::Only { .. } | ToolChoice::Required => {
                NoteEffect::Meaning
            }
        };
        notes.approximated(effect, "choice_without_tools", "choice");
        return None;
    }
    let can_force = forms >= ToolChoiceForms::Words;
    let forced = |notes: &mut Notes| {
        if can_force {
            return Some(mode("required"));
        }
        notes.approximated(NoteEffect::Meaning, "choice_not_forced", "choice");
        None
    };
    match &request.choice {
        ToolChoice::Auto => None,
        ToolChoice::Forbidden => Some(mode("none")),
        ToolChoice::Required => forced(notes),
        ToolChoice::Named(name) => match named(tools, name) {
            None => {
                notes.approximated(NoteEffect::Meaning, "choice_not_forced", "choice");
                None
            }
            Some(named) if forms >= ToolChoiceForms::Named => Some(named),
            Some(_) => {
                if can_force {
                    notes.approximated(NoteEffect::Cost, "choice_by_subset", "choice");
                }
                forced(notes)
            }
        },
        ToolChoice::Only {
            required,
            tools: names,
        } => {
            let known: Vec<wire::ToolChoice> =
                names.iter().filter_map(|name| named(tools, name)).collect();
            if known.is_empty() {
                notes.approximated(NoteEffect::Meaning, "choice_without_tools", "choice");
                return can_force.then(|| mode("none"));
            }
            if forms < ToolChoiceForms::Subset {
                if !required || can_force {
                    notes.approximated(NoteEffect::Cost, "choice_by_subset", "choice");
                }
                return if *required { forced(notes) } else { None };
            }
            if known.len() < names.len() {
                notes.approximated(NoteEffect::Cosmetic, "choice_of_missing_tools", "choice");
            }
            Some(wire::ToolChoice::AllowedTools {
                kind: "allowed_tools".to_owned(),
                allowed_tools: wire::AllowedTools {
                    mode: if *required { "required" } else { "auto" }.to_owned(),
                    tools: known,
                },
            })
        }
    }
}

fn mode(word: &str) -> wire::ToolChoice {
    wire::ToolChoice::Mode(word.to_owned())
}

/// The choice of a tool by its name, if it is offered.
fn named(tools: &[wire::Tool], name: &ToolName) -> Option<wire::ToolChoice> {
    let name = name.as_str();
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
    if definition.output.is_some() {
        let path = format_args!("tools[{n}].output");
        notes.dropped(NoteEffect::Cosmetic, "output_schema_not_sent", path);
    }
    let name = definition.name.as_str().to_owned();
    let description = &*definition.description;
    let description = (!description.is_empty()).then(|| description.to_owned());
    let mut extra = Map::new();
    extensions::apply_to_tool(&mut extra, n, &definition.extensions, notes);
    let (parameters, strict) = match &definition.input {
        InputFormat::Json(schema) => {
            let mut strict = definition.strict;
            let parameters = parameters(n, schema, &mut strict, profile, notes);
            (parameters, strict)
        }
        InputFormat::Text(grammar) => {
            if definition.strict.is_some() {
                // Free text always follows its grammar, and the JSON around it is ours.
                let path = format_args!("tools[{n}].strict");
                notes.dropped(NoteEffect::Cosmetic, "strict_not_sent", path);
            }
            if profile.custom_tools {
                return wire::Tool::Custom {
                    custom: wire::CustomTool {
                        name,
                        description,
                        format: grammar.as_ref().map(format),
                        extra,
                    },
                };
            }
            let path = format_args!("tools[{n}].input");
            notes.approximated(NoteEffect::Quality, "text_input_as_json", path);
            (Arc::new(text_input(grammar.as_ref())), None)
        }
    };
    wire::Tool::Function {
        function: wire::Function {
            name,
            description,
            parameters: Some(parameters),
            strict,
            extra,
        },
        extra: Map::new(),
    }
}

/// The schema of the arguments: the root must be an object's, and a strict schema within the strict subset.
fn parameters(
    n: usize,
    schema: &Arc<Value>,
    strict: &mut Option<bool>,
    profile: &Profile,
    notes: &mut Notes,
) -> Arc<Value> {
    let path = format_args!("tools[{n}].strict");
    let is_strict = *strict == Some(true);
    if strict.is_some() && !profile.strict_tools {
        let effect = if is_strict {
            NoteEffect::Quality
        } else {
            NoteEffect::Cosmetic
        };
        notes.dropped(effect, "strict_not_sent", path);
        *strict = None;
    }
    let restricted = (is_strict && profile.strict_tools)
        .then(|| schema::restrict(schema))
        .flatten();
    let (schema, changes) = match restricted {
        Some((schema, changes)) => (Arc::new(schema), changes),
        None => {
            if is_strict && profile.strict_tools {
                notes.approximated(NoteEffect::Quality, "schema_not_enforceable", path);
                *strict = Some(false);
            }
            schema::rooted(schema)
        }
    };
    for change in changes {
        let path = format_args!("tools[{n}].input#{}", change.pointer);
        notes.approximated(change.effect, change.code, path);
    }
    schema
}

fn format(grammar: &Grammar) -> wire::TextFormat {
    wire::TextFormat::Grammar {
        grammar: wire::Grammar {
            definition: (*grammar.definition).to_owned(),
            syntax: (*grammar.syntax).to_owned(),
        },
    }
}

/// The schema for a server without text tools: one field holds the text.
fn text_input(grammar: Option<&Grammar>) -> Value {
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
