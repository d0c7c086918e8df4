//! The laws of the request mapper, for any valid request and models of each family.

use std::sync::Arc;

use jackfield_dialect_rules::bedrock;
use jackfield_domain::block::{Block, CachePoint, Content};
use jackfield_domain::media::{Document, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::Note;
use jackfield_domain::opaque::{Extension, StateOwner};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{CacheMode, Effort, ResponseFormat, Settings, ThinkingMode};
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_provider_bedrock::profile::ModelProfile;
use jackfield_provider_bedrock::request;
use jackfield_testkit::arb;
use jackfield_testkit::laws::RequestMappers;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::reading::{self, owner, state};

struct Bedrock;

impl RequestMappers for Bedrock {
    type Profile = &'static str;

    const FREE_FIELDS: &'static [&'static str] = &[];
    const NOTES: &'static [&'static str] = NOTES;
    const REFUSES: bool = true;

    fn owner() -> StateOwner {
        owner()
    }

    fn profiles() -> BoxedStrategy<&'static str> {
        select(MODELS.to_vec()).boxed()
    }

    fn requests() -> BoxedStrategy<ModelRequest> {
        requests()
    }

    fn write(
        request: &ModelRequest,
        owner: &StateOwner,
        model: &&'static str,
    ) -> Result<(Value, Vec<Note>), String> {
        let mut profile = ModelProfile::of(model);
        // The points that Jackfield adds are no part of the request.
        profile.cache = CacheMode::Client;
        let made = request::to_wire(request, owner, &profile);
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

    fn faults(body: &Value, model: &&'static str) -> Vec<String> {
        let faults = bedrock::check(body, model);
        faults.iter().map(|fault| format!("{fault:?}")).collect()
    }

    fn state_in(body: &Value) -> Option<String> {
        let text = body.to_string();
        text.contains("\"reasoningContent\":").then_some(text)
    }

    /// A text beside a document is the mapper's own, and so are the images of results that the user shows.
    fn without_additions(
        mut back: ModelRequest,
        notes: &mut Vec<Note>,
        _model: &&'static str,
    ) -> ModelRequest {
        notes.retain(|note| note.code != "text_beside_document");
        let shown = notes
            .iter()
            .filter(|note| note.code == "media_shown_by_user");
        let mut images: Vec<(&str, usize)> = Vec::new();
        for note in shown {
            let (block, _) = note.path.split_once(".result").unwrap();
            match images.last_mut().filter(|(last, _)| *last == block) {
                Some((_, count)) => *count += 1,
                None => images.push((block, 1)),
            }
        }
        let mut images = images.into_iter().map(|(_, count)| count);
        let messages = back.messages.iter().map(|message| {
            let mut message = (**message).clone();
            let mut left = 0_usize;
            message.blocks.retain(|block| {
                let is_heading = matches!(&block.content, Content::Text(text)
                    if message.role == Role::User && text.text.starts_with("[What the call "));
                let is_shown = is_heading || left > 0;
                left = match is_heading {
                    true => images.next().unwrap(),
                    false => left.saturating_sub(1),
                };
                !is_shown
            });
            message
                .blocks
                .retain(|block| *block != Block::text(BESIDE_DOCUMENT));
            message
        });
        let messages = messages.filter(|message| !message.blocks.is_empty());
        back.messages = messages.collect();
        back
    }

    /// A format in words is no setting any more.
    fn is_one_way(notes: &[Note]) -> bool {
        notes.iter().any(|note| note.code == "format_in_words")
    }
}

jackfield_testkit::request_laws!(Bedrock);

/// Claude, from the newest to one that continues its own words, Nova, Mistral, and a model of which nothing is known.
const MODELS: [&str; 6] = [
    "us.anthropic.claude-opus-5-5",
    "us.anthropic.claude-sonnet-4-6",
    "anthropic.claude-3-5-haiku-20241022-v1:0",
    "us.amazon.nova-pro-v1:0",
    "mistral.mistral-large-2407-v1:0",
    "us.meta.llama4-scout-17b-instruct-v1:0",
];

