//! Claude's own rules for the bodies of Messages.
//!
//! Written from the vendor's rules (Claude Messages API, 2026-10-21: fields, blocks, tools, and causes of 400
//! responses), independently of the mappers, which they verify in tests and in scripted servers.

mod blocks;
mod conversation;
mod schema;
mod settings;
mod tools;

use jackfield_dialect_claude::options::Profile;
use serde_json::Value;
use thiserror::Error;

use crate::place::{CommonRules, Place};

/// A violation of a rule, and its place.
pub type Violation = crate::place::Violation<Rule>;

/// A rule of the vendor.
#[derive(Clone, Copy, Debug, Eq, Error, Hash, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// A block's type is not permitted at this place.
    #[error("a block of this type cannot stand here")]
    BlockOutOfPlace,
    /// A cache point has an invalid form.
    #[error("a cache point is of type ephemeral and lives 5m or 1h")]
    CacheControl,
    /// A user's text has citations.
    #[error("only the model's own text carries citations")]
    CitationsOfUser,
    /// An assistant message contains a document.
    #[error("an assistant message holds no document")]
    DocumentOfAssistant,
    /// A field that must have contents is empty.
    #[error("must not be empty")]
    Empty,
    /// An error result has no text.
    #[error("an error result needs text")]
    ErrorWithoutText,
    /// A call is forced where the model refuses it.
    #[error("this model, or a model that thinks, cannot be forced to call")]
    ForcedTools,
    /// An image has an unsupported type.
    #[error("images are JPEG, PNG, GIF or WebP")]
    ImageType,
    /// The arguments of a call are not an object.
    #[error("the input of a call is an object")]
    InputNoObject,
    /// A required field is missing.
    #[error("a required field is missing")]
    Missing,
    /// A tool's name has invalid characters, or is too long.
    #[error("a name is 1 to 128 of A-Z, a-z, 0-9, `_` and `-`")]
    Name,
    #[error("at least one tool must not be deferred")]
    OnlyDeferred,
    /// A number is outside its range.
    #[error("out of range")]
    OutOfRange,
    /// The conversation ends with an assistant message that is not permitted there, or that has trailing blanks.
    #[error("this conversation cannot end with the model's own words")]
    Prefill,
    /// A provider's call or its result lacks the other.
    #[error("a provider's own call and its result are never split")]
    ProviderCallSplit,
    /// Two calls, results or tools have the same name or id.
    #[error("must be unique")]
    Repeated,
    /// A result follows other blocks of its message.
    #[error("results come first")]
    ResultNotFirst,
    /// A result has no call in the message before.
    #[error("a result has its call in the message before")]
    ResultWithoutCall,
    /// A sampling parameter is not supported.
    #[error("sampling parameters are not taken")]
    Sampling,
    /// A temperature and `top_p` are not supported in one request.
    #[error("`temperature` and `top_p` cannot both be given to this model")]
    SamplingPair,
    /// The name of a property has invalid characters, or is too long.
    #[error("the name of a property is 1 to 64 of A-Z, a-z, 0-9, `_`, `.` and `-`")]
    PropertyName,
    #[error("this is no JSON Schema of draft 2020-12")]
    Schema,
    /// The root of a tool's schema has a choice.
    #[error("the schema of a tool has no oneOf, allOf or anyOf at its root")]
    SchemaRoot,
    /// A schema is outside the subset that can be enforced.
    #[error("this is outside the enforceable subset of JSON Schema")]
    SchemaSubset,
    /// A message has the role `system` where the model does not support it.
    #[error("role 'system' is not supported on this model")]
    SystemRole,
    /// The model does not support this thinking mode.
    #[error("this model does not think that way")]
    ThinkingMode,
    /// There are more elements than permitted.
    #[error("too many")]
    TooMany,
    /// The conversation has calls, but the request has no tools.
    #[error("a conversation with calls needs tools")]
    ToolsMissing,
    /// A call has no result in the next message.
    #[error("a call has its result in the message right after")]
    UnansweredCall,
    /// The field does not exist.
    #[error("extra inputs are not permitted")]
    UnknownField,
    /// A value has the wrong type.
    #[error("wrong type")]
    WrongType,
    /// A value is not one of the permitted ones.
    #[error("unknown value")]
    WrongValue,
}

/// Checks the body of `POST /v1/messages` for a model with this profile; the list is empty if it is valid.
///
/// Headers are not checked, so fields that need a beta header pass.
#[must_use]
pub fn check(body: &Value, profile: &Profile) -> Vec<Violation> {
    let mut found = Found::new(profile);
    let place = Place::default();
    let Some(fields) = found.object(body, &place) else {
        return found.violations;
    };
    found.known_fields(fields, &place, FIELDS);
    found.required(fields, &place, &["model", "max_tokens", "messages"]);
    found.settings(fields, &place);
    found.tools(fields, &place);
    found.conversation(fields, &place);
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

/// The fields of a body, including those of betas.
const FIELDS: &[&str] = &[
    "cache_control",
    "compaction",
    "container",
    "context_management",
    "diagnostics",
    "fallbacks",
    "inference_geo",
    "max_tokens",
    "mcp_servers",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "thread",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];
