//! Claude's own rules for the bodies of Messages.
//!
//! Written from the vendor's rules (Claude Messages API, 2026-10-21: fields, blocks, tools, and what is
//! answered with 400) and not from the mappers, which they judge in tests and in scripted servers.

mod blocks;
mod conversation;
mod place;
mod schema;
mod settings;
mod tools;

use jackfield_dialect_claude::options::Profile;
use serde_json::Value;
use thiserror::Error;

use place::Place;

/// A rule that a body breaks, and where.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{path}: {rule}")]
pub struct Violation {
    /// Where in the body, such as `messages.0.content.1.text`.
    pub path: String,
    /// The rule.
    pub rule: Rule,
}

/// A rule of the vendor's.
#[derive(Clone, Copy, Debug, Eq, Error, Hash, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// A block is of a type that cannot stand there.
    #[error("a block of this type cannot stand here")]
    BlockOutOfPlace,
    /// A cache point is of another form.
    #[error("a cache point is of type ephemeral and lives 5m or 1h")]
    CacheControl,
    /// Citations stand in a user's words.
    #[error("only the model's own text carries citations")]
    CitationsOfUser,
    /// A document stands in an assistant message.
    #[error("an assistant message holds no document")]
    DocumentOfAssistant,
    /// Something that has to say something is empty.
    #[error("must not be empty")]
    Empty,
    /// An error does not say what went wrong.
    #[error("an error result needs text")]
    ErrorWithoutText,
    /// A call is forced where the model refuses that.
    #[error("this model, or a model that thinks, cannot be forced to call")]
    ForcedTools,
    /// An image is of another type.
    #[error("images are JPEG, PNG, GIF or WebP")]
    ImageType,
    /// The arguments of a call are not an object.
    #[error("the input of a call is an object")]
    InputNoObject,
    /// A field that is needed is missing.
    #[error("a required field is missing")]
    Missing,
    /// A tool's name has other characters, or too many.
    #[error("a name is 1 to 128 of A-Z, a-z, 0-9, `_` and `-`")]
    Name,
    /// No tool is there from the beginning.
    #[error("at least one tool must not be deferred")]
    OnlyDeferred,
    /// A number is outside its range.
    #[error("out of range")]
    OutOfRange,
    /// The conversation ends with the model's own words, or with blanks after them.
    #[error("this conversation cannot end with the model's own words")]
    Prefill,
    /// A call or result that the provider made has lost the other.
    #[error("a provider's own call and its result are never split")]
    ProviderCallSplit,
    /// Two calls, results or tools have one name.
    #[error("must be unique")]
    Repeated,
    /// A result does not come before everything else of its message.
    #[error("results come first")]
    ResultNotFirst,
    /// A result answers no call of the message before.
    #[error("a result has its call in the message before")]
    ResultWithoutCall,
    /// Sampling parameters are gone.
    #[error("sampling parameters are not taken")]
    Sampling,
    /// The name of a property has other characters, or too many.
    #[error("the name of a property is 1 to 64 of A-Z, a-z, 0-9, `_`, `.` and `-`")]
    PropertyName,
    /// A schema is none.
    #[error("this is no JSON Schema of draft 2020-12")]
    Schema,
    /// A choice stands at the root of a tool's schema.
    #[error("the schema of a tool has no oneOf, allOf or anyOf at its root")]
    SchemaRoot,
    /// A schema is outside the subset that can be enforced.
    #[error("this is outside the enforceable subset of JSON Schema")]
    SchemaSubset,
    /// A message has the role `system` where the model does not know it.
    #[error("role 'system' is not supported on this model")]
    SystemRole,
    /// Thinking is asked for in a way that the model does not offer.
    #[error("this model does not think that way")]
    ThinkingMode,
    /// There is more of something than there may be.
    #[error("too many")]
    TooMany,
    /// The conversation has calls, and the request no tools.
    #[error("a conversation with calls needs tools")]
    ToolsMissing,
    /// A call has no result in the message right after.
    #[error("a call has its result in the message right after")]
    UnansweredCall,
    /// There is no such field.
    #[error("extra inputs are not permitted")]
    UnknownField,
    /// A value is of another type.
    #[error("wrong type")]
    WrongType,
    /// A value is none of those that there are.
    #[error("unknown value")]
    WrongValue,
}

/// Checks the body of `POST /v1/messages` for a model of this profile; the list is empty if it is sound.
///
/// Headers are not seen, so fields that need a beta header pass.
#[must_use]
pub fn check(body: &Value, profile: &Profile) -> Vec<Violation> {
    let mut found = Found {
        profile,
        violations: Vec::new(),
    };
    let place = Place::root();
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

/// What was found so far.
#[derive(Debug)]
struct Found<'a> {
    profile: &'a Profile,
    violations: Vec<Violation>,
}

/// The fields of a body, those of betas included.
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
