//! The port to resources and prompts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::message::Role;
use jackfield_domain::outcome::OutcomePart;
use serde_json::Value;
use thiserror::Error;

use crate::question_handler::QuestionHandler;

/// The resources and prompts of a [`Toolbox`](crate::toolbox::Toolbox), such as an MCP server: what a person or a
/// program adds to a conversation by name, and no model asks for.
///
/// # Contract
///
/// - A list MUST return each resource and template once by its URI, and each prompt once by its name.
/// - An unknown URI MUST be [`ContextErrorKind::NotFound`], and a missing required argument of a prompt
///   [`ContextErrorKind::InvalidArguments`].
/// - Nothing here MUST have an effect: all of it may be asked again.
/// - An answer above `max_bytes` MUST be refused with [`ContextErrorKind::TooLarge`], and MUST NOT be cut: a part of a
///   resource could be taken for all of it.
/// - What the source does not have MUST be an empty list, or [`ContextErrorKind::Unsupported`].
/// - The text is untrusted, and of any content.
/// - Each method but [`watch`](Self::watch) MUST end within a time limit, which does not run while a question is
///   answered. Dropping the future MUST cancel it.
/// - A watch MUST report [`ContextChange::Watching`] before anything else, and again after each time in which changes
///   may have been missed. It MUST report no change of a resource that it was not given.
#[async_trait]
pub trait ContextSource: Send + Sync {
    /// All resources and templates.
    ///
    /// # Errors
    ///
    /// [`ContextError`] if they cannot be listed.
    async fn resources(&self) -> Result<ResourceList, ContextError>;

    /// The contents of the resource with this URI, which need not be in the list: it may follow from a template. What
    /// the server asks first is answered by `questions`.
    ///
    /// # Errors
    ///
    /// [`ContextError`] if it cannot be read, or is longer than `max_bytes`.
    async fn read(
        &self,
        uri: &str,
        max_bytes: usize,
        questions: &mut dyn QuestionHandler,
    ) -> Result<ResourceContents, ContextError>;

    /// All prompts.
    ///
    /// # Errors
    ///
    /// [`ContextError`] if they cannot be listed.
    async fn prompts(&self) -> Result<Vec<PromptSpec>, ContextError>;

    /// A prompt with these arguments. What the server asks first is answered by `questions`.
    ///
    /// # Errors
    ///
    /// [`ContextError`] if it cannot be made, or is longer than `max_bytes`.
    async fn prompt(
        &self,
        name: &str,
        arguments: &PromptArguments,
        max_bytes: usize,
        questions: &mut dyn QuestionHandler,
    ) -> Result<PromptMessages, ContextError>;

    /// The values that an argument may have, the best ones first; a hundred at most.
    ///
    /// # Errors
    ///
    /// [`ContextError`]; `Unsupported` if the source has no such values.
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ContextError>;

    /// Reports changes of the resources with these URIs, and of the lists of resources and prompts where the source
    /// announces them, until the source announces nothing any more. Dropping the future ends the watch.
    ///
    /// Returns the reason for the end: [`ContextErrorKind::Unsupported`] if the source announces no such changes, and
    /// [`ContextErrorKind::Unavailable`] if a new watch may succeed later.
    async fn watch(&self, uris: &[Arc<str>], changes: &mut dyn ContextChanges) -> ContextError;
}

/// Receives the changes of a [watch](ContextSource::watch).
#[async_trait]
pub trait ContextChanges: Send {
    /// Takes a change. The watch waits for it.
    async fn changed(&mut self, change: ContextChange);
}

/// A change at a source, without what changed: it is to be read or listed again.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum ContextChange {
    /// The list of prompts.
    Prompts,
    /// The contents of the resource with this URI.
    Resource(Arc<str>),
    /// The lists of resources and templates.
    Resources,
    /// Changes are reported from here on. Everything may have changed before.
    Watching,
}

/// The values of a prompt's arguments, by name.
pub type PromptArguments = BTreeMap<String, String>;

