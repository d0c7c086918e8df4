//! The server tools of a request: the intersection of its token's permissions and its own selection.

use std::sync::Arc;

use jackfield_assembly::ToolsUsed;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_engine::ServerTools;

/// The server tools that a request uses, out of the permitted ones: those that the header names, or all, unless
/// the request brings client tools.
///
/// # Errors
///
/// The header cannot be parsed.
pub(crate) fn select(
    permitted: &ToolsUsed,
    header: Option<&str>,
    has_client_tools: bool,
) -> Result<ToolsUsed, ServeError> {
    match header {
        None if has_client_tools => Ok(ToolsUsed::None),
        None => Ok(permitted.clone()),
        Some(text) => Ok(intersect(permitted, &parse_selection(text)?)),
    }
}

/// Converts a selection to the server tools of a turn setup.
pub(crate) fn to_server_tools(used: ToolsUsed) -> ServerTools {
    match used {
        ToolsUsed::All => ServerTools::All,
        ToolsUsed::None => ServerTools::None,
        ToolsUsed::Only(patterns) => ServerTools::Only(patterns),
    }
}

/// Restricts server tools to those that a token may use.
pub(crate) fn restrict(permitted: &ToolsUsed, selected: ServerTools) -> ServerTools {
    match selected {
        ServerTools::All => to_server_tools(permitted.clone()),
        ServerTools::None => ServerTools::None,
        ServerTools::Only(patterns) => {
            to_server_tools(intersect(permitted, &ToolsUsed::Only(patterns)))
        }
    }
}

fn parse_selection(text: &str) -> Result<ToolsUsed, ServeError> {
    match text.trim() {
        "all" => Ok(ToolsUsed::All),
        "none" => Ok(ToolsUsed::None),
        text => {
            let patterns: Vec<Arc<str>> = text.split(',').map(|one| one.trim().into()).collect();
            if patterns.iter().any(|pattern| pattern.is_empty()) {
                let message =
                    format!("the header `{HEADER}` is `all`, `none`, or patterns with commas");
                return Err(ServeError::new(ServeErrorKind::Invalid, message));
            }
            Ok(ToolsUsed::Only(patterns))
        }
    }
}

/// The intersection of two selections. A pattern counts if a pattern of the other side covers it completely, so
/// nothing is used that only one side permits.
fn intersect(one: &ToolsUsed, other: &ToolsUsed) -> ToolsUsed {
    match (one, other) {
        (ToolsUsed::None, _) | (_, ToolsUsed::None) => ToolsUsed::None,
        (ToolsUsed::All, rest) | (rest, ToolsUsed::All) => rest.clone(),
        (ToolsUsed::Only(one), ToolsUsed::Only(other)) => {
            let held =
                |pattern: &&Arc<str>, by: &[Arc<str>]| by.iter().any(|wide| covers(wide, pattern));
            let narrow = one.iter().filter(|pattern| held(pattern, other));
            let narrower = other.iter().filter(|pattern| held(pattern, one));
            let mut patterns: Vec<Arc<str>> = narrow.chain(narrower).cloned().collect();
            patterns.sort_unstable();
            patterns.dedup();
            if patterns.is_empty() {
                ToolsUsed::None
            } else {
                ToolsUsed::Only(patterns)
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
pub(crate) const HEADER: &str = "x-jackfield-tools";
