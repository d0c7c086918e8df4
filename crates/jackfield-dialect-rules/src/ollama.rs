//! Ollama's own rules for the bodies of `/api/chat`.
//!
//! Written from `api/types.go` and `server/routes.go` of `github.com/ollama/ollama` at fb30760 (2026-08-21), independently
//! of the mappers, which they verify in tests and in scripted servers. The server itself ignores unknown fields and
//! options, and keywords of schemas that its types lack; here they are violations, as the model would never see them.

mod messages;
mod options;
mod tools;

use serde_json::Value;
use thiserror::Error;

use crate::place::{CommonRules, Place, said};

/// A violation of a rule, and its place.
pub type Violation = crate::place::Violation<Rule>;

/// A rule of the server.
#[derive(Clone, Copy, Debug, Eq, Error, Hash, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// A field that must have contents is empty.
    #[error("must not be empty")]
    Empty,
    /// An image is not in base64.
    #[error("illegal base64 data")]
    Image,
    /// A required field is missing.
    #[error("a required field is missing")]
    Missing,
    /// A number is outside its range.
    #[error("out of range")]
    OutOfRange,
    /// Two tools have one name, or two calls one id.
    #[error("there is another one")]
    Repeated,
    /// A result is not that of an open call, or a call has no result.
    #[error("calls and results do not belong together")]
    Results,
    /// A schema has a keyword that the server's types lack.
    #[error("the server drops this keyword")]
    SchemaSubset,
    /// The field does not exist.
    #[error("there is no such field")]
    UnknownField,
    /// A value has the wrong type.
    #[error("cannot unmarshal this value")]
    WrongType,
    /// A value is not one of the permitted ones.
    #[error("unknown value")]
    WrongValue,
}

/// Checks the body of `POST /api/chat`; the list is empty if it is valid.
#[must_use]
pub fn check(body: &Value) -> Vec<Violation> {
    let mut found = Found::new(&());
    let place = Place::default();
    let Some(fields) = found.object(body, &place) else {
        return found.violations;
    };
    found.known_fields(fields, &place, FIELDS);
    found.required(fields, &place, &["messages", "model"]);
    if let Some(model) = said(fields, "model") {
        found.words(model, &place.at("model"));
    }
    for name in ["logprobs", "shift", "stream", "truncate"] {
        if let Some(value) = said(fields, name) {
            found.boolean(value, &place.at(name));
        }
    }
    found.think(fields, &place);
    if let Some(format) = said(fields, "format") {
        let is_sound = format.is_object() || format == "json";
        found.check(is_sound, &place.at("format"), Rule::WrongValue);
    }
    if let Some(keep_alive) = said(fields, "keep_alive") {
        let is_sound = keep_alive.is_number() || keep_alive.is_string();
        found.check(is_sound, &place.at("keep_alive"), Rule::WrongType);
    }
    found.options(fields, &place);
    found.tools(fields, &place);
    found.messages(fields, &place);
    found.violations
}

impl Found<'_> {
    fn think(&mut self, fields: &serde_json::Map<String, Value>, place: &Place) {
        match said(fields, "think") {
            None | Some(Value::Bool(_)) => {}
            Some(level) => {
                let levels = ["high", "low", "max", "medium"];
                self.one_of(level, &place.at("think"), &levels);
            }
        }
    }
}

impl CommonRules for Rule {
    const EMPTY: Self = Self::Empty;
    const MISSING: Self = Self::Missing;
    const UNKNOWN_FIELD: Self = Self::UnknownField;
    const WRONG_TYPE: Self = Self::WrongType;
    const WRONG_VALUE: Self = Self::WrongValue;
}

type Found<'a> = crate::place::Found<'a, (), Rule>;

/// The fields of a body.
const FIELDS: &[&str] = &[
    "format",
    "keep_alive",
    "logprobs",
    "messages",
    "model",
    "options",
    "shift",
    "stream",
    "think",
    "tools",
    "top_logprobs",
    "truncate",
];
