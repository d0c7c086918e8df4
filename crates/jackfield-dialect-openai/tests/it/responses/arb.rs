//! Requests and replies as the testkit makes them, dressed with what this dialect alone knows.

use std::sync::Arc;

use jackfield_dialect_openai::profile::Profile;
use jackfield_domain::block::{Block, CachePoint, Content, OpaqueBlock, RanBy, Thinking};
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::media::MediaSource;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::{Extension, OpaqueState, StateScope};
use jackfield_domain::outcome::ToolOutcome;
use jackfield_domain::reply::Reply;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_testkit::arb;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::owner;

/// Of the vendor's models, and of servers that are compatible with them.
pub(crate) fn profile() -> impl Strategy<Value = Profile> + Clone {
    let profiles = [
        Profile::OPENAI,
        Profile::OPENAI,
        Profile::OPENAI_WITHOUT_REASONING,
        Profile::COMPATIBLE,
        Profile::DEEPSEEK,
        Profile::LLAMA_CPP,
        Profile::MISTRAL,
        Profile::OLLAMA,
        Profile::VLLM,
    ];
    // The key of the conversation is no part of the request.
    select(profiles.to_vec()).prop_map(|profile| profile.without("prompt_cache_key"))
}

/// A request as a turn may send it. User messages hold no sounds here, which would be refused.
pub(crate) fn request() -> BoxedStrategy<ModelRequest> {
    let dressed =
        (arb::model_request(), vec(any::<u8>(), 24..48)).prop_map(|(request, choices)| {
            let mut choices = Choices { choices, next: 0 };
            let mut messages = Vec::new();
            for message in request.messages.iter() {
                around(dressed(message, &mut choices), &mut choices, &mut messages);
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

/// The turn and the try whose replies are generated.
pub(crate) fn attempt() -> (TurnId, ModelAttempt) {
    let session = SessionId::parse("s1").expect("a valid id");
    let attempt = ModelAttempt {
        round: 1,
        attempt: 1,
    };
    (TurnId::derive(&session, 1), attempt)
}

/// A reply, some of whose blocks come from this dialect.
pub(crate) fn reply() -> BoxedStrategy<Reply> {
    let (turn, attempt) = attempt();
    let dressed =
        (arb::reply(turn, attempt), vec(any::<u8>(), 12..24)).prop_map(|(reply, choices)| {
            let mut choices = Choices { choices, next: 0 };
            let mut message = dressed(&reply.message, &mut choices);
            for block in &mut message.blocks {
                block.cache = None;
            }
            Reply {
                message: Arc::new(message),
                ..reply
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

pub(crate) fn own_state(kind: &str, json: Value) -> OpaqueState {
    OpaqueState {
        kind: kind.into(),
        json,
        owner: owner(),
        scope: StateScope::Block,
    }
}

pub(crate) fn reasoning(n: usize, text: &str, encrypted: Option<&str>) -> Value {
    let mut item = json!({ "type": "reasoning", "id": format!("rs_{n}"), "summary": [] });
    if !text.is_empty() {
        item["summary"] = json!([{ "type": "summary_text", "text": text }]);
    }
    if let Some(encrypted) = encrypted {
        item["encrypted_content"] = json!(encrypted);
    }
    item
}

pub(crate) fn part(id: &str, n: usize) -> Value {
    json!({ "item": { "id": id, "status": "completed", "phase": "commentary" }, "part": n })
}

fn dressed(message: &Message, choices: &mut Choices) -> Message {
    let mut message = message.clone();
    // The part that the next block of words may be, and of which message.
    let mut next_part: Option<(String, usize)> = None;
    for (n, block) in message.blocks.iter_mut().enumerate() {
        let content = block.content.clone();
        if !matches!(content, Content::Text(_) | Content::Refusal(_)) {
            next_part = None;
        }
        match content {
            Content::Audio(_) if message.role == Role::User => {
                block.content = Block::text("a sound was here").content;
            }
            Content::Audio(_) => {}
            Content::Document(_) | Content::Image(_) => elsewhere(block, message.role, choices),
            Content::Opaque(_) => match choices.below(4) {
                1 => block.content = search(n, None),
                2 => block.content = search(n, Some("a search")),
                _ => {}
            },
            Content::Refusal(_) | Content::Text(_) => {
                match choices.below(8) {
                    6 => block.cache = Some(CachePoint { seconds: None }),
                    7 => {
                        block.cache = Some(CachePoint {
                            seconds: Some(1800),
                        });
                    }
                    _ => {}
                }
                if message.role != Role::Assistant {
                    continue;
                }
                let (id, part_number) = match (next_part.take(), choices.below(6)) {
                    (_, 0) => continue,
                    (Some(next), 1 | 2) => next,
                    // A part whose beginning is gone.
                    (_, 3) => (format!("msg_{n}"), 2),
                    // Of a client that keeps no ids.
                    (_, 4) => {
                        let part = json!({ "item": { "phase": "commentary" }, "part": 0 });
                        block.opaque = vec![own_state("message_item", part)];
                        continue;
                    }
                    _ => (format!("msg_{n}"), 0),
                };
                block.opaque = vec![own_state("message_item", part(&id, part_number))];
                next_part = Some((id, part_number + 1));
            }
            Content::Thinking(thinking) => {
                let told = &*thinking.text;
                let item = match choices.below(6) {
                    1 | 2 => reasoning(n, told.trim(), Some("ZQ==")),
                    3 => reasoning(n, "other words", Some("ZQ==")),
                    4 => reasoning(n, told, None),
                    // A reply that broke off.
                    5 => json!({ "id": format!("rs_{n}") }),
                    _ => continue,
                };
                block.opaque = vec![own_state("reasoning_item", item)];
            }
            Content::ToolCall(call) if call.ran_by == RanBy::Provider => {}
            Content::ToolCall(_) => {
                let item = match choices.below(5) {
                    2 => json!({ "id": format!("fc_{n}"), "namespace": "n" }),
                    3 => {
                        json!({ "id": format!("fc_{n}"), "caller": { "type": "program", "caller_id": "p" } })
                    }
                    4 => json!({ "id": format!("fc_{n}"), "name": "another" }),
                    _ => continue,
                };
                block.opaque = vec![own_state("call_item", item)];
            }
            Content::ToolOutcome(outcome) if message.role == Role::Tool => match choices.below(5) {
                3 => block.cache = Some(CachePoint { seconds: None }),
                4 => {
                    let state = own_state("output_item", json!({ "id": format!("fco_{n}") }));
                    block.content = Content::ToolOutcome(Arc::new(ToolOutcome {
                        opaque: vec![state],
                        ..(*outcome).clone()
                    }));
                }
                _ => {}
            },
            Content::ToolOutcome(_) => {}
        }
    }
    message
}

/// Only the owner knows the files of others, and a user's would be refused; so would odd addresses.
fn elsewhere(block: &mut Block, role: Role, choices: &mut Choices) {
    if choices.below(6) == 5 {
        block.cache = Some(CachePoint {
            seconds: Some(3600),
        });
    }
    let source = match &mut block.content {
        Content::Document(document) => &mut document.source,
        Content::Image(image) => &mut image.source,
        Content::Audio(_)
        | Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => return,
    };
    if let MediaSource::File { owner: whose, .. } = source
        && role == Role::User
    {
        *whose = owner();
    }
}

fn search(n: usize, fallback: Option<&str>) -> Content {
    Content::Opaque(OpaqueBlock {
        fallback: fallback.map(Into::into),
        json: json!({ "type": "web_search_call", "id": format!("ws_{n}"), "status": "completed", "action": { "type": "search", "query": "q" } }),
        kind: "web_search_call".into(),
        owner: owner(),
    })
}

fn settings(settings: &Settings, choices: &mut Choices) -> Settings {
    let mut settings = settings.clone();
    match choices.below(7) {
        3 => settings
            .extensions
            .push(extension("/reasoning/context", json!("auto"))),
        4 => settings.extensions.push(extension("/store", json!(true))),
        5 => settings.extensions.push(extension("/text/odd", json!({}))),
        6 => settings
            .extensions
            .push(extension("/metadata", json!({ "a": "b" }))),
        _ => {}
    }
    if choices.below(4) == 3 {
        settings.service_tier = Some("flex".into());
    }
    if choices.below(8) == 7 {
        settings.max_output_tokens = Some(choices.below(20).into());
    }
    settings
}

fn extension(path: &str, json: Value) -> Extension {
    Extension {
        dialect: "openai-responses".into(),
        path: path.to_owned(),
        json,
    }
}

/// A message with what may stand around it: one of the system, another one of the user's,
/// and one of the model's that holds nothing to send.
fn around(message: Message, choices: &mut Choices, messages: &mut Vec<Message>) {
    let of = |role, text: &str| Message::new(role, vec![Block::text(text)]);
    let user = message.role == Role::User;
    if user && choices.below(4) == 3 {
        messages.push(of(Role::System, "Be brief."));
    }
    messages.push(message);
    match choices.below(6) {
        3 if user => messages.push(of(Role::User, "also this")),
        4 if user => messages.push(of(Role::System, "Speak softly.")),
        5 if user => {
            messages.push(of(Role::Assistant, "Well,"));
            let mut cut_off = of(Role::Assistant, "let me see.");
            let mut thought = Block::from(Content::Thinking(Thinking {
                redacted: false,
                text: "hm".into(),
            }));
            let item = reasoning(0, "hm", Some("ZQ=="));
            thought.opaque = vec![own_state("reasoning_item", item)];
            cut_off.blocks.push(thought);
            messages.push(cut_off);
            messages.push(of(Role::User, "go on"));
        }
        _ => {}
    }
}

/// All tools, or none, or one of them twice.
fn tools(tools: &[Arc<ToolDefinition>], choices: &mut Choices) -> Vec<Arc<ToolDefinition>> {
    let mut dressed: Vec<_> = tools
        .iter()
        .map(|tool| Arc::new(dressed_tool(tool, choices)))
        .collect();
    match choices.below(8) {
        6 => dressed.clear(),
        7 => dressed.extend(dressed.first().map(Arc::clone)),
        _ => {}
    }
    dressed
}

fn dressed_tool(tool: &ToolDefinition, choices: &mut Choices) -> ToolDefinition {
    let mut tool = tool.clone();
    match choices.below(6) {
        2 => tool
            .extensions
            .push(extension("/defer_loading", json!(false))),
        3 => tool
            .extensions
            .push(extension("/allowed_callers", json!(["direct"]))),
        4 => tool
            .extensions
            .push(extension("/allowed_callers", json!(["programmatic"]))),
        5 => tool.extensions.push(extension("/name", json!("other"))),
        _ => {}
    }
    if let InputFormat::Json(schema) = &mut tool.input
        && choices.below(3) == 2
    {
        let odd = [
            json!(true),
            json!({ "anyOf": [{ "type": "object", "properties": { "a": {} } }] }),
            json!({ "type": "array", "items": { "type": "string" } }),
            json!({ "type": "object", "properties": { "n": { "type": ["integer", "null"] } }, "required": ["n"], "additionalProperties": false }),
        ];
        let which = usize::from(choices.below(4));
        *schema = Arc::new(odd[which].clone());
    }
    tool
}
