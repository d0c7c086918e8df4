//! A client's request as domain values.

use std::sync::Arc;

use jackfield_domain::message::Message;
use jackfield_domain::note::Note;
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::{ToolChoice, ToolDefinition};
use serde_json::{Map, Value};
use thiserror::Error;

/// What a client asks.
///
/// Who runs the tools, and whether the conversation keeps the rules, is decided elsewhere: every call in
/// it that no provider ran is marked as the engine's.
#[derive(Clone, Debug, PartialEq)]
pub struct Incoming {
    /// Whether the client wants an answer at once, and the reply later.
    pub background: bool,
    /// Which tools may or have to be called.
    pub choice: ToolChoice,
    /// What the reply repeats of the request, or what shapes it; only its dialect reads it.
    pub echo: Map<String, Value>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The model, by the client's name for it.
    pub model: Arc<str>,
    /// Whether it says which tools the client has, if only that there are none.
    pub names_tools: bool,
    /// What of the body is lost or changed; `Refused` is what would have made the provider act.
    pub notes: Vec<Note>,
    /// The reply that this goes on from, by the id that its client was told.
    pub previous: Option<Arc<str>>,
    /// Settings.
    pub settings: Settings,
    /// Whether the reply is to be kept; `None` leaves that to the server.
    pub store: Option<bool>,
    /// Whether the reply is to come as events.
    pub stream: bool,
    /// The system prompt.
    pub system: SystemPrompt,
    /// The client's tools.
    pub tools: Vec<Arc<ToolDefinition>>,
}

/// A body that is none, or that says something that Jackfield cannot carry: answer 400 with its text.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{path}: {reason}")]
pub struct Invalid {
    /// Where in the body, such as `messages.0.content.1`.
    pub path: String,
    /// What is wrong.
    pub reason: String,
}

impl Invalid {
    /// This, at this place.
    #[must_use]
    pub fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            reason: reason.into(),
        }
    }
}

/// A number that has to be within a range, if there is one.
///
/// # Errors
///
/// [`Invalid`] if it is outside of it.
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
