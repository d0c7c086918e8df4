//! Maps tools and tool choice. There is no choice that forbids calls, and a conversation with calls needs tools.

use std::sync::Arc;

use jackfield_dialect_claude::property_names::rename_properties;
use jackfield_dialect_claude::request::restrict_schema;
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::extensions::{self, Placement};
use jackfield_dialect_kit::outgoing::tools::{choice_without_tools, chosen, offered, text_input};
use jackfield_dialect_kit::schema::object;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Map, Value, json};

use crate::profile::ModelProfile;
use crate::{DIALECT, wire};

/// The offered tools and the choice among them; `None` if there are none. `called` are the names of the conversation's
/// calls; `fields`, those of the model's own, get Claude's switch of parallel calls.
pub(super) fn to_wire(
    request: &ModelRequest,
    (profile, thinks): (&ModelProfile, bool),
    called: &[String],
    fields: &mut Map<String, Value>,
    notes: &mut Notes,
) -> Option<wire::ToolConfig> {
    let can_force = ForcedCalls {
        any: profile.forced_any && !thinks,
        tool: profile.forced_tool && !thinks,
    };
    let permitted = match &request.choice {
        ToolChoice::Auto | ToolChoice::Required => None,
        ToolChoice::Forbidden => Some(Vec::new()),
        ToolChoice::Named(_) if can_force.tool => None,
        ToolChoice::Named(_) | ToolChoice::Only { .. } => chosen(request),
    };
    let tools = offered(
        request,
        permitted.as_deref(),
        None,
        notes,
        |n, tool, notes| spec(n, tool, profile, notes),
    );
    parallel_calls(request, profile, !tools.is_empty(), fields, notes);
    if tools.is_empty() {
        choice_without_tools(request, &ToolChoice::Auto, notes);
        return stubs(called, notes);
    }
    let tool_choice = choice(request, can_force, &tools, permitted.is_some(), notes);
    Some(wire::ToolConfig { tools, tool_choice })
}

/// Which calls can be forced.
#[derive(Clone, Copy)]
struct ForcedCalls {
    any: bool,
    tool: bool,
}

fn choice(
    request: &ModelRequest,
    can_force: ForcedCalls,
    tools: &[wire::ToolItem],
    is_subset: bool,
    notes: &mut Notes,
) -> Option<wire::ToolChoice> {
    let is_there = |name: &str| tools.iter().any(|tool| is_named(tool, name));
    match &request.choice {
        ToolChoice::Auto => return None,
        ToolChoice::Named(name) if can_force.tool && is_there(name.as_str()) => {
            let name = name.as_str().to_owned();
            return Some(wire::ToolChoice::Tool { name });
        }
        // Of one tool alone, any is that one.
        ToolChoice::Named(_) if can_force.any && is_subset => {
            notes.approximated(NoteEffect::Cost, "choice_by_subset", "choice");
            return Some(wire::ToolChoice::Any {});
        }
        ToolChoice::Only { required: true, .. } if can_force.any && is_subset => {
            notes.approximated(NoteEffect::Cost, "choice_by_subset", "choice");
            return Some(wire::ToolChoice::Any {});
        }
        ToolChoice::Only {
            required: false, ..
        } if is_subset => {
            notes.approximated(NoteEffect::Cost, "choice_by_subset", "choice");
            return None;
        }
        ToolChoice::Required if can_force.any => return Some(wire::ToolChoice::Any {}),
        ToolChoice::Forbidden
        | ToolChoice::Named(_)
        | ToolChoice::Only { .. }
        | ToolChoice::Required => {}
    }
    notes.approximated(NoteEffect::Meaning, "choice_not_forced", "choice");
    None
}

fn is_named(tool: &wire::ToolItem, name: &str) -> bool {
    matches!(tool, wire::ToolItem::ToolSpec(tool) if tool.name == name)
}

