//! Maps outcomes of tool calls to output items.

use std::fmt::Arguments;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_dialect_kit::outgoing::results::{self, Medium};
use jackfield_domain::block::Block;
use jackfield_domain::media::MediaSource;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};

use super::conversation::{RequestWriter, breakpoint};
use super::media::{file, full_document_text, note_detail, note_document, picture};
use crate::responses::{state, wire};

/// The prefix of an outcome that is an error, as the dialect has no field for it.
pub(crate) const ERROR: &str = "The tool failed: ";

impl RequestWriter<'_> {
    /// The output of a call; its media are appended to `shown` if the server accepts none in outputs.
    pub(super) fn outcome(
        &mut self,
        at: BlockPath,
        block: &Block,
        outcome: &ToolOutcome,
        user_parts: &mut Vec<wire::Part>,
    ) -> wire::Item {
        let found = state::find(&outcome.opaque, self.owner, state::OUTPUT);
        let found = found.and_then(|(place, json)| {
            Some((place, state::fields(json, &state::FIELDS_OF_OUTPUT)?))
        });
        let place = found.map(|(place, _)| place);
        let path = format_args!("{at}.outcome");
        self.notes.withheld(path, &outcome.opaque, place.as_slice());
        let mut extra = found
            .map(|(_, fields)| state::without_nulls(fields))
            .unwrap_or_default();
        let sent = self.sent_calls.get(&outcome.call);
        if let Some(search) = self
            .search
            .filter(|_| sent.is_some_and(|sent| sent.is_search))
        {
            self.notes.cache_point_lost(at, block);
            let call_id = self.ids.wire_id(&outcome.call);
            return search.output(&outcome.call, call_id, self.profile, self.notes);
        }
        let custom = sent.is_some_and(|sent| sent.custom);
        if let Some(caller) = sent.and_then(|sent| sent.caller.as_ref()) {
            extra.entry("caller").or_insert_with(|| caller.clone());
        }
        let mut media = Vec::new();
        let mut parts = self.result(at, &outcome.result, &mut media);
        if !media.is_empty() {
            let call = self.ids.wire_id(&outcome.call);
            user_parts.push(text(&format!("[What the call {call} returned:]")));
            user_parts.append(&mut media);
        }
        if let Some(point) = self.cache_point(at, block) {
            if parts.is_empty() {
                parts.push(text(""));
            }
            if let Some(place) = parts.last_mut().and_then(breakpoint) {
                *place = Some(point);
            }
        }
        let output = wire::Output {
            call_id: self.ids.wire_id(&outcome.call),
            output: content(parts),
            extra,
        };
        if custom {
            wire::Item::CustomToolCallOutput(output)
        } else {
            wire::Item::FunctionCallOutput(output)
        }
    }

    fn result(
        &mut self,
        at: BlockPath,
        result: &ToolResult,
        media: &mut Vec<wire::Part>,
    ) -> Vec<wire::Part> {
        let (profile, owner) = (self.profile, self.owner);
        let medium = |notes: &mut Notes, path: Arguments<'_>, part: &OutcomePart| {
            let part = match part {
                OutcomePart::Audio(_) | OutcomePart::Text(_) => None,
                OutcomePart::Document(document) => {
                    if let MediaSource::Text(said) = &document.source {
                        notes.approximated(NoteEffect::Cosmetic, "document_as_text", path);
                        return Medium::Text(full_document_text(document, said));
                    }
                    let part = file(document, profile, owner);
                    if part.is_some() && profile.output_media {
                        note_document(path, document, notes);
                    }
                    part
                }
                OutcomePart::Image(image) => {
                    let part = picture(image, profile, owner);
                    if part.is_some() && profile.output_media {
                        note_detail(path, image, notes);
                    }
                    part
                }
            };
            match part {
                Some(part) if profile.output_media => Medium::Part(part),
                Some(part) => {
                    media.push(part);
                    Medium::Shown
                }
                None => Medium::Unsupported,
            }
        };
        let mut parts = results::parts(self.notes, at, result, |words| text(&words), medium);
        if result.is_error {
            let path = format_args!("{at}.result");
            self.notes
                .approximated(NoteEffect::Cosmetic, "error_put_into_words", path);
            match parts.first_mut() {
                Some(wire::Part::InputText { text, .. }) => text.insert_str(0, ERROR),
                Some(_) | None => parts.insert(0, text("The tool failed.")),
            }
        }
        parts
    }
}

/// A single text is sent as a string, which every server accepts.
fn content(mut parts: Vec<wire::Part>) -> wire::OutputContent {
    match parts.as_mut_slice() {
        [] => wire::OutputContent::Text(String::new()),
        [
            wire::Part::InputText {
                text,
                prompt_cache_breakpoint: None,
            },
        ] => wire::OutputContent::Text(std::mem::take(text)),
        _ => wire::OutputContent::Parts(parts),
    }
}

fn text(text: &str) -> wire::Part {
    wire::Part::InputText {
        text: text.to_owned(),
        prompt_cache_breakpoint: None,
    }
}
