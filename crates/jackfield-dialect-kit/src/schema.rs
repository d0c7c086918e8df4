//! Common parts of converting a JSON Schema to a vendor's subset.

mod root;

pub use root::{object, sound};

use jackfield_domain::note::NoteEffect;
use jackfield_domain::schema::describe;
use serde_json::{Map, Value};

/// A difference between the original schema and the one that is sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// The kind of the change.
    pub code: &'static str,
    /// Its effect.
    pub effect: NoteEffect,
    /// A JSON Pointer into the original schema.
    pub pointer: String,
}

/// The changes so far, without duplicates.
#[derive(Debug, Default)]
pub struct Changes(Vec<Change>);

impl Changes {
    /// Adds a change.
    pub fn push(&mut self, effect: NoteEffect, code: &'static str, pointer: &str) {
        let change = Change {
            code,
            effect,
            pointer: pointer.to_owned(),
        };
        if !self.0.contains(&change) {
            self.0.push(change);
        }
    }

    /// Moves keywords that cannot be sent to the description, where the model may follow them.
    pub fn describe(&mut self, rest: Map<String, Value>, out: &mut Map<String, Value>, at: &str) {
        if rest.is_empty() {
            return;
        }
        self.push(NoteEffect::Quality, "schema_keywords_described", at);
        describe(&rest, out);
    }

    /// All changes, in order.
    #[must_use]
    pub fn into_vec(self) -> Vec<Change> {
        self.0
    }
}

/// The JSON Pointer to a member (RFC 6901).
#[must_use]
pub fn member(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Whether a value is neither an array nor an object.
#[must_use]
pub fn is_primitive(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

/// Whether a text is a regular expression that compiles.
#[must_use]
pub fn is_pattern(text: &str) -> bool {
    text.len() <= MAX_PATTERN && fancy_regex::Regex::new(text).is_ok()
}

/// The longest regular expression that is compiled, in bytes.
const MAX_PATTERN: usize = 4096;
