//! Rules for the parts of messages and outputs.

use serde_json::Value;

use crate::openai::form::{Field, Is, may, need};
use crate::openai::{Found, Rule};
use crate::place::{Place, said, text_of};

/// The parts of user messages and of outputs.
pub(super) const INPUT: &[&str] = &["input_file", "input_image", "input_text"];
/// The parts of assistant messages.
pub(super) const OUTPUT: &[&str] = &["output_text", "refusal"];

const CACHE: Field = may("prompt_cache_breakpoint", Is::OrNull(&Is::Object));
const INPUT_TEXT: [Field; 3] = [CACHE, need("text", Is::Text), need("type", Is::Text)];
const INPUT_IMAGE: [Field; 5] = [
    CACHE,
    may(
        "detail",
        Is::OrNull(&Is::OneOf(&["auto", "low", "high", "original"])),
    ),
    may("file_id", Is::OrNull(&Is::Text)),
    may("image_url", Is::OrNull(&Is::Text)),
    need("type", Is::Text),
];
const INPUT_FILE: [Field; 7] = [
    CACHE,
    may("detail", Is::OneOf(&["auto", "low", "high"])),
    may("file_data", Is::OrNull(&Is::Text)),
    may("file_id", Is::OrNull(&Is::Text)),
    may("file_url", Is::OrNull(&Is::Text)),
    may("filename", Is::OrNull(&Is::Text)),
    need("type", Is::Text),
];
const OUTPUT_TEXT: [Field; 4] = [
    need("annotations", Is::List),
    may("logprobs", Is::List),
    need("text", Is::Text),
    need("type", Is::Text),
];
const REFUSAL: [Field; 2] = [need("refusal", Is::Text), need("type", Is::Text)];

/// The longest text of an output, in characters.
const MAX_LENGTH: usize = 10_485_760;

impl Found<'_> {
    /// A string, or parts of these types.
    pub(super) fn content(&mut self, content: &Value, types: &[&str], place: &Place) {
        if let Some(text) = content.as_str() {
            // Characters are only counted if there may be too many.
            let sound = text.len() <= MAX_LENGTH || text.chars().count() <= MAX_LENGTH;
            self.check(sound, place, Rule::TooLong);
            return;
        }
        self.parts(content, types, place);
    }

    pub(super) fn parts(&mut self, parts: &Value, types: &[&str], place: &Place) {
        for (n, each) in self.some(parts, place).iter().enumerate() {
            let place = place.at(n);
            let kind = text_of(each, "type");
            if types.contains(&kind) {
                self.part(each, kind, &place);
            } else {
                self.broken(&place, Rule::PartOutOfPlace);
            }
        }
    }

    fn part(&mut self, part: &Value, kind: &str, place: &Place) {
        let profile = *self.profile;
        let (form, taken): (&[Field], bool) = match kind {
            "input_file" => (&INPUT_FILE, profile.files),
            "input_image" => (&INPUT_IMAGE, profile.images),
            "output_text" => (&OUTPUT_TEXT, true),
            "refusal" => (&REFUSAL, true),
            _ => (&INPUT_TEXT, true),
        };
        self.check(taken, place, Rule::NotTaken);
        let Some(fields) = self.form(part, form, place) else {
            return;
        };
        self.cache_point(fields, place);
        let sources: &[&str] = match kind {
            "input_image" => &["file_id", "image_url"],
            "input_file" => &["file_data", "file_id", "file_url"],
            _ => return,
        };
        let said = sources.iter().filter(|key| said(fields, key).is_some());
        match said.count() {
            0 => self.broken(place, Rule::Missing),
            1 => {}
            _ => self.broken(place, Rule::Exclusive),
        }
        self.address(fields, "image_url", profile.image_addresses, place);
        self.address(fields, "file_url", true, place);
        self.inline(fields, "file_data", place);
    }
}