/// Bedrock refuses a conversation with calls without tools: stubs stand for those that were called.
fn stubs(called: &[String], notes: &mut Notes) -> Option<wire::ToolConfig> {
    if called.is_empty() {
        return None;
    }
    notes.approximated(NoteEffect::Cosmetic, "stubs_offered", "tools");
    let mut tools: Vec<wire::ToolItem> = Vec::new();
    for name in called {
        if !tools.iter().any(|tool| is_named(tool, name)) {
            tools.push(wire::ToolItem::ToolSpec(wire::ToolSpec {
                name: name.clone(),
                description: Some(STUB.to_owned()),
                input_schema: wire::InputSchema {
                    json: json!({ "type": "object", "properties": {} }),
                },
                strict: None,
            }));
        }
    }
    Some(wire::ToolConfig {
        tools,
        tool_choice: None,
    })
}

/// Only Claude has a switch, among its own fields.
fn parallel_calls(
    request: &ModelRequest,
    profile: &ModelProfile,
    has_tools: bool,
    fields: &mut Map<String, Value>,
    notes: &mut Notes,
) {
    let Some(parallel) = request.settings.parallel_calls else {
        return;
    };
    if has_tools && profile.claude.is_some() {
        let switch = json!({ "disable_parallel_tool_use": !parallel });
        fields.insert("tool_choice".to_owned(), switch);
        return;
    }
    let effect = if parallel || !has_tools {
        NoteEffect::Cosmetic
    } else {
        NoteEffect::Meaning
    };
    notes.dropped(effect, "parallel_calls_not_sent", "settings.parallel_calls");
}

fn spec(
    n: usize,
    definition: &ToolDefinition,
    profile: &ModelProfile,
    notes: &mut Notes,
) -> wire::ToolItem {
    let mut strict = definition.strict;
    if strict.is_some()
        && profile
            .claude
            .is_none_or(|claude| !claude.structured_output)
    {
        let effect = if strict == Some(true) {
            NoteEffect::Quality
        } else {
            NoteEffect::Cosmetic
        };
        let path = format_args!("tools[{n}].strict");
        notes.dropped(effect, "strict_not_sent", path);
        strict = None;
    }
    let json = match &definition.input {
        InputFormat::Json(schema) => {
            let mut json = input(n, schema, &mut strict, notes);
            if profile.claude.is_some() && rename_properties(&mut json).is_some() {
                let path = format_args!("tools[{n}].input");
                notes.approximated(NoteEffect::Cosmetic, "property_names_changed", path);
            }
            json
        }
        InputFormat::Text(grammar) => {
            let path = format_args!("tools[{n}].input");
            notes.approximated(NoteEffect::Quality, "text_input_as_json", path);
            text_input(grammar.as_ref())
        }
    };
    let description = &definition.description;
    let is_blank = description.trim().is_empty();
    if is_blank && !description.is_empty() {
        let path = format_args!("tools[{n}].description");
        notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
    }
    let parent = format_args!("tools[{n}]");
    extensions::apply(&definition.extensions, DIALECT, parent, notes, |_, _| {
        Placement::NoPlace
    });
    wire::ToolItem::ToolSpec(wire::ToolSpec {
        name: definition.name.as_str().to_owned(),
        description: (!is_blank).then(|| (**description).to_owned()),
        input_schema: wire::InputSchema { json },
        strict,
    })
}

/// The schema of the arguments: a valid one of an object, and a strict one within the subset that can be enforced.
fn input(n: usize, schema: &Arc<Value>, strict: &mut Option<bool>, notes: &mut Notes) -> Value {
    let at = format_args!("tools[{n}].input");
    let (rooted, changes) = object(schema, &NOT_AT_ROOT);
    notes.schema_changes(at, changes);
    if *strict != Some(true) {
        return (*rooted).clone();
    }
    let is_object = |schema: &Value| schema.get("type") == Some(&json!("object"));
    match restrict_schema(&rooted).filter(|(restricted, _)| is_object(restricted)) {
        Some((restricted, changes)) => {
            notes.schema_changes(at, changes);
            restricted
        }
        None => {
            *strict = None;
            let path = format_args!("tools[{n}].strict");
            notes.dropped(NoteEffect::Quality, "schema_not_enforceable", path);
            (*rooted).clone()
        }
    }
}

/// Keywords that are not at the root of a schema: no model behind Converse is known to take a choice there.
const NOT_AT_ROOT: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// The description of a tool that is not offered.
const STUB: &str = "This tool is not available now. Do not call it.";
