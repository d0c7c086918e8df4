//! Which tools of this side a request may use: what its token may, and what it asks for.

use std::sync::Arc;

use jackfield_assembly::ToolsUsed;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_engine::ServerTools;

/// The tools that a request uses of those that it may: those that the header names, or all of them, unless
/// it brings tools of its own.
///
/// # Errors
///
/// The header cannot be read.
pub(crate) fn used(
    may: &ToolsUsed,
    header: Option<&str>,
    brings_own: bool,
) -> Result<ToolsUsed, ServeError> {
    match header {
        None if brings_own => Ok(ToolsUsed::None),
        None => Ok(may.clone()),
        Some(text) => Ok(both(may, &wanted(text)?)),
    }
}

/// The tools that these are, as a turn is set up with them.
pub(crate) fn offered(used: ToolsUsed) -> ServerTools {
    match used {
        ToolsUsed::All => ServerTools::All,
        ToolsUsed::None => ServerTools::None,
        ToolsUsed::Only(patterns) => ServerTools::Only(patterns),
    }
}

/// Those of these that a token may use.
pub(crate) fn within(may: &ToolsUsed, held: ServerTools) -> ServerTools {
    match held {
        ServerTools::All => offered(may.clone()),
        ServerTools::None => ServerTools::None,
        ServerTools::Only(patterns) => offered(both(may, &ToolsUsed::Only(patterns))),
    }
}

fn wanted(text: &str) -> Result<ToolsUsed, ServeError> {
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

/// What both say. A pattern of one side counts where the other side has one that holds all of it, so that
/// nothing is used that only one side says.
fn both(one: &ToolsUsed, other: &ToolsUsed) -> ToolsUsed {
    match (one, other) {
        (ToolsUsed::None, _) | (_, ToolsUsed::None) => ToolsUsed::None,
        (ToolsUsed::All, rest) | (rest, ToolsUsed::All) => rest.clone(),
        (ToolsUsed::Only(one), ToolsUsed::Only(other)) => {
            let held =
                |pattern: &&Arc<str>, by: &[Arc<str>]| by.iter().any(|wide| holds(wide, pattern));
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

/// Whether everything that is of the one pattern is of the other, as far as their text says so: a star of
/// the narrow one is held by a star of the wide one, and by nothing else.
fn holds(wide: &str, narrow: &str) -> bool {
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

/// The header that says which tools of this side are used.
pub(crate) const HEADER: &str = "x-jackfield-tools";
