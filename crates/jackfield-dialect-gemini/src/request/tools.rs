//! Maps tools and tool choice.

use std::sync::Arc;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::tools::{choice_without_tools, offered, text_input};
use jackfield_dialect_kit::schema::object;
use jackfield_domain::ids::ToolName;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Map, Value, json};

use super::extensions;
use crate::schema::restrict;
use crate::wire;

/// The tools offered to the model.
#[derive(Debug)]
pub(super) struct OfferedTools {
    pub(super) config: Option<wire::ToolConfig>,
    pub(super) tools: Vec<wire::Tool>,
}

pub(super) fn to_wire(request: &ModelRequest, notes: &mut Notes) -> OfferedTools {
    let declare =
        |n, definition: &ToolDefinition, notes: &mut Notes| declaration(n, definition, notes);
    let declarations = offered(request, None, None, notes, declare);
    if let Some(parallel) = request.settings.parallel_calls {
        // There is no switch: the model may always call several.
        let effect = if parallel || declarations.is_empty() {
            NoteEffect::Cosmetic
        } else {
            NoteEffect::Meaning
        };
        notes.dropped(effect, "parallel_calls_not_sent", "settings.parallel_calls");
    }
    if declarations.is_empty() {
        choice_without_tools(request, &ToolChoice::Auto, notes);
        return OfferedTools {
            config: None,
            tools: Vec::new(),
        };
    }
    let choice = choice(request, &declarations, notes);
    OfferedTools {
        config: choice.map(|choice| wire::ToolConfig {
            function_calling_config: Some(choice),
            extra: Map::new(),
        }),
        tools: vec![wire::Tool {
            function_declarations: Some(declarations),
            extra: Map::new(),
        }],
    }
}

fn choice(
    request: &ModelRequest,
    declarations: &[wire::FunctionDeclaration],
    notes: &mut Notes,
) -> Option<wire::FunctionCallingConfig> {
    let mut allowed: Vec<String> = Vec::new();
    for name in chosen_names(&request.choice) {
        let is_new = !allowed.iter().any(|known| known == name);
        if is_new && declarations.iter().any(|known| known.name == name) {
            allowed.push(name.to_owned());
        }
    }
    let config = |mode: &str, allowed: Vec<String>| {
        Some(wire::FunctionCallingConfig {
            mode: Some(mode.to_owned()),
            allowed_function_names: (!allowed.is_empty()).then_some(allowed),
        })
    };
    match &request.choice {
        ToolChoice::Auto => None,
        ToolChoice::Forbidden => config("NONE", Vec::new()),
        ToolChoice::Required => config("ANY", Vec::new()),
        ToolChoice::Named(_) if allowed.is_empty() => {
            notes.approximated(NoteEffect::Meaning, "choice_not_forced", "choice");
            None
        }
        ToolChoice::Named(_) => config("ANY", allowed),
        ToolChoice::Only { .. } if allowed.is_empty() => {
            notes.approximated(NoteEffect::Meaning, "choice_without_tools", "choice");
            config("NONE", allowed)
        }
        ToolChoice::Only { required, tools } => {
            if *required && allowed.len() == 1 {
                notes.approximated(NoteEffect::Cosmetic, "choice_by_name", "choice");
            } else if allowed.len() < tools.len() {
                notes.approximated(NoteEffect::Cosmetic, "choice_of_fewer", "choice");
            }
            config(if *required { "ANY" } else { "VALIDATED" }, allowed)
        }
    }
}

fn chosen_names(choice: &ToolChoice) -> Vec<&str> {
    match choice {
        ToolChoice::Auto | ToolChoice::Forbidden | ToolChoice::Required => Vec::new(),
        ToolChoice::Named(name) => vec![name.as_str()],
        ToolChoice::Only { tools, .. } => tools.iter().map(ToolName::as_str).collect(),
    }
}

fn declaration(
    n: usize,
    definition: &ToolDefinition,
    notes: &mut Notes,
) -> wire::FunctionDeclaration {
    if let Some(strict) = definition.strict {
        let effect = if strict {
            NoteEffect::Quality
        } else {
            NoteEffect::Cosmetic
        };
        let path = format_args!("tools[{n}].strict");
        notes.dropped(effect, "strict_not_sent", path);
    }
    let schema = match &definition.input {
        InputFormat::Json(schema) => json_input(n, schema, notes),
        InputFormat::Text(grammar) => {
            let path = format_args!("tools[{n}].input");
            notes.approximated(NoteEffect::Quality, "text_input_as_json", path);
            let (schema, _) = restrict(&text_input(grammar.as_ref()));
            Some(schema)
        }
    };
    let description = &*definition.description;
    let mut declaration = wire::FunctionDeclaration {
        name: definition.name.as_str().to_owned(),
        description: (!description.is_empty()).then(|| description.to_owned()),
        parameters: None,
        parameters_json_schema: schema,
        extra: Map::new(),
    };
    extensions::apply_to_tool(&mut declaration, n, &definition.extensions, notes);
    declaration
}

/// The schema of the arguments; `None` for a function without any, as the vendor refuses an object without
/// properties.
fn json_input(n: usize, schema: &Arc<Value>, notes: &mut Notes) -> Option<Value> {
    let path = format_args!("tools[{n}].input");
    let (rooted, changes) = object(schema, &NOT_AT_ROOT);
    notes.schema_changes(path, changes);
    let (restricted, changes) = restrict(&rooted);
    notes.schema_changes(path, changes);
    let properties = restricted.get("properties").and_then(Value::as_object);
    let is_open = restricted
        .get("additionalProperties")
        .is_some_and(|more| *more != json!(false));
    if is_open || properties.is_some_and(|properties| !properties.is_empty()) {
        return Some(restricted);
    }
    if **schema != without_arguments() {
        notes.approximated(NoteEffect::Cosmetic, "no_arguments", path);
    }
    None
}

/// The schema of a function that is declared without one.
pub(super) fn without_arguments() -> Value {
    json!({ "type": "object", "properties": {} })
}

/// Keywords that are not at the root of a schema, which describes an object with properties.
const NOT_AT_ROOT: [&str; 3] = ["allOf", "anyOf", "oneOf"];
