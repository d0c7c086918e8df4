//! The rules of Amazon Bedrock for the bodies of Converse.
//!
//! Written from the service model `bedrock-runtime/2023-09-30` in `botocore` 1.44.8 and from the Bedrock user guide
//! (2026-11), independently of the mappers, which they verify in tests and in scripted servers.

mod blocks;
mod messages;
mod settings;
mod tools;

use serde_json::Value;
use thiserror::Error;

use crate::place::{CommonRules, Place};

/// A violation of a rule, and its place.
pub type Violation = crate::place::Violation<Rule>;

/// A rule of the server.
#[derive(Clone, Copy, Debug, Eq, Error, Hash, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// Two fields contradict each other.
    #[error("this field cannot be used with another one that is set")]
    Conflict,
    /// A field that must have contents is empty.
    #[error("must not be blank")]
    Empty,
    /// A text does not have the required form.
    #[error("failed to satisfy constraint: Member must satisfy regular expression pattern")]
    Form,
    /// A required field is missing.
    #[error("failed to satisfy constraint: Member must not be null")]
    Missing,
    /// The block is not permitted in a message of this role.
    #[error("this block is not permitted here")]
    Misplaced,
    /// The model does not support the field.
    #[error("This model doesn't support this field")]
    NotSupported,
    /// A number is outside its range.
    #[error("out of range")]
    OutOfRange,
    /// Two things have one name.
    #[error("there is another one with this name")]
    Repeated,
    /// A result is not that of an open call, or a call has no result.
    #[error("calls and results do not belong together")]
    Results,
    /// Turns do not alternate.
    #[error("roles must alternate between \"user\" and \"assistant\"")]
    Roles,
    /// There are too many of these.
    #[error("too many")]
    TooMany,
    /// A conversation with calls has no tools.
    #[error(
        "The toolConfig field must be defined when using toolUse and toolResult content blocks"
    )]
    ToolConfig,
    /// The field does not exist.
    #[error("there is no such field")]
    UnknownField,
    /// A value has the wrong type.
    #[error("cannot be deserialized")]
    WrongType,
    /// A value is not one of the permitted ones.
    #[error("failed to satisfy constraint: Member must satisfy enum value set")]
    WrongValue,
}

/// The family of a model, by which some fields are permitted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Family {
    Claude,
    Mistral,
    Nova,
    Other,
}

/// Checks the body of `POST /model/MODEL/converse` for this model; the list is empty if it is valid.
#[must_use]
pub fn check(body: &Value, model: &str) -> Vec<Violation> {
    let family = if model.contains("anthropic.") {
        Family::Claude
    } else if model.contains("amazon.nova") {
        Family::Nova
    } else if model.contains("mistral.") {
        Family::Mistral
    } else {
        Family::Other
    };
    let mut found = Found::new(&family);
    let place = Place::default();
    let Some(fields) = found.object(body, &place) else {
        return found.violations;
    };
    found.known_fields(fields, &place, FIELDS);
    found.required(fields, &place, &["inferenceConfig", "messages"]);
    found.settings(fields, &place);
    found.messages(fields, &place);
    found.tools(fields, &place);
    found.violations
}

impl CommonRules for Rule {
    const EMPTY: Self = Self::Empty;
    const MISSING: Self = Self::Missing;
    const UNKNOWN_FIELD: Self = Self::UnknownField;
    const WRONG_TYPE: Self = Self::WrongType;
    const WRONG_VALUE: Self = Self::WrongValue;
}

type Found<'a> = crate::place::Found<'a, Family, Rule>;

/// Whether a text has a length within the limit, and only permitted characters.
fn is_form(text: &str, longest: usize, more: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
    (1..=longest).contains(&text.len()) && text.chars().all(fits)
}

/// The fields of a body.
const FIELDS: &[&str] = &[
    "additionalModelRequestFields",
    "additionalModelResponseFieldPaths",
    "guardrailConfig",
    "inferenceConfig",
    "messages",
    "outputConfig",
    "performanceConfig",
    "projectIdentifier",
    "promptVariables",
    "requestMetadata",
    "serviceTier",
    "system",
    "toolConfig",
];
