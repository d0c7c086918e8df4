//! Maps outcomes of tool calls to `functionResponse` parts.

use std::fmt::Arguments;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_dialect_kit::outgoing::results::{self, Medium};
use jackfield_domain::media::{Document, MediaSource};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use serde_json::{Map, Value, json};

use super::conversation::RequestWriter;
use crate::media::{self, MediaKind};
use crate::wire;

/// One part of a result.
enum ResultPart {
    Medium(Box<wire::Part>),
    Text(String),
}

impl RequestWriter<'_> {
    pub(super) fn outcome(&mut self, at: BlockPath, outcome: &ToolOutcome) -> wire::Part {
        let path = format_args!("{at}.outcome");
        self.notes.withheld(path, &outcome.opaque, &[]);
        let (response, media) = self.result(at, &outcome.result);
        let name = self.called.get(&outcome.call).cloned();
        wire::Part {
            function_response: Some(wire::FunctionResponse {
                id: Some(self.ids.wire_id(&outcome.call)),
                name: name.unwrap_or_default(),
                response: Some(Value::Object(response)),
                parts: (!media.is_empty()).then_some(media),
            }),
            ..wire::Part::default()
        }
    }

    /// The result as an object, and its media.
    fn result(
        &mut self,
        at: BlockPath,
        result: &ToolResult,
    ) -> (Map<String, Value>, Vec<wire::Part>) {
        if let Some(json) = &result.structured
            && is_repeated(&result.content, json)
            && let Some(response) = structured(json, result.is_error)
        {
            return (response, Vec::new());
        }
        let (owner, with_media) = (self.owner, self.profile.media_in_results);
        let medium = |notes: &mut Notes, path: Arguments<'_>, part: &OutcomePart| {
            let (source, kind) = match part {
                OutcomePart::Audio(_) | OutcomePart::Text(_) => return Medium::Unsupported,
                OutcomePart::Document(document) => {
                    if let MediaSource::Text(text) = &document.source {
                        notes.approximated(NoteEffect::Quality, "document_as_text", path);
                        return Medium::Text((**text).to_owned());
                    }
                    (&document.source, MediaKind::Document)
                }
                OutcomePart::Image(image) => (&image.source, MediaKind::Image),
            };
            let Some(sent) = media::part(source, kind, owner).filter(|_| with_media) else {
                return Medium::Unsupported;
            };
            match part {
                OutcomePart::Document(document) if has_fields(document) => {
                    notes.approximated(NoteEffect::Quality, "document_fields_not_sent", path);
                }
                OutcomePart::Image(image) => notes.image_detail_lost(path, image),
                OutcomePart::Audio(_) | OutcomePart::Document(_) | OutcomePart::Text(_) => {}
            }
            Medium::Part(ResultPart::Medium(Box::new(sent)))
        };
        let parts = results::parts(self.notes, at, result, ResultPart::Text, medium);
        let (mut texts, mut media) = (Vec::new(), Vec::new());
        let mut is_moved = false;
        for part in parts {
            match part {
                ResultPart::Medium(part) => media.push(*part),
                ResultPart::Text(text) => {
                    is_moved |= !media.is_empty();
                    texts.push(Value::String(text));
                }
            }
        }
        if is_moved {
            let path = format_args!("{at}.result.content");
            self.notes
                .approximated(NoteEffect::Cosmetic, "parts_rearranged", path);
        }
        let value = match texts.as_mut_slice() {
            [] => json!(""),
            [text] => text.take(),
            _ => Value::Array(texts),
        };
        let key = if result.is_error { ERROR } else { OUTPUT };
        (Map::from_iter([(key.to_owned(), value)]), media)
    }
}

/// Whether the content of a result says nothing but its structured value.
fn is_repeated(content: &[OutcomePart], json: &Value) -> bool {
    match content {
        [] => true,
        [OutcomePart::Text(text)] => {
            serde_json::from_str::<Value>(text).is_ok_and(|value| value == *json)
        }
        _ => false,
    }
}

/// A structured result in its own form; `None` if that would be read as texts.
fn structured(json: &Value, is_error: bool) -> Option<Map<String, Value>> {
    if let Value::Object(fields) = json
        && !is_error
        && !is_wrapped(fields)
    {
        return Some(fields.clone());
    }
    let is_texts = match json {
        Value::Array(items) => items.iter().all(Value::is_string),
        Value::Null | Value::String(_) => true,
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    let key = if is_error { ERROR } else { OUTPUT };
    (!is_texts).then(|| Map::from_iter([(key.to_owned(), json.clone())]))
}

/// Whether a response holds its value in a field of the vendor's; otherwise it is the value (`google-genai` 3.6.1,
/// `FunctionResponse`).
pub(super) fn is_wrapped(fields: &Map<String, Value>) -> bool {
    fields.len() == 1 && (fields.contains_key(ERROR) || fields.contains_key(OUTPUT))
}

fn has_fields(document: &Document) -> bool {
    document.cite || document.context.is_some() || document.title.is_some()
}

pub(super) const ERROR: &str = "error";
pub(super) const OUTPUT: &str = "output";
