//! Maps tools and tool choice.

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::tools::{choice_without_tools, offered, vendor_form};
use jackfield_domain::find_tools;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{ToolChoice, ToolDefinition};
use serde_json::{Map, Value, json};

use super::tool_search::{self, SearchedRequest};
use super::{Unsupported, extensions};
use crate::profile::Profile;
use crate::responses::{DIALECT, wire};
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
    search: Option<&SearchedRequest>,
    profile: &Profile,
    notes: &mut Notes,
) -> Result<OfferedTools, Unsupported> {
    let request = search.map_or(request, |search| &search.request);
    if !profile.hosted_tools && !request.tools.is_empty() {
        let mut tools = request.tools.iter();
        if tools.all(|definition| vendor_form(definition).is_some()) {
            return Err(Unsupported {
                path: "tools".to_owned(),
                reason: "this server does not run the vendor's own tools",
            });
        }
    }
    let permitted = permitted(request, profile.tool_choice);
    let tools = offered(
        request,
        permitted.as_deref(),
        profile.hosted_tools.then_some(DIALECT),
        notes,
        |n, definition, notes| {
            // The vendor's own tools have no names.
            let name = definition.name.as_str().to_owned();
            let tool = if search.is_some() && name == find_tools::NAME {
                tool_search::tool(definition)
            } else {
                tool(n, definition, profile, notes)
            };
            (name, tool)
        },
    );
    let choice = if tools.is_empty() {
        choice_without_tools(request, &ToolChoice::Auto, notes);
        None
    } else {
        let named = |name: &str| {
            let mut tools = tools.iter();
            tools.find(|(known, _)| known == name).map(|(_, tool)| tool)
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
    Ok(OfferedTools {
        choice,
        parallel_calls,
        tools: tools.into_iter().map(|(_, tool)| tool).collect(),
    })
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
            match tool.kind.as_str() {
                CUSTOM => wire::Chosen::Custom { name },
                FUNCTION => wire::Chosen::Function { name },
                _ => wire::Chosen::Other(reference(tool)),
            }
        }
        Choice::Word(word) => return wire::ToolChoice::Word(word.to_owned()),
    })
}

fn reference(tool: &wire::Tool) -> Map<String, Value> {
    let name = tool.name.iter();
    let name = name.map(|name| ("name".to_owned(), json!(name)));
    let kind = ("type".to_owned(), json!(tool.kind));
    std::iter::once(kind).chain(name).collect()
}

/// A tool of the vendor's own, as its client sent it.
fn own_tool(definition: &ToolDefinition) -> Option<wire::Tool> {
    let form = vendor_form(definition).filter(|form| *form.dialect == *DIALECT)?;
    serde_json::from_value(form.json.clone()).ok()
}

/// The vendor's type of a tool with JSON arguments.
pub(crate) const FUNCTION: &str = "function";
/// The vendor's type of a text tool.
pub(crate) const CUSTOM: &str = "custom";

/// The tool at this index.
pub(super) fn tool(
    n: usize,
    definition: &ToolDefinition,
    profile: &Profile,
    notes: &mut Notes,
) -> wire::Tool {
    if let Some(own) = own_tool(definition) {
        return own;
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
