//! Maps a domain reply to a whole one for a client.

use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::tools::TEXT_FIELD;
use jackfield_domain::block::{Block, Content, OpaqueBlock, RanBy};
use jackfield_domain::media::MediaSource;
use jackfield_domain::note::{Note, NoteEffect};
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::reply::{FinishReason, Reply};
use jackfield_domain::tool_input::ToolInput;
use serde_json::{Map, Value, json};

use super::{finish_reason, state, usage_to_wire};
use crate::wire;

/// The whole reply, and notes on what is lost or changed.
///
/// Calls carry our ids. Opaque state of this dialect is included, whichever endpoint and model it belongs to: the
/// client sends it back, and access is decided then.
#[must_use]
pub fn to_wire(reply: &Reply, model: &str, id: &str) -> (wire::Reply, Vec<Note>) {
    let mut notes = Notes::default();
    let mut parts = Vec::with_capacity(reply.message.blocks.len());
    for (n, block) in reply.message.blocks.iter().enumerate() {
        parts.extend(to_part(block, &format!("blocks[{n}]"), &mut notes));
    }
    match &reply.end.finish {
        FinishReason::ContentFilter
        | FinishReason::Length
        | FinishReason::Stop
        | FinishReason::ToolCalls => {}
        FinishReason::ContextFull
        | FinishReason::Paused
        | FinishReason::Refused
        | FinishReason::StopSequence(_)
        | FinishReason::Unrecognized(_) => {
            notes.approximated(NoteEffect::Cosmetic, "finish_reason_changed", "end.finish");
        }
    }
    if reply.end.usage.is_none() {
        notes.approximated(NoteEffect::Cosmetic, "usage_unknown", "end.usage");
    }
    let reply = wire::Reply {
        candidates: Some(vec![wire::Candidate {
            content: Some(wire::Content {
                role: Some("model".to_owned()),
                parts: Some(parts),
            }),
            finish_reason: Some(finish_reason(&reply.end.finish).to_owned()),
            finish_message: None,
            index: Some(0),
            extra: candidate_fields(&reply.end.opaque),
        }]),
        prompt_feedback: None,
        usage_metadata: Some(usage_to_wire(&reply.end.usage.unwrap_or_default())),
        model_version: Some(model.to_owned()),
        response_id: Some(id.to_owned()),
        error: None,
    };
    (reply, notes.into_vec())
}

/// The fields of a candidate beside its content, such as sources.
pub(crate) fn candidate_fields(states: &[OpaqueState]) -> Map<String, Value> {
    let fields = state::of_dialect(states, state::CANDIDATE).and_then(Value::as_object);
    fields.cloned().unwrap_or_default()
}

fn to_part(block: &Block, path: &str, notes: &mut Notes) -> Option<wire::Part> {
    let signature = state::signature(&block.opaque);
    let part = match &block.content {
        Content::Audio(_) | Content::Document(_) | Content::Image(_) => {
            let (part, is_whole) = media_part(&block.content)?;
            if is_whole {
                media_losses(&block.content, path, notes);
            } else {
                notes.approximated(NoteEffect::Meaning, "media_as_text", path);
            }
            part
        }
        Content::Opaque(opaque) => {
            if let Some(part) = state::part_of(opaque) {
                return Some(part);
            }
            let Some(text) = fallback(opaque) else {
                notes.dropped(NoteEffect::Quality, "opaque_withheld", path);
                return None;
            };
            notes.approximated(NoteEffect::Quality, "opaque_as_text", path);
            plain(text)
        }
        Content::Refusal(text) => {
            notes.approximated(NoteEffect::Cosmetic, "refusal_as_text", path);
            (!text.is_empty()).then(|| plain(text))?
        }
        Content::Text(text) => {
            for k in 0..text.annotations.len() {
                let path = format_args!("{path}.annotations[{k}]");
                notes.dropped(NoteEffect::Quality, "annotation_not_sent", path);
            }
            if text.text.is_empty() && signature.is_none() {
                notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                return None;
            }
            plain(&text.text)
        }
        Content::Thinking(thinking) => {
            if thinking.redacted || (thinking.text.is_empty() && signature.is_none()) {
                notes.dropped(NoteEffect::Quality, "thinking_withheld", path);
                return None;
            }
            thought(&thinking.text)
        }
        Content::ToolCall(call) if call.ran_by == RanBy::Provider => {
            notes.dropped(NoteEffect::Quality, "provider_call_withheld", path);
            return None;
        }
        Content::ToolCall(call) => {
            let args = arguments(&call.input, path, notes);
            call_part(call.id.as_str(), call.name.as_str(), args)
        }
        Content::ToolOutcome(_) => {
            notes.dropped(NoteEffect::Quality, "provider_outcome_withheld", path);
            return None;
        }
    };
    Some(wire::Part {
        thought_signature: signature,
        ..part
    })
}

