//! Maps tools and tool choice.

use std::sync::Arc;

use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::ids::ToolName;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{Grammar, InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Map, Value, json};

use super::extensions;
use crate::profile::{Profile, ToolChoiceForms};
use crate::responses::wire;
use crate::schema;

/// The argument field that holds the text of a text tool, where a server has no text tools.
pub(crate) const TEXT_FIELD: &str = "input";

/// The tools offered to the model.
#[derive(Debug)]
pub(super) struct OfferedTools {
    pub(super) choice: Option<wire::ToolChoice>,
    pub(super) parallel_calls: Option<bool>,
    pub(super) tools: Vec<wire::Tool>,
}

pub(super) fn to_wire(
    request: &ModelRequest,
    profile: &Profile,
    notes: &mut Notes,
) -> OfferedTools {
    let chosen = chosen(request, profile);
    let mut tools: Vec<wire::Tool> = Vec::with_capacity(request.tools.len());
    for (n, definition) in request.tools.iter().enumerate() {
        let name = definition.name.as_str();
        let path = format_args!("tools[{n}]");
        if named(&tools, name).is_some() {
            notes.dropped(NoteEffect::Meaning, "tool_name_twice", path);
        } else if chosen.as_ref().is_some_and(|names| !names.contains(&name)) {
            notes.dropped(NoteEffect::Cost, "tool_not_chosen", path);
        } else {
            tools.push(tool(n, definition, profile, notes));
        }
    }
    let choice = if tools.is_empty() {
        without_tools(request, notes);
        None
    } else {
        choice(request, profile, &tools, notes)
    };
    let path = "settings.parallel_calls";
    let parallel_calls = match request.settings.parallel_calls {
        Some(parallel) if profile.parallel_calls && !tools.is_empty() => Some(parallel),
        Some(false) if !tools.is_empty() => {
            notes.dropped(NoteEffect::Quality, "parallel_calls_not_sent", path);
            None
        }
        Some(_) => {
            notes.dropped(NoteEffect::Cosmetic, "parallel_calls_not_sent", path);
            None
        }
        None => None,
    };
    OfferedTools {
        choice,
        parallel_calls,
        tools,
    }
}

/// The names of the offered tools; `None` if all are. If the server cannot express a choice, it is made by the
/// offer.
fn chosen<'a>(request: &'a ModelRequest, profile: &Profile) -> Option<Vec<&'a str>> {
    let offered = |name: &str| request.tools.iter().any(|tool| tool.name.as_str() == name);
    let names: Vec<&str> = match &request.choice {
        ToolChoice::Forbidden if profile.tool_choice == ToolChoiceForms::Ignored => {
            return Some(Vec::new());
        }
        ToolChoice::Named(name) if profile.tool_choice < ToolChoiceForms::Named => {
            vec![name.as_str()]
        }
        ToolChoice::Only { tools, .. } if profile.tool_choice < ToolChoiceForms::Subset => {
            tools.iter().map(ToolName::as_str).collect()
        }
        ToolChoice::Auto
        | ToolChoice::Forbidden
        | ToolChoice::Named(_)
        | ToolChoice::Only { .. }
        | ToolChoice::Required => return None,
    };
    names.iter().any(|name| offered(name)).then_some(names)
}

/// Notes a choice without tools, which the vendor refuses.
fn without_tools(request: &ModelRequest, notes: &mut Notes) {
    let effect = match request.choice {
        ToolChoice::Auto => return,
        ToolChoice::Forbidden => NoteEffect::Cosmetic,
        ToolChoice::Named(_) | ToolChoice::Only { .. } | ToolChoice::Required => {
            NoteEffect::Meaning
        }
    };
    notes.approximated(effect, "choice_without_tools", "choice");
}

fn choice(
    request: &ModelRequest,
    profile: &Profile,
    tools: &[wire::Tool],
    notes: &mut Notes,
) -> Option<wire::ToolChoice> {
    let forms = profile.tool_choice;
    let word = |word: &str| {
        (forms >= ToolChoiceForms::Words).then(|| wire::ToolChoice::Word(word.to_owned()))
    };
    match &request.choice {
        ToolChoice::Auto => None,
        ToolChoice::Forbidden => word("none"),
        ToolChoice::Required => {
            if forms < ToolChoiceForms::Words {
                notes.approximated(NoteEffect::Meaning, "choice_not_forced", "choice");
            }
            word("required")
        }
        ToolChoice::Named(name) => match named(tools, name.as_str()) {
            Some(tool) if forms >= ToolChoiceForms::Named => {
                Some(wire::ToolChoice::Chosen(this_one(tool, name)))
            }
            Some(_) => {
                let forced = forms >= ToolChoiceForms::Words;
                let (effect, code) = if forced {
                    (NoteEffect::Cost, "choice_by_subset")
                } else {
                    (NoteEffect::Meaning, "choice_not_forced")
                };
                notes.approximated(effect, code, "choice");
                word("required")
            }
            None => {
                notes.approximated(NoteEffect::Meaning, "choice_without_tools", "choice");
                None
            }
        },
        ToolChoice::Only {
            required,
            tools: names,
        } => {
            let known: Vec<&wire::Tool> = names
                .iter()
                .filter_map(|name| named(tools, name.as_str()))
                .collect();
            if known.is_empty() {
                notes.approximated(NoteEffect::Meaning, "choice_without_tools", "choice");
                return word("none");
            }
            if forms >= ToolChoiceForms::Subset {
                if known.len() < names.len() {
                    notes.approximated(NoteEffect::Cosmetic, "choice_without_tools", "choice");
                }
                let mode = if *required { "required" } else { "auto" };
                return Some(wire::ToolChoice::Chosen(wire::Chosen::AllowedTools {
                    mode: mode.to_owned(),
                    tools: known.into_iter().map(reference).collect(),
                }));
            }
            let (effect, code) = if *required && forms < ToolChoiceForms::Words {
                (NoteEffect::Meaning, "choice_not_forced")
            } else {
                (NoteEffect::Cost, "choice_by_subset")
            };
            notes.approximated(effect, code, "choice");
            if *required { word("required") } else { None }
        }
    }
}

