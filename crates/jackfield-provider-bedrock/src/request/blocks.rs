//! Maps blocks of the conversation.

use std::fmt::Arguments;
use std::sync::Arc;

use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_dialect_kit::outgoing::results::{self, Medium};
use jackfield_dialect_kit::state;
use jackfield_domain::block::{Block, Content, RanBy, Thinking, ToolCall};
use jackfield_domain::message::Role;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome};

use super::Unsupported;
use super::conversation::RequestWriter;
use super::media;
use crate::reply::{REDACTED, SIGNATURE};
use crate::wire;

impl RequestWriter<'_> {
    /// A block; `None` if it is left out, which has been noted.
    pub(super) fn block(
        &mut self,
        at: BlockPath,
        block: &Block,
    ) -> Result<Option<wire::ContentBlock>, Unsupported> {
        if let Content::Thinking(thinking) = &block.content {
            return Ok(self.thinking(at, block, thinking));
        }
        self.notes.withheld(at, &block.opaque, &[]);
        Ok(match &block.content {
            Content::Audio(audio) => {
                let words = media_text::audio(audio);
                self.in_words(at, words, "Bedrock's Converse is sent no sounds")?
            }
            Content::Document(document) => {
                if media::is_blank(document, at, self.notes) {
                    return Ok(None);
                }
                let sent = if at.role == Role::User {
                    media::document(document, at, self.profile, &mut self.names, self.notes)
                } else {
                    None
                };
                match sent {
                    Some(sent) => Some(sent),
                    None => {
                        let words = media_text::source("document", &document.source);
                        let reason =
                            "Bedrock takes documents as their bytes, of a known type, from a user";
                        self.in_words(at, words, reason)?
                    }
                }
            }
            Content::Image(image) => {
                let sent = media::image(image).filter(|_| at.role == Role::User);
                match sent {
                    Some(sent) => {
                        self.notes.image_detail_lost(at, image);
                        Some(sent)
                    }
                    None => {
                        let words = media_text::source("image", &image.source);
                        let reason = "Bedrock takes pictures as JPEG, PNG, GIF or WebP, from a user and not by address";
                        self.in_words(at, words, reason)?
                    }
                }
            }
            Content::Opaque(opaque) => {
                let text = self.notes.fallback(at, opaque);
                text.map(|text| wire::ContentBlock::Text(text.to_owned()))
            }
            Content::Refusal(text) => {
                if self.notes.is_blank(at, text) {
                    return Ok(None);
                }
                self.notes
                    .approximated(NoteEffect::Cosmetic, "refusal_as_text", at);
                Some(wire::ContentBlock::Text((**text).to_owned()))
            }
            Content::Text(text) => {
                if self.notes.is_blank(at, &text.text) {
                    return Ok(None);
                }
                self.notes.annotations_lost(at, text);
                Some(wire::ContentBlock::Text((*text.text).to_owned()))
            }
            Content::Thinking(_) => None,
            Content::ToolCall(call) => self.call(at, call)?,
            Content::ToolOutcome(outcome) => {
                if at.role == Role::Assistant {
                    // The outcome of a call that another provider ran; its call is withheld as well.
                    self.notes
                        .dropped(NoteEffect::Quality, "provider_outcome_withheld", at);
                    None
                } else {
                    Some(self.outcome(at, outcome))
                }
            }
        })
    }

    /// Words in place of a medium: only in what the model said.
    fn in_words(
        &mut self,
        at: BlockPath,
        words: String,
        reason: &'static str,
    ) -> Result<Option<wire::ContentBlock>, Unsupported> {
        if at.role != Role::Assistant {
            return Err(at.unsupported(reason));
        }
        self.notes
            .approximated(NoteEffect::Meaning, "media_as_text", at);
        Ok(Some(wire::ContentBlock::Text(words)))
    }

    /// Reasoning goes back to the model that wrote it alone, with its proof.
    fn thinking(
        &mut self,
        at: BlockPath,
        block: &Block,
        thinking: &Thinking,
    ) -> Option<wire::ContentBlock> {
        let kind = if thinking.redacted {
            REDACTED
        } else {
            SIGNATURE
        };
        let found = state::find(&block.opaque, self.owner, kind);
        let proof = found.and_then(|(place, json)| Some((place, json.as_str()?.to_owned())));
        // Without a signature, only a text is left.
        let is_sent = |(_, proof): &(usize, String)| {
            let is_empty = proof.is_empty() && (thinking.redacted || thinking.text.is_empty());
            at.role == Role::Assistant && !is_empty && self.profile.reasoning
        };
        let Some((place, proof)) = proof.filter(is_sent) else {
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
            return Some(wire::ContentBlock::ReasoningContent(
                wire::Reasoning::RedactedContent(proof),
            ));
        }
        let reasoning = wire::ReasoningText {
            text: (*thinking.text).to_owned(),
            signature: Some(proof).filter(|proof| !proof.is_empty()),
        };
        Some(wire::ContentBlock::ReasoningContent(
            wire::Reasoning::ReasoningText(reasoning),
        ))
    }

    fn call(
        &mut self,
        at: BlockPath,
        call: &Arc<ToolCall>,
    ) -> Result<Option<wire::ContentBlock>, Unsupported> {
        if at.role != Role::Assistant {
            return Err(at.unsupported("only the model calls tools"));
        }
        if call.ran_by == RanBy::Provider {
            self.notes
                .dropped(NoteEffect::Quality, "provider_call_withheld", at);
            return Ok(None);
        }
        let name = call.name.as_str().to_owned();
        self.called.push(name.clone());
        let fields = self.notes.object_input(at, &call.input);
        let mut input = fields.map_or_else(|wrapped| wrapped, |input| input.fields.clone());
        if let Some(names) = self.properties.get(&name) {
            names.rename_arguments(&mut input);
        }
        Ok(Some(wire::ContentBlock::ToolUse(wire::ToolUse {
            tool_use_id: self.ids.wire_id(&call.id),
            name,
            input,
        })))
    }

    fn outcome(&mut self, at: BlockPath, outcome: &ToolOutcome) -> wire::ContentBlock {
        let path = format_args!("{at}.outcome");
        self.notes.withheld(path, &outcome.opaque, &[]);
        let result = &outcome.result;
        let (profile, names) = (self.profile, &mut self.names);
        let mut shown = Vec::new();
        let medium = |notes: &mut Notes, path: Arguments<'_>, part: &OutcomePart| {
            let sent = match part {
                OutcomePart::Audio(_) | OutcomePart::Text(_) => None,
                OutcomePart::Document(document) => {
                    media::document(document, path, profile, names, notes)
                }
                OutcomePart::Image(image) => {
                    let sent = media::image(image);
                    if sent.is_some() {
                        notes.image_detail_lost(path, image);
                    }
                    sent
                }
            };
            match sent {
                None => Medium::Unsupported,
                Some(wire::ContentBlock::Image(_)) if !profile.images_in_results => {
                    shown.extend(sent);
                    Medium::Shown
                }
                Some(sent) => Medium::Part(sent),
            }
        };
        let mut content = results::parts(self.notes, at, result, wire::ContentBlock::Text, medium);
        self.in_result_words(at, result.is_error, &mut content);
        let tool_use_id = self.ids.wire_id(&outcome.call);
        if !shown.is_empty() {
            let words = format!("[What the call {tool_use_id} returned:]");
            self.shown.push(wire::ContentBlock::Text(words));
            self.shown.append(&mut shown);
        }
        wire::ContentBlock::ToolResult(wire::ToolResult {
            tool_use_id,
            content,
            status: (result.is_error && profile.result_status).then_some("error"),
        })
    }

    /// Puts into words what a result cannot say otherwise: that it is an error, or that there is nothing.
    fn in_result_words(
        &mut self,
        at: BlockPath,
        is_error: bool,
        content: &mut Vec<wire::ContentBlock>,
    ) {
        let is_empty = content.is_empty();
        let text = content.iter_mut().find_map(|part| match part {
            wire::ContentBlock::Text(text) => Some(text),
            wire::ContentBlock::CachePoint(_)
            | wire::ContentBlock::Document(_)
            | wire::ContentBlock::Image(_)
            | wire::ContentBlock::ReasoningContent(_)
            | wire::ContentBlock::ToolResult(_)
            | wire::ContentBlock::ToolUse(_) => None,
        });
        let (code, words) = match text {
            Some(text) if is_error && !self.profile.result_status => {
                let start = text.trim_start().get(..5);
                if !start.is_some_and(|start| start.eq_ignore_ascii_case("error")) {
                    text.insert_str(0, "Error: ");
                }
                ("error_put_into_words", None)
            }
            None if is_error => ("error_put_into_words", Some(NO_REASON)),
            None if is_empty => ("empty_result_in_words", Some(NOTHING)),
            Some(_) | None => return,
        };
        let path = format_args!("{at}.result");
        self.notes.approximated(NoteEffect::Cosmetic, code, path);
        content.extend(words.map(|words| wire::ContentBlock::Text(words.to_owned())));
    }
}

/// The text of an error without any.
const NO_REASON: &str = "Error: the tool failed and did not say why.";
/// The text of a result without any.
const NOTHING: &str = "The tool returned nothing.";
