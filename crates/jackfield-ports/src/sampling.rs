//! Messages of a model that a tool's server asks for.

use std::sync::Arc;

use jackfield_domain::message::Message;
use jackfield_domain::settings::Settings;

/// A request for one message of the turn's model, by the server of a tool that runs, after a person allowed it.
///
/// Source: MCP specification of 2025-11-25, "Sampling", without tools.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingRequest {
    /// The conversation: text, images and audio.
    pub messages: Vec<Arc<Message>>,
    /// The settings; `max_output_tokens` is always there.
    pub settings: Settings,
    /// The system prompt.
    pub system: Option<Arc<str>>,
}
