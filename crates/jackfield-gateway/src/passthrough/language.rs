//! The wire languages of requests that are passed through: where their model and usage stand, and how usage is read.

use jackfield_dialect_claude::serve::ClaudeServer;
use jackfield_dialect_claude::wire as claude;
use jackfield_dialect_gemini::serve::GeminiServer;
use jackfield_dialect_gemini::wire as gemini;
use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::serve::{ServeDialect, ServeError};
use jackfield_dialect_openai::chat::serve::ChatCompletions;
use jackfield_dialect_openai::responses::wire as responses;
use jackfield_domain::usage::Usage;
use serde_json::{Value, json};

/// A wire language.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Language {
    /// Chat Completions, and the vendor's endpoints that report usage like it.
    Chat,
    /// Claude Messages.
    Claude,
    /// Gemini.
    Gemini,
    /// Responses.
    Responses,
}

impl Language {
    /// The language of a path.
    pub(super) fn of_path(path: &str) -> Self {
        if path.starts_with("/v1/messages") {
            Self::Claude
        } else if path.starts_with("/v1/responses") {
            Self::Responses
        } else if path.starts_with("/v1beta/models/") || path.starts_with("/v1/models/") {
            Self::Gemini
        } else {
            Self::Chat
        }
    }

    /// The member of a reply that names the model.
    pub(super) const fn model_member(self) -> &'static str {
        match self {
            Self::Chat | Self::Claude | Self::Responses => "model",
            Self::Gemini => "modelVersion",
        }
    }

    /// The member of a reply that has the usage.
    pub(super) const fn usage_member(self) -> &'static str {
        match self {
            Self::Chat | Self::Claude | Self::Responses => "usage",
            Self::Gemini => "usageMetadata",
        }
    }

    /// The event that says in a stream why it breaks off.
    pub(super) fn error_event(self, error: &ServeError) -> SseEvent {
        let server: &dyn ServeDialect = match self {
            Self::Chat | Self::Responses => &CHAT,
            Self::Claude => &ClaudeServer,
            Self::Gemini => &GeminiServer,
        };
        let body = server.error(error, "").body;
        let mut body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if self == Self::Responses {
            // The vendor's description has the fields in the event, its servers write them in `error`.
            let inner = &body["error"];
            body = json!({
                "type": "error",
                "sequence_number": 0,
                "code": inner["code"],
                "message": inner["message"],
                "param": inner["param"],
                "error": inner,
            });
        }
        let event = match self {
            Self::Chat | Self::Gemini => None,
            Self::Claude | Self::Responses => Some("error"),
        };
        let data = body.to_string();
        SseEvent { data, event }
    }

    /// Reads usage.
    pub(super) fn usage(self, json: &str) -> Option<Usage> {
        match self {
            Self::Chat => {
                let usage: Value = serde_json::from_str(json).ok()?;
                usage
                    .is_object()
                    .then(|| jackfield_dialect_openai::chat::reply::usage_from_wire(&usage))
            }
            Self::Claude => {
                let usage: claude::Usage = serde_json::from_str(json).ok()?;
                Some(jackfield_dialect_claude::reply::usage_from_wire(&usage))
            }
            Self::Gemini => {
                let usage: gemini::UsageMetadata = serde_json::from_str(json).ok()?;
                Some(jackfield_dialect_gemini::reply::usage_from_wire(&usage))
            }
            Self::Responses => {
                let usage: responses::Usage = serde_json::from_str(json).ok()?;
                Some(jackfield_dialect_openai::responses::reply::usage_from_wire(
                    &usage,
                ))
            }
        }
    }
}

static CHAT: ChatCompletions = ChatCompletions::new();
