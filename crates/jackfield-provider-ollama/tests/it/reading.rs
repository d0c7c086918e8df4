//! Reads a body back as a request. No client speaks this language to us, so this is here, by hand, for the laws of the
//! mapper alone.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_domain::block::{Block, CalledName, Content, RanBy, Thinking, ToolCall, UpstreamId};
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::{Extension, OpaqueState, StateOwner, StateScope};
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Value, json};

use crate::echo::{self, list, text};

pub(crate) fn owner() -> StateOwner {
    StateOwner {
        dialect: "ollama".into(),
        endpoint: "https://api.example".into(),
        model: "model-a".into(),
    }
}

/// The request in a body; an error where it is none.
pub(crate) fn read(body: &Value) -> Result<ModelRequest, String> {
    let mut reader = Reader::default();
    for message in list(&body["messages"]) {
        reader.message(message)?;
    }
    let mut settings = echo::settings(body);
    settings.extensions = extensions(body);
    let tools: Result<Vec<_>, String> = list(&body["tools"]).iter().map(tool).collect();
    Ok(ModelRequest {
        choice: ToolChoice::Auto,
        messages: reader.messages.into_iter().collect(),
        model: ModelRef {
            model: text(&body["model"]).into(),
            provider: "any".into(),
        },
        turn: None,
        settings: settings.into(),
        strict: None,
        system: Arc::new(prompt(&reader.system)),
        tools: Arc::new(tools?),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: body["stream"] == false,
    })
}

#[derive(Default)]
struct Reader {
    calls: HashMap<String, ToolCallId>,
    messages: Vec<Message>,
    seen: usize,
    system: String,
}

impl Reader {
    fn message(&mut self, message: &Value) -> Result<(), String> {
        let said = text(&message["content"]);
        self.seen += 1;
        match message["role"].as_str() {
            Some("system") if self.seen == 1 => {
                // Words for a format are a setting's.
                let words = said.split_once(ASKED).map(|(words, _)| words);
                let words = words.map(|words| words.strip_suffix("\n\n").unwrap_or(words));
                words.unwrap_or(&said).clone_into(&mut self.system);
            }
            Some("system") => self.push(Role::System, vec![Block::text(&*said)]),
            Some("user") => {
                let mut blocks: Vec<Block> = images(message)
                    .map(Content::Image)
                    .map(Block::from)
                    .collect();
                if !said.is_empty() {
                    blocks.push(Block::text(&*said));
                }
                self.push(Role::User, blocks);
            }
            Some("assistant") => self.assistant(message, &said)?,
            Some("tool") => {
                let id = text(&message["tool_call_id"]);
                let call = self.calls.get(&id).ok_or("a result without its call")?;
                let mut content: Vec<OutcomePart> =
                    images(message).map(OutcomePart::Image).collect();
                if !said.is_empty() {
                    content.push(OutcomePart::Text(said.into()));
                }
                let outcome = ToolOutcome {
                    call: call.clone(),
                    opaque: Vec::new(),
                    result: ToolResult {
                        content,
                        is_error: false,
                        structured: None,
                    },
                };
                let block = Block::from(Content::ToolOutcome(Arc::new(outcome)));
                match self
                    .messages
                    .last_mut()
                    .filter(|last| last.role == Role::Tool)
                {
                    Some(last) => last.blocks.push(block),
                    None => self.push(Role::Tool, vec![block]),
                }
            }
            _ => return Err("a message without a role".to_owned()),
        }
        Ok(())
    }

    fn assistant(&mut self, message: &Value, said: &str) -> Result<(), String> {
        let mut blocks = Vec::new();
        if let Some(thoughts) = message["thinking"].as_str() {
            let mut block = Block::from(Content::Thinking(Thinking {
                redacted: false,
                text: thoughts.into(),
            }));
            block.opaque.push(own_thoughts());
            blocks.push(block);
        }
        if !said.is_empty() {
            blocks.push(Block::text(said));
        }
        for call in list(&message["tool_calls"]) {
            let wire_id = text(&call["id"]);
            let id = ToolCallId::parse(&format!("c{}", self.calls.len()));
            let id = id.map_err(|fault| fault.to_string())?;
            self.calls.insert(wire_id.clone(), id.clone());
            let arguments = call["function"]["arguments"].to_string();
            blocks.push(Block::from(Content::ToolCall(Arc::new(ToolCall {
                id,
                input: ToolInput::Json(JsonInput::parse(&arguments)),
                name: CalledName::new(&text(&call["function"]["name"])),
                ran_by: RanBy::Engine,
                upstream: Some(UpstreamId {
                    id: wire_id.into(),
                    owner: owner(),
                }),
            }))));
        }
        self.push(Role::Assistant, blocks);
        Ok(())
    }

    fn push(&mut self, role: Role, blocks: Vec<Block>) {
        self.messages.push(Message::new(role, blocks));
    }
}

fn prompt(text: &str) -> SystemPrompt {
    let part = SystemPart {
        origin: PartOrigin::Default,
        text: text.into(),
    };
    SystemPrompt {
        parts: (!text.is_empty()).then_some(part).into_iter().collect(),
    }
}

pub(crate) fn own_thoughts() -> OpaqueState {
    OpaqueState {
        kind: "own_thoughts".into(),
        json: json!(true),
        owner: owner(),
        scope: StateScope::Block,
    }
}

fn images(message: &Value) -> impl Iterator<Item = Image> {
    let images = list(&message["images"]).iter();
    images.map(|data| Image {
        detail: None,
        source: MediaSource::Base64 {
            media_type: "image/png".into(),
            data: text(data).into(),
        },
    })
}

fn tool(tool: &Value) -> Result<Arc<ToolDefinition>, String> {
    let function = &tool["function"];
    let name = ToolName::parse(&text(&function["name"])).map_err(|fault| fault.to_string())?;
    Ok(Arc::new(ToolDefinition {
        description: text(&function["description"]).into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(function["parameters"].clone())),
        name,
        output: None,
        strict: None,
    }))
}

/// The fields that no setting has.
fn extensions(body: &Value) -> Vec<Extension> {
    let own = |path: String, json: &Value| Extension {
        dialect: "ollama".into(),
        path,
        json: json.clone(),
    };
    let mut found = Vec::new();
    for name in ["keep_alive", "logprobs"] {
        found.extend(body.get(name).map(|json| own(format!("/{name}"), json)));
    }
    let min_p = body["options"].get("min_p");
    found.extend(min_p.map(|json| own("/options/min_p".to_owned(), json)));
    found
}

/// What begins the words for a format.
const ASKED: &str = "Give your last answer, when you call no more tools";