/// Notes what a part of a medium has no field for.
fn media_losses(content: &Content, path: &str, notes: &mut Notes) {
    match content {
        Content::Audio(audio) if audio.transcript.is_some() => {
            notes.approximated(NoteEffect::Cosmetic, "transcript_not_sent", path);
        }
        Content::Image(image) if image.detail.is_some() => {
            let path = format_args!("{path}.detail");
            notes.dropped(NoteEffect::Cosmetic, "image_detail", path);
        }
        Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => {}
    }
}

/// The arguments of a call as an object; text and invalid JSON go under a key of their own.
pub(crate) fn arguments(input: &ToolInput, path: &str, notes: &mut Notes) -> Map<String, Value> {
    let path = format_args!("{path}.input");
    let (key, text) = match input {
        ToolInput::Json(input) => match input.object() {
            Ok(fields) => return (**fields).clone(),
            Err(_) => {
                notes.approximated(NoteEffect::Quality, "malformed_arguments", path);
                ("_raw", input.raw())
            }
        },
        ToolInput::Text(text) => {
            notes.approximated(NoteEffect::Cosmetic, "text_arguments", path);
            (TEXT_FIELD, &**text)
        }
    };
    Map::from_iter([(key.to_owned(), json!(text))])
}

pub(crate) fn call_part(id: &str, name: &str, args: Map<String, Value>) -> wire::Part {
    wire::Part {
        function_call: Some(wire::FunctionCall {
            id: Some(id.to_owned()),
            name: name.to_owned(),
            args: Some(Value::Object(args)),
        }),
        ..wire::Part::default()
    }
}

pub(crate) fn thought(text: &str) -> wire::Part {
    wire::Part {
        thought: Some(true),
        ..plain(text)
    }
}

/// The part of a medium, and whether it holds the medium itself; otherwise it has words for it. `None` for other
/// content.
pub(crate) fn media_part(content: &Content) -> Option<(wire::Part, bool)> {
    let (source, words) = match content {
        Content::Audio(audio) => (&audio.source, media_text::audio(audio)),
        Content::Document(document) => {
            let source = &document.source;
            (source, media_text::source("document", source))
        }
        Content::Image(image) => (&image.source, media_text::source("image", &image.source)),
        Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => return None,
    };
    let MediaSource::Base64 { media_type, data } = source else {
        return Some((plain(&words), false));
    };
    let blob = wire::Blob {
        mime_type: (**media_type).to_owned(),
        data: (**data).to_owned(),
    };
    let part = wire::Part {
        inline_data: Some(blob),
        ..wire::Part::default()
    };
    Some((part, true))
}

/// The text in place of an opaque block.
pub(crate) fn fallback(opaque: &OpaqueBlock) -> Option<&str> {
    opaque.fallback.as_deref().filter(|text| !text.is_empty())
}

pub(crate) fn plain(text: &str) -> wire::Part {
    wire::Part {
        text: Some(text.to_owned()),
        ..wire::Part::default()
    }
}
