//! Gemini's own rules for the bodies of `generateContent`.
//!
//! Written from the vendor's rules (the Gemini API documentation, the types of `google-genai` 3.6.1, and causes of 400
//! responses; 2026-11), independently of the mappers, which they verify in tests and in scripted servers.

mod conversation;
mod schema;
mod settings;
mod tools;

use jackfield_dialect_gemini::options::Profile;
use serde_json::Value;
use thiserror::Error;

use crate::place::{CommonRules, Place};

/// A violation of a rule, and its place.
pub type Violation = crate::place::Violation<Rule>;

/// A rule of the vendor.
#[derive(Clone, Copy, Debug, Eq, Error, Hash, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// A content with calls follows one of the model, or none.
    #[error(
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
    )]
    CallOutOfPlace,
    /// A part has no data, or several.
    #[error("a part has exactly one field with data")]
    Data,
    /// A field that must have contents is empty.
    #[error("must not be empty")]
    Empty,
    /// Names of functions are allowed in a mode without them, or are of no function.
    #[error(
        "allowed_function_names is for the modes ANY and VALIDATED, and names declared functions"
    )]
    FunctionNames,
    /// JSON is demanded beside functions from a model that cannot do both.
    #[error("Function calling with a response mime type: 'application/json' is unsupported")]
    JsonBesideTools,
    /// A medium has a type that the model does not take.
    #[error("Unsupported MIME type")]
    MediaType,
    /// A required field is missing.
    #[error("a required field is missing")]
    Missing,
    /// The name of a function has another form.
    #[error(
        "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128."
    )]
    Name,
    /// A number is outside its range.
    #[error("out of range")]
    OutOfRange,
    /// Two functions have one name.
    #[error("Duplicate function declaration found")]
    Repeated,
    /// The results are not those of the calls before them.
    #[error(
        "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
    )]
    Results,
    /// A role is neither `user` nor `model`.
    #[error("Please use a valid role: user, model.")]
    Role,
    #[error("this is no JSON Schema")]
    Schema,
    /// A schema has a keyword that is not honoured.
    #[error("this is outside of the part of JSON Schema that is honoured")]
    SchemaSubset,
    /// The first call of a step in the current turn is not signed.
    #[error("Function call is missing a thought_signature in functionCall parts.")]
    Signature,
    /// The thinking is asked for in a way that the model does not know.
    #[error(
        "You can only set only one of thinking budget and thinking level, and one that the model has"
    )]
    Thinking,
    /// There are more elements than permitted.
    #[error("too many")]
    TooMany,
    /// The field does not exist.
    #[error("Unknown name: Cannot find field.")]
    UnknownField,
    /// A value has the wrong type.
    #[error("Invalid value")]
    WrongType,
    /// A value is not one of the permitted ones.
    #[error("unknown value")]
    WrongValue,
}

/// Checks the body of `POST /v1beta/models/MODEL:generateContent` for a model with this profile; the list is empty if
/// it is valid.
#[must_use]
pub fn check(body: &Value, profile: &Profile) -> Vec<Violation> {
    let mut found = Found::new(profile);
    let place = Place::default();
    let Some(fields) = found.object(body, &place) else {
        return found.violations;
    };
    found.known_fields(fields, &place, FIELDS);
    found.conversation(fields, &place);
    found.tools(fields, &place);
    found.settings(fields, &place);
    found.violations
}

impl CommonRules for Rule {
    const EMPTY: Self = Self::Empty;
    const MISSING: Self = Self::Missing;
    const UNKNOWN_FIELD: Self = Self::UnknownField;
    const WRONG_TYPE: Self = Self::WrongType;
    const WRONG_VALUE: Self = Self::WrongValue;
}

type Found<'a> = crate::place::Found<'a, Profile, Rule>;

/// The fields of a body.
const FIELDS: &[&str] = &[
    "cachedContent",
    "contents",
    "continuationToken",
    "generationConfig",
    "safetySettings",
    "serviceTier",
    "store",
    "systemInstruction",
    "toolConfig",
    "tools",
];
