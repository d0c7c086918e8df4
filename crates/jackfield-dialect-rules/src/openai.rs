//! OpenAI's own rules for request bodies: those of [`chat`] (Chat Completions) and of [`responses`], and here those
//! that both share.
//!
//! Written from the vendor's rules (the official SDK's types, `openai` 3.54.0 of 2026-11, and observed causes of
//! 400 responses), independently of the mappers, which they verify in tests. For a server that only claims
//! compatibility, the rules follow its [`Profile`].

pub mod chat;
mod form;
mod media;
pub mod responses;
mod schema;
mod settings;
mod tools;

use jackfield_dialect_openai::profile::Profile;
use thiserror::Error;

use crate::place::CommonRules;

/// A violation of a rule, and its place.
pub type Violation = crate::place::Violation<Rule>;

/// A rule of the vendor.
#[derive(Clone, Copy, Debug, Eq, Error, Hash, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// The arguments of a call are not the text of a JSON object.
    #[error("arguments are the text of a JSON object")]
    Arguments,
    /// The id of a call has an invalid form.
    #[error(
        "an id of a call is 1 to 64 characters, or nine letters and digits where a server wants that"
    )]
    CallId,
    /// A message without calls has no content.
    #[error("content is required unless there are calls")]
    ContentMissing,
    /// A field that must have contents is empty.
    #[error("must not be empty")]
    Empty,
    /// Two fields exclude each other.
    #[error("one of these, and not both")]
    Exclusive,
    /// A setting asks for JSON, but the conversation does not mention it.
    #[error("the conversation has to mention JSON")]
    JsonNotMentioned,
    /// A required field is missing.
    #[error("a required field is missing")]
    Missing,
    /// A name has invalid characters, or is too long.
    #[error("a name is A-Z, a-z, 0-9, `_` and `-`")]
    Name,
    /// The field is about streams, but the reply is not streamed.
    #[error("only with stream")]
    NoStream,
    /// The model or the server does not support it.
    #[error("this model or server does not take it")]
    NotTaken,
    /// A number is outside its range.
    #[error("out of range")]
    OutOfRange,
    /// A part's type is not permitted at this place.
    #[error("a part of this type cannot stand here")]
    PartOutOfPlace,
    /// A reasoning item lacks the item that followed it.
    #[error("a reasoning item is followed by the item that it led to")]
    ReasoningAlone,
    /// Reasoning that the server requires back is missing.
    #[error("reasoning has to be passed back")]
    ReasoningMissing,
    /// Two calls, results or tools have the same name or id.
    #[error("must be unique")]
    Repeated,
    /// A result has no matching call before it.
    #[error("a result responds to a call before it")]
    ResultWithoutCall,
    /// A message's role is unknown to the server, or not permitted at this place.
    #[error("a message of this role cannot stand here")]
    RoleOutOfPlace,
    #[error("this is no JSON Schema of draft 2020-12")]
    Schema,
    /// The schema of parameters is not an object's, or has keywords that are not permitted.
    #[error("parameters are an object's schema, and arrays say what they hold")]
    SchemaRoot,
    /// A schema is outside the strict subset.
    #[error("this is outside the strict subset of JSON Schema")]
    SchemaSubset,
    /// A text is too long.
    #[error("too long")]
    TooLong,
    /// There are more elements than permitted.
    #[error("too many")]
    TooMany,
    /// A field is about tools, but there are none.
    #[error("only with tools")]
    ToolsMissing,
    /// Tools are offered to a reasoning model that only accepts them without effort.
    #[error("tools are taken here with effort none alone")]
    ToolsWithEffort,
    /// A call has no result.
    #[error("a call has its result after it")]
    UnansweredCall,
    /// The field does not exist.
    #[error("unknown parameter")]
    UnknownField,
    /// A value has the wrong type.
    #[error("wrong type")]
    WrongType,
    /// A value is not one of the permitted ones.
    #[error("unknown value")]
    WrongValue,
}

impl CommonRules for Rule {
    const EMPTY: Self = Self::Empty;
    const MISSING: Self = Self::Missing;
    const UNKNOWN_FIELD: Self = Self::UnknownField;
    const WRONG_TYPE: Self = Self::WrongType;
    const WRONG_VALUE: Self = Self::WrongValue;
}

pub(crate) type Found<'a> = crate::place::Found<'a, Profile, Rule>;
