//! Maps messages of the model: thoughts, text and calls are fields of one message.

use std::sync::Arc;

use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_dialect_kit::state;
use jackfield_domain::block::{Block, Content, RanBy, Thinking, ToolCall};
use jackfield_domain::message::Message;
use jackfield_domain::note::NoteEffect;

use super::Unsupported;
use super::conversation::{Part, RequestWriter, SEPARATOR};
use crate::reply::OWN_THOUGHTS;
use crate::wire;

/// The fields of a message, in the order in which a model reads them.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Field {
    Thinking,
    Text,
    Call,
}

/// What is sent of a block.
enum Sent {
    Call(wire::SentCall),
    Text(String),
    Thinking(String),
}

impl RequestWriter<'_> {
    /// A message of the model; `None` if nothing of it is left.
    pub(super) fn assistant(
        &mut self,
        n: usize,
        message: &Message,
    ) -> Result<Option<wire::Message>, Unsupported> {
        let mut wire = wire::Message {
            role: "assistant".to_owned(),
            ..wire::Message::default()
        };
        let mut fields = Vec::new();
        for (at, block) in BlockPath::of(message, n) {
            let Some(sent) = self.block(at, block)? else {
                continue;
            };
            self.notes.cache_point_lost(at, block);
            let field = match sent {
                Sent::Call(call) => {
                    wire.tool_calls.push(call);
                    Field::Call
                }
                Sent::Text(text) => {
                    // What stood side by side was one text originally.
                    if !wire.content.is_empty() && fields.last() != Some(&Field::Text) {
                        wire.content.push_str(SEPARATOR);
                    }
                    wire.content.push_str(&text);
                    Field::Text
                }
                Sent::Thinking(text) => {
                    wire.thinking.get_or_insert_default().push_str(&text);
                    Field::Thinking
                }
            };
            fields.push(field);
        }
        if fields.is_empty() {
            return Ok(None);
        }
        let has_two = |field| fields.iter().filter(|known| **known == field).count() > 1;
        if !fields.is_sorted() || has_two(Field::Thinking) || has_two(Field::Text) {
            let path = format_args!("messages[{n}].blocks");
            self.notes
                .approximated(NoteEffect::Cosmetic, "blocks_rearranged", path);
        }
        Ok(Some(wire))
    }

    /// A block; `None` if it is left out, which has been noted.
    fn block(&mut self, at: BlockPath, block: &Block) -> Result<Option<Sent>, Unsupported> {
        let words = match &block.content {
            Content::Thinking(thinking) => return Ok(self.thinking(at, block, thinking)),
            Content::ToolCall(call) => {
                self.notes.withheld(at, &block.opaque, &[]);
                return Ok(self.call(at, call));
            }
            Content::ToolOutcome(_) => {
                // The outcome of a call that another provider ran; its call is withheld as well.
                self.notes
                    .dropped(NoteEffect::Quality, "provider_outcome_withheld", at);
                return Ok(None);
            }
            Content::Audio(audio) => media_text::audio(audio),
            Content::Document(document) => media_text::source("document", &document.source),
            Content::Image(image) => media_text::source("image", &image.source),
            Content::Opaque(_) | Content::Refusal(_) | Content::Text(_) => {
                self.notes.withheld(at, &block.opaque, &[]);
                let part = self.part(at, &block.content)?;
                return Ok(part.and_then(|part| match part {
                    Part::Image(_) => None,
                    Part::Text(text) => Some(Sent::Text(text)),
                }));
            }
        };
        self.notes.withheld(at, &block.opaque, &[]);
        self.notes
            .approximated(NoteEffect::Meaning, "media_as_text", at);
        Ok(Some(Sent::Text(words)))
    }

    /// Thoughts go back to the model that had them alone.
    fn thinking(&mut self, at: BlockPath, block: &Block, thinking: &Thinking) -> Option<Sent> {
        let found = state::find(&block.opaque, self.owner, OWN_THOUGHTS);
        let found = found.filter(|_| !thinking.redacted && !thinking.text.is_empty());
        let Some((place, _)) = found else {
            self.notes
                .dropped(NoteEffect::Quality, "thinking_withheld", at);
            return None;
        };
        self.notes.withheld(at, &block.opaque, &[place]);
        Some(Sent::Thinking((*thinking.text).to_owned()))
    }

    fn call(&mut self, at: BlockPath, call: &Arc<ToolCall>) -> Option<Sent> {
        if call.ran_by == RanBy::Provider {
            self.notes
                .dropped(NoteEffect::Quality, "provider_call_withheld", at);
            return None;
        }
        let name = call.name.as_str().to_owned();
        self.called.insert(call.id.clone(), name.clone());
        let fields = self.notes.object_input(at, &call.input);
        let arguments = fields.map_or_else(|wrapped| wrapped, |input| input.fields.clone());
        Some(Sent::Call(wire::SentCall {
            id: self.ids.wire_id(&call.id),
            function: wire::Function { name, arguments },
        }))
    }
}
