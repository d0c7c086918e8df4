//! What acme is asked, on its wire, and what gets lost on the way.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_domain::block::{Block, Content};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::message::Role;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::outcome::ToolOutcome;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_domain::tool_input::ToolInput;
use serde_json::{Value, json};

use super::mistakes;
use super::{Fault, Form};

/// The body of a request; the place of what acme cannot be told, if there is any.
pub(super) fn body(
    request: &ModelRequest,
    owner: &StateOwner,
    fault: Fault,
    form: Form,
) -> Result<(Value, Vec<Note>), String> {
    let mut outward = Outward {
        any_mark: fault == Fault::SendsAnyMark,
        any_state: fault == Fault::SendsAnyState,
        form,
        ids: request.upstream_ids(owner),
        notes: Vec::new(),
        owner,
        request,
    };
    let mut messages = Vec::new();
    for (i, message) in request.messages.iter().enumerate() {
        let mut parts = Vec::new();
        for (j, block) in message.blocks.iter().enumerate() {
            parts.extend(outward.part(block, format!("messages[{i}].blocks[{j}]"))?);
        }
        let by = match message.role {
            Role::Assistant => "model",
            Role::System => "operator",
            Role::Tool => "tools",
            Role::User => "user",
        };
        messages.push(json!({ "by": by, "parts": parts }));
    }
    let settings = outward.settings(&request.settings);
    let mut body = json!({
        "choice": choice(&request.choice),
        "messages": messages,
        "model": *request.model.model,
        "settings": settings,
        "system": request.system.render(),
        "tools": request.tools.iter().map(|tool| self::tool(tool)).collect::<Vec<_>>(),
    });
    mistakes::make(fault, &mut body);
    Ok((body, outward.notes))
}

struct Outward<'a> {
    any_mark: bool,
    any_state: bool,
    form: Form,
    ids: HashMap<ToolCallId, Arc<str>>,
    notes: Vec<Note>,
    owner: &'a StateOwner,
    request: &'a ModelRequest,
}

impl Outward<'_> {
    fn part(&mut self, block: &Block, place: String) -> Result<Option<Value>, String> {
        if block.cache.is_some() {
            let place = format!("{place}.cache");
            self.dropped(NoteEffect::Cost, "cache_point_not_possible", place);
        }
        Ok(Some(match &block.content {
            Content::Refusal(text) => json!({ "refuse": **text }),
            Content::Text(text) => {
                json!({ "text": *text.text, "mark": self.mark(block, &place) })
            }
            Content::Thinking(thinking) => {
                let mut states = block.opaque.iter();
                match states.find(|state| self.any_state || state.owner == *self.owner) {
                    Some(state) => json!({ "think": *thinking.text, "seal": state.json }),
                    None => {
                        self.dropped(NoteEffect::Quality, "thinking_withheld", place);
                        return Ok(None);
                    }
                }
            }
            Content::ToolCall(call) => {
                let arguments = match &call.input {
                    ToolInput::Json(input) => input.raw(),
                    ToolInput::Text(text) => text,
                };
                json!({
                    "call": self.id(&call.id), "name": call.name.as_str(), "args": arguments,
                    "mark": self.mark(block, &place),
                })
            }
            Content::ToolOutcome(outcome) => self.outcome(outcome, &place),
            Content::Image(Image {
                source: MediaSource::Base64 { data, media_type },
                ..
            }) if self.form.capabilities().images => {
                json!({ "image": **data, "type": **media_type })
            }
            Content::Audio(_) | Content::Document(_) | Content::Image(_) | Content::Opaque(_) => {
                return Err(place);
            }
        }))
    }

    fn outcome(&mut self, outcome: &ToolOutcome, place: &str) -> Value {
        let result = &outcome.result;
        for (k, part) in result.content.iter().enumerate() {
            if part.as_text().is_none() {
                let place = format!("{place}.result.content[{k}]");
                self.dropped(NoteEffect::Meaning, "media_not_sent", place);
            }
        }
        let mut calls = self
            .request
            .messages
            .iter()
            .flat_map(|message| message.calls());
        let call = calls.find(|call| call.id == outcome.call).unwrap();
        json!({
            "outcome": self.id(&outcome.call), "of": call.name.as_str(), "say": result.to_text(),
            "failed": result.is_error, "json": result.structured.as_deref(),
        })
    }

    fn id(&self, call: &ToolCallId) -> String {
        if self.form == Form::Crlf {
            return String::new();
        }
        let own = self.ids.get(call);
        own.map_or_else(|| call.to_string(), |id| (**id).to_owned())
    }

    /// The state on a text or a call.
    fn mark(&mut self, block: &Block, place: &str) -> Option<Value> {
        let mut states = block.opaque.iter();
        let found = states.find(|state| self.any_mark || state.owner == *self.owner);
        if found.is_none() && !block.opaque.is_empty() {
            let place = format!("{place}.opaque[0]");
            self.dropped(NoteEffect::Quality, "state_withheld", place);
        }
        found.map(|state| state.json.clone())
    }

    fn settings(&mut self, settings: &Settings) -> Value {
        for (name, is_set) in [
            ("thinking", settings.thinking.is_some()),
            ("thinking_shown", settings.thinking_shown.is_some()),
            ("verbosity", settings.verbosity.is_some()),
        ] {
            if is_set {
                let place = format!("settings.{name}");
                self.dropped(NoteEffect::Quality, "setting_not_supported", place);
            }
        }
        for extension in &settings.extensions {
            let place = format!("settings.extensions.{}", extension.dialect);
            self.dropped(NoteEffect::Quality, "extension_of_another_dialect", place);
        }
        json!({
            "effort": settings.effort.map(|effort| format!("{effort:?}")),
            "frequency": settings.frequency_penalty,
            "limit": settings.max_output_tokens,
            "parallel": settings.parallel_calls,
            "presence": settings.presence_penalty,
            "seed": settings.seed,
            "stop": settings.stop.iter().map(|text| json!(**text)).collect::<Vec<_>>(),
            "temperature": settings.temperature,
            "tier": settings.service_tier.as_deref(),
            "top_k": settings.top_k,
            "top_p": settings.top_p,
            "user": settings.end_user.as_deref(),
        })
    }

    fn dropped(&mut self, effect: NoteEffect, code: &'static str, place: String) {
        self.notes
            .push(Note::new(NoteKind::Dropped, effect, code, place));
    }
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => Value::Null,
        ToolChoice::Forbidden => json!({ "call": "none" }),
        ToolChoice::Named(name) => json!({ "call": "this", "tools": [name.as_str()] }),
        ToolChoice::Only { required, tools } => {
            let names: Vec<&str> = tools.iter().map(|name| name.as_str()).collect();
            json!({ "call": if *required { "any" } else { "some" }, "tools": names })
        }
        ToolChoice::Required => json!({ "call": "any" }),
    }
}

fn tool(tool: &ToolDefinition) -> Value {
    let takes = match &tool.input {
        InputFormat::Json(schema) => Some(&**schema),
        InputFormat::Text(_) => None,
    };
    json!({
        "about": *tool.description, "gives": tool.output.as_deref(), "name": tool.name.as_str(),
        "strict": tool.strict, "takes": takes,
    })
}
