//! Maps assistant messages: their blocks as the fields of one message.

use std::sync::Arc;

use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::block::{Block, Content, RanBy, Thinking, ToolCall};
use jackfield_domain::message::Message;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::tool_input::ToolInput;
use serde_json::{Value, json};

use super::Unsupported;
use super::content::{in_words, text_part};
use super::conversation::RequestWriter;
use crate::chat::reply::state;
use crate::chat::wire;
use crate::profile::{BlankContent, ReasoningEcho};

/// The kinds of content sent in a message, in the order in which a server reads them.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum BlockPosition {
    Thinking,
    Text,
    Refusal,
    Audio,
    Call,
}

/// An assistant message that is being built.
#[derive(Debug)]
struct AssistantBuilder {
    message: wire::Message,
    /// The place of each block that is sent.
    places: Vec<BlockPosition>,
    /// The text parts, each with whether another block stood before it.
    text_parts: Vec<(wire::Part, bool)>,
}

impl RequestWriter<'_> {
    /// An assistant message; `calls` if the model called tools in this turn.
    pub(super) fn assistant(
        &mut self,
        n: usize,
        message: &Message,
        calls: bool,
    ) -> Result<(), Unsupported> {
        let mut builder = AssistantBuilder {
            message: wire::Message::new(wire::Role::Assistant),
            places: Vec::new(),
            text_parts: Vec::new(),
        };
        self.details(n, message, &mut builder);
        for (at, block) in BlockPath::of(message, n) {
            self.push_block(at, block, &mut builder)?;
        }
        if let Some(message) = self.finish_assistant(n, builder, calls) {
            self.push_assistant(n, message);
        }
        Ok(())
    }

    /// Reasoning in parts, which belongs to the whole message.
    fn details(&mut self, n: usize, message: &Message, builder: &mut AssistantBuilder) {
        let found = state::find(&message.opaque, self.owner, state::REASONING_DETAILS);
        let found = found.and_then(|(place, json)| Some((place, json.as_array()?)));
        let found = found.filter(|_| self.profile.reasoning_echo != ReasoningEcho::Never);
        let sent = found.map(|(place, _)| place);
        let path = format_args!("messages[{n}]");
        self.notes.withheld(path, &message.opaque, sent.as_slice());
        builder.message.reasoning_details = found.map(|(_, details)| details.clone());
    }

    fn push_block(
        &mut self,
        at: BlockPath,
        block: &Block,
        builder: &mut AssistantBuilder,
    ) -> Result<(), Unsupported> {
        let part = match &block.content {
            Content::Audio(_) | Content::Document(_) | Content::Image(_) => {
                self.notes.withheld(at, &block.opaque, &[]);
                self.notes
                    .approximated(NoteEffect::Meaning, "media_as_text", at);
                in_words(&block.content).map(|words| text_part(&words))
            }
            Content::Opaque(opaque) => {
                self.notes.withheld(at, &block.opaque, &[]);
                let id = opaque.json.get("id").and_then(Value::as_str);
                match id.filter(|_| *opaque.kind == *state::AUDIO && opaque.owner == *self.owner) {
                    Some(id) if builder.message.audio.is_none() => {
                        if opaque.json != json!({ "id": id }) || opaque.fallback.is_some() {
                            // The vendor keeps the audio and its transcript.
                            self.notes
                                .approximated(NoteEffect::Cosmetic, "audio_by_id", at);
                        }
                        builder.places.push(BlockPosition::Audio);
                        builder.message.audio = Some(wire::AudioRef { id: id.to_owned() });
                        return Ok(());
                    }
                    Some(_) | None => self.opaque(at, opaque),
                }
            }
            Content::Refusal(text) => {
                self.notes.withheld(at, &block.opaque, &[]);
                if self.notes.is_blank(at, text) {
                    return Ok(());
                }
                if self.profile.refusals {
                    self.notes.cache_point_lost(at, block);
                    let refusal = &mut builder.message.refusal;
                    refusal.get_or_insert_default().push_str(text);
                    builder.places.push(BlockPosition::Refusal);
                    return Ok(());
                }
                self.notes
                    .approximated(NoteEffect::Cosmetic, "refusal_as_text", at);
                Some(text_part(text))
            }
            Content::Text(text) => {
                self.notes.withheld(at, &block.opaque, &[]);
                self.text(at, text)
            }
            Content::Thinking(thinking) => {
                self.thinking(at, block, thinking, builder);
                return Ok(());
            }
            Content::ToolCall(call) => {
                self.call(at, block, call, builder);
                return Ok(());
            }
            Content::ToolOutcome(_) => {
                // The outcome of a call that another provider ran; its call is withheld as well.
                self.notes
                    .dropped(NoteEffect::Quality, "provider_outcome_withheld", at);
                return Ok(());
            }
        };
        if let Some(mut part) = part {
            self.set_cache_point(at, block, &mut part);
            let apart = builder
                .places
                .last()
                .is_some_and(|last| *last != BlockPosition::Text);
            builder.places.push(BlockPosition::Text);
            builder.text_parts.push((part, apart));
        }
        Ok(())
    }

    fn thinking(
        &mut self,
        at: BlockPath,
        block: &Block,
        thinking: &Thinking,
        builder: &mut AssistantBuilder,
    ) {
        let found = state::find(&block.opaque, self.owner, state::REASONING_FIELD);
        let found = found.and_then(|(place, json)| Some((place, json.as_str()?)));
        let message = &mut builder.message;
        let echoed = self.profile.reasoning_echo != ReasoningEcho::Never && !thinking.redacted;
        let place = found.filter(|_| echoed && !thinking.text.is_empty());
        let sent = place.and_then(|(place, field)| {
            let text = match field {
                "reasoning" => &mut message.reasoning,
                "reasoning_content" => &mut message.reasoning_content,
                "thinking" => &mut message.thinking,
                state::REASONING_DETAILS => {
                    // The parts contain this text.
                    let details = message.reasoning_details.as_ref()?;
                    let same = state::details_text(details) == *thinking.text;
                    return same.then_some(place);
                }
                _ => return None,
            };
            text.get_or_insert_default().push_str(&thinking.text);
            Some(place)
        });
        if sent.is_none() {
            // Another provider's reasoning must not appear as this model's own.
            self.notes
                .dropped(NoteEffect::Quality, "thinking_withheld", at);
            return;
        }
        self.notes.cache_point_lost(at, block);
        self.notes.withheld(at, &block.opaque, sent.as_slice());
        builder.places.push(BlockPosition::Thinking);
    }

    fn call(
        &mut self,
        at: BlockPath,
        block: &Block,
        call: &Arc<ToolCall>,
        builder: &mut AssistantBuilder,
    ) {
        if call.ran_by == RanBy::Provider {
            self.notes
                .dropped(NoteEffect::Quality, "provider_call_withheld", at);
            return;
        }
        let extra = state::find(&block.opaque, self.owner, state::EXTRA_CONTENT)
            .filter(|(_, json)| !json.is_null());
        let sent = extra.map(|(place, _)| place);
        self.notes.withheld(at, &block.opaque, sent.as_slice());
        self.notes.cache_point_lost(at, block);
        let name = call.name.as_str().to_owned();
        let mut wire = wire::ToolCall {
            id: Some(self.ids.wire_id(&call.id)),
            extra_content: extra.map(|(_, json)| json.clone()),
            ..wire::ToolCall::default()
        };
        match &call.input {
            ToolInput::Text(text) if self.profile.custom_tools => {
                wire.kind = Some("custom".to_owned());
                wire.custom = Some(wire::CustomCall {
                    name: Some(name),
                    input: (**text).to_owned(),
                });
            }
            input @ (ToolInput::Json(_) | ToolInput::Text(_)) => {
                wire.kind = Some("function".to_owned());
                wire.function = Some(wire::FunctionCall {
                    name: Some(name),
                    arguments: Value::String(self.arguments(at, input)),
                });
            }
        }
        builder
            .message
            .tool_calls
            .get_or_insert_default()
            .push(wire);
        builder.places.push(BlockPosition::Call);
    }

    /// The arguments as a text that is a JSON object: several servers and templates parse it.
    fn arguments(&mut self, at: BlockPath, input: &ToolInput) -> String {
        match self.notes.object_input(at, input) {
            Ok(input) if input.raw.trim().is_empty() => "{}".to_owned(),
            Ok(input) => input.raw.to_owned(),
            Err(wrapped) => Value::Object(wrapped).to_string(),
        }
    }

    /// The finished message, or `None` if nothing of it is left.
    fn finish_assistant(
        &mut self,
        n: usize,
        builder: AssistantBuilder,
        calls: bool,
    ) -> Option<wire::Message> {
        let AssistantBuilder {
            mut message,
            places,
            text_parts,
        } = builder;
        let plain = text_parts.iter().all(|(part, _)| is_plain(part));
        let once = |place| places.iter().filter(|known| **known == place).count() < 2;
        // The server reads the text of those parts that no block repeats.
        let details = message.reasoning_details.as_deref().unwrap_or_default();
        let has_unsent_details =
            !state::details_text(details).is_empty() && !places.contains(&BlockPosition::Thinking);
        let keeps_order = places.is_sorted()
            && !has_unsent_details
            && once(BlockPosition::Thinking)
            && once(BlockPosition::Refusal)
            && (once(BlockPosition::Text) || !plain);
        if !keeps_order {
            let path = format_args!("messages[{n}].blocks");
            self.notes
                .approximated(NoteEffect::Cosmetic, "blocks_rearranged", path);
        }
        let reasons = [
            &message.reasoning_content,
            &message.reasoning,
            &message.thinking,
        ];
        let reasons =
            reasons.into_iter().any(Option::is_some) || message.reasoning_details.is_some();
        if !text_parts.is_empty() {
            message.content = Some(content(text_parts, plain));
        } else if message.tool_calls.is_some() {
            message.content = match self.profile.blank_content {
                BlankContent::Empty => Some(wire::Content::Text(String::new())),
                BlankContent::Null => None,
            };
        } else if let Some(refusal) = message.refusal.take() {
            // A message without calls must have content.
            message.content = Some(wire::Content::Parts(vec![wire::Part::Refusal { refusal }]));
        } else if message.audio.is_none() {
            if !reasons {
                return None;
            }
            message.content = Some(wire::Content::Text(String::new()));
        }
        if self.profile.reasoning_echo == ReasoningEcho::Always && calls && !reasons {
            message.reasoning_content = Some(String::new());
        }
        Some(message)
    }
}

fn is_plain(part: &wire::Part) -> bool {
    matches!(
        part,
        wire::Part::Text {
            prompt_cache_breakpoint: None,
            ..
        }
    )
}

/// The text content: one string if all parts are plain. Adjacent parts were one text originally.
fn content(text_parts: Vec<(wire::Part, bool)>, plain: bool) -> wire::Content {
    if !plain {
        return wire::Content::Parts(text_parts.into_iter().map(|(part, _)| part).collect());
    }
    let mut text = String::new();
    for (part, apart) in text_parts {
        if let wire::Part::Text { text: more, .. } = part {
            if apart && !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&more);
        }
    }
    wire::Content::Text(text)
}
