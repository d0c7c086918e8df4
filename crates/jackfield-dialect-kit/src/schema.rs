//! What fitting a JSON Schema into a vendor's subset of it needs, whatever the subset.

mod root;

pub use root::{object, sound};

use jackfield_domain::note::NoteEffect;
use jackfield_domain::schema::describe;
use serde_json::{Map, Value};

/// A place where the schema that is sent differs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// What was done.
    pub code: &'static str,
    /// What it touches.
    pub effect: NoteEffect,
    /// A JSON Pointer into the schema as it was.
    pub pointer: String,
}

/// The changes so far: each once.
#[derive(Debug, Default)]
pub struct Changes(Vec<Change>);

impl Changes {
    /// Something near was sent.
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

    /// Puts the keywords that cannot be sent into the description, where the model may follow them.
    pub fn describe(&mut self, rest: Map<String, Value>, out: &mut Map<String, Value>, at: &str) {
        if rest.is_empty() {
            return;
        }
        self.push(NoteEffect::Quality, "schema_keywords_described", at);
        describe(&rest, out);
    }

    /// All of them, in order.
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

/// Whether a text is a regular expression that can be compiled.
#[must_use]
pub fn is_pattern(text: &str) -> bool {
    text.len() <= LONGEST_PATTERN && fancy_regex::Regex::new(text).is_ok()
}

/// The longest regular expression that is looked at, in bytes.
const LONGEST_PATTERN: usize = 4096;
