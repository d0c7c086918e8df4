//! Texts that models get in place of an outcome. They are sentences, because models act on them.

use std::fmt::Write as _;
use std::time::Duration;

use crate::failure::Disposition;
use crate::find_tools;
use crate::ids::ToolName;
use crate::limits::LimitKind;
use crate::outcome::ToolResult;
use crate::tool::{Catalog, CatalogEntry};

pub(super) fn no_such_tool(name: &str, catalog: &Catalog) -> ToolResult {
    let mut text = format!("There is no tool named `{name}`. ");
    let offered: Vec<&CatalogEntry> = catalog.offered().collect();
    if offered.is_empty() {
        text.push_str("No tools are available; answer without them.");
    } else {
        text.push_str("The tools are: ");
        for (n, tool) in offered.iter().take(LISTED).enumerate() {
            text.push_str(if n > 0 { ", " } else { "" });
            text.push_str(tool.definition.name.as_str());
        }
        let more = offered.len().saturating_sub(LISTED);
        if more > 0 {
            // Writing to a string cannot fail.
            let _ignored = write!(text, " and {more} more");
        }
        text.push('.');
    }
    ToolResult::error(text)
}

pub(super) fn not_loaded(name: &ToolName) -> ToolResult {
    let search = find_tools::NAME;
    ToolResult::error(format!(
        "The call was not run: `{name}` is not loaded, and its arguments are unknown. Call `{search}` with the query \
         `select:{name}` first."
    ))
}

pub(super) fn malformed(fault: &str) -> ToolResult {
    ToolResult::error(format!(
        "The call was not run: its arguments are not a valid JSON object ({fault}). \
         Send the call again with valid JSON."
    ))
}

pub(super) fn cut_off() -> ToolResult {
    ToolResult::error(
        "The call was not run: the reply that holds it was cut off by the token limit. \
         Send it again, shorter.",
    )
}

pub(super) fn sibling_call_invalid() -> ToolResult {
    ToolResult::error(
        "The call was not run: another call of the same reply could not be read, and the turn ended.",
    )
}

pub(super) fn refused() -> ToolResult {
    ToolResult::error("The call was not run: the reply that holds it was refused or filtered.")
}

pub(super) fn limit_reached(limit: Option<LimitKind>) -> ToolResult {
    let what = match limit {
        Some(LimitKind::ActiveTime) => "the turn's time is used up",
        Some(LimitKind::Cost) => "the turn's money is used up",
        Some(LimitKind::NoProgress) => "the same call had the same outcome too often",
        Some(LimitKind::Rounds) => "the turn's last round has no tools",
        Some(LimitKind::Tokens) => "the turn's tokens are used up",
        None => "only the first round of a turn may use tools",
    };
    ToolResult::error(format!("The call was not run: {what}."))
}

pub(super) fn no_tool_allowed() -> ToolResult {
    ToolResult::error("The call was not run: this turn may not use tools.")
}

pub(super) fn tool_not_allowed(name: &ToolName) -> ToolResult {
    ToolResult::error(format!(
        "The call was not run: this turn may not use `{name}`."
    ))
}

pub(super) fn denied_by_rule(why: &str) -> ToolResult {
    ToolResult::error(format!("The call was not run: {why}."))
}

/// Why a call was denied, with the person's reason if there is one.
pub(super) fn denied(reason: &str) -> String {
    match reason.trim() {
        "" => "it was denied".to_owned(),
        reason => format!("it was denied. The reason given: {reason}"),
    }
}

pub(super) fn unapproved(why: &str) -> ToolResult {
    let end = if why.ends_with(['.', '!', '?', '。', '！', '？']) {
        ""
    } else {
        "."
    };
    ToolResult::error(format!("The call was not run: {why}{end}"))
}

pub(super) fn approval_mismatch() -> ToolResult {
    ToolResult::error("The call was not run: it is not the one that was approved.")
}

pub(super) fn question_expired() -> ToolResult {
    ToolResult::error(
        "The tool asked for something in the middle of the call, and nobody answered.",
    )
}

pub(super) fn client_expired(limit: Duration) -> ToolResult {
    ToolResult::error(format!("No result was sent within {} s.", limit.as_secs()))
}

pub(super) fn cancelled_before_start() -> ToolResult {
    ToolResult::error("The call was not run: the turn was cancelled before it started.")
}

pub(super) fn restricted(why: &str) -> ToolResult {
    ToolResult::error(format!("The call was not run: {why}."))
}

/// The result for a call that ended without an outcome.
pub(super) fn lost(disposition: Disposition, message: &str) -> ToolResult {
    ToolResult::error(match disposition {
        Disposition::Landed => {
            format!("The call took effect, but its result is lost ({message}). Do not repeat it.")
        }
        Disposition::NotSent => format!("The call was not run: {message}."),
        Disposition::Unknown => format!(
            "Outcome unknown ({message}): the call may or may not have taken effect. \
             Check before repeating it."
        ),
    })
}

/// The note that a call ran with edited arguments.
pub(crate) fn edited_arguments(arguments: &str) -> String {
    format!("[called with arguments that an approver changed: {arguments}]")
}

/// Adds the note about edited arguments.
pub(super) fn with_edited_arguments(mut result: ToolResult, arguments: &str) -> ToolResult {
    let note = edited_arguments(arguments);
    result
        .content
        .insert(0, crate::outcome::OutcomePart::Text(note.into()));
    result
}

/// Why a call may not run whose approval expired.
pub(super) const EXPIRED: &str = "nobody approved it in time";

/// The maximum number of tool names in an error.
const LISTED: usize = 50;
