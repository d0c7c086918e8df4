//! The dialects that are served, and which one a path is in.

use http::HeaderMap;
use jackfield_dialect_claude::serve::ClaudeServer;
use jackfield_dialect_kit::serve::ServeDialect;
use jackfield_dialect_openai::chat::serve::ChatCompletions;
use jackfield_dialect_openai::responses::serve::Responses;

/// Chat Completions.
pub(crate) static CHAT: ChatCompletions = ChatCompletions::new();

/// Chat Completions with what the vendor has no field for.
pub(crate) static CHAT_EXTENDED: ChatCompletions = ChatCompletions::new().with_extensions();

/// Claude Messages.
pub(crate) static CLAUDE: ClaudeServer = ClaudeServer;

/// Responses.
pub(crate) static RESPONSES: Responses = Responses;

/// The dialect of an error: that of the path. Where the vendors share a path, the header that only Claude's
/// clients send decides.
pub(crate) fn of(path: &str, headers: &HeaderMap) -> &'static dyn ServeDialect {
    if path.starts_with("/v1/messages") {
        &CLAUDE
    } else if path.starts_with("/v1/responses") {
        &RESPONSES
    } else if path.starts_with("/v1/chat/") || !is_claude(headers) {
        &CHAT
    } else {
        &CLAUDE
    }
}

/// Whether a request is one of Claude's clients, which all say which version of the API they speak.
pub(crate) fn is_claude(headers: &HeaderMap) -> bool {
    headers.contains_key("anthropic-version")
}
