//! What a request becomes: the continuation of a session of Claude Code, or a new session.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::{request, wire};
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::settings;
use jackfield_domain::block::Content;
use jackfield_domain::digest::Digest;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::ToolName;
use jackfield_domain::media::MediaSource;
use jackfield_domain::message::{Message, Messages, Role};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use jackfield_domain::outcome::OutcomePart;
use jackfield_domain::own_tool;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{CacheMode, Effort, ResponseFormat, Settings};
use jackfield_domain::tool::{ToolChoice, ToolDefinition};
use jackfield_domain::tool_input::ToolInput;
use jackfield_provider_kit::exchange;
use serde_json::{Value, json};

use crate::config::ClaudeCodeConfig;
use crate::permission;
use crate::setup::{ProgramSetup, SessionPoint};
use crate::transcript;
use crate::wording::Wording;

#[derive(Debug)]
pub(crate) struct Plan {
    /// The request in the form of the Messages API, without settings.
    pub(crate) body: wire::Request,
    /// The digest of the conversation that the reply answers.
    pub(crate) conversation: Digest,
    /// Whether the session is kept in a file, so that another process can go on with it.
    pub(crate) keeps: bool,
    pub(crate) notes: Vec<Note>,
    /// Where the session of the conversation ends, if Claude Code has all of it but the last messages.
    pub(crate) point: Option<SessionPoint>,
    pub(crate) setup: ProgramSetup,
    /// Whether tools may be called.
    pub(crate) may_call: bool,
    messages: Vec<Value>,
    /// The index of the first message after the reply that ends with the line of the session.
    since: usize,
    /// The index of the first message after the last one of the model.
    tail: usize,
}

impl Plan {
    /// The plan for a request. `keeps` is whether its session is kept in a file.
    ///
    /// # Errors
    ///
    /// `Unsupported` if a user's message holds what Claude does not take.
    pub(crate) fn new(
        config: &ClaudeCodeConfig,
        request: &ModelRequest,
        owner: &StateOwner,
        keeps: bool,
    ) -> Result<Self, ModelFailure> {
        // Claude Code has its own tools already; a conversation may name them as tools that are gone.
        let own: Vec<ToolName> = own_tools(config, &request.model.provider);
        let tools = request.tools.iter();
        let tools = tools.filter(|tool| !own.contains(&tool.name));
        let neutral = ModelRequest {
            messages: Messages::with_history(Arc::new(without_session(request, owner))),
            settings: Arc::new(Settings {
                // What the vendor's API needs, and Claude Code sets itself.
                max_output_tokens: Some(1),
                ..Settings::default()
            }),
            system: Arc::default(),
            // MCP has no place for strictness, so no schema has to be made for it.
            tools: Arc::new(tools.map(without_strictness).collect()),
            ..request.clone()
        };
        let profile = Profile {
            cache: CacheMode::Off,
            // There is no place for a choice of tools.
            forced_tools: false,
            prefill: true,
            system_messages: false,
            // Nor for tools that are not loaded.
            tool_references: false,
            ..Profile::of(&request.model.model)
        };
        let (mut body, mut notes) = request::to_wire(&neutral, owner, &profile, true)
            .map_err(|refusal| exchange::unsupported(&refusal))?;
        let mut about = Notes::default();
        settings::drop_all_but(TAKEN, &request.settings, &mut about);
        for (n, message) in request.messages.iter().enumerate() {
            for (k, block) in message.blocks.iter().enumerate() {
                // Claude Code sets its own.
                about.cache_point_lost(format_args!("messages[{n}].blocks[{k}]"), block);
            }
        }
        note_format(&request.settings, &mut about);
        match request.settings.effort {
            Some(Effort::None) => {
                about.dropped(NoteEffect::Quality, "effort_level", "settings.effort");
            }
            Some(Effort::Minimal) => {
                about.approximated(NoteEffect::Quality, "effort_level", "settings.effort");
            }
            Some(Effort::Low | Effort::Medium | Effort::High | Effort::ExtraHigh | Effort::Max)
            | None => {}
        }
        for (n, tool) in request.tools.iter().enumerate() {
            if tool.description.chars().count() > MAX_DESCRIPTION {
                let path = format_args!("tools[{n}].description");
                about.approximated(NoteEffect::Quality, "description_cut", path);
            }
            if let Some(strict) = tool.strict {
                let effect = if strict {
                    NoteEffect::Quality
                } else {
                    NoteEffect::Cosmetic
                };
                about.dropped(effect, "strict_not_sent", format_args!("tools[{n}].strict"));
            }
        }
        if request.choice == ToolChoice::Forbidden {
            // Calls are refused one by one.
            about.approximated(NoteEffect::Cosmetic, "choice_by_refusal", "choice");
        }
        notes.extend(about.into_vec());
        let mut messages: Vec<Value> = std::mem::take(&mut body.messages)
            .iter()
            .map(|message| serde_json::to_value(message).unwrap_or_default())
            .collect();
        messages.iter_mut().for_each(without_cache_points);
        let tail = messages
            .iter()
            .rposition(is_models)
            .map_or(0, |last| last + 1);
        let point = session_point(request, owner);
        let replies = point
            .as_ref()
            .map_or(1, |point| replies_at(request, owner, point));
        let places = messages.iter().enumerate();
        let mut places = places.filter(|(_, message)| is_models(message)).rev();
        let since = places.nth(replies - 1).map_or(tail, |(place, _)| place + 1);
        Ok(Self {
            setup: ProgramSetup::new(config, request, &body, keeps),
            body,
            conversation: digest(request.messages.iter()),
            keeps,
            notes,
            point,
            since,
            may_call: request.choice != ToolChoice::Forbidden,
            messages,
            tail,
        })
    }

