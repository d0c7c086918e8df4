//! Maps outcomes of tool calls: one text message each; their media follow separately.

use std::fmt::Arguments;

use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_dialect_kit::outgoing::results::{self, Medium};
use jackfield_domain::block::Content;
use jackfield_domain::media::MediaSource;
use jackfield_domain::message::Message;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome};

use super::Unsupported;
use super::content::{audio_part, file_part, image_part, into_content, text_part};
use super::conversation::RequestWriter;
use crate::chat::wire;
use crate::profile::MessageOrder;

/// The text for an error without a message.
const SILENT_ERROR: &str = "The tool failed and did not say why.";

impl RequestWriter<'_> {
    /// Adds all outcomes of one reply, followed by their media.
    pub(super) fn outcomes(&mut self, n: usize, message: &Message) -> Result<(), Unsupported> {
        let path = format_args!("messages[{n}]");
        self.notes.withheld(path, &message.opaque, &[]);
        let mut user_parts = Vec::new();
        for (at, block) in BlockPath::of(message, n) {
            let Content::ToolOutcome(outcome) = &block.content else {
                return Err(at.unsupported("tools have outcomes alone"));
            };
            self.notes.withheld(at, &block.opaque, &[]);
            let text = self.outcome(at, outcome, &mut user_parts);
            let mut part = text_part(&text);
            if text.is_empty() {
                self.notes.cache_point_lost(at, block);
            } else {
                self.set_cache_point(at, block, &mut part);
            }
            let content = into_content(vec![part]);
            self.messages.push(wire::Message {
                content: Some(content),
                tool_call_id: Some(self.ids.wire_id(&outcome.call)),
                ..wire::Message::new(wire::Role::Tool)
            });
        }
        if !user_parts.is_empty() {
            self.push_user(n, wire::Content::Parts(user_parts), true);
        }
        Ok(())
    }

    /// The text of an outcome; its media are appended to `shown`.
    fn outcome(
        &mut self,
        at: BlockPath,
        outcome: &ToolOutcome,
        user_parts: &mut Vec<wire::Part>,
    ) -> String {
        let path = format_args!("{at}.outcome");
        self.notes.withheld(path, &outcome.opaque, &[]);
        let result = &outcome.result;
        let name = self.ids.wire_id(&outcome.call);
        let (profile, owner) = (self.profile, self.owner);
        // If no user message may follow tool messages, media in outcomes cannot be sent.
        let shows = profile.message_order != MessageOrder::AnswerAfterTools;
        let mut media = Vec::new();
        let medium = |notes: &mut Notes, path: Arguments<'_>, part: &OutcomePart| {
            let part = match part {
                OutcomePart::Audio(audio) => audio_part(audio, profile),
                OutcomePart::Document(document) => {
                    if let MediaSource::Text(text) = &document.source {
                        notes.approximated(NoteEffect::Cosmetic, "document_as_text", path);
                        return Medium::Text(media_text::document(document, text));
                    }
                    file_part(document, profile, owner)
                }
                OutcomePart::Image(image) => image_part(image, profile),
                OutcomePart::Text(_) => None,
            };
            let Some(part) = part.filter(|_| shows) else {
                return Medium::Unsupported;
            };
            media.push(part);
            Medium::Shown
        };
        let texts = results::parts(self.notes, at, result, |text| text, medium);
        if !media.is_empty() {
            user_parts.push(text_part(&format!("[What the call {name} returned:]")));
            user_parts.extend(media);
        }
        if texts.len() > 1 {
            let path = format_args!("{at}.result.content");
            self.notes
                .approximated(NoteEffect::Cosmetic, "texts_joined", path);
        }
        let text = texts.join("\n");
        if !result.is_error {
            return text;
        }
        let path = format_args!("{at}.result");
        self.notes
            .approximated(NoteEffect::Cosmetic, "error_put_into_words", path);
        if text.is_empty() {
            return SILENT_ERROR.to_owned();
        }
        let says_so = text.trim_start().get(..5);
        if says_so.is_some_and(|start| start.eq_ignore_ascii_case("error")) {
            return text;
        }
        format!("Error: {text}")
    }
}
