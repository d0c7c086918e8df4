//! A client's request in domain values.

use std::sync::Arc;

use jackfield_domain::ids::ToolName;
use jackfield_domain::message::Message;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::Extension;
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::{ToolChoice, ToolDefinition};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::schema::member;

/// The contents of a client's request.
///
/// Other code decides who runs the tools, and whether the conversation satisfies the rules: every call in it that
/// no provider ran is marked as a server tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Incoming {
    /// What the request says in its address, in a dialect that says something there: a body alone does not identify
    /// such a request.
    pub address: Option<String>,
    /// Whether the client wants an immediate response, and the reply later.
    pub background: bool,
    /// The tool choice.
    pub choice: ToolChoice,
    /// Fields that the reply repeats, or that shape it; only its dialect reads them.
    pub echo: Map<String, Value>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The model, by the client's name for it.
    pub model: Arc<str>,
    /// Whether the request declares the client's tools, even an empty list.
    pub names_tools: bool,
    /// The losses and changes of the body; `Refused` marks fields that would have made the provider act.
    pub notes: Vec<Note>,
    /// The previous reply from which this request continues, by the id that its client has.
    pub previous: Option<Arc<str>>,
    /// Settings.
    pub settings: Settings,
    /// Whether to store the reply; `None` leaves that to the server.
    pub store: Option<bool>,
    /// Whether to stream the reply.
    pub stream: bool,
    /// The system prompt.
    pub system: SystemPrompt,
    /// The client's tools.
    pub tools: Vec<Arc<ToolDefinition>>,
}

/// A body that is malformed, or that contains something Jackfield cannot map: answer 400 with this text.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{path}: {reason}")]
pub struct Invalid {
    /// The path in the body, such as `messages.0.content.1`.
    pub path: String,
    /// The error.
    pub reason: String,
}

impl Invalid {
    /// An error with this reason at this path.
    #[must_use]
    pub fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            reason: reason.into(),
        }
    }
}

/// The name of a tool.
///
/// # Errors
///
/// [`Invalid`] at this path if it does not have the form of one.
pub fn tool_name(text: &str, path: impl Into<String>) -> Result<ToolName, Invalid> {
    ToolName::parse(text).map_err(|invalid| Invalid::new(path, invalid.to_string()))
}

/// An extension for a field that the domain lacks, in the object at this JSON Pointer.
#[must_use]
pub fn extension(dialect: &str, below: &str, key: &str, json: Value) -> Extension {
    Extension {
        dialect: dialect.into(),
        path: member(below, key),
        json,
    }
}

/// Checks that a number, if there is one, is within a range.
///
/// # Errors
///
/// [`Invalid`] if it is outside.
pub fn within(
    value: Option<f64>,
    (least, most): (f64, f64),
    path: &str,
) -> Result<Option<f64>, Invalid> {
    match value {
        Some(number) if !(least..=most).contains(&number) => {
            let reason = format!("this is a number from {least} to {most}");
            Err(Invalid::new(path, reason))
        }
        value => Ok(value),
    }
}