    /// The message that continues the session: all results and messages after its line.
    pub(crate) fn continuation(&self) -> Vec<Value> {
        let later = self.messages.get(self.since..).unwrap_or_default();
        let later = later.iter().filter(|message| !is_models(message));
        let content = later.flat_map(blocks).map(permission::resumed);
        let mut content: Vec<Value> = content.collect();
        content.push(end_text(content.is_empty()));
        content
    }

    /// The message that begins a new session: the whole conversation, the last messages in their own form.
    pub(crate) fn beginning(&self) -> Vec<Value> {
        let tail = self.messages.get(self.tail..).unwrap_or_default();
        let has_results = tail.iter().flat_map(blocks).any(|block| is_result(&block));
        // Results without their calls are not accepted.
        let told = if has_results || tail.is_empty() {
            self.messages.len()
        } else {
            self.tail
        };
        let (told, rest) = self.messages.split_at(told);
        let mut content = Vec::new();
        if !told.is_empty() {
            content.push(json!({ "type": "text", "text": transcript::of(told) }));
        }
        content.extend(rest.iter().flat_map(blocks));
        content.push(end_text(rest.is_empty()));
        content
    }

    /// The note about a conversation that is sent as text; `None` if none of it is.
    pub(crate) fn beginning_note(&self) -> Option<Note> {
        (self.tail > 0).then(|| {
            let kind = NoteKind::Approximated;
            Note::new(kind, NoteEffect::Quality, "history_as_text", "messages")
        })
    }

    /// The results for open calls, as results of MCP by the provider's ids of the calls; `None` if more than results
    /// was said since the last reply, or MCP has no form for them.
    pub(crate) fn results(&self) -> Option<HashMap<String, Value>> {
        let tail = self.messages.get(self.tail..)?;
        let all: Vec<Value> = tail.iter().flat_map(blocks).collect();
        all.iter().map(mcp_result).collect()
    }

    /// The state by which the next round finds the session.
    pub(crate) fn state(
        &self,
        owner: &StateOwner,
        at: &SessionPoint,
        reply: Digest,
    ) -> OpaqueState {
        let json = json!({
            "session": at.session,
            "line": at.line,
            "conversation": self.conversation.to_hex(),
            "reply": reply.to_hex(),
        });
        OpaqueState {
            kind: SESSION.into(),
            json,
            owner: owner.clone(),
            scope: StateScope::Reply,
        }
    }
}

