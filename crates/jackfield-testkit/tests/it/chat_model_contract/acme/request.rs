//! What acme is asked, on its wire, and what gets lost on the way.

use jackfield_domain::block::Content;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool_input::ToolInput;
use serde_json::{Value, json};

use super::Fault;

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
                    json!({ "outcome": id(&outcome.call), "say": outcome.result.to_text() })
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
    let body = json!({ "model": *request.model.model, "messages": messages });
    Ok((body, notes))
}
