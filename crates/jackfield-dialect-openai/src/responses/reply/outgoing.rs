//! Maps a domain reply to a response for a client.

use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::serve::ReplyInfo;
use jackfield_domain::block::{Block, Content, RanBy, Text, Thinking, ToolCall};
use jackfield_domain::note::{Note, NoteEffect};
use jackfield_domain::reply::Reply;
use jackfield_domain::server_tool::ServerTool;
use jackfield_domain::tool_input::ToolInput;

use super::items::{ItemBuilder, annotations, is_readable, item_id};
use super::repeated::{repeated_fields, response_id};
use super::server_calls::ServerCall;
use super::{ContentFlags, finish_reason, status, usage_to_wire};
use crate::responses::{state, wire};

/// The response for a reply, and notes on what is lost or changed.
///
/// Calls carry our ids. Opaque state of this dialect is included, whichever endpoint and model it belongs to: the
/// client sends it back, and access is decided then.
#[must_use]
pub fn to_wire(reply: &Reply, about: &ReplyInfo) -> (wire::Response, Vec<Note>) {
    let mut notes = Notes::default();
    let blocks = &reply.message.blocks;
    let mut output = Vec::with_capacity(blocks.len());
    for (n, block) in blocks.iter().enumerate() {
        let builder = ItemBuilder {
            about,
            output_index: output.len(),
            states: &block.opaque,
            upstream: match &block.content {
                Content::ToolCall(call) => call.upstream.as_ref(),
                Content::Audio(_)
                | Content::Document(_)
                | Content::Image(_)
                | Content::Opaque(_)
                | Content::Refusal(_)
                | Content::Text(_)
                | Content::Thinking(_)
                | Content::ToolOutcome(_) => None,
            },
        };
        let path = format!("blocks[{n}]");
        let rest = blocks.get(n..).unwrap_or_default();
        output.extend(match server_call(block, rest, builder) {
            Some(item) => {
                notes.approximated(NoteEffect::Cosmetic, "shown_as_mcp_call", &path);
                Some(item)
            }
            None => item(block, builder, &path, &mut notes),
        });
    }
    let flags = content_flags(&output);
    let (status, incomplete_details) = status(&reply.end.finish, flags);
    let round_trip = finish_reason(status, incomplete_details.as_ref(), flags);
    if round_trip != reply.end.finish {
        notes.approximated(NoteEffect::Cosmetic, "finish_reason", "end.finish");
    }
    let response = wire::Response {
        incomplete_details,
        output,
        status: status.to_owned(),
        usage: reply.end.usage.as_ref().map(usage_to_wire),
        ..empty_response(about)
    };
    (response, notes.into_vec())
}

/// A response that has just begun.
pub(crate) fn empty_response(about: &ReplyInfo) -> wire::Response {
    wire::Response {
        id: response_id(&about.id),
        object: "response".to_owned(),
        created_at: about.created,
        status: "in_progress".to_owned(),
        model: about.model.clone(),
        output: Vec::new(),
        error: None,
        incomplete_details: None,
        usage: None,
        repeated: repeated_fields(&about.echo),
    }
}

/// A server tool call with its outcome, which is in one of the later blocks; `None` if the block is not such a
/// call.
fn server_call(block: &Block, rest: &[Block], builder: ItemBuilder<'_>) -> Option<wire::Item> {
    let Content::ToolCall(call) = &block.content else {
        return None;
    };
    let tool = ServerTool::from_states(&block.opaque).filter(|_| call.ran_by == RanBy::Provider)?;
    let id = item_id("mcp", &builder.about.id, builder.output_index);
    let mut item = ServerCall::new(id, tool);
    item.set_arguments(match &call.input {
        ToolInput::Json(input) if input.raw().is_empty() => "{}",
        ToolInput::Json(input) => input.raw(),
        ToolInput::Text(text) => text,
    });
    let outcome = rest.iter().find_map(|block| match &block.content {
        Content::ToolOutcome(outcome) if outcome.call == call.id => Some(&outcome.result),
        Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => None,
    });
    Some(item.ended_item(outcome))
}

/// The contents of these items that decide the finish reason.
pub(crate) fn content_flags(output: &[wire::Item]) -> ContentFlags {
    let mut flags = ContentFlags::default();
    for item in output {
        match item {
            wire::Item::CustomToolCall(_) | wire::Item::FunctionCall(_) => flags.call = true,
            wire::Item::Easy(message) | wire::Item::Message(message) => {
                let wire::Content::Parts(parts) = &message.content else {
                    continue;
                };
                let refuses = |part: &wire::Part| matches!(part, wire::Part::Refusal { .. });
                flags.refusal |= parts.iter().any(refuses);
            }
            wire::Item::CustomToolCallOutput(_)
            | wire::Item::FunctionCallOutput(_)
            | wire::Item::Other(_)
            | wire::Item::Reasoning(_) => {}
        }
    }
    flags
}

