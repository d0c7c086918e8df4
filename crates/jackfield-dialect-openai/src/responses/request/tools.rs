//! Maps tools and tool choice.

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::tools::{choice_without_tools, offered};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{ToolChoice, ToolDefinition};
use serde_json::{Map, Value, json};

use super::extensions;
use crate::profile::Profile;
use crate::responses::wire;
use crate::tools::{Choice, Input, MissingTools, choice, input, permitted};

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
    let permitted = permitted(request, profile.tool_choice);
    let tools = offered(
        request,
        permitted.as_deref(),
        notes,
        |n, definition, notes| tool(n, definition, profile, notes),
    );
    let choice = if tools.is_empty() {
        choice_without_tools(request, &ToolChoice::Auto, notes);
        None
    } else {
        let named = |name: &str| {
            let mut tools = tools.iter();
            tools.find(|tool| tool.name.as_deref() == Some(name))
        };
        choice(request, profile.tool_choice, MISSING, named, notes).map(chosen)
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

const MISSING: MissingTools = MissingTools {
    named: "choice_without_tools",
    some: "choice_without_tools",
};

fn chosen(choice: Choice<&wire::Tool>) -> wire::ToolChoice {
    wire::ToolChoice::Chosen(match choice {
        Choice::Subset { required, tools } => wire::Chosen::AllowedTools {
            mode: if required { "required" } else { "auto" }.to_owned(),
            tools: tools.into_iter().map(reference).collect(),
        },
        Choice::Tool(tool) => {
            let name = tool.name.clone().unwrap_or_default();
            if tool.kind == CUSTOM {
                wire::Chosen::Custom { name }
            } else {
                wire::Chosen::Function { name }
            }
        }
        Choice::Word(word) => return wire::ToolChoice::Word(word.to_owned()),
    })
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
    match input(n, definition, profile, notes) {
        Input::Function { parameters, strict } => {
            tool.parameters = Some(parameters);
            // Null leaves strictness to the vendor, as we do: it then enforces the schema where possible, unlike
            // Chat Completions.
            tool.strict = profile.strict_tools.then_some(strict);
        }
        Input::Text(grammar) => {
            tool.kind = CUSTOM.to_owned();
            tool.format = grammar.map(|grammar| wire::ToolFormat::Grammar {
                definition: (*grammar.definition).to_owned(),
                syntax: (*grammar.syntax).to_owned(),
            });
        }
    }
    extensions::apply_to_tool(&mut tool, n, &definition.extensions, notes);
    tool
}
