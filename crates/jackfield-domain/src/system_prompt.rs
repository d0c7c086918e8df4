//! The system prompt of a turn: its parts, and the origin of each.

use std::sync::Arc;

/// The instructions to a model before the conversation.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SystemPrompt {
    /// The parts, in order.
    pub parts: Vec<SystemPart>,
}

/// One part of a system prompt.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SystemPart {
    /// The origin.
    pub origin: PartOrigin,
    /// The text.
    pub text: Arc<str>,
}

/// The origin of a part of a system prompt.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PartOrigin {
    /// A configuration file.
    Configuration,
    /// Jackfield's own default.
    Default,
    /// A command-line flag, or a request.
    Flag,
    /// Text that was retrieved for this turn from this source.
    Retrieved(Arc<str>),
    /// The instructions of this tool server.
    Server(Arc<str>),
    /// The session.
    Session,
}

impl SystemPrompt {
    /// All parts as one text, separated by empty lines; empty if there are none.
    #[must_use]
    pub fn render(&self) -> String {
        let parts: Vec<&str> = self
            .parts
            .iter()
            .map(|part| part.text.trim())
            .filter(|text| !text.is_empty())
            .collect();
        parts.join("\n\n")
    }
}
