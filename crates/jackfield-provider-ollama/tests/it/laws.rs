//! The laws of the request mapper, for any valid request.

use std::sync::Arc;

use jackfield_dialect_rules::ollama;
use jackfield_domain::block::{Block, Content};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::Note;
use jackfield_domain::opaque::{Extension, StateOwner};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_provider_ollama::config::Defaults;
use jackfield_provider_ollama::request;
use jackfield_testkit::arb;
use jackfield_testkit::laws::RequestMappers;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::reading::{self, own_thoughts, owner};

struct Ollama;

impl RequestMappers for Ollama {
    type Profile = Defaults;

    const FREE_FIELDS: &'static [&'static str] = &[];
    const NOTES: &'static [&'static str] = NOTES;
    const REFUSES: bool = true;

    fn owner() -> StateOwner {
        owner()
    }

    fn profiles() -> BoxedStrategy<Defaults> {
        Just(Defaults::default()).boxed()
    }

    fn requests() -> BoxedStrategy<ModelRequest> {
        requests()
    }

    fn write(
        request: &ModelRequest,
        owner: &StateOwner,
        defaults: &Defaults,
    ) -> Result<(Value, Vec<Note>), String> {
        let made = request::to_wire(request, owner, defaults);
        let (body, notes) = made.map_err(|refused| refused.path)?;
        Ok((serde_json::to_value(&body).expect("JSON"), notes))
    }

    fn read(body: &[u8]) -> Result<ModelRequest, String> {
        let body = serde_json::from_slice(body).map_err(|fault| fault.to_string())?;
        reading::read(&body)
    }

    /// No client speaks this language to us.
    fn serve(_body: &[u8]) -> Result<(), Option<String>> {
        Err(None)
    }

    fn faults(body: &Value, _defaults: &Defaults) -> Vec<String> {
        let faults = ollama::check(body);
        faults.iter().map(|fault| format!("{fault:?}")).collect()
    }

    fn state_in(body: &Value) -> Option<String> {
        let text = body.to_string();
        text.contains("\"thinking\":").then_some(text)
    }

    /// A format in words is no setting any more.
    fn is_one_way(notes: &[Note]) -> bool {
        notes.iter().any(|note| note.code == "format_in_words")
    }
}

jackfield_testkit::request_laws!(Ollama);

/// A request as a turn may send it.
fn requests() -> BoxedStrategy<ModelRequest> {
    let dressed =
        (arb::model_request(), vec(any::<u8>(), 24..48)).prop_map(|(request, choices)| {
            let mut choices = Choices { choices, next: 0 };
            let mut messages = Vec::new();
            for message in request.messages.iter() {
                let mut message = (**message).clone();
                for block in &mut message.blocks {
                    let is_thought = matches!(block.content, Content::Thinking(_));
                    if is_thought && choices.below(3) > 0 {
                        block.opaque = vec![own_thoughts()];
                    }
                }
                if message.role == Role::User {
                    around(message, &mut choices, &mut messages);
                } else {
                    messages.push(message);
                }
            }
            ModelRequest {
                messages: messages.into_iter().collect(),
                settings: Arc::new(settings(&request.settings, &mut choices)),
                tools: Arc::new(tools(&request.tools, &mut choices)),
                ..request
            }
        });
    dressed.boxed()
}

/// Numbers to decide by, over and over again.
struct Choices {
    choices: Vec<u8>,
    next: usize,
}

impl Choices {
    /// A number below `end`; 0 is the simplest.
    fn below(&mut self, end: u8) -> u8 {
        let choice = self.choices.get(self.next % self.choices.len());
        self.next += 1;
        choice.copied().unwrap_or(0) % end
    }
}

/// A user's message with what may stand around it.
fn around(message: Message, choices: &mut Choices, messages: &mut Vec<Message>) {
    let of = |role, text: &str| Message::new(role, vec![Block::text(text)]);
    if choices.below(4) == 3 {
        messages.push(of(Role::System, "Be brief."));
    }
    messages.push(message);
    match choices.below(6) {
        3 => messages.push(of(Role::User, "also this")),
        4 => messages.push(of(Role::System, "Speak softly.")),
        5 => {
            messages.push(of(Role::Assistant, "One."));
            messages.push(of(Role::Assistant, "Two."));
            messages.push(of(Role::User, "go on"));
        }
        _ => {}
    }
}

