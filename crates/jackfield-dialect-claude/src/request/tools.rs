//! Maps tools and tool choice.

use std::sync::Arc;

use jackfield_dialect_kit::notes::{ExtensionPath, Notes};
use jackfield_dialect_kit::outgoing::tools::{
    choice_without_tools, chosen, offered, text_input, vendor_form,
};
use jackfield_dialect_kit::schema::{Change, object};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::Extension;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Map, Value, json};

use super::{extensions, schema};
use crate::options::Profile;
use crate::{DIALECT, property_names, wire};

/// The tools offered to the model.
#[derive(Debug)]
pub(super) struct OfferedTools {
    pub(super) choice: Option<wire::ToolChoice>,
    pub(super) tools: Vec<wire::Tool>,
}

/// The offered tools in the vendor's form.
pub(super) fn to_wire(request: &ModelRequest, notes: &mut Notes) -> Vec<wire::Tool> {
    let is_subset = matches!(request.choice, ToolChoice::Only { .. });
    let permitted = chosen(request).filter(|_| is_subset);
    offered(request, permitted.as_deref(), Some(DIALECT), notes, tool)
}

/// The offered subset of these tools, and the choice among them.
pub(super) fn offer_tools(
    request: &ModelRequest,
    tools: Vec<wire::Tool>,
    profile: &Profile,
    thinks: bool,
    called: &[String],
    notes: &mut Notes,
) -> OfferedTools {
    let parallel = request.settings.parallel_calls;
    if tools.is_empty() {
        if parallel.is_some() {
            notes.dropped(
                NoteEffect::Cosmetic,
                "parallel_calls_not_sent",
                "settings.parallel_calls",
            );
        }
        return without_tools(request, called, notes);
    }
    let choice = choice(request, profile, thinks, &tools, notes);
    if matches!(choice, Some(wire::ToolChoice::None)) && parallel.is_some() {
        notes.dropped(
            NoteEffect::Cosmetic,
            "parallel_calls_not_sent",
            "settings.parallel_calls",
        );
    }
    OfferedTools { choice, tools }
}

/// Claude requires `tools` if the conversation has calls: stubs are offered, and the choice forbids calls.
fn without_tools(request: &ModelRequest, called: &[String], notes: &mut Notes) -> OfferedTools {
    let told = if called.is_empty() {
        ToolChoice::Auto
    } else {
        ToolChoice::Forbidden
    };
    choice_without_tools(request, &told, notes);
    if called.is_empty() {
        return OfferedTools {
            choice: None,
            tools: Vec::new(),
        };
    }
    notes.approximated(NoteEffect::Cosmetic, "stubs_offered", "tools");
    let mut tools: Vec<wire::Tool> = Vec::new();
    for name in called {
        if !tools.iter().any(|tool| tool.name.as_ref() == Some(name)) {
            let stub = wire::Tool {
                kind: None,
                name: Some(name.clone()),
                description: None,
                input_schema: Some(json!({ "type": "object" })),
                strict: None,
                names: None,
                extra: Map::new(),
            };
            tools.push(stub);
        }
    }
    OfferedTools {
        choice: Some(wire::ToolChoice::None),
        tools,
    }
}

fn choice(
    request: &ModelRequest,
    profile: &Profile,
    thinks: bool,
    tools: &[wire::Tool],
    notes: &mut Notes,
) -> Option<wire::ToolChoice> {
    let disable_parallel_tool_use = request.settings.parallel_calls.map(|parallel| !parallel);
    let auto = disable_parallel_tool_use
        .is_some()
        .then_some(wire::ToolChoice::Auto {
            disable_parallel_tool_use,
        });
    // Not possible with thinking, nor at all with the newest models.
    let can_force = profile.forced_tools && !thinks;
    let any = wire::ToolChoice::Any {
        disable_parallel_tool_use,
    };
    match &request.choice {
        ToolChoice::Auto => auto,
        ToolChoice::Forbidden => Some(wire::ToolChoice::None),
        ToolChoice::Named(name) if can_force && has(tools, name.as_str()) => {
            Some(wire::ToolChoice::Tool {
                name: name.as_str().to_owned(),
                disable_parallel_tool_use,
            })
        }
        ToolChoice::Required if can_force => Some(any),
        ToolChoice::Named(_) | ToolChoice::Required => {
            notes.approximated(NoteEffect::Meaning, "choice_not_forced", "choice");
            auto
        }
        ToolChoice::Only {
            required,
            tools: names,
        } => {
            if !names.iter().any(|name| has(tools, name.as_str())) {
                notes.approximated(NoteEffect::Meaning, "choice_without_tools", "choice");
                return Some(wire::ToolChoice::None);
            }
            if *required && !can_force {
                notes.approximated(NoteEffect::Meaning, "choice_not_forced", "choice");
                return auto;
            }
            notes.approximated(NoteEffect::Cost, "choice_by_subset", "choice");
            if *required { Some(any) } else { auto }
        }
    }
}