/// The end of the session that has this conversation, if its last reply names one and nothing up to it was changed.
fn session_point(request: &ModelRequest, owner: &StateOwner) -> Option<SessionPoint> {
    let messages: Vec<&Arc<Message>> = request.messages.iter().collect();
    let last = messages
        .iter()
        .rposition(|message| message.role == Role::Assistant)?;
    let reply = messages.get(last)?;
    let found = reply.opaque.iter().find(|state| is_session(state, owner))?;
    let text = |key: &str| found.json.get(key)?.as_str().map(str::to_owned);
    let before = messages.get(..last)?.iter().copied();
    let unchanged = text("conversation")? == digest(before).to_hex()
        && text("reply")? == Wording::of(reply).to_hex();
    unchanged.then_some(SessionPoint {
        line: text("line")?,
        session: text("session")?,
    })
}

/// What is lost of a response format: only its schema is sent, and always enforced.
fn note_format(settings: &Settings, about: &mut Notes) {
    const PATH: &str = "settings.response_format";
    match &settings.response_format {
        ResponseFormat::Text => {}
        ResponseFormat::JsonObject => {
            about.dropped(NoteEffect::Meaning, "json_object_not_supported", PATH);
        }
        ResponseFormat::JsonSchema {
            description,
            strict,
            ..
        } => {
            for (field, lost, effect) in [
                ("description", description.is_some(), NoteEffect::Quality),
                ("name", true, NoteEffect::Cosmetic),
                ("strict", strict.is_some(), NoteEffect::Cosmetic),
            ] {
                if lost {
                    about.dropped(
                        effect,
                        "schema_alone_is_sent",
                        format_args!("{PATH}.{field}"),
                    );
                }
            }
        }
    }
}

/// How many of the last replies end with this line: after the first one, Claude Code only asked for permissions.
fn replies_at(request: &ModelRequest, owner: &StateOwner, point: &SessionPoint) -> usize {
    let messages: Vec<&Arc<Message>> = request.messages.iter().collect();
    let replies = messages.iter().rev();
    let replies = replies.filter(|message| message.role == Role::Assistant);
    let at_point = replies.take_while(|reply| {
        let state = reply.opaque.iter().find(|state| is_session(state, owner));
        let text = |key: &str| state.and_then(|state| state.json.get(key)?.as_str());
        (text("session"), text("line")) == (Some(&*point.session), Some(&*point.line))
    });
    at_point.count().max(1)
}

/// The names of Claude Code's own tools in calls.
fn own_tools(config: &ClaudeCodeConfig, provider: &str) -> Vec<ToolName> {
    let origins = config.builtin_tools.iter();
    let origins = origins.filter_map(|tool| own_tool::origin(provider, tool));
    origins.map(|origin| own_tool::name(&origin)).collect()
}

fn is_models(message: &Value) -> bool {
    message.get("role").and_then(Value::as_str) == Some("assistant")
}

fn without_strictness(tool: &Arc<ToolDefinition>) -> Arc<ToolDefinition> {
    if tool.strict.is_none() {
        return Arc::clone(tool);
    }
    let mut tool = (**tool).clone();
    tool.strict = None;
    Arc::new(tool)
}

/// The messages without the states that name sessions, which are not part of what the model gets.
fn without_session(request: &ModelRequest, owner: &StateOwner) -> Vec<Arc<Message>> {
    let messages = request.messages.iter().map(|message| {
        if !message.opaque.iter().any(|state| is_session(state, owner)) {
            return Arc::clone(message);
        }
        let mut message = (**message).clone();
        message.opaque.retain(|state| !is_session(state, owner));
        Arc::new(message)
    });
    messages.collect()
}

/// Whether this is the state of a session of this model. That of another model has reasoning of that one.
fn is_session(state: &OpaqueState, owner: &StateOwner) -> bool {
    *state.kind == *SESSION && state.owner == *owner
}