fn settings(settings: &Settings, choices: &mut Choices) -> Settings {
    let mut settings = settings.clone();
    let extension = |path: &str, json: Value| Extension {
        dialect: "ollama".into(),
        path: path.to_owned(),
        json,
    };
    match choices.below(9) {
        4 => settings
            .extensions
            .push(extension("/keep_alive", json!("5m"))),
        5 => settings
            .extensions
            .push(extension("/options/min_p", json!(0.5))),
        6 => settings
            .extensions
            .push(extension("/logprobs", json!(true))),
        7 => settings
            .extensions
            .push(extension("/options/seed", json!(1))),
        8 => settings.extensions.push(extension("/think", json!("low"))),
        _ => {}
    }
    if let ResponseFormat::JsonSchema { schema, name, .. } = &mut settings.response_format {
        let odd = choices.below(8);
        *schema = Arc::new(if odd == 3 {
            json!(true)
        } else {
            odd_schema(odd)
        });
        if odd > 4 {
            *name = "response".into();
        }
    }
    match choices.below(7) {
        3 => settings.effort = Some(Effort::Max),
        4 => settings.effort = None,
        5 => (settings.effort, settings.thinking) = (None, Some(ThinkingMode::Off)),
        6 => (settings.effort, settings.thinking) = (None, Some(ThinkingMode::Budget(9))),
        _ => {}
    }
    match choices.below(8) {
        4 => settings.stop.push("".into()),
        5 => settings.max_output_tokens = Some(u32::MAX),
        6 => settings.seed = Some(i64::MAX),
        _ => {}
    }
    settings
}

/// All tools, or none, or one of them twice.
fn tools(tools: &[Arc<ToolDefinition>], choices: &mut Choices) -> Vec<Arc<ToolDefinition>> {
    let dressed = |tool: &Arc<ToolDefinition>, choices: &mut Choices| {
        let mut tool = (**tool).clone();
        if choices.below(6) == 5 {
            tool.extensions.push(Extension {
                dialect: "ollama".into(),
                path: "/name".to_owned(),
                json: json!("other"),
            });
        }
        if let InputFormat::Json(schema) = &mut tool.input {
            let odd = choices.below(14);
            if odd > 5 {
                *schema = Arc::new(odd_schema(odd - 6));
            }
        }
        Arc::new(tool)
    };
    let mut all: Vec<_> = tools.iter().map(|tool| dressed(tool, choices)).collect();
    match choices.below(8) {
        5 | 6 => all.clear(),
        7 => all.extend(all.first().map(Arc::clone)),
        _ => {}
    }
    all
}

/// Schemas within what the server's types have, at its edges, and far outside.
fn odd_schema(which: u8) -> Value {
    match which {
        0 => json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        1 => {
            json!({ "type": ["object", "null"], "properties": { "n": { "type": "integer", "minimum": 1 } } })
        }
        2 => {
            json!({ "properties": { "a": { "oneOf": [{ "type": "string", "pattern": "^a" }, { "type": "null" }] } } })
        }
        3 => json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": { "Point": { "type": "object", "properties": { "x": { "type": "number", "default": 0 } }, "required": ["x"] } },
            "type": "object",
            "description": "A line.",
            "properties": {
                "from": { "$ref": "#/$defs/Point", "description": "where" },
                "via": { "$ref": "#/properties/from" },
                "tags": { "type": "array", "items": { "$ref": "#/$defs/Point" }, "minItems": 2 },
            },
            "required": ["from"],
        }),
        4 => {
            json!({ "type": "object", "properties": { "free": {}, "any": true, "never": false, "kind": { "const": "a", "title": "Kind" } } })
        }
        5 => json!({
            "type": "object",
            "$defs": { "Node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/Node" } } } },
            "properties": { "root": { "$ref": "#/$defs/Node" } },
        }),
        6 => {
            json!({ "type": "object", "anyOf": [{ "required": ["a"] }], "properties": { "a": {} } })
        }
        _ => json!({ "type": "array", "items": { "type": "string" } }),
    }
}

/// Every note but `empty_message`, which no valid conversation has.
const NOTES: &[&str] = &[
    "annotation_not_sent",
    "blank_stop_sequence",
    "blank_text",
    "blocks_rearranged",
    "cache_point_not_possible",
    "choice_by_subset",
    "choice_not_forced",
    "choice_without_tools",
    "document_as_text",
    "effort_lowered",
    "effort_raised",
    "error_put_into_words",
    "extension_of_another_dialect",
    "extension_path",
    "format_field_not_sent",
    "format_in_words",
    "image_detail",
    "malformed_arguments",
    "max_tokens_cut",
    "media_as_text",
    "opaque_as_text",
    "opaque_withheld",
    "output_schema_not_sent",
    "parallel_calls_not_sent",
    "parts_rearranged",
    "provider_call_withheld",
    "provider_outcome_withheld",
    "refusal_as_text",
    "schema_const_as_enum",
    "schema_keyword_dropped",
    "schema_keywords_described",
    "schema_made_object",
    "schema_one_of_as_any_of",
    "schema_reference_cut",
    "schema_reference_inlined",
    "schema_root_made_object",
    "seed_too_large",
    "setting_not_supported",
    "state_withheld",
    "strict_not_sent",
    "structured_as_text",
    "structured_not_sent",
    "system_message_moved",
    "text_arguments",
    "text_input_as_json",
    "texts_joined",
    "thinking_budget_not_sent",
    "thinking_by_default",
    "thinking_by_effort",
    "thinking_off",
    "thinking_withheld",
    "tool_name_changed",
    "tool_name_twice",
    "tool_not_chosen",
];
