//! Requests and replies as the testkit makes them, dressed with what this dialect alone knows.

use std::sync::Arc;

use jackfield_dialect_openai::profile::{
    EndUser, MaxTokens, MessageOrder, Profile, ReasoningEcho, StructuredOutput, SystemRole,
    ToolChoiceForms,
};
use jackfield_domain::block::{
    Block, CachePoint, CalledName, Content, OpaqueBlock, RanBy, Thinking,
};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::{Extension, OpaqueState, StateScope};
use jackfield_domain::reply::Reply;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::{Grammar, InputFormat, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_testkit::arb;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::read::{attempt, owner};

/// One that takes everything, so that every word of the language comes up.
pub(crate) const ALL: Profile = Profile {
    audio: true,
    cache_points: true,
    penalties: true,
    reasoning_echo: ReasoningEcho::AsItCame,
    sampling: true,
    stop: true,
    tools_without_effort: false,
    top_k: true,
    ..Profile::OPENAI
};

/// Of every server there is one for, and of some that there might be.
pub(crate) fn profile() -> impl Strategy<Value = Profile> + Clone {
    let odd = Profile {
        end_user: EndUser::User,
        max_tokens: MaxTokens::MaxTokens,
        message_order: MessageOrder::Free,
        structured_output: StructuredOutput::None,
        system_role: SystemRole::System,
        tool_choice: ToolChoiceForms::Ignored,
        ..Profile::COMPATIBLE
    };
    let known = [
        ALL,
        Profile::OPENAI,
        Profile::OPENAI_WITHOUT_REASONING,
        Profile::COMPATIBLE,
        Profile::DEEPSEEK,
        Profile::LLAMA_CPP,
        Profile::MISTRAL,
        Profile::OLLAMA,
        Profile::VLLM,
        odd,
    ];
    // The key of the conversation is no part of the request.
    select(known.to_vec()).prop_map(|profile| profile.without("prompt_cache_key"))
}

/// A request as a turn may send it; user messages hold nothing that a server might refuse.
pub(crate) fn request() -> BoxedStrategy<ModelRequest> {
    let dressed =
        (arb::model_request(), vec(any::<u8>(), 24..48)).prop_map(|(request, choices)| {
            let mut choices = Choices { choices, next: 0 };
            let mut messages = Vec::new();
            for message in request.messages.iter() {
                let dressed = dressed(message, &mut choices);
                if dressed.role == Role::User {
                    around(dressed, &mut choices, &mut messages);
                } else {
                    let is_outcome = dressed.role == Role::Tool;
                    messages.push(dressed);
                    if is_outcome && choices.below(6) == 5 {
                        // A turn that was broken off, and what the user says then.
                        messages.push(Message::user("never mind"));
                    }
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

/// A reply to the try that [`attempt`] gives.
pub(crate) fn reply() -> BoxedStrategy<Reply> {
    let (turn, attempt) = attempt();
    let dressed =
        (arb::reply(turn, attempt), vec(any::<u8>(), 12..24)).prop_map(|(reply, choices)| {
            let mut choices = Choices { choices, next: 0 };
            let mut message = dressed(&reply.message, &mut choices);
            let mut reply = reply;
            for block in &mut message.blocks {
                block.cache = None;
                if let Content::ToolCall(call) = &mut block.content
                    && call.name.as_str().is_empty()
                {
                    // Nobody could tell what is called.
                    Arc::make_mut(call).name = CalledName::new("nameless");
                }
                if let Content::ToolCall(call) = &mut block.content
                    && let ToolInput::Json(input) = &call.input
                    && input.raw() == "null"
                {
                    // That is none at all to whoever reads it.
                    Arc::make_mut(call).input = ToolInput::Json(JsonInput::parse(""));
                }
            }
            if choices.below(4) == 3 {
                let details = json!([{ "type": "reasoning.encrypted", "data": "x" }]);
                let state = own("reasoning_details", details, StateScope::Reply);
                reply.end.opaque.push(state);
                message.opaque.clone_from(&reply.end.opaque);
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

fn own(kind: &str, json: Value, scope: StateScope) -> OpaqueState {
    OpaqueState {
        kind: kind.into(),
        json,
        owner: owner(),
        scope,
    }
}

fn dressed(message: &Message, choices: &mut Choices) -> Message {
    let mut message = message.clone();
    let assistant = message.role == Role::Assistant;
    for block in &mut message.blocks {
        match block.content.clone() {
            Content::Audio(_) | Content::Document(_) | Content::Image(_) => {
                // Whether a server takes it, examples tell.
                if message.role == Role::User {
                    block.content = Block::text("a medium was here").content;
                }
            }
            Content::Opaque(_) => match choices.below(4) {
                1 => block.content = odd_part(None),
                2 => block.content = odd_part(Some("a clip")),
                3 if assistant => block.content = said_aloud(),
                _ => {}
            },
            Content::Refusal(_) => {}
            Content::Text(_) => match choices.below(8) {
                6 => block.cache = Some(CachePoint { seconds: None }),
                7 => {
                    block.cache = Some(CachePoint {
                        seconds: Some(1000),
                    });
                }
                _ => {}
            },
            Content::Thinking(thinking) => {
                let fields = [
                    "reasoning_content",
                    "reasoning",
                    "thinking",
                    "reasoning_details",
                ];
                let field = fields.get(usize::from(choices.below(6)));
                if let (Some(field), false) = (field, thinking.redacted) {
                    block.opaque = vec![own("reasoning_field", json!(field), StateScope::Block)];
                }
            }
            Content::ToolCall(call) => {
                if call.ran_by != RanBy::Provider && choices.below(4) == 3 {
                    let signature = json!({ "google": { "thought_signature": "c2ln" } });
                    block.opaque = vec![own("extra_content", signature, StateScope::Block)];
                }
            }
            Content::ToolOutcome(_) => {
                if choices.below(6) == 5 {
                    block.cache = Some(CachePoint {
                        seconds: Some(43200),
                    });
                }
            }
        }
    }
    if assistant && choices.below(5) == 4 {
        let details = json!([{ "type": "reasoning.text", "text": "hm", "signature": "s" }]);
        message.opaque = vec![own("reasoning_details", details, StateScope::Reply)];
        if choices.below(2) == 1 {
            let thinking = Content::Thinking(Thinking {
                redacted: false,
                text: "hm".into(),
            });
            let mut block = Block::from(thinking);
            block.opaque = vec![own(
                "reasoning_field",
                json!("reasoning_details"),
                StateScope::Block,
            )];
            message.blocks.insert(0, block);
        }
    }
    message
}

fn odd_part(fallback: Option<&str>) -> Content {
    Content::Opaque(OpaqueBlock {
        fallback: fallback.map(Into::into),
        json: json!({ "type": "video_url", "video_url": { "url": "https://a.example/v" } }),
        kind: "video_url".into(),
        owner: owner(),
    })
}

fn said_aloud() -> Content {
    Content::Opaque(OpaqueBlock {
        fallback: Some("hello".into()),
        json: json!({ "id": "audio_1", "transcript": "hello" }),
        kind: "audio".into(),
        owner: owner(),
    })
}

fn settings(settings: &Settings, choices: &mut Choices) -> Settings {
    let mut settings = settings.clone();
    for (path, json) in [
        ("/store", json!(true)),
        ("/temperature", json!(1)),
        ("/prompt_cache_key", json!("k")),
        // The last one, as it comes back.
        ("/stream_options/include_obfuscation", json!(false)),
    ] {
        if choices.below(8) == 7 {
            settings.extensions.push(extension(path, json));
        }
    }
    if choices.below(6) == 5 {
        settings.stop = ["", "a", "b", "c", "d", "e"].map(Into::into).to_vec();
    }
    settings
}

fn extension(path: &str, json: Value) -> Extension {
    Extension {
        dialect: "openai-chat".into(),
        path: path.to_owned(),
        json,
    }
}

/// A user's message with what may stand around it: one of the system, another one of
/// the user's, and one of the model's that holds nothing to send.
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
            let thinking = Content::Thinking(Thinking {
                redacted: false,
                text: "hm".into(),
            });
            messages.push(Message::new(Role::Assistant, vec![thinking.into()]));
            messages.push(of(Role::User, "go on"));
        }
        _ => {}
    }
}

/// All tools, or none, or one of them twice, or one that takes text.
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
        3 => tool.extensions.push(extension("/name", json!("other"))),
        4 => tool.input = InputFormat::Text(None),
        5 => {
            tool.input = InputFormat::Text(Some(Grammar {
                definition: "start: \"a\"".into(),
                syntax: "lark".into(),
            }));
        }
        _ => {}
    }
    tool
}