/// Resources and templates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceList {
    /// What was left out, in sentences.
    pub problems: Vec<String>,
    /// The resources.
    pub resources: Vec<ResourceSpec>,
    /// The templates of further resources.
    pub templates: Vec<ResourceTemplate>,
}

/// A resource that can be read.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceSpec {
    /// Its description.
    pub description: Option<Arc<str>>,
    /// Its media type, if it is known.
    pub media_type: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
    /// The definition as its server sent it.
    pub original: Arc<Value>,
    /// Its length in bytes, if it is known.
    pub size: Option<u64>,
    /// Its name for people.
    pub title: Option<Arc<str>>,
    /// Its URI.
    pub uri: Arc<str>,
}

/// A template of URIs (RFC 6570).
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceTemplate {
    /// Its description.
    pub description: Option<Arc<str>>,
    /// The media type of its resources, if all have the same.
    pub media_type: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
    /// The definition as its server sent it.
    pub original: Arc<Value>,
    /// Its name for people.
    pub title: Option<Arc<str>>,
    /// The template.
    pub uri_template: Arc<str>,
}

/// The contents of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceContents {
    /// The contents as the server sent them, in the order of `parts`.
    pub original: Vec<Value>,
    /// The contents: texts and documents, images, audio.
    pub parts: Vec<OutcomePart>,
}

/// A prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptSpec {
    /// Its arguments, in order.
    pub arguments: Vec<PromptArgument>,
    /// Its description.
    pub description: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
    /// The definition as its server sent it.
    pub original: Arc<Value>,
    /// Its name for people.
    pub title: Option<Arc<str>>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PromptArgument {
    /// Its description.
    pub description: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
    /// Whether the prompt needs it.
    pub required: bool,
}

/// A prompt with its arguments filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptMessages {
    /// Its description.
    pub description: Option<Arc<str>>,
    /// The messages, of a person or of a model.
    pub messages: Vec<(Role, Vec<OutcomePart>)>,
    /// The messages as the server sent them.
    pub original: Vec<Value>,
}

/// A question for the values of an argument.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CompletionRequest {
    /// The argument.
    pub argument: String,
    /// The values of other arguments.
    pub known: PromptArguments,
    /// The prompt or the template that has the argument.
    pub subject: CompletionSubject,
    /// The beginning of the value.
    pub value: String,
}

/// What has the argument to complete.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CompletionSubject {
    /// A prompt, by its name.
    Prompt(String),
    /// A template, by itself.
    Template(String),
}

/// The values that an argument may have.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Completion {
    /// Whether there are more.
    pub has_more: bool,
    /// The number of all values, if it is known.
    pub total: Option<u64>,
    /// The values.
    pub values: Vec<String>,
}

/// Why there is no resource, prompt or list.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{message}")]
pub struct ContextError {
    /// What the caller can do about it.
    pub kind: ContextErrorKind,
    /// The reason, in a sentence that names the server.
    pub message: String,
}

impl ContextError {
    /// An error of this kind.
    #[must_use]
    pub fn new(kind: ContextErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

/// What a caller can do about an error.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ContextErrorKind {
    /// Name another one: there is no such resource, prompt, template or server, or the caller may not use it.
    NotFound,
    /// Correct the arguments.
    InvalidArguments,
    /// Ask the server's maker: its answer cannot be read.
    ProtocolViolation,
    /// Ask again later, or not at all: there was no answer in time.
    Timeout,
    /// Ask for something smaller.
    TooLarge,
    /// Ask again later: the server is not available.
    Unavailable,
    /// Do without: the server has none.
    Unsupported,
}

impl fmt::Display for ContextErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidArguments => "invalid arguments",
            Self::NotFound => "not found",
            Self::ProtocolViolation => "protocol violation",
            Self::Timeout => "timeout",
            Self::TooLarge => "too large",
            Self::Unavailable => "unavailable",
            Self::Unsupported => "unsupported",
        })
    }
}