fn has(tools: &[wire::Tool], name: &str) -> bool {
    tools.iter().any(|tool| tool.name.as_deref() == Some(name))
}

/// A tool of the vendor's own, as its client sent it.
fn own_tool(definition: &ToolDefinition) -> Option<wire::Tool> {
    let form = vendor_form(definition).filter(|form| *form.dialect == *DIALECT)?;
    let tool: wire::Tool = serde_json::from_value(form.json.clone()).ok()?;
    let is_same = tool.name.as_deref() == Some(definition.name.as_str());
    is_same.then_some(tool)
}

fn tool(n: usize, definition: &ToolDefinition, notes: &mut Notes) -> wire::Tool {
    if let Some(own) = own_tool(definition) {
        return own;
    }
    let mut strict = definition.strict;
    let mut names = None;
    let input_schema = match &definition.input {
        InputFormat::Json(schema) => {
            let mut schema = json_input(n, schema, &mut strict, notes);
            names = property_names::rename_properties(&mut schema);
            if names.is_some() {
                let path = format_args!("tools[{n}].input");
                notes.approximated(NoteEffect::Cosmetic, "property_names_changed", path);
            }
            schema
        }
        InputFormat::Text(grammar) => {
            let path = format_args!("tools[{n}].input");
            notes.approximated(NoteEffect::Quality, "text_input_as_json", path);
            text_input(grammar.as_ref())
        }
    };
    let description = &*definition.description;
    let mut tool = wire::Tool {
        kind: None,
        name: Some(definition.name.as_str().to_owned()),
        description: (!description.is_empty()).then(|| description.to_owned()),
        input_schema: Some(input_schema),
        strict,
        names: names.map(Arc::new),
        extra: Map::new(),
    };
    extensions::apply_to_tool(&mut tool, n, &definition.extensions, notes);
    tool
}

/// Keeps at most four cache points of the tools, the last ones, which cover the longest prefixes.
///
/// One for the whole body counts, too (Claude Messages API: at most 4 breakpoints in a request), as do those that are
/// fixed in opaque blocks.
pub(super) fn limit_cache_points(
    body: &mut wire::Request,
    request: &ModelRequest,
    fixed: usize,
    notes: &mut Notes,
) {
    let in_body = usize::from(body.extra.contains_key(CACHE_CONTROL));
    let most = 4_usize.saturating_sub(in_body + fixed);
    let is_one = |tool: &wire::Tool| tool.extra.contains_key(CACHE_CONTROL);
    let tools = body.tools.iter_mut().flatten();
    let points: Vec<_> = tools.filter(|tool| is_one(tool)).collect();
    let excess = points.len().saturating_sub(most);
    for tool in points.into_iter().take(excess) {
        let named = |definition: &Arc<ToolDefinition>| {
            tool.name.as_deref() == Some(definition.name.as_str())
        };
        let n = request.tools.iter().position(named).unwrap_or_default();
        let extensions = request.tools.get(n).map(|tool| &*tool.extensions);
        let is_it = |extension: &Extension| {
            *extension.dialect == *DIALECT && extension.path == CACHE_CONTROL_PATH
        };
        let found = extensions.unwrap_or_default().iter().find(|one| is_it(one));
        if let Some(extension) = found {
            let of = format_args!("tools[{n}]");
            let path = ExtensionPath {
                extension,
                parent: of,
            };
            notes.dropped(NoteEffect::Cost, "too_many_cache_points", path);
        }
        tool.extra.shift_remove(CACHE_CONTROL);
    }
}

pub(super) const CACHE_CONTROL: &str = "cache_control";
const CACHE_CONTROL_PATH: &str = "/cache_control";

/// The schema of the arguments: a valid one of an object, and a strict one within the subset.
fn json_input(
    n: usize,
    schema: &Arc<Value>,
    strict: &mut Option<bool>,
    notes: &mut Notes,
) -> Value {
    let (rooted, changes) = object(schema, &NOT_AT_ROOT);
    note(n, changes, notes);
    if *strict != Some(true) {
        return (*rooted).clone();
    }
    let restricted = schema::restrict(&rooted)
        .filter(|(restricted, _)| restricted.get("type") == Some(&json!("object")));
    match restricted {
        Some((restricted, changes)) => {
            note(n, changes, notes);
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

fn note(n: usize, changes: Vec<Change>, notes: &mut Notes) {
    for change in changes {
        match &*change.pointer {
            "" => {
                let path = format_args!("tools[{n}].input");
                notes.approximated(change.effect, change.code, path);
            }
            pointer => {
                let path = format_args!("tools[{n}].input#{pointer}");
                notes.approximated(change.effect, change.code, path);
            }
        }
    }
}

/// Keywords that are not permitted at the root of a schema (Claude Messages API: `input_schema` accepts none of
/// them there).
const NOT_AT_ROOT: [&str; 3] = ["allOf", "anyOf", "oneOf"];
