//! Maps tools and tool choice. Ollama has no field for a choice: only the permitted tools are offered.

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::extensions::{self, Placement};
use jackfield_dialect_kit::outgoing::tools::{choice_without_tools, chosen, offered, text_input};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};

use crate::{DIALECT, schema, wire};

/// The tools offered to the model.
pub(super) fn to_wire(request: &ModelRequest, notes: &mut Notes) -> Vec<wire::Tool> {
    let permitted = match &request.choice {
        ToolChoice::Auto | ToolChoice::Required => None,
        ToolChoice::Forbidden => Some(Vec::new()),
        ToolChoice::Named(_) | ToolChoice::Only { .. } => chosen(request),
    };
    let tools = offered(request, permitted.as_deref(), None, notes, tool);
    if let Some(parallel) = request.settings.parallel_calls {
        // There is no switch: the model may always call several.
        let effect = if parallel || tools.is_empty() {
            NoteEffect::Cosmetic
        } else {
            NoteEffect::Meaning
        };
        notes.dropped(effect, "parallel_calls_not_sent", "settings.parallel_calls");
    }
    if tools.is_empty() {
        choice_without_tools(request, &ToolChoice::Auto, notes);
        return tools;
    }
    match &request.choice {
        ToolChoice::Auto => {}
        ToolChoice::Only {
            required: false, ..
        } if permitted.is_some() => {
            notes.approximated(NoteEffect::Cost, "choice_by_subset", "choice");
        }
        ToolChoice::Forbidden
        | ToolChoice::Named(_)
        | ToolChoice::Only { .. }
        | ToolChoice::Required => {
            notes.approximated(NoteEffect::Meaning, "choice_not_forced", "choice");
        }
    }
    tools
}

fn tool(n: usize, definition: &ToolDefinition, notes: &mut Notes) -> wire::Tool {
    if let Some(strict) = definition.strict {
        let effect = if strict {
            NoteEffect::Quality
        } else {
            NoteEffect::Cosmetic
        };
        let path = format_args!("tools[{n}].strict");
        notes.dropped(effect, "strict_not_sent", path);
    }
    let parameters = match &definition.input {
        InputFormat::Json(schema) => {
            let (parameters, changes) = schema::parameters(schema);
            notes.schema_changes(format_args!("tools[{n}].input"), changes);
            parameters
        }
        InputFormat::Text(grammar) => {
            let path = format_args!("tools[{n}].input");
            notes.approximated(NoteEffect::Quality, "text_input_as_json", path);
            schema::parameters(&text_input(grammar.as_ref()).into()).0
        }
    };
    let parent = format_args!("tools[{n}]");
    extensions::apply(&definition.extensions, DIALECT, parent, notes, |_, _| {
        Placement::NoPlace
    });
    wire::Tool {
        kind: "function",
        function: wire::Declaration {
            name: definition.name.as_str().to_owned(),
            description: (*definition.description).to_owned(),
            parameters,
        },
    }
}