fn named<'a>(tools: &'a [wire::Tool], name: &str) -> Option<&'a wire::Tool> {
    let mut tools = tools.iter();
    tools.find(|tool| tool.name.as_deref() == Some(name))
}

fn this_one(tool: &wire::Tool, name: &ToolName) -> wire::Chosen {
    let name = name.as_str().to_owned();
    if tool.kind == CUSTOM {
        wire::Chosen::Custom { name }
    } else {
        wire::Chosen::Function { name }
    }
}

fn reference(tool: &wire::Tool) -> Map<String, Value> {
    Map::from_iter([
        ("type".to_owned(), json!(tool.kind)),
        ("name".to_owned(), json!(tool.name)),
    ])
}

/// The vendor's type of a tool with JSON arguments.
pub(crate) const FUNCTION: &str = "function";
/// The vendor's type of a text tool.
pub(crate) const CUSTOM: &str = "custom";

fn tool(n: usize, definition: &ToolDefinition, profile: &Profile, notes: &mut Notes) -> wire::Tool {
    if definition.output.is_some() {
        let path = format_args!("tools[{n}].output");
        notes.dropped(NoteEffect::Cosmetic, "output_schema_not_sent", path);
    }
    let description = &*definition.description;
    let mut tool = wire::Tool {
        kind: FUNCTION.to_owned(),
        name: Some(definition.name.as_str().to_owned()),
        description: (!description.is_empty()).then(|| description.to_owned()),
        parameters: None,
        format: None,
        strict: None,
        extra: Map::new(),
    };
    match &definition.input {
        InputFormat::Json(schema) => {
            let (schema, strict) = json_input(n, definition, schema, profile, notes);
            tool.parameters = Some(schema);
            tool.strict = strict;
        }
        InputFormat::Text(grammar) => {
            if definition.strict.is_some() {
                let path = format_args!("tools[{n}].strict");
                notes.dropped(NoteEffect::Cosmetic, "strict_not_sent", path);
            }
            if profile.custom_tools {
                tool.kind = CUSTOM.to_owned();
                tool.format = grammar.as_ref().map(|grammar| wire::ToolFormat::Grammar {
                    definition: (*grammar.definition).to_owned(),
                    syntax: (*grammar.syntax).to_owned(),
                });
            } else {
                let path = format_args!("tools[{n}].input");
                notes.approximated(NoteEffect::Quality, "text_input_as_json", path);
                tool.parameters = Some(Arc::new(text_input(grammar.as_ref())));
                tool.strict = profile.strict_tools.then_some(None);
            }
        }
    }
    extensions::apply_to_tool(&mut tool, n, &definition.extensions, notes);
    tool
}

/// Schema and strictness of a function. `None` leaves strictness to the vendor, as we do: with null it enforces the
/// schema where possible, unlike Chat Completions.
fn json_input(
    n: usize,
    definition: &ToolDefinition,
    schema: &Arc<Value>,
    profile: &Profile,
    notes: &mut Notes,
) -> (Arc<Value>, Option<Option<bool>>) {
    let path = format_args!("tools[{n}].strict");
    let mut strict = definition.strict;
    if !profile.strict_tools {
        if let Some(wanted) = strict {
            let effect = if wanted {
                NoteEffect::Quality
            } else {
                NoteEffect::Cosmetic
            };
            notes.dropped(effect, "strict_not_sent", path);
        }
        strict = None;
    }
    let within = (strict == Some(true)).then(|| schema::restrict(schema));
    let (schema, changes) = match within {
        Some(Some((schema, changes))) => (Arc::new(schema), changes),
        Some(None) => {
            notes.approximated(NoteEffect::Quality, "schema_not_enforceable", path);
            strict = Some(false);
            schema::rooted(schema)
        }
        None => schema::rooted(schema),
    };
    for change in changes {
        let path = format_args!("tools[{n}].input#{}", change.pointer);
        notes.approximated(change.effect, change.code, path);
    }
    (schema, profile.strict_tools.then_some(strict))
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
