//! Maps a domain reply to a message for a client.

use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::block::{Block, Content, OpaqueBlock, RanBy, ToolCall};
use jackfield_domain::note::{Note, NoteEffect};
use jackfield_domain::outcome::ToolOutcome;
use jackfield_domain::reply::Reply;
use jackfield_domain::round_break::RoundBreak;
use jackfield_domain::server_tool::ServerTool;
use jackfield_domain::tool_input::ToolInput;
use serde_json::Value;

use super::ending::{ContentFlags, finish_reason, finish_word, usage_to_wire};
use super::{server_tools, state};
use crate::chat::request::in_words;
use crate::chat::stream::annotation;
use crate::chat::{DIALECT, wire};

/// The place of a block within a message, in the order in which a client reads it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum BlockPosition {
    Thinking,
    Text,
    Refusal,
    Call,
    Other,
}

/// The body for a reply that began at `created`, in seconds since 1970, and notes on what is lost or changed.
///
/// Calls carry our ids. Opaque state of this dialect is included, whichever endpoint and model it belongs to: the
/// client sends it back, and access is decided then.
#[must_use]
pub fn to_wire(
    reply: &Reply,
    model: &str,
    id: &str,
    created: u64,
) -> (wire::Completion, Vec<Note>) {
    let mut builder = MessageBuilder::default();
    for (n, block) in reply.message.blocks.iter().enumerate() {
        builder.push_block(n, block);
    }
    let mut message = builder.message;
    let mut notes = builder.notes;
    let places = builder.places;
    let once = |place| places.iter().filter(|known| **known == place).count() < 2;
    let keeps_order = places.is_sorted()
        && [
            BlockPosition::Thinking,
            BlockPosition::Text,
            BlockPosition::Refusal,
        ]
        .into_iter()
        .all(once);
    if !keeps_order {
        notes.approximated(NoteEffect::Cosmetic, "blocks_rearranged", "blocks");
    }
    message.reasoning_details =
        state::of_dialect(&reply.end.opaque, state::REASONING_DETAILS).cloned();
    let flags = ContentFlags {
        calls: message.tool_calls.is_some(),
        refusal: message.refusal.is_some(),
    };
    let reason = finish_word(&reply.end.finish, flags);
    if finish_reason(Some(reason), flags) != reply.end.finish {
        notes.approximated(NoteEffect::Cosmetic, "finish_reason_changed", "end.finish");
    }
    let completion = wire::Completion {
        id: id.to_owned(),
        object: "chat.completion".to_owned(),
        created,
        model: model.to_owned(),
        choices: vec![wire::Choice {
            index: 0,
            message,
            logprobs: None,
            finish_reason: reason.to_owned(),
        }],
        usage: reply.end.usage.as_ref().map(usage_to_wire),
    };
    (completion, notes.into_vec())
}

/// A message that is being built.
#[derive(Debug)]
struct MessageBuilder {
    message: wire::ReplyMessage,
    notes: Notes,
    /// The place of each block that was written.
    places: Vec<BlockPosition>,
}

impl Default for MessageBuilder {
    fn default() -> Self {
        Self {
            message: wire::ReplyMessage {
                role: "assistant".to_owned(),
                ..wire::ReplyMessage::default()
            },
            notes: Notes::default(),
            places: Vec::new(),
        }
    }
}

impl MessageBuilder {
    fn push_block(&mut self, n: usize, block: &Block) {
        let path = format_args!("blocks[{n}]");
        match &block.content {
            Content::Audio(_) | Content::Document(_) | Content::Image(_) => {
                self.notes
                    .approximated(NoteEffect::Meaning, "media_as_text", path);
                if let Some(words) = in_words(&block.content) {
                    self.push_text(&words, false);
                }
            }
            Content::Opaque(opaque) => self.push_opaque(n, opaque),
            Content::Refusal(text) => {
                if text.is_empty() {
                    self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                    return;
                }
                self.message.refusal.get_or_insert_default().push_str(text);
                self.places.push(BlockPosition::Refusal);
            }
            Content::Text(text) => {
                if text.text.trim().is_empty() {
                    self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                    return;
                }
                for (k, known) in text.annotations.iter().enumerate() {
                    let path = format_args!("blocks[{n}].annotations[{k}]");
                    if *known.dialect == *DIALECT && known.json.is_object() {
                        let source = annotation(&known.json);
                        let (title, url) = (source.title.as_deref(), source.url.as_deref());
                        self.notes.check_source(known, title, url, path);
                        let annotations = &mut self.message.annotations;
                        annotations.get_or_insert_default().push(known.json.clone());
                    } else {
                        self.notes
                            .dropped(NoteEffect::Quality, "annotation_not_sent", path);
                    }
                }
                self.push_text(&text.text, RoundBreak::is_marked(&block.opaque));
            }
            Content::Thinking(thinking) => {
                if thinking.redacted || thinking.text.is_empty() {
                    self.notes
                        .dropped(NoteEffect::Quality, "thinking_withheld", path);
                    return;
                }
                let reasoning = &mut self.message.reasoning_content;
                reasoning.get_or_insert_default().push_str(&thinking.text);
                self.places.push(BlockPosition::Thinking);
            }
            Content::ToolCall(call) => self.push_call(n, block, call),
            Content::ToolOutcome(outcome) => {
                if !self.push_outcome(outcome) {
                    self.notes
                        .dropped(NoteEffect::Quality, "provider_outcome_withheld", path);
                }
            }
        }
    }