fn item(
    block: &Block,
    builder: ItemBuilder<'_>,
    path: &str,
    notes: &mut Notes,
) -> Option<wire::Item> {
    let known = state::of_dialect(&block.opaque, state::MESSAGE);
    if known
        .and_then(state::MessagePart::read)
        .is_some_and(|known| known.part > 0)
    {
        // Each block becomes a message: a stream cannot tell early which blocks belong together.
        let path = format_args!("{path}.opaque");
        notes.approximated(NoteEffect::Cosmetic, "message_split", path);
    }
    match &block.content {
        Content::Audio(_) | Content::Document(_) | Content::Image(_) => {
            notes.approximated(NoteEffect::Meaning, "media_as_text", path);
            let text = text_of_media(&block.content)?;
            Some(builder.message(text_part(text), COMPLETED))
        }
        Content::Opaque(opaque) => {
            if let Some(fields) = state::fields_of(opaque) {
                return Some(wire::Item::Other(fields.clone()));
            }
            let Some(text) = opaque.fallback.as_deref().filter(|text| !text.is_empty()) else {
                notes.dropped(NoteEffect::Quality, "opaque_withheld", path);
                return None;
            };
            notes.approximated(NoteEffect::Quality, "opaque_as_text", path);
            Some(builder.message(text_part(text.to_owned()), COMPLETED))
        }
        Content::Refusal(text) => {
            if text.is_empty() {
                notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                return None;
            }
            let refusal = (**text).to_owned();
            Some(builder.message(wire::Part::Refusal { refusal }, COMPLETED))
        }
        Content::Text(text) => text_item(text, builder, path, notes),
        Content::Thinking(thinking) => thinking_item(block, thinking, builder, path, notes),
        Content::ToolCall(call) => call_item(call, builder, path, notes),
        // It is part of its call's item.
        Content::ToolOutcome(_) if ServerTool::from_states(&block.opaque).is_some() => None,
        Content::ToolOutcome(_) => {
            notes.dropped(NoteEffect::Quality, "provider_outcome_withheld", path);
            None
        }
    }
}

/// The status of a complete item.
const COMPLETED: &str = "completed";

fn text_part(text: String) -> wire::Part {
    wire::Part::OutputText {
        text,
        annotations: Vec::new(),
    }
}

fn text_item(
    text: &Text,
    builder: ItemBuilder<'_>,
    path: &str,
    notes: &mut Notes,
) -> Option<wire::Item> {
    if text.text.is_empty() {
        notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
        return None;
    }
    for (k, annotation) in text.annotations.iter().enumerate() {
        let path = format_args!("{path}.annotations[{k}]");
        if is_readable(annotation) {
            let (title, url) = state::annotation_source(&annotation.json);
            notes.check_source(annotation, title.as_deref(), url.as_deref(), path);
        } else {
            notes.dropped(NoteEffect::Quality, "annotation_not_sent", path);
        }
    }
    let part = wire::Part::OutputText {
        text: (*text.text).to_owned(),
        annotations: annotations(&text.annotations),
    };
    Some(builder.message(part, COMPLETED))
}

fn thinking_item(
    block: &Block,
    thinking: &Thinking,
    builder: ItemBuilder<'_>,
    path: &str,
    notes: &mut Notes,
) -> Option<wire::Item> {
    let Some(item) = builder.reasoning(&thinking.text) else {
        notes.dropped(NoteEffect::Quality, "thinking_withheld", path);
        return None;
    };
    let known = state::of_dialect(&block.opaque, state::REASONING).and_then(state::reasoning);
    if known.is_some_and(|fields| *state::reasoning_text(fields) != *thinking.text) {
        let path = format_args!("{path}.text");
        notes.dropped(NoteEffect::Cosmetic, "thinking_text", path);
    }
    if thinking.redacted {
        notes.approximated(NoteEffect::Cosmetic, "thinking_redacted", path);
    }
    Some(item)
}

fn call_item(
    call: &ToolCall,
    builder: ItemBuilder<'_>,
    path: &str,
    notes: &mut Notes,
) -> Option<wire::Item> {
    if call.ran_by == RanBy::Provider {
        notes.dropped(NoteEffect::Quality, "provider_call_withheld", path);
        return None;
    }
    let (id, name) = (call.id.as_str(), call.name.as_str());
    Some(match &call.input {
        ToolInput::Json(input) => {
            // Empty arguments become an object, as clients parse them.
            let raw = if input.raw().is_empty() {
                "{}"
            } else {
                input.raw()
            };
            builder.call(id, name, raw, COMPLETED)
        }
        ToolInput::Text(text) => builder.custom_call(id, name, text),
    })
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
