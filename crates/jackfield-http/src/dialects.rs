//! The dialects of the gateway, and the choice of one by path.

use http::HeaderMap;
use jackfield_dialect_claude::serve::ClaudeServer;
use jackfield_dialect_gemini::serve::GeminiServer;
use jackfield_dialect_kit::serve::ServeDialect;
use jackfield_dialect_openai::chat::serve::ChatCompletions;
use jackfield_dialect_openai::responses::serve::Responses;

pub(crate) static CHAT: ChatCompletions = ChatCompletions::new();

/// Chat Completions with Jackfield's extension fields.
pub(crate) static CHAT_EXTENDED: ChatCompletions = ChatCompletions::new().with_extensions();

pub(crate) static CLAUDE: ClaudeServer = ClaudeServer;

pub(crate) static GEMINI: GeminiServer = GeminiServer;

pub(crate) static RESPONSES: Responses = Responses;

/// The dialect in which an error is written: that of the path. Where the vendors share a path, the header that
/// only Claude clients send decides.
pub(crate) fn for_request(path: &str, headers: &HeaderMap) -> &'static dyn ServeDialect {
    if path.starts_with(GEMINI_PATHS) || (path.starts_with(MODELS) && is_gemini(headers)) {
        &GEMINI
    } else if path.starts_with("/v1/messages") {
        &CLAUDE
    } else if path.starts_with("/v1/responses") {
        &RESPONSES
    } else if path.starts_with("/v1/chat/") || !is_claude(headers) {
        &CHAT
    } else {
        &CLAUDE
    }
}

/// Whether a request comes from a Claude client. Those always send the API version.
pub(crate) fn is_claude(headers: &HeaderMap) -> bool {
    headers.contains_key("anthropic-version")
}

/// Whether a request comes from a Gemini client. Those send the key in a header of their own.
pub(crate) fn is_gemini(headers: &HeaderMap) -> bool {
    headers.contains_key("x-goog-api-key") || headers.contains_key("x-goog-api-client")
}

/// The path of the models, which the vendors share.
pub(crate) const MODELS: &str = "/v1/models";

/// What the other paths of Gemini begin with.
pub(crate) const GEMINI_PATHS: &str = "/v1beta/";
