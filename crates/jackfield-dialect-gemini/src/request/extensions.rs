//! Fields that this dialect knows and the domain does not.

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::extensions::{self, Placement, below};
use jackfield_dialect_kit::pointer::set;
use jackfield_domain::opaque::Extension;
use serde_json::{Map, Value};

use crate::{DIALECT, wire};

/// Fields that make the provider continue, store or read something of its own; they are never passed on.
pub(crate) const ACTING: [&str; 3] = ["cachedContent", "continuationToken", "store"];

/// Tools that the vendor runs, and that a turn can carry: what they do comes back as parts of the reply. A tool that
/// names servers to call is none of them.
pub(crate) const HOSTED: [&str; 6] = [
    "codeExecution",
    "fileSearch",
    "googleMaps",
    "googleSearch",
    "googleSearchRetrieval",
    "urlContext",
];

/// Fields of a body that the mapper sets.
const OURS: [&str; 4] = ["contents", "model", "serviceTier", "systemInstruction"];

/// Fields of the generation's settings that the mapper sets, or that would contradict one that it sets.
const OURS_OF_CONFIG: [&str; 12] = [
    "candidateCount",
    "frequencyPenalty",
    "maxOutputTokens",
    "presencePenalty",
    "responseJsonSchema",
    "responseMimeType",
    "responseSchema",
    "seed",
    "stopSequences",
    "temperature",
    "topK",
    "topP",
];

/// Fields of the thinking's settings that the mapper sets.
const OURS_OF_THINKING: [&str; 3] = ["includeThoughts", "thinkingBudget", "thinkingLevel"];

/// Fields of a declaration that the mapper sets, or that would contradict one that it sets.
const OURS_OF_TOOL: [&str; 4] = ["description", "name", "parameters", "parametersJsonSchema"];

/// Sets the extensions of a request.
pub(super) fn apply(body: &mut wire::Request, extensions: &[Extension], notes: &mut Notes) {
    extensions::apply(
        extensions,
        DIALECT,
        "settings",
        notes,
        |tokens, extension| {
            let first = tokens.first().map_or("", String::as_str);
            if ACTING.contains(&first) {
                Placement::Refused
            } else {
                let is_free = !OURS.contains(&first);
                (is_free && set_in_body(body, first, tokens, &extension.json)).into()
            }
        },
    );
}

/// Sets the extensions of a tool.
pub(super) fn apply_to_tool(
    declaration: &mut wire::FunctionDeclaration,
    n: usize,
    extensions: &[Extension],
    notes: &mut Notes,
) {
    let parent = format_args!("tools[{n}]");
    extensions::apply(
        extensions,
        DIALECT,
        parent,
        notes,
        |tokens, extension| match tokens {
            [first] if !OURS_OF_TOOL.contains(&first.as_str()) => {
                set(&mut declaration.extra, tokens, &extension.json).into()
            }
            [] | [_, ..] => Placement::NoPlace,
        },
    );
}

fn set_in_body(body: &mut wire::Request, first: &str, tokens: &[String], json: &Value) -> bool {
    match (first, tokens) {
        ("generationConfig", [_, second, rest @ ..]) if second == "thinkingConfig" => {
            let is_free = rest
                .first()
                .is_some_and(|name| !OURS_OF_THINKING.contains(&name.as_str()));
            is_free && {
                let config = body.generation_config.get_or_insert_default();
                let thinking = config.thinking_config.get_or_insert_default();
                set(&mut thinking.extra, rest, json)
            }
        }
        ("generationConfig", _) => below(tokens, &OURS_OF_CONFIG).is_some_and(|below| {
            let config = body.generation_config.get_or_insert_default();
            set(&mut config.extra, below, json)
        }),
        ("toolConfig", _) => below(tokens, &["functionCallingConfig"]).is_some_and(|below| {
            set(
                &mut body.tool_config.get_or_insert_default().extra,
                below,
                json,
            )
        }),
        ("tools", [_, name]) => {
            let is_hosted = HOSTED.contains(&name.as_str());
            if is_hosted {
                body.tools.get_or_insert_default().push(wire::Tool {
                    function_declarations: None,
                    extra: Map::from_iter([(name.clone(), json.clone())]),
                });
            }
            is_hosted
        }
        ("tools", _) => false,
        _ => set(&mut body.extra, tokens, json),
    }
}
