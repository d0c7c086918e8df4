//! The system prompt of a turn: its parts, and where each comes from.

use std::sync::Arc;

/// What a model is told before the conversation.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SystemPrompt {
    /// The parts, in order.
    pub parts: Vec<SystemPart>,
}

/// One part of a system prompt.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SystemPart {
    /// Where it comes from.
    pub origin: PartOrigin,
    /// The text.
    pub text: Arc<str>,
}

/// Where a part of a system prompt comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PartOrigin {
    /// A configuration file.
    Configuration,
    /// Jackfield's own default.
    Default,
    /// A flag, or a request.
    Flag,
    /// Text that was retrieved for this turn, from this source.
    Retrieved(Arc<str>),
    /// The instructions of this tool server.
    Server(Arc<str>),
    /// The session.
    Session,
}

impl SystemPrompt {
    /// All parts as one text, with empty lines between; empty if there is nothing to say.
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
