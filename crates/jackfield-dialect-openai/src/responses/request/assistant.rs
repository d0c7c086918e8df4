//! Maps the model's text, calls and reasoning to items.

use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::block::{Block, Content, OpaqueBlock, RanBy, Thinking};
use jackfield_domain::message::Message;
use jackfield_domain::note::NoteEffect;
use serde_json::{Map, Value};

use super::Unsupported;
use super::conversation::RequestWriter;
use crate::responses::state::{self, MessagePart};
use crate::responses::{DIALECT, wire};

/// The items of one reply.
#[derive(Debug, Default)]
struct ReplyItems<'a> {
    /// The last part sent, if the next one may join it.
    last_part: Option<MessagePart<'a>>,
    sent: Vec<wire::Item>,
    /// Reasoning that waits for the item to which it belongs.
    pending_reasoning: Vec<PendingReasoning<'a>>,
}

/// Reasoning that can be sent back to its owner.
#[derive(Debug)]
struct PendingReasoning<'a> {
    at: BlockPath,
    block: &'a Block,
    fields: &'a Map<String, Value>,
    place: usize,
    thinking: &'a Thinking,
}

impl RequestWriter<'_> {
    pub(super) fn assistant(
        &mut self,
        n: usize,
        message: &Message,
    ) -> Result<Vec<wire::Item>, Unsupported> {
        // Items are bound to the reasoning before them: the vendor refuses their ids without it.
        let ids_allowed = message.blocks.iter().all(|block| {
            self.reasoning(block)
                .is_none_or(|(_, usable)| usable.is_some())
        });
        let mut items = ReplyItems::default();
        for (at, block) in BlockPath::of(message, n) {
            self.block(at, block, ids_allowed, &mut items)?;
        }
        // The vendor refuses reasoning without the item that follows it.
        self.drop_reasoning(&mut items);
        Ok(items.sent)
    }

    fn block<'a>(
        &mut self,
        at: BlockPath,
        block: &'a Block,
        ids_allowed: bool,
        items: &mut ReplyItems<'a>,
    ) -> Result<(), Unsupported> {
        match &block.content {
            Content::Audio(audio) => {
                self.push_media_as_text(at, block, media_text::audio(audio), items);
            }
            Content::Document(document) => {
                let words = media_text::source("document", &document.source);
                self.push_media_as_text(at, block, words, items);
            }
            Content::Image(image) => {
                let words = media_text::source("image", &image.source);
                self.push_media_as_text(at, block, words, items);
            }
            Content::Opaque(opaque) => self.opaque(at, block, opaque, ids_allowed, items),
            Content::Refusal(refusal) => {
                let part = wire::Part::Refusal {
                    refusal: (**refusal).to_owned(),
                };
                self.push_text(at, block, refusal, part, ids_allowed, items);
            }
            Content::Text(text) => {
                let part = wire::Part::OutputText {
                    text: (*text.text).to_owned(),
                    annotations: Vec::new(),
                };
                self.push_text(at, block, &text.text, part, ids_allowed, items);
            }
            Content::Thinking(thinking) => match self.reasoning(block) {
                Some((place, Some(fields))) => items.pending_reasoning.push(PendingReasoning {
                    at,
                    block,
                    fields,
                    place,
                    thinking,
                }),
                // Only its owner can interpret it.
                Some((_, None)) | None => {
                    self.notes
                        .dropped(NoteEffect::Quality, "thinking_withheld", at);
                }
            },
            Content::ToolCall(call) if call.ran_by == RanBy::Provider => {
                self.notes
                    .dropped(NoteEffect::Quality, "provider_call_withheld", at);
                self.drop_reasoning(items);
            }
            Content::ToolCall(call) => {
                let item = self.call(at, block, call, ids_allowed);
                self.push(item, items);
            }
            Content::ToolOutcome(_) => {
                // The outcome of a call that another provider ran; its call is withheld as well.
                self.notes
                    .dropped(NoteEffect::Quality, "provider_outcome_withheld", at);
                self.drop_reasoning(items);
            }
        }
        Ok(())
    }

    /// The index of this owner's reasoning in a block, and its item if the owner can read it again.
    fn reasoning<'a>(&self, block: &'a Block) -> Option<(usize, Option<&'a Map<String, Value>>)> {
        if !matches!(block.content, Content::Thinking(_)) {
            return None;
        }
        let (place, json) = state::find(&block.opaque, self.owner, state::REASONING)?;
        let fields = state::reasoning(json).filter(|fields| {
            // Reasoning that is neither stored by the vendor nor sent along cannot be restored.
            let encrypted = fields.get("encrypted_content").and_then(Value::as_str);
            !self.profile.encrypted_reasoning || encrypted.is_some_and(|text| !text.is_empty())
        });
        Some((place, fields))
    }

    /// Adds an item, preceded by the reasoning that belongs to it.
    fn push(&mut self, item: wire::Item, items: &mut ReplyItems<'_>) {
        for reasoning in items.pending_reasoning.drain(..) {
            let PendingReasoning {
                at,
                block,
                fields,
                place,
                thinking,
            } = reasoning;
            self.notes.withheld(at, &block.opaque, &[place]);
            self.notes.cache_point_lost(at, block);
            if *thinking.text != *state::reasoning_text(fields) {
                let path = format_args!("{at}.text");
                self.notes
                    .dropped(NoteEffect::Cosmetic, "thinking_text", path);
            }
            if thinking.redacted {
                self.notes
                    .approximated(NoteEffect::Cosmetic, "thinking_redacted", at);
            }
            items.sent.push(wire::Item::Reasoning(wire::Reasoning {
                fields: state::without_nulls(&state::without(fields, &["type"])),
            }));
        }
        items.last_part = None;
        items.sent.push(item);
    }

    /// Drops the reasoning whose item is left out.
    fn drop_reasoning(&mut self, items: &mut ReplyItems<'_>) {
        for reasoning in items.pending_reasoning.drain(..) {
            let at = reasoning.at;
            self.notes
                .dropped(NoteEffect::Quality, "reasoning_without_its_item", at);
        }
        items.last_part = None;
    }

    fn push_text<'a>(
        &mut self,
        at: BlockPath,
        block: &'a Block,
        text: &str,
        part: wire::Part,
        ids_allowed: bool,
        items: &mut ReplyItems<'a>,
    ) {
        let found = state::find(&block.opaque, self.owner, state::MESSAGE);
        let found = found.and_then(|(place, json)| Some((place, MessagePart::read(json)?)));
        // The vendor accepts its own parts only in items that have an id.
        let own_part = found.filter(|(_, mine)| ids_allowed && mine.item.contains_key("id"));
        let joins = |mine: &MessagePart<'_>| {
            items
                .last_part
                .as_ref()
                .is_some_and(|last| items.pending_reasoning.is_empty() && mine.follows(last))
        };
        let own_part = own_part.filter(|(_, mine)| mine.part == 0 || joins(mine));
        let Some((place, own_part)) = own_part else {
            if !self.notes.is_blank(at, text) {
                let extra = self.without_item(at, block, found);
                self.push(text_message(text.to_owned(), extra), items);
            }
            return;
        };
        self.notes.withheld(at, &block.opaque, &[place]);
        self.notes.cache_point_lost(at, block);
        let part = self.annotated(at, block, part);
        if let Some(wire::Item::Message(message)) = items.sent.last_mut()
            && own_part.part > 0
            && let wire::Content::Parts(parts) = &mut message.content
        {
            parts.push(part);
        } else {
            let message = wire::Message {
                role: wire::Role::Assistant,
                content: wire::Content::Parts(vec![part]),
                extra: state::without_nulls(own_part.item),
            };
            self.push(wire::Item::Message(message), items);
        }
        items.last_part = Some(own_part);
    }

    /// Notes the losses of text that is sent as a message without its item; returns the fields that are kept.
    fn without_item(
        &mut self,
        at: BlockPath,
        block: &Block,
        own_part: Option<(usize, MessagePart<'_>)>,
    ) -> Map<String, Value> {
        let kept_fields = own_part.map(|(place, mine)| {
            let same = mine.part == 0 && !mine.item.contains_key("id");
            self.fields_without_id(at, block, (place, mine.item), same)
        });
        if kept_fields.is_none() {
            self.notes.withheld(at, &block.opaque, &[]);
        }
        self.notes.cache_point_lost(at, block);
        match &block.content {
            Content::Refusal(_) => {
                self.notes
                    .approximated(NoteEffect::Cosmetic, "refusal_as_text", at);
            }
            Content::Text(text) => self.notes.annotations_lost(at, text),
            Content::Audio(_)
            | Content::Document(_)
            | Content::Image(_)
            | Content::Opaque(_)
            | Content::Thinking(_)
            | Content::ToolCall(_)
            | Content::ToolOutcome(_) => {}
        }
        kept_fields.unwrap_or_default()
    }

    /// The fields kept of an item that is sent without its id: the phase of a text improves the model's answers,
    /// and a tool cannot be called without its namespace.
    pub(super) fn fields_without_id(
        &mut self,
        at: BlockPath,
        block: &Block,
        (place, item): (usize, &Map<String, Value>),
        same: bool,
    ) -> Map<String, Value> {
        let kept = if same {
            state::without_nulls(item)
        } else {
            state::without_nulls(&state::without(item, &["id", "status"]))
        };
        let sent = (!kept.is_empty()).then_some(place);
        self.notes.withheld(at, &block.opaque, sent.as_slice());
        if !kept.is_empty() && !same {
            let path = format_args!("{at}.opaque[{place}]");
            self.notes
                .approximated(NoteEffect::Cosmetic, "item_id_not_sent", path);
        }
        kept
    }

    /// A part with the annotations on its text.
    fn annotated(&mut self, at: BlockPath, block: &Block, mut part: wire::Part) -> wire::Part {
        let (Content::Text(text), wire::Part::OutputText { annotations, .. }) =
            (&block.content, &mut part)
        else {
            return part;
        };
        for (k, annotation) in text.annotations.iter().enumerate() {
            let path = format_args!("{at}.annotations[{k}]");
            if *annotation.dialect == *DIALECT && annotation.json.is_object() {
                let (title, url) = state::annotation_source(&annotation.json);
                self.notes
                    .check_source(annotation, title.as_deref(), url.as_deref(), path);
                annotations.push(annotation.json.clone());
            } else {
                self.notes
                    .dropped(NoteEffect::Quality, "annotation_not_sent", path);
            }
        }
        part
    }

    fn opaque<'a>(
        &mut self,
        at: BlockPath,
        block: &'a Block,
        opaque: &'a OpaqueBlock,
        ids_allowed: bool,
        items: &mut ReplyItems<'a>,
    ) {
        let own_fields =
            state::fields_of(opaque).filter(|_| ids_allowed && opaque.owner == *self.owner);
        let Some(fields) = own_fields else {
            match self.notes.fallback(at, opaque) {
                Some(text) => {
                    self.notes.withheld(at, &block.opaque, &[]);
                    self.notes.cache_point_lost(at, block);
                    self.push(text_message(text.to_owned(), Map::new()), items);
                }
                None => self.drop_reasoning(items),
            }
            return;
        };
        self.notes.withheld(at, &block.opaque, &[]);
        self.notes.cache_point_lost(at, block);
        self.notes.fallback_lost(at, opaque);
        self.push(wire::Item::Other(fields.clone()), items);
    }

    /// Adds text in place of a block of another kind.
    fn push_media_as_text<'a>(
        &mut self,
        at: BlockPath,
        block: &'a Block,
        words: String,
        items: &mut ReplyItems<'a>,
    ) {
        self.notes.withheld(at, &block.opaque, &[]);
        self.notes.cache_point_lost(at, block);
        self.notes
            .approximated(NoteEffect::Meaning, "media_as_text", at);
        self.push(text_message(words, Map::new()), items);
    }
}

/// A text of the model that is not an item of the owner.
fn text_message(text: String, extra: Map<String, Value>) -> wire::Item {
    wire::Item::Message(wire::Message {
        role: wire::Role::Assistant,
        content: wire::Content::Text(text),
        extra,
    })
}
