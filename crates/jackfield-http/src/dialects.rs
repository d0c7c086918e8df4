//! The dialects that are served, and which one a path is in.

use http::HeaderMap;
use jackfield_dialect_claude::serve::ClaudeServer;
use jackfield_dialect_kit::serve::ServeDialect;

/// Claude Messages.
pub(crate) static CLAUDE: ClaudeServer = ClaudeServer;

/// The dialect in which a refusal is told: by the path, and where two vendors have the same one, by the
/// header that only the one's clients send.
pub(crate) fn of(path: &str, headers: &HeaderMap) -> &'static dyn ServeDialect {
    let _ = (path, headers);
    &CLAUDE
}