    /// Appends text, separated from earlier text if another block stood between, or if it is of another round.
    fn push_text(&mut self, words: &str, later_round: bool) {
        let last = self.places.last();
        let apart = later_round || last.is_some_and(|last| *last != BlockPosition::Text);
        let content = self.message.content.get_or_insert_default();
        if apart && !content.is_empty() {
            content.push_str("\n\n");
        }
        content.push_str(words);
        self.places.push(BlockPosition::Text);
    }

    fn push_opaque(&mut self, n: usize, opaque: &OpaqueBlock) {
        let path = format_args!("blocks[{n}]");
        if is_audio(opaque) && self.message.audio.is_none() {
            self.message.audio = Some(opaque.json.clone());
            self.places.push(BlockPosition::Other);
            return;
        }
        let fallback = opaque.fallback.as_deref();
        let Some(text) = fallback.filter(|text| !text.trim().is_empty()) else {
            self.notes
                .dropped(NoteEffect::Quality, "opaque_withheld", path);
            return;
        };
        self.notes
            .approximated(NoteEffect::Quality, "opaque_as_text", path);
        self.push_text(text, false);
    }

    fn push_call(&mut self, n: usize, block: &Block, call: &ToolCall) {
        if call.ran_by == RanBy::Provider {
            self.push_server_call(n, block, call);
            return;
        }
        let name = Some(call.name.as_str().to_owned());
        let mut wire_call = wire::ToolCall {
            id: Some(call.id.as_str().to_owned()),
            extra_content: state::of_dialect(&block.opaque, state::EXTRA_CONTENT).cloned(),
            ..wire::ToolCall::default()
        };
        match &call.input {
            ToolInput::Json(input) => {
                let raw = server_tools::json_arguments(input.raw());
                wire_call.kind = Some("function".to_owned());
                wire_call.function = Some(wire::FunctionCall {
                    name,
                    arguments: Value::String(raw.to_owned()),
                });
            }
            ToolInput::Text(text) => {
                wire_call.kind = Some("custom".to_owned());
                wire_call.custom = Some(wire::CustomCall {
                    name,
                    input: (**text).to_owned(),
                });
            }
        }
        self.message
            .tool_calls
            .get_or_insert_default()
            .push(wire_call);
        self.places.push(BlockPosition::Call);
    }

    /// A call that a server ran: shown if Jackfield itself ran it.
    fn push_server_call(&mut self, n: usize, block: &Block, call: &ToolCall) {
        let Some(tool) = ServerTool::from_states(&block.opaque) else {
            let path = format_args!("blocks[{n}]");
            self.notes
                .dropped(NoteEffect::Quality, "provider_call_withheld", path);
            return;
        };
        let arguments = match &call.input {
            ToolInput::Json(input) => server_tools::json_arguments(input.raw()),
            ToolInput::Text(text) => text,
        };
        let wire_call = server_tools::call(call.id.as_str(), tool, arguments.to_owned());
        let server_calls = self.message.jackfield.get_or_insert_default();
        server_calls.tool_calls.push(wire_call);
        self.places.push(BlockPosition::Other);
    }

    /// Adds the outcome of a call that was shown; returns whether there is such a call.
    fn push_outcome(&mut self, outcome: &ToolOutcome) -> bool {
        let server_calls = self.message.jackfield.as_mut();
        let mut calls = server_calls.into_iter().flat_map(|all| &mut all.tool_calls);
        let id = outcome.call.as_str();
        match calls.find(|call| call.id.as_deref() == Some(id)) {
            Some(call) => server_tools::answer(call, &outcome.result),
            None => return false,
        }
        self.places.push(BlockPosition::Other);
        true
    }
}

/// Whether a block is audio output of this dialect.
pub(crate) fn is_audio(opaque: &OpaqueBlock) -> bool {
    *opaque.kind == *state::AUDIO && *opaque.owner.dialect == *DIALECT && opaque.json.is_object()
}
