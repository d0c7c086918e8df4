//! The server tools of a request: the intersection of its token's permissions and its own selection.

use std::sync::Arc;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_engine::ServerTools;

use crate::config::AssistantConfig;

/// The server tools that a request may use: those that its token may use, of the assistant if it names one.
#[must_use]
pub fn permitted(token: &ServerTools, assistant: Option<&AssistantConfig>) -> ServerTools {
    match assistant {
        Some(assistant) => intersect(token, &assistant.options.server_tools),
        None => token.clone(),
    }
}

/// The server tools that a request uses, out of the permitted ones: those that it asks for, or the offered ones,
/// unless it brings client tools.
///
/// # Errors
///
/// The header cannot be parsed.
pub fn select(
    permitted: &ServerTools,
    offered: &ServerTools,
    header: Option<&str>,
    has_client_tools: bool,
) -> Result<ServerTools, ServeError> {
    match header {
        None if has_client_tools => Ok(ServerTools::None),
        None => Ok(intersect(permitted, offered)),
        Some(text) => Ok(intersect(permitted, &parse_selection(text)?)),
    }
}

/// Restricts server tools to those that a token may use.
pub fn restrict(permitted: &ServerTools, selected: ServerTools) -> ServerTools {
    match selected {
        ServerTools::All => permitted.clone(),
        ServerTools::None => ServerTools::None,
        ServerTools::Only(patterns) => intersect(permitted, &ServerTools::Only(patterns)),
    }
}

fn parse_selection(text: &str) -> Result<ServerTools, ServeError> {
    match text.trim() {
        "all" => Ok(ServerTools::All),
        "none" => Ok(ServerTools::None),
        text => {
            let patterns: Vec<Arc<str>> = text.split(',').map(|one| one.trim().into()).collect();
            if patterns.iter().any(|pattern| pattern.is_empty()) {
                let message =
                    format!("the header `{HEADER}` is `all`, `none`, or patterns with commas");
                return Err(ServeError::new(ServeErrorKind::Invalid, message));
            }
            Ok(ServerTools::Only(patterns))
        }
    }
}

/// The intersection of two selections. A pattern counts if a pattern of the other side covers it completely, so
/// nothing is used that only one side permits.
fn intersect(one: &ServerTools, other: &ServerTools) -> ServerTools {
    match (one, other) {
        (ServerTools::None, _) | (_, ServerTools::None) => ServerTools::None,
        (ServerTools::All, rest) | (rest, ServerTools::All) => rest.clone(),
        (ServerTools::Only(one), ServerTools::Only(other)) => {
            let held =
                |pattern: &&Arc<str>, by: &[Arc<str>]| by.iter().any(|wide| covers(wide, pattern));
            let narrow = one.iter().filter(|pattern| held(pattern, other));
            let narrower = other.iter().filter(|pattern| held(pattern, one));
            let mut patterns: Vec<Arc<str>> = narrow.chain(narrower).cloned().collect();
            patterns.sort_unstable();
            patterns.dedup();
            if patterns.is_empty() {
                ServerTools::None
            } else {
                ServerTools::Only(patterns)
            }
        }
    }
}

/// Whether one pattern covers another, judged by their text: a star of the narrow pattern must be covered by a
/// star of the wide one.
fn covers(wide: &str, narrow: &str) -> bool {
    let mut parts = wide.split('*');
    let Some(mut rest) = parts.next().and_then(|first| narrow.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else {
            return false;
        };
        rest = behind;
    }
    rest.ends_with(last)
}

/// The header that selects server tools.
pub const HEADER: &str = "x-jackfield-tools";
