//! Maps blocks of the conversation to wire blocks.

use std::sync::Arc;

use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::block::{Block, Content, OpaqueBlock, RanBy, Text, Thinking, ToolCall};
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::message::Role;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::tool_input::ToolInput;
use serde_json::{Map, Value};

use super::Unsupported;
use super::conversation::{RequestWriter, plain};
use super::outcomes::{document_source, image_source};
use crate::DIALECT;
use crate::reply::{annotation_source, state};
use crate::wire;

impl RequestWriter<'_> {
    /// A block; `None` if it is left out, which has been noted.
    pub(super) fn block(
        &mut self,
        at: BlockPath,
        block: &Block,
    ) -> Result<Option<wire::Block>, Unsupported> {
        Ok(match &block.content {
            Content::Audio(audio) => {
                self.notes.withheld(at, &block.opaque, &[]);
                self.audio(at, audio)?
            }
            Content::Document(document) => {
                self.notes.withheld(at, &block.opaque, &[]);
                self.document(at, document)?
            }
            Content::Image(image) => {
                self.notes.withheld(at, &block.opaque, &[]);
                self.image(at, image)?
            }
            Content::Opaque(opaque) => self.opaque(at, block, opaque),
            Content::Refusal(text) => {
                self.notes.withheld(at, &block.opaque, &[]);
                self.refusal(at, text)
            }
            Content::Text(text) => {
                self.notes.withheld(at, &block.opaque, &[]);
                self.text(at, text)
            }
            Content::Thinking(thinking) => self.thinking(at, block, thinking),
            Content::ToolCall(call) => self.call(at, block, call)?,
            Content::ToolOutcome(outcome) => {
                if at.role == Role::Assistant {
                    // The outcome of a call that another provider ran; its call is withheld as well.
                    self.notes
                        .dropped(NoteEffect::Quality, "provider_outcome_withheld", at);
                    None
                } else {
                    self.notes.withheld(at, &block.opaque, &[]);
                    Some(self.outcome(at, outcome))
                }
            }
        })
    }

    fn text(&mut self, at: BlockPath, text: &Text) -> Option<wire::Block> {
        if self.notes.is_blank(at, &text.text) {
            return None;
        }
        let mut citations = Vec::new();
        for (k, annotation) in text.annotations.iter().enumerate() {
            // Claude accepts citations only in the model's own text (API 2026-10-21).
            if at.role == Role::Assistant
                && *annotation.dialect == *DIALECT
                && annotation.json.is_object()
            {
                let path = format_args!("{at}.annotations[{k}]");
                let (title, url) = annotation_source(&annotation.json);
                self.notes
                    .check_source(annotation, title.as_deref(), url.as_deref(), path);
                citations.push(annotation.json.clone());
            } else {
                let path = format_args!("{at}.annotations[{k}]");
                self.notes
                    .dropped(NoteEffect::Quality, "annotation_not_sent", path);
            }
        }
        Some(wire::Block::Text {
            text: (*text.text).to_owned(),
            citations: (!citations.is_empty()).then_some(citations),
            cache_control: None,
        })
    }

    fn refusal(&mut self, at: BlockPath, text: &str) -> Option<wire::Block> {
        if self.notes.is_blank(at, text) {
            return None;
        }
        self.notes
            .approximated(NoteEffect::Cosmetic, "refusal_as_text", at);
        Some(plain(text))
    }

    fn thinking(
        &mut self,
        at: BlockPath,
        block: &Block,
        thinking: &Thinking,
    ) -> Option<wire::Block> {
        let kind = if thinking.redacted {
            state::REDACTED
        } else {
            state::SIGNATURE
        };
        let found = state::find(&block.opaque, self.owner, kind);
        let proof = found.and_then(|(place, json)| Some((place, json.as_str()?)));
        let Some((place, proof)) = proof.filter(|_| at.role == Role::Assistant) else {
            // Claude refuses thinking without this model's signature.
            self.notes
                .dropped(NoteEffect::Quality, "thinking_withheld", at);
            return None;
        };
        self.notes.withheld(at, &block.opaque, &[place]);
        if thinking.redacted {
            if !thinking.text.is_empty() {
                let path = format_args!("{at}.text");
                self.notes
                    .dropped(NoteEffect::Cosmetic, "redacted_text", path);
            }
            return Some(wire::Block::RedactedThinking {
                data: proof.to_owned(),
            });
        }
        if proof.is_empty() {
            // A compatible server that does not sign; a client's empty signature counts as none.
            let path = format_args!("{at}.opaque");
            self.notes
                .approximated(NoteEffect::Cosmetic, "empty_signature", path);
        }
        Some(wire::Block::Thinking {
            thinking: (*thinking.text).to_owned(),
            signature: proof.to_owned(),
        })
    }

    fn call(
        &mut self,
        at: BlockPath,
        block: &Block,
        call: &Arc<ToolCall>,
    ) -> Result<Option<wire::Block>, Unsupported> {
        if at.role != Role::Assistant {
            return Err(at.unsupported("only the model calls tools"));
        }
        if call.ran_by == RanBy::Provider {
            return Ok(self.provider_call(at, block, call));
        }
        let name = call.name.as_str().to_owned();
        self.called_tools.push(name.clone());
        let caller = state::find(&block.opaque, self.owner, state::CALLER)
            .filter(|(_, json)| json.is_object());
        let toolset = state::find(&block.opaque, self.owner, state::TOOLSET)
            .and_then(|(place, json)| Some((place, json.as_str()?)));
        let sent: Vec<usize> = caller
            .map(|(place, _)| place)
            .into_iter()
            .chain(toolset.map(|(place, _)| place))
            .collect();
        self.notes.withheld(at, &block.opaque, &sent);
        if let Some((_, toolset)) = toolset {
            self.toolsets.insert(call.id.clone(), toolset.to_owned());
        }
        let mut input = self.input(at, &call.input);
        if let Some(names) = self.names.get(&name) {
            names.rename_arguments(&mut input);
        }
        Ok(Some(wire::Block::ToolUse(wire::ToolUse {
            id: self.ids.wire_id(&call.id),
            name,
            input: Value::Object(input),
            caller: caller.map(|(_, json)| json.clone()),
            toolset_name: toolset.map(|(_, name)| name.to_owned()),
            cache_control: None,
        })))
    }

    fn provider_call(
        &mut self,
        at: BlockPath,
        block: &Block,
        call: &ToolCall,
    ) -> Option<wire::Block> {
        let whole = state::provider_call(block, self.owner)
            .filter(|known| self.complete_calls.contains(known.id));
        let Some(known) = whole else {
            self.notes
                .dropped(NoteEffect::Quality, "provider_call_withheld", at);
            return None;
        };
        let place = state::find(&block.opaque, self.owner, state::PROVIDER_CALL);
        self.notes
            .withheld(at, &block.opaque, &[place.map_or(0, |(place, _)| place)]);
        let mut fields = known.fields.clone();
        fields.insert(
            "input".to_owned(),
            Value::Object(self.input(at, &call.input)),
        );
        Some(wire::Block::Other(fields))
    }

    /// The arguments as an object, the only form that Claude accepts.
    fn input(&mut self, at: BlockPath, input: &ToolInput) -> Map<String, Value> {
        let fields = self.notes.object_input(at, input);
        fields.map_or_else(|wrapped| wrapped, |input| input.fields.clone())
    }

    fn opaque(
        &mut self,
        at: BlockPath,
        block: &Block,
        opaque: &OpaqueBlock,
    ) -> Option<wire::Block> {
        let paired =
            state::result_of(&opaque.json).is_none_or(|id| self.complete_calls.contains(id));
        let is_own = opaque.owner == *self.owner && at.role != Role::System;
        let fields = state::fields_of(opaque).filter(|_| is_own && paired);
        self.notes.withheld(at, &block.opaque, &[]);
        if let Some(fields) = fields {
            self.notes.fallback_lost(at, opaque);
            return Some(wire::Block::Other(fields.clone()));
        }
        self.notes.fallback(at, opaque).map(plain)
    }

    fn audio(&mut self, at: BlockPath, audio: &Audio) -> Result<Option<wire::Block>, Unsupported> {
        self.replacement_text(at, &media_text::audio(audio), "Claude takes no sounds")
    }

    fn image(&mut self, at: BlockPath, image: &Image) -> Result<Option<wire::Block>, Unsupported> {
        let source = image_source(&image.source, self.owner);
        let Some(source) = source.filter(|_| matches!(at.role, Role::Tool | Role::User)) else {
            let reason = "Claude takes pictures as JPEG, PNG, GIF or WebP, from a user";
            return self.replacement_text(at, &media_text::source("image", &image.source), reason);
        };
        self.notes.image_detail_lost(at, image);
        Ok(Some(image_block(source)))
    }

    fn document(
        &mut self,
        at: BlockPath,
        document: &Document,
    ) -> Result<Option<wire::Block>, Unsupported> {
        if matches!(&document.source, MediaSource::Text(text) if self.notes.is_blank(at, text)) {
            return Ok(None);
        }
        let source = document_source(&document.source, self.owner);
        let Some(source) = source.filter(|_| matches!(at.role, Role::Tool | Role::User)) else {
            let reason = "Claude takes documents as PDF or plain text, from a user";
            return self.replacement_text(
                at,
                &media_text::source("document", &document.source),
                reason,
            );
        };
        Ok(Some(document_block(document, source)))
    }

    /// The replacement text for a block that Claude does not accept: only in an assistant message.
    fn replacement_text(
        &mut self,
        at: BlockPath,
        words: &str,
        reason: &'static str,
    ) -> Result<Option<wire::Block>, Unsupported> {
        if at.role != Role::Assistant {
            return Err(at.unsupported(reason));
        }
        self.notes
            .approximated(NoteEffect::Meaning, "media_as_text", at);
        Ok(Some(plain(words)))
    }
}

pub(super) fn image_block(source: wire::Source) -> wire::Block {
    wire::Block::Image {
        source,
        cache_control: None,
    }
}

pub(super) fn document_block(document: &Document, source: wire::Source) -> wire::Block {
    wire::Block::Document {
        source,
        title: document.title.as_deref().map(str::to_owned),
        context: document.context.as_deref().map(str::to_owned),
        citations: document.cite.then_some(wire::Citations { enabled: true }),
        cache_control: None,
    }
}
