//! Maps a domain reply to a message for a client.

use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::block::{Block, Content, RanBy, Thinking, ToolCall};
use jackfield_domain::note::{Note, NoteEffect};
use jackfield_domain::reply::{FinishReason, Reply};
use jackfield_domain::server_tool::ServerTool;
use jackfield_domain::tool_input::ToolInput;
use serde_json::{Map, Value, json};

use super::{annotation_source, server_calls, state, stop_reason, usage_to_wire};
use crate::DIALECT;
use crate::wire;
use jackfield_dialect_kit::outgoing::tools::TEXT_FIELD;

/// The message for a reply, and notes on what is lost or changed.
///
/// Calls carry our ids. Opaque state of this dialect is included, whichever endpoint and model it belongs to: the
/// client sends it back, and access is decided then.
#[must_use]
pub fn to_wire(reply: &Reply, model: &str, id: &str) -> (wire::Message, Vec<Note>) {
    let mut notes = Notes::default();
    let mut content = Vec::with_capacity(reply.message.blocks.len());
    for (n, block) in reply.message.blocks.iter().enumerate() {
        content.extend(to_block(block, &format!("blocks[{n}]"), &mut notes));
    }
    if reply.end.finish == FinishReason::ContentFilter {
        notes.approximated(NoteEffect::Cosmetic, "filter_as_refusal", "end.finish");
    }
    if reply.end.usage.is_none() {
        notes.approximated(NoteEffect::Cosmetic, "usage_unknown", "end.usage");
    }
    let (reason, sequence) = stop_reason(&reply.end.finish);
    let message = wire::Message {
        id: id.to_owned(),
        kind: "message".to_owned(),
        role: "assistant".to_owned(),
        model: model.to_owned(),
        content,
        stop_reason: Some(reason.into_owned()),
        stop_sequence: sequence.map(str::to_owned),
        stop_details: state::of_dialect(&reply.end.opaque, state::STOP_DETAILS).cloned(),
        usage: Some(usage_to_wire(&reply.end.usage.unwrap_or_default())),
    };
    (message, notes.into_vec())
}

fn to_block(block: &Block, path: &str, notes: &mut Notes) -> Option<wire::Block> {
    match &block.content {
        Content::Audio(_) | Content::Document(_) | Content::Image(_) => {
            notes.approximated(NoteEffect::Meaning, "media_as_text", path);
            text_of_media(&block.content).map(|words| text_block(&words, None))
        }
        Content::Opaque(opaque) => {
            if let Some(fields) = state::fields_of(opaque) {
                return Some(wire::Block::Other(fields.clone()));
            }
            let Some(text) = opaque.fallback.as_deref().filter(|text| !text.is_empty()) else {
                notes.dropped(NoteEffect::Quality, "opaque_withheld", path);
                return None;
            };
            notes.approximated(NoteEffect::Quality, "opaque_as_text", path);
            Some(text_block(text, None))
        }
        Content::Refusal(text) => {
            notes.approximated(NoteEffect::Cosmetic, "refusal_as_text", path);
            (!text.is_empty()).then(|| text_block(text, None))
        }
        Content::Text(text) => {
            let mut citations = Vec::new();
            for (k, annotation) in text.annotations.iter().enumerate() {
                if *annotation.dialect == *DIALECT && annotation.json.is_object() {
                    let path = format_args!("{path}.annotations[{k}]");
                    let (title, url) = annotation_source(&annotation.json);
                    notes.check_source(annotation, title.as_deref(), url.as_deref(), path);
                    citations.push(annotation.json.clone());
                } else {
                    let path = format_args!("{path}.annotations[{k}]");
                    notes.dropped(NoteEffect::Quality, "annotation_not_sent", path);
                }
            }
            if text.text.is_empty() {
                notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                return None;
            }
            let citations = (!citations.is_empty()).then_some(citations);
            Some(text_block(&text.text, citations))
        }
        Content::Thinking(thinking) => thinking_block(block, thinking, path, notes),
        Content::ToolCall(call) => call_block(block, call, path, notes),
        Content::ToolOutcome(outcome) => {
            if ServerTool::from_states(&block.opaque).is_some() {
                return Some(server_calls::outcome(outcome, path, notes));
            }
            notes.dropped(NoteEffect::Quality, "provider_outcome_withheld", path);
            None
        }
    }
}

/// A text description of a media block; `None` for other blocks.
pub(crate) fn text_of_media(content: &Content) -> Option<String> {
    match content {
        Content::Audio(audio) => Some(media_text::audio(audio)),
        Content::Document(document) => Some(media_text::source("document", &document.source)),
        Content::Image(image) => Some(media_text::source("image", &image.source)),
        Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => None,
    }
}

fn text_block(text: &str, citations: Option<Vec<Value>>) -> wire::Block {
    wire::Block::Text {
        text: text.to_owned(),
        citations,
        cache_control: None,
    }
}

fn thinking_block(
    block: &Block,
    thinking: &Thinking,
    path: &str,
    notes: &mut Notes,
) -> Option<wire::Block> {
    if thinking.redacted {
        let data = state::of_dialect(&block.opaque, state::REDACTED).and_then(Value::as_str);
        if data.is_none() {
            notes.dropped(NoteEffect::Quality, "thinking_withheld", path);
        } else if !thinking.text.is_empty() {
            let path = format_args!("{path}.text");
            notes.dropped(NoteEffect::Cosmetic, "redacted_text", path);
        }
        return Some(wire::Block::RedactedThinking {
            data: data?.to_owned(),
        });
    }
    let signature = state::of_dialect(&block.opaque, state::SIGNATURE).and_then(Value::as_str);
    if signature.is_none() {
        notes.approximated(NoteEffect::Cosmetic, "empty_signature", path);
    }
    Some(wire::Block::Thinking {
        thinking: (*thinking.text).to_owned(),
        signature: signature.unwrap_or_default().to_owned(),
    })
}

fn call_block(
    block: &Block,
    call: &ToolCall,
    path: &str,
    notes: &mut Notes,
) -> Option<wire::Block> {
    if call.ran_by == RanBy::Provider {
        if let Some(tool) = ServerTool::from_states(&block.opaque) {
            let input = input(&call.input, path, notes);
            return Some(server_calls::call(call.id.as_str(), tool, input));
        }
        let fields = state::of_dialect(&block.opaque, state::PROVIDER_CALL);
        let Some(Value::Object(fields)) = fields else {
            notes.dropped(NoteEffect::Quality, "provider_call_withheld", path);
            return None;
        };
        let mut fields = fields.clone();
        fields.insert(
            "input".to_owned(),
            Value::Object(input(&call.input, path, notes)),
        );
        return Some(wire::Block::Other(fields));
    }
    let toolset = state::of_dialect(&block.opaque, state::TOOLSET).and_then(Value::as_str);
    Some(wire::Block::ToolUse(wire::ToolUse {
        id: call.id.as_str().to_owned(),
        name: call.name.as_str().to_owned(),
        input: Value::Object(input(&call.input, path, notes)),
        caller: state::of_dialect(&block.opaque, state::CALLER).cloned(),
        toolset_name: toolset.map(str::to_owned),
        cache_control: None,
    }))
}

/// The arguments of a call as an object; text and invalid JSON go under a key of their own.
pub(crate) fn input(input: &ToolInput, path: &str, notes: &mut Notes) -> Map<String, Value> {
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
