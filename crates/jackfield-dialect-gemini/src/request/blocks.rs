//! Maps blocks of the conversation to parts.

use std::sync::Arc;

use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::block::{Block, Content, OpaqueBlock, RanBy, Text, Thinking, ToolCall};
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::message::Role;
use jackfield_domain::note::NoteEffect;
use serde_json::{Map, Value};

use super::Unsupported;
use super::conversation::{RequestWriter, plain};
use crate::media::{self, MediaKind};
use crate::reply::state;
use crate::wire;

impl RequestWriter<'_> {
    /// A block; `None` if it is left out, which has been noted.
    pub(super) fn block(
        &mut self,
        at: BlockPath,
        block: &Block,
    ) -> Result<Option<wire::Part>, Unsupported> {
        Ok(match &block.content {
            Content::Audio(audio) => self.audio(at, block, audio)?,
            Content::Document(document) => self.document(at, block, document)?,
            Content::Image(image) => self.image(at, block, image)?,
            Content::Opaque(opaque) => self.opaque(at, block, opaque),
            Content::Refusal(text) => {
                self.notes.withheld(at, &block.opaque, &[]);
                if self.notes.is_blank(at, text) {
                    return Ok(None);
                }
                self.notes
                    .approximated(NoteEffect::Cosmetic, "refusal_as_text", at);
                Some(plain(text))
            }
            Content::Text(text) => self.text(at, block, text),
            Content::Thinking(thinking) => self.thinking(at, block, thinking),
            Content::ToolCall(call) => self.call(at, block, call)?,
            Content::ToolOutcome(outcome) => {
                if at.role == Role::Assistant {
                    // The outcome of a call that another provider ran; its call is withheld as well.
                    self.notes
                        .dropped(NoteEffect::Quality, "provider_outcome_withheld", at);
                    return Ok(None);
                }
                self.notes.withheld(at, &block.opaque, &[]);
                Some(self.outcome(at, outcome))
            }
        })
    }

    /// The signature of a block of the model; all other state is withheld.
    fn signature(&mut self, at: BlockPath, block: &Block) -> Option<String> {
        let found = state::find(&block.opaque, self.owner, state::SIGNATURE)
            .filter(|_| at.role == Role::Assistant)
            .and_then(|(place, json)| Some((place, state::signature_of(json)?)));
        let sent = found.map(|(place, _)| place);
        self.notes.withheld(at, &block.opaque, sent.as_slice());
        found.map(|(_, signature)| signature.to_owned())
    }

    fn text(&mut self, at: BlockPath, block: &Block, text: &Text) -> Option<wire::Part> {
        let signature = self.signature(at, block).filter(|text| !text.is_empty());
        if signature.is_none() && self.notes.is_blank(at, &text.text) {
            return None;
        }
        self.notes.annotations_lost(at, text);
        Some(wire::Part {
            thought_signature: signature,
            ..plain(&text.text)
        })
    }

    /// Thoughts go back to the model that had them alone, signed or not.
    fn thinking(
        &mut self,
        at: BlockPath,
        block: &Block,
        thinking: &Thinking,
    ) -> Option<wire::Part> {
        let is_own = at.role == Role::Assistant
            && state::find(&block.opaque, self.owner, state::SIGNATURE)
                .is_some_and(|(_, json)| state::signature_of(json).is_some());
        if !is_own || thinking.redacted {
            self.notes
                .dropped(NoteEffect::Quality, "thinking_withheld", at);
            return None;
        }
        let signature = self.signature(at, block).filter(|text| !text.is_empty());
        Some(wire::Part {
            thought: Some(true),
            thought_signature: signature,
            ..plain(&thinking.text)
        })
    }

    fn call(
        &mut self,
        at: BlockPath,
        block: &Block,
        call: &Arc<ToolCall>,
    ) -> Result<Option<wire::Part>, Unsupported> {
        if at.role != Role::Assistant {
            return Err(at.unsupported("only the model calls tools"));
        }
        if call.ran_by == RanBy::Provider {
            self.notes
                .dropped(NoteEffect::Quality, "provider_call_withheld", at);
            return Ok(None);
        }
        let name = call.name.as_str().to_owned();
        self.called.insert(call.id.clone(), name.clone());
        let signature = self.signature(at, block).filter(|text| !text.is_empty());
        let fields = self.notes.object_input(at, &call.input);
        let args: Map<String, Value> =
            fields.map_or_else(|wrapped| wrapped, |input| input.fields.clone());
        Ok(Some(wire::Part {
            function_call: Some(wire::FunctionCall {
                id: Some(self.ids.wire_id(&call.id)),
                name,
                args: Some(Value::Object(args)),
            }),
            thought_signature: signature,
            ..wire::Part::default()
        }))
    }

    fn opaque(&mut self, at: BlockPath, block: &Block, opaque: &OpaqueBlock) -> Option<wire::Part> {
        self.notes.withheld(at, &block.opaque, &[]);
        let is_own = opaque.owner == *self.owner && at.role != Role::System;
        if let Some(part) = state::part_of(opaque).filter(|_| is_own) {
            self.notes.fallback_lost(at, opaque);
            return Some(part);
        }
        self.notes.fallback(at, opaque).map(plain)
    }

    fn audio(
        &mut self,
        at: BlockPath,
        block: &Block,
        audio: &Audio,
    ) -> Result<Option<wire::Part>, Unsupported> {
        let part = media::part(&audio.source, MediaKind::Audio, self.owner);
        let Some(part) = part.filter(|_| at.role == Role::User) else {
            let reason = "Gemini takes sounds as AAC, AIFF, FLAC, MP3, OGG or WAV, from a user";
            return self.replacement(at, block, &media_text::audio(audio), reason);
        };
        if audio.transcript.is_some() {
            self.notes
                .approximated(NoteEffect::Cosmetic, "transcript_not_sent", at);
        }
        self.notes.withheld(at, &block.opaque, &[]);
        Ok(Some(part))
    }

    fn image(
        &mut self,
        at: BlockPath,
        block: &Block,
        image: &Image,
    ) -> Result<Option<wire::Part>, Unsupported> {
        let part = media::part(&image.source, MediaKind::Image, self.owner);
        let Some(part) = part.filter(|_| matches!(at.role, Role::Assistant | Role::User)) else {
            let reason = "Gemini takes pictures as JPEG, PNG, WebP, HEIC or HEIF";
            let words = media_text::source("image", &image.source);
            return self.replacement(at, block, &words, reason);
        };
        self.notes.image_detail_lost(at, image);
        Ok(Some(wire::Part {
            thought_signature: self.signature(at, block).filter(|text| !text.is_empty()),
            ..part
        }))
    }

    fn document(
        &mut self,
        at: BlockPath,
        block: &Block,
        document: &Document,
    ) -> Result<Option<wire::Part>, Unsupported> {
        if let MediaSource::Text(text) = &document.source {
            self.notes.withheld(at, &block.opaque, &[]);
            if self.notes.is_blank(at, text) {
                return Ok(None);
            }
            self.notes
                .approximated(NoteEffect::Quality, "document_as_text", at);
            return Ok(Some(plain(text)));
        }
        let part = media::part(&document.source, MediaKind::Document, self.owner);
        let Some(part) = part.filter(|_| at.role == Role::User) else {
            let reason = "Gemini takes documents as PDF or text, from a user";
            let words = media_text::source("document", &document.source);
            return self.replacement(at, block, &words, reason);
        };
        self.notes.withheld(at, &block.opaque, &[]);
        if document.cite || document.context.is_some() || document.title.is_some() {
            self.notes
                .approximated(NoteEffect::Quality, "document_fields_not_sent", at);
        }
        Ok(Some(part))
    }

    /// The replacement text for a block that Gemini does not accept: only in a message of the model.
    fn replacement(
        &mut self,
        at: BlockPath,
        block: &Block,
        words: &str,
        reason: &'static str,
    ) -> Result<Option<wire::Part>, Unsupported> {
        if at.role != Role::Assistant {
            return Err(at.unsupported(reason));
        }
        self.notes.withheld(at, &block.opaque, &[]);
        self.notes
            .approximated(NoteEffect::Meaning, "media_as_text", at);
        Ok(Some(plain(words)))
    }
}
