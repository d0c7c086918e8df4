//! The wire languages of requests that are passed through: where their model and usage stand, and how usage is read.

use jackfield_dialect_claude::serve::ClaudeServer;
use jackfield_dialect_claude::wire as claude;
use jackfield_dialect_gemini::serve::GeminiServer;
use jackfield_dialect_gemini::wire as gemini;
use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::serve::{ServeDialect, ServeError};
use jackfield_dialect_kit::usage_reports::UsageReports;
use jackfield_dialect_openai::chat::serve::ChatCompletions;
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

    /// Reads a report about usage; `known` is what Claude's reports before it said.
    pub(super) fn read_usage(
        self,
        json: &str,
        known: &mut claude::Usage,
        reports: &mut UsageReports,
    ) {
        match self {
            Self::Chat | Self::Responses => {
                if let Ok(usage) = serde_json::from_str(json) {
                    jackfield_dialect_openai::read_usage(&usage, reports);
                }
            }
            Self::Claude => {
                if let Ok(usage) = serde_json::from_str::<claude::Usage>(json) {
                    jackfield_dialect_claude::reply::read_usage(&usage, known, reports);
                }
            }
            Self::Gemini => {
                if let Ok(usage) = serde_json::from_str::<gemini::UsageMetadata>(json) {
                    jackfield_dialect_gemini::reply::read_usage(&usage, reports);
                }
            }
        }
    }
}

static CHAT: ChatCompletions = ChatCompletions::new();