/// A request as a turn may send it.
fn requests() -> BoxedStrategy<ModelRequest> {
    let dressed =
        (arb::model_request(), vec(any::<u8>(), 24..48)).prop_map(|(request, choices)| {
            let mut choices = Choices { choices, next: 0 };
            let mut messages = Vec::new();
            for message in request.messages.iter() {
                let mut message = (**message).clone();
                for block in &mut message.blocks {
                    if let Content::Thinking(thinking) = &block.content
                        && choices.below(3) > 0
                    {
                        let kind = if thinking.redacted {
                            "redacted_content"
                        } else {
                            "signature"
                        };
                        let proof = if choices.below(3) == 2 { "" } else { "c2ln" };
                        block.opaque = vec![state(kind, proof)];
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
    match choices.below(8) {
        6 => {
            let document = Content::Document(Document {
                cite: false,
                context: None,
                source: MediaSource::Base64 {
                    media_type: "application/pdf".into(),
                    data: "AAAA".into(),
                },
                title: Some("a report".into()),
            });
            messages.push(Message::new(Role::User, vec![document.into()]));
        }
        7 => {
            let cached = |seconds| {
                let mut block = Block::text("a part");
                block.cache = Some(CachePoint { seconds });
                block
            };
            let lifetimes = [None, Some(300), Some(3600), Some(60), None];
            let blocks = lifetimes.map(cached).to_vec();
            messages.push(Message::new(Role::User, blocks));
        }
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
        dialect: "bedrock".into(),
        path: path.to_owned(),
        json,
    };
    match choices.below(8) {
        4 => settings.extensions.push(extension(
            "/performanceConfig",
            json!({ "latency": "optimized" }),
        )),
        5 => settings.extensions.push(extension(
            "/additionalModelRequestFields/reasoning_effort",
            json!("low"),
        )),
        6 => settings
            .extensions
            .push(extension("/additionalModelRequestFields/top_k", json!(1))),
        7 => settings.extensions.push(extension("/messages", json!([]))),
        _ => {}
    }
    match choices.below(6) {
        3 => settings.response_format = ResponseFormat::JsonObject,
        4 => {
            settings.response_format = ResponseFormat::JsonSchema {
                description: None,
                name: "response".into(),
                schema: Arc::new(
                    json!({ "type": "object", "properties": { "a": { "type": "string" } } }),
                ),
                strict: None,
            };
        }
        5 => settings.service_tier = Some("flex".into()),
        _ => {}
    }
    match choices.below(8) {
        3 => settings.effort = Some(Effort::Max),
        4 => settings.effort = None,
        5 => (settings.effort, settings.thinking) = (None, Some(ThinkingMode::Off)),
        6 => (settings.effort, settings.thinking) = (None, Some(ThinkingMode::Budget(9))),
        7 => (settings.effort, settings.thinking) = (None, None),
        _ => {}
    }
    match choices.below(8) {
        4 => settings.stop.push("".into()),
        5 => settings.max_output_tokens = Some(u32::MAX),
        6 => settings.temperature = Some(1.5),
        7 => settings.max_output_tokens = Some(4096),
        _ => {}
    }
    settings
}

/// All tools, or none, or one of them twice.
fn tools(tools: &[Arc<ToolDefinition>], choices: &mut Choices) -> Vec<Arc<ToolDefinition>> {
    let dressed = |tool: &Arc<ToolDefinition>, choices: &mut Choices| {
        let mut tool = (**tool).clone();
        match choices.below(6) {
            4 => tool.description = " ".into(),
            5 => tool.extensions.push(Extension {
                dialect: "bedrock".into(),
                path: "/name".to_owned(),
                json: json!("other"),
            }),
            _ => {}
        }
        if let InputFormat::Json(schema) = &mut tool.input {
            match choices.below(12) {
                9 => {
                    *schema = Arc::new(
                        json!({ "anyOf": [{ "required": ["a"] }], "properties": { "a": {} } }),
                    );
                }
                10 => *schema = Arc::new(json!({ "type": "array", "items": { "type": "string" } })),
                11 => {
                    *schema = Arc::new(
                        json!({ "type": "object", "additionalProperties": { "type": "string" } }),
                    );
                }
                _ => {}
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

/// The text beside a document.
const BESIDE_DOCUMENT: &str = "This is the document.";

/// Every note but `empty_message`, which no valid conversation has.
const NOTES: &[&str] = &[
    "annotation_not_sent",
    "blank_stop_sequence",
    "blank_text",
    "cache_lifetime",
    "cache_point_not_possible",
    "choice_by_subset",
    "choice_not_forced",
    "choice_without_tools",
    "document_as_text",
    "document_renamed",
    "document_without_citations",
    "effort_none",
    "effort_not_supported",
    "effort_raised",
    "empty_result_in_words",
    "error_put_into_words",
    "extension_of_another_dialect",
    "extension_path",
    "format_field_not_sent",
    "format_in_words",
    "image_detail",
    "malformed_arguments",
    "max_tokens_cut",
    "max_tokens_defaulted",
    "media_as_text",
    "media_shown_by_user",
    "messages_merged",
    "opaque_as_text",
    "opaque_withheld",
    "output_schema_not_sent",
    "parallel_calls_not_sent",
    "provider_call_withheld",
    "provider_outcome_withheld",
    "refusal_as_text",
    "sampling_cut",
    "sampling_not_supported",
    "schema_closed",
    "schema_keywords_described",
    "schema_not_enforceable",
    "schema_root_made_object",
    "service_tier_unknown",
    "setting_not_supported",
    "state_withheld",
    "strict_not_sent",
    "structured_as_text",
    "structured_not_sent",
    "stubs_offered",
    "system_message_as_user",
    "system_message_moved",
    "text_arguments",
    "text_beside_document",
    "text_input_as_json",
    "thinking_always_on",
    "thinking_budget_changed",
    "thinking_display_not_sent",
    "thinking_not_supported",
    "thinking_withheld",
    "thinking_without_budget",
    "too_many_cache_points",
    "tool_name_changed",
    "tool_name_twice",
    "tool_not_chosen",
    "top_p_beside_temperature",
];
