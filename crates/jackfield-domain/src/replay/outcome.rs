//! Rebuilds the outcomes that tools returned, before cuts and the loop's additions.

use std::sync::Arc;

use crate::ids::ToolCallId;
use crate::media::{Image, MediaSource};
use crate::outcome::{OutcomePart, ToolResult};
use crate::session::Session;
use crate::tool_input::ToolInput;
use crate::tool_loop::edited_arguments;

use super::rebuild::MissingRecord;

/// The results that a tool may have returned, given the stored outcome; the likeliest first.
///
/// The part that was cut off is lost. A filler of the same size replaces it, which is cut at the same place.
pub(super) fn possible_results(
    session: &Session,
    call: &ToolCallId,
    recorded: &ToolResult,
) -> Result<Vec<ToolResult>, MissingRecord> {
    let turn = session.last_turn();
    let calls = turn.map_or(&[][..], |turn| turn.calls());
    let edited = calls.iter().find(|open| open.call.id == *call);
    let note = match edited.and_then(|call| call.edited.as_deref()) {
        Some(ToolInput::Json(input)) => Some(edited_arguments(input.raw())),
        Some(ToolInput::Text(text)) => Some(edited_arguments(text)),
        None => None,
    };
    let mut unchanged = recorded.clone();
    if note.is_some() && !unchanged.content.is_empty() {
        unchanged.content.remove(0);
    }
    let stored = turn.map_or(usize::MAX, |turn| turn.setup().limits.stored);
    let marker = unchanged.content.last().and_then(OutcomePart::as_text);
    let Some(size) = marker.and_then(|marker| marked_size(marker, stored)) else {
        return Ok(vec![unchanged]);
    };
    let mut whole = unchanged.clone();
    whole.content.pop();
    let known_size = whole.size() + note.map_or(0, |note| note.len());
    match size.saturating_sub(known_size) {
        // The tool itself may have returned a text that looks like the marker.
        0 => Ok(vec![unchanged]),
        lost if lost > MAX_LENGTH => Err(MissingRecord::Outcome { size }),
        lost => {
            whole.content.push(OutcomePart::Image(Image {
                detail: None,
                source: MediaSource::Url(filler(lost)),
            }));
            Ok(vec![whole, unchanged])
        }
    }
}

/// A result of which only the size is known.
pub(super) fn filler_result(size: usize, is_error: bool) -> Result<ToolResult, MissingRecord> {
    if size > MAX_LENGTH {
        return Err(MissingRecord::Outcome { size });
    }
    Ok(ToolResult {
        is_error,
        ..ToolResult::text(filler(size))
    })
}

fn filler(size: usize) -> Arc<str> {
    "x".repeat(size).into()
}

/// The original size of an outcome, if this is the marker of a cut at this limit.
fn marked_size(marker: &str, limit: usize) -> Option<usize> {
    let size = marker.strip_prefix("[cut: ")?;
    let end = format!(" bytes were returned, at most {limit} are shown]");
    size.strip_suffix(&end)?.parse().ok()
}

/// The maximum size that a filler replaces, in bytes: far above what is ever read from a tool.
const MAX_LENGTH: usize = 64 * 1024 * 1024;
