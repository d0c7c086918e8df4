//! Reads a body back as a request. No client speaks this language to us, so this is here, by hand, for the laws of the
//! mapper alone.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_domain::block::{
    Block, CachePoint, CalledName, Content, RanBy, Thinking, ToolCall, UpstreamId,
};
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::media::{Document, Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::{Extension, OpaqueState, StateOwner, StateScope};
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Value, json};

use crate::echo::{self, list, text};

pub(crate) fn owner() -> StateOwner {
    StateOwner {
        dialect: "bedrock".into(),
        endpoint: "https://api.example".into(),
        model: "model-a".into(),
    }
}

pub(crate) fn state(kind: &str, value: &str) -> OpaqueState {
    OpaqueState {
        kind: kind.into(),
        json: json!(value),
        owner: owner(),
        scope: StateScope::Block,
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
    let tools = list(&body["toolConfig"]["tools"]).iter();
    let tools: Result<Vec<_>, String> = tools.map(tool).collect();
    let parts = list(&body["system"]).iter().map(|part| text(&part["text"]));
    let parts = parts
        .filter(|text| !text.starts_with(ASKED))
        .map(|text| SystemPart {
            origin: PartOrigin::Default,
            text: text.into(),
        });
    Ok(ModelRequest {
        choice: echo::choice(body),
        messages: reader.messages.into_iter().collect(),
        model: ModelRef {
            model: "model-a".into(),
            provider: "any".into(),
        },
        turn: None,
        searchable: Arc::default(),
        settings: settings.into(),
        strict: None,
        system: Arc::new(SystemPrompt {
            parts: parts.collect(),
        }),
        tools: Arc::new(tools?),
        tools_as_text: false,
        whole: false,
    })
}

#[derive(Default)]
struct Reader {
    calls: HashMap<String, ToolCallId>,
    messages: Vec<Message>,
}

impl Reader {
    /// Results and what the user says behind them are two messages in the domain.
    fn message(&mut self, message: &Value) -> Result<(), String> {
        let role = match message["role"].as_str() {
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some("user") => Role::User,
            _ => return Err("a message without a role".to_owned()),
        };
        let mut turns: Vec<Message> = Vec::new();
        for block in list(&message["content"]) {
            if let Some(point) = block.get("cachePoint") {
                let last = turns.last_mut().and_then(|turn| turn.blocks.last_mut());
                let last = last.ok_or("a cache point after nothing")?;
                let seconds = match point["ttl"].as_str() {
                    Some("5m") => Some(300),
                    Some("1h") => Some(3600),
                    _ => None,
                };
                last.cache = Some(CachePoint { seconds });
                continue;
            }
            let role = if block.get("toolResult").is_some() {
                Role::Tool
            } else {
                role
            };
            let block = self.block(block)?;
            match turns.last_mut().filter(|turn| turn.role == role) {
                Some(turn) => turn.blocks.push(block),
                None => turns.push(Message::new(role, vec![block])),
            }
        }
        self.messages.extend(turns);
        Ok(())
    }

    fn block(&mut self, block: &Value) -> Result<Block, String> {
        let (kind, value) = block
            .as_object()
            .and_then(|block| block.iter().next())
            .ok_or("no block")?;
        Ok(match kind.as_str() {
            "text" => Block::text(text(value)),
            "image" => Content::Image(image(value)).into(),
            "document" => Content::Document(document(value)).into(),
            "reasoningContent" => {
                let shown = value.get("reasoningText");
                let redacted = shown.is_none();
                let words = shown.map(|shown| text(&shown["text"]));
                let mut block = Block::from(Content::Thinking(Thinking {
                    redacted,
                    text: words.unwrap_or_default().into(),
                }));
                block.opaque.push(match shown {
                    Some(shown) => state("signature", &text(&shown["signature"])),
                    None => state("redacted_content", &text(&value["redactedContent"])),
                });
                block
            }
            "toolUse" => {
                let wire_id = text(&value["toolUseId"]);
                let id = ToolCallId::parse(&format!("c{}", self.calls.len()));
                let id = id.map_err(|fault| fault.to_string())?;
                self.calls.insert(wire_id.clone(), id.clone());
                Content::ToolCall(Arc::new(ToolCall {
                    id,
                    input: ToolInput::Json(JsonInput::parse(&value["input"].to_string())),
                    name: CalledName::new(&text(&value["name"])),
                    ran_by: RanBy::Engine,
                    upstream: Some(UpstreamId {
                        id: wire_id.into(),
                        owner: owner(),
                    }),
                }))
                .into()
            }
            "toolResult" => {
                let call = self.calls.get(&text(&value["toolUseId"]));
                let call = call.ok_or("a result without its call")?.clone();
                let content = list(&value["content"]).iter().map(|part| {
                    if let Some(value) = part.get("image") {
                        OutcomePart::Image(image(value))
                    } else if let Some(value) = part.get("document") {
                        OutcomePart::Document(document(value))
                    } else {
                        OutcomePart::Text(text(&part["text"]).into())
                    }
                });
                Content::ToolOutcome(Arc::new(ToolOutcome {
                    call,
                    opaque: Vec::new(),
                    result: ToolResult {
                        content: content.collect(),
                        is_error: value["status"] == "error",
                        structured: None,
                    },
                }))
                .into()
            }
            other => return Err(format!("a block of the kind {other}")),
        })
    }
}

fn source(medium: &Value, media_types: &[(&str, &str)]) -> MediaSource {
    let format = text(&medium["format"]);
    let source = &medium["source"];
    if let Some(text) = source["text"].as_str() {
        return MediaSource::Text(text.into());
    }
    let found = media_types.iter().find(|(known, _)| *known == format);
    MediaSource::Base64 {
        media_type: found.map_or("", |(_, media_type)| media_type).into(),
        data: text(&source["bytes"]).into(),
    }
}

fn image(value: &Value) -> Image {
    let types = [
        ("gif", "image/gif"),
        ("jpeg", "image/jpeg"),
        ("png", "image/png"),
        ("webp", "image/webp"),
    ];
    Image {
        detail: None,
        source: source(value, &types),
    }
}

fn document(value: &Value) -> Document {
    let name = text(&value["name"]);
    let untitled = name.strip_prefix("document").map(str::trim);
    let is_untitled = untitled.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()));
    Document {
        cite: value["citations"]["enabled"] == true,
        context: value["context"].as_str().map(Arc::from),
        source: source(
            value,
            &[
                ("csv", "text/csv"),
                ("pdf", "application/pdf"),
                ("txt", "text/plain"),
            ],
        ),
        title: (!is_untitled).then(|| name.into()),
    }
}

fn tool(tool: &Value) -> Result<Arc<ToolDefinition>, String> {
    let spec = &tool["toolSpec"];
    let name = ToolName::parse(&text(&spec["name"])).map_err(|fault| fault.to_string())?;
    Ok(Arc::new(ToolDefinition {
        description: text(&spec["description"]).into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(spec["inputSchema"]["json"].clone())),
        name,
        output: None,
        strict: spec["strict"].as_bool(),
    }))
}

/// The fields that no setting has.
fn extensions(body: &Value) -> Vec<Extension> {
    let own = |path: &str, json: &Value| Extension {
        dialect: "bedrock".into(),
        path: path.to_owned(),
        json: json.clone(),
    };
    let mut found = Vec::new();
    let budget = body["additionalModelRequestFields"].get("reasoning_effort");
    found.extend(budget.map(|json| own("/additionalModelRequestFields/reasoning_effort", json)));
    let latency = body.get("performanceConfig");
    found.extend(latency.map(|json| own("/performanceConfig", json)));
    found
}

/// What begins the words for a format.
const ASKED: &str = "Give your last answer, when you call no more tools";