/// A digest of what a conversation says.
fn digest<'m>(messages: impl Iterator<Item = &'m Arc<Message>>) -> Digest {
    let mut parts: Vec<String> = Vec::new();
    for message in messages {
        parts.push(format!("{:?}", message.role));
        for block in &message.blocks {
            match &block.content {
                Content::Audio(audio) => parts.push(source(&audio.source)),
                Content::Document(document) => parts.push(source(&document.source)),
                Content::Image(image) => parts.push(source(&image.source)),
                Content::Opaque(opaque) => parts.push(opaque.json.to_string()),
                Content::Refusal(text) => parts.push(text.to_string()),
                Content::Text(text) => parts.push(text.text.to_string()),
                Content::Thinking(_) => {}
                Content::ToolCall(call) => {
                    parts.push(call.name.as_str().to_owned());
                    parts.push(match &call.input {
                        ToolInput::Json(input) => input.raw().to_owned(),
                        ToolInput::Text(text) => text.to_string(),
                    });
                }
                Content::ToolOutcome(outcome) => {
                    parts.push(outcome.result.is_error.to_string());
                    parts.extend(outcome.result.content.iter().map(|part| match part {
                        OutcomePart::Audio(audio) => source(&audio.source),
                        OutcomePart::Document(document) => source(&document.source),
                        OutcomePart::Image(image) => source(&image.source),
                        OutcomePart::Text(text) => text.to_string(),
                    }));
                }
            }
        }
    }
    Digest::of_parts(parts.iter().map(String::as_str))
}

fn source(source: &MediaSource) -> String {
    match source {
        MediaSource::Base64 { data, .. } => Digest::of(data.as_bytes()).to_hex(),
        MediaSource::File { id, .. } => id.to_string(),
        MediaSource::Text(text) | MediaSource::Url(text) => text.to_string(),
    }
}

/// The content of a message as blocks.
fn blocks(message: &Value) -> Vec<Value> {
    match message.get("content") {
        Some(Value::Array(blocks)) => blocks.clone(),
        Some(Value::String(text)) => vec![json!({ "type": "text", "text": text })],
        Some(_) | None => Vec::new(),
    }
}

fn is_result(block: &Value) -> bool {
    block.get("type").and_then(Value::as_str) == Some("tool_result")
}

/// A `tool_result` block as the id of its call and a result of MCP.
fn mcp_result(block: &Value) -> Option<(String, Value)> {
    if !is_result(block) {
        return None;
    }
    let id = block.get("tool_use_id")?.as_str()?.to_owned();
    let content = match block.get("content") {
        None => Vec::new(),
        Some(Value::String(text)) => vec![json!({ "type": "text", "text": text })],
        Some(Value::Array(parts)) => parts.iter().map(mcp_content).collect::<Option<_>>()?,
        Some(_) => return None,
    };
    let is_error = block.get("is_error").and_then(Value::as_bool) == Some(true);
    Some((id, json!({ "content": content, "isError": is_error })))
}

fn mcp_content(part: &Value) -> Option<Value> {
    match part.get("type")?.as_str()? {
        "text" => Some(json!({ "type": "text", "text": part.get("text")? })),
        "image" => {
            let source = part.get("source")?;
            let (data, kind) = (source.get("data")?, source.get("media_type")?);
            Some(json!({ "type": "image", "data": data, "mimeType": kind }))
        }
        _ => None,
    }
}

/// Claude Code sets cache points of its own, and the API takes few.
fn without_cache_points(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("type") {
                fields.shift_remove("cache_control");
            }
            // Arguments and sources stay as they are.
            let inner = fields.iter_mut();
            inner
                .filter(|(key, _)| *key == "content")
                .for_each(|(_, value)| without_cache_points(value));
        }
        Value::Array(items) => items.iter_mut().for_each(without_cache_points),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
    }
}

/// The last text of a message. Claude Code looks at the last text alone for its commands, which begin with `/`, and
/// for files that it reads, which begin with `@`; so no text of a user may be the last one.
fn end_text(asks: bool) -> Value {
    let text = if asks {
        "Go on."
    } else {
        "(End of the message.)"
    };
    json!({ "type": "text", "text": text })
}

/// A failure before anything was sent.
pub(crate) fn unsent(kind: ModelFailureKind, message: impl Into<String>) -> ModelFailure {
    ModelFailure::new(kind, Phase::BeforeSend, message)
}

/// The most characters of a tool's description that Claude Code passes on.
const MAX_DESCRIPTION: usize = 4096;
/// The kind of the state that names the session.
const SESSION: &str = "session";
/// The settings that Claude Code takes.
const TAKEN: &[&str] = &["effort", "max_output_tokens", "response_format"];
