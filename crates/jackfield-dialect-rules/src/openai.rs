//! OpenAI's own rules for request bodies: those of [`chat`] (Chat Completions) and of [`responses`], and
//! here what both share.
//!
//! Written from the vendor's rules (the official SDK's types, `openai` 3.54.0 of 2026-11, and what the API
//! was seen to answer with 400) and not from the mappers, which they judge in tests. For a server that
//! only claims to speak the language they are what its [`Profile`] says.

pub mod chat;
mod form;
mod media;
mod place;
pub mod responses;
mod schema;
mod settings;
mod tools;

use jackfield_dialect_openai::profile::Profile;
use thiserror::Error;

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
    /// The arguments of a call are no JSON object, as text.
    #[error("arguments are the text of a JSON object")]
    Arguments,
    /// The id of a call has another form.
    #[error(
        "an id of a call is 1 to 64 characters, or nine letters and digits where a server wants that"
    )]
    CallId,
    /// Nothing is said at all.
    #[error("content is required unless there are calls")]
    ContentMissing,
    /// Something that has to say something is empty.
    #[error("must not be empty")]
    Empty,
    /// Of two fields only one may stand there.
    #[error("one of these, and not both")]
    Exclusive,
    /// JSON is asked for by a setting, and not in words.
    #[error("the conversation has to mention JSON")]
    JsonNotMentioned,
    /// A field that is needed is missing.
    #[error("a required field is missing")]
    Missing,
    /// A name has other characters, or too many.
    #[error("a name is A-Z, a-z, 0-9, `_` and `-`")]
    Name,
    /// The field is about streams, and the reply is to come in one piece.
    #[error("only with stream")]
    NoStream,
    /// The model or the server does not take it.
    #[error("this model or server does not take it")]
    NotTaken,
    /// A number is outside its range.
    #[error("out of range")]
    OutOfRange,
    /// A part is of a type that cannot stand there.
    #[error("a part of this type cannot stand here")]
    PartOutOfPlace,
    /// A reasoning item stands without the item that it led to.
    #[error("a reasoning item is followed by the item that it led to")]
    ReasoningAlone,
    /// Reasoning that the server wants back is missing.
    #[error("reasoning has to be passed back")]
    ReasoningMissing,
    /// Two calls, results or tools have one name.
    #[error("must be unique")]
    Repeated,
    /// A result answers no call that it could answer.
    #[error("a result responds to a call before it")]
    ResultWithoutCall,
    /// A message has a role that the server does not know, or not there.
    #[error("a message of this role cannot stand here")]
    RoleOutOfPlace,
    /// A schema is none.
    #[error("this is no JSON Schema of draft 2020-12")]
    Schema,
    /// The schema of parameters is not an object's, or holds what may not stand there.
    #[error("parameters are an object's schema, and arrays say what they hold")]
    SchemaRoot,
    /// A schema is outside the strict subset.
    #[error("this is outside the strict subset of JSON Schema")]
    SchemaSubset,
    /// A text is longer than it may be.
    #[error("too long")]
    TooLong,
    /// There is more of something than there may be.
    #[error("too many")]
    TooMany,
    /// A field is about tools, and there are none.
    #[error("only with tools")]
    ToolsMissing,
    /// Tools are offered to a model that reasons, where it takes them without effort alone.
    #[error("tools are taken here with effort none alone")]
    ToolsWithEffort,
    /// A call has no result.
    #[error("a call has its result after it")]
    UnansweredCall,
    /// There is no such field.
    #[error("unknown parameter")]
    UnknownField,
    /// A value is of another type.
    #[error("wrong type")]
    WrongType,
    /// A value is none of those that there are.
    #[error("unknown value")]
    WrongValue,
}

/// What was found so far.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) violations: Vec<Violation>,
}
