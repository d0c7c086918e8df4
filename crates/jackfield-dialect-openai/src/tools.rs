//! Tools and the choice among them, as both dialects have them.

use std::sync::Arc;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::tools::{chosen, text_input};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{Grammar, InputFormat, ToolChoice, ToolDefinition};
use serde_json::Value;

use crate::profile::{Profile, ToolChoiceForms};
use crate::schema;

/// The input of a tool, as a server takes it.
#[derive(Debug)]
pub(crate) enum Input<'d> {
    /// JSON arguments with this schema.
    Function {
        parameters: Arc<Value>,
        strict: Option<bool>,
    },
    /// Text, which may have a grammar.
    Text(Option<&'d Grammar>),
}

/// The input of the tool at this index.
pub(crate) fn input<'d>(
    n: usize,
    definition: &'d ToolDefinition,
    profile: &Profile,
    notes: &mut Notes,
) -> Input<'d> {
    let grammar = match &definition.input {
        InputFormat::Json(schema) => return function(n, schema, definition.strict, profile, notes),
        InputFormat::Text(grammar) => grammar.as_ref(),
    };
    if definition.strict.is_some() {
        // Free text always follows its grammar, and the JSON around it is ours.
        let path = format_args!("tools[{n}].strict");
        notes.dropped(NoteEffect::Cosmetic, "strict_not_sent", path);
    }
    if profile.custom_tools {
        return Input::Text(grammar);
    }
    let path = format_args!("tools[{n}].input");
    notes.approximated(NoteEffect::Quality, "text_input_as_json", path);
    Input::Function {
        parameters: Arc::new(text_input(grammar)),
        strict: None,
    }
}

/// JSON arguments: the root of their schema must be an object's, and a strict schema within the strict subset.
fn function<'d>(
    n: usize,
    schema: &Arc<Value>,
    strict: Option<bool>,
    profile: &Profile,
    notes: &mut Notes,
) -> Input<'d> {
    let path = format_args!("tools[{n}].strict");
    if let Some(strict) = strict.filter(|_| !profile.strict_tools) {
        let effect = if strict {
            NoteEffect::Quality
        } else {
            NoteEffect::Cosmetic
        };
        notes.dropped(effect, "strict_not_sent", path);
    }
    let mut strict = strict.filter(|_| profile.strict_tools);
    let restricted = match strict {
        Some(true) => schema::restrict(schema),
        Some(false) | None => None,
    };
    let (parameters, changes) = match restricted {
        Some((restricted, changes)) => (Arc::new(restricted), changes),
        None => {
            if strict == Some(true) {
                notes.approximated(NoteEffect::Quality, "schema_not_enforceable", path);
                strict = Some(false);
            }
            schema::rooted(schema)
        }
    };
    notes.schema_changes(format_args!("tools[{n}].input"), changes);
    Input::Function { parameters, strict }
}

/// The tools that are offered alone, as the server takes no such choice; `None` if all are offered.
pub(crate) fn permitted(request: &ModelRequest, forms: ToolChoiceForms) -> Option<Vec<&str>> {
    let is_by_offer = match &request.choice {
        ToolChoice::Forbidden if forms == ToolChoiceForms::Ignored => return Some(Vec::new()),
        ToolChoice::Named(_) => forms < ToolChoiceForms::Named,
        ToolChoice::Only { .. } => forms < ToolChoiceForms::Subset,
        ToolChoice::Auto | ToolChoice::Forbidden | ToolChoice::Required => false,
    };
    chosen(request).filter(|_| is_by_offer)
}

/// Fields of a tool that the mappers set.
pub(crate) const OURS_OF_TOOL: [&str; 6] = [
    "description",
    "format",
    "name",
    "parameters",
    "strict",
    "type",
];

/// A choice among offered tools `T`.
#[derive(Debug)]
pub(crate) enum Choice<T> {
    /// Any of these; whether one must be called.
    Subset {
        required: bool,
        tools: Vec<T>,
    },
    Tool(T),
    /// `none` or `required`.
    Word(&'static str),
}

/// The codes of a choice of tools that are not offered; they differ between the dialects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MissingTools {
    /// One that the choice names alone.
    pub(crate) named: &'static str,
    pub(crate) some: &'static str,
}

/// The choice among offered tools, which `named` finds, in the forms that the server takes.
pub(crate) fn choice<T>(
    request: &ModelRequest,
    forms: ToolChoiceForms,
    missing: MissingTools,
    named: impl Fn(&str) -> Option<T>,
    notes: &mut Notes,
) -> Option<Choice<T>> {
    let can_force = forms >= ToolChoiceForms::Words;
    let word = |word| can_force.then_some(Choice::Word(word));
    let is_required = match &request.choice {
        ToolChoice::Auto => return None,
        ToolChoice::Forbidden => return word("none"),
        ToolChoice::Required => {
            if !can_force {
                notes.approximated(NoteEffect::Meaning, "choice_not_forced", "choice");
            }
            return word("required");
        }
        ToolChoice::Named(name) => match named(name.as_str()) {
            Some(tool) if forms >= ToolChoiceForms::Named => return Some(Choice::Tool(tool)),
            Some(_) => true,
            None => {
                notes.approximated(NoteEffect::Meaning, missing.named, "choice");
                return None;
            }
        },
        ToolChoice::Only { required, tools } => {
            let known: Vec<T> = tools
                .iter()
                .filter_map(|name| named(name.as_str()))
                .collect();
            if known.is_empty() {
                notes.approximated(NoteEffect::Meaning, "choice_without_tools", "choice");
                return word("none");
            }
            if forms >= ToolChoiceForms::Subset {
                if known.len() < tools.len() {
                    notes.approximated(NoteEffect::Cosmetic, missing.some, "choice");
                }
                return Some(Choice::Subset {
                    required: *required,
                    tools: known,
                });
            }
            *required
        }
    };
    // Only these tools are offered.
    let (effect, code) = if is_required && !can_force {
        (NoteEffect::Meaning, "choice_not_forced")
    } else {
        (NoteEffect::Cost, "choice_by_subset")
    };
    notes.approximated(effect, code, "choice");
    if is_required { word("required") } else { None }
}
