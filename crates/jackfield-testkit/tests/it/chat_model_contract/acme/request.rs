//! What acme is asked, on its wire, and what gets lost on the way.

use std::sync::atomic::{AtomicU64, Ordering};

use jackfield_domain::block::Content;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool_input::ToolInput;
use serde_json::{Value, json};

use super::Fault;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// The body of a request; the place of what acme cannot be told, if there is any.
pub(super) fn body(
    request: &ModelRequest,
    owner: &StateOwner,
    fault: Fault,
) -> Result<(Value, Vec<Note>), String> {
    let ids = request.upstream_ids(owner);
    let (mut messages, mut notes) = (Vec::new(), Vec::new());
    for (i, message) in request.messages.iter().enumerate() {
        let mut parts = Vec::new();
        for (j, block) in message.blocks.iter().enumerate() {
            let place = format!("messages[{i}].blocks[{j}]");
            let id = |call| {
                ids.get(call)
                    .map_or_else(|| call.to_string(), |id| (**id).to_owned())
            };
            parts.push(match &block.content {
                Content::Refusal(text) => json!({ "refuse": **text }),
                Content::Text(text) => json!({ "text": *text.text }),
                Content::Thinking(thinking) => {
                    let mut states = block.opaque.iter();
                    let any = fault == Fault::SendsAnyState;
                    match states.find(|state| any || state.owner == *owner) {
                        Some(_) if fault == Fault::ForgetsState => {
                            json!({ "think": *thinking.text })
                        }
                        Some(state) => json!({ "think": *thinking.text, "seal": state.json }),
                        None => {
                            let (kind, effect) = (NoteKind::Dropped, NoteEffect::Quality);
                            notes.push(Note::new(kind, effect, "thinking_withheld", place));
                            continue;
                        }
                    }
                }
                Content::ToolCall(call) => {
                    let arguments = match &call.input {
                        ToolInput::Json(input) => input.raw(),
                        ToolInput::Text(text) => text,
                    };
                    json!({ "call": id(&call.id), "name": call.name.as_str(), "args": arguments })
                }
                Content::ToolOutcome(outcome) => {
                    let result = &outcome.result;
                    for (k, part) in result.content.iter().enumerate() {
                        if part.as_text().is_none() {
                            let (kind, effect) = (NoteKind::Dropped, NoteEffect::Meaning);
                            let place = format!("{place}.result.content[{k}]");
                            notes.push(Note::new(kind, effect, "media_not_sent", place));
                        }
                    }
                    json!({
                        "outcome": id(&outcome.call), "say": result.to_text(),
                        "failed": result.is_error && fault != Fault::HidesFailures,
                        "json": result.structured.as_deref(),
                    })
                }
                Content::Audio(_)
                | Content::Document(_)
                | Content::Image(_)
                | Content::Opaque(_) => return Err(place),
            });
        }
        if fault == Fault::TurnsOutcomes && parts.iter().any(|part| part["outcome"].is_string()) {
            parts.reverse();
        }
        messages.push(json!(parts));
    }
    let mut body = json!({
        "messages": messages,
        "model": *request.model.model,
        "settings": format!("{:?}", request.settings),
        "system": request.system.render(),
        "tools": request.tools.iter().map(|tool| format!("{tool:?}")).collect::<Vec<_>>(),
    });
    match fault {
        Fault::CountsRequests => body["settings"] = json!(COUNT.fetch_add(1, Ordering::Relaxed)),
        Fault::ForgetsSystem => body["system"] = json!(""),
        Fault::IgnoresSettings => body["settings"] = json!({}),
        Fault::CutsNames => {
            body["tools"] = request
                .tools
                .iter()
                .map(|tool| tool.name.as_str().chars().take(60).collect::<String>())
                .collect();
        }
        _ => {}
    }
    Ok((body, notes))
}
