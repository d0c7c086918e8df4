//! Outcomes as tools gave them: before they were cut to what is kept, and before what the loop adds.

use std::sync::Arc;

use crate::ids::ToolCallId;
use crate::media::{Image, MediaSource};
use crate::outcome::{OutcomePart, ToolResult};
use crate::session::Session;
use crate::tool_input::ToolInput;
use crate::tool_loop::edited_arguments;

use super::rebuild::MissingRecord;

/// What a tool may have answered for this to be kept of it, the likeliest first.
///
/// What was cut off is gone. Something of the same size stands in for it, which is cut at the same place.
pub(super) fn before_it_was_kept(
    session: &Session,
    call: &ToolCallId,
    kept: &ToolResult,
) -> Result<Vec<ToolResult>, MissingRecord> {
    let turn = session.last_turn();
    let calls = turn.map_or(&[][..], |turn| turn.calls());
    let edited = calls.iter().find(|open| open.call.id == *call);
    let note = match edited.and_then(|call| call.edited.as_deref()) {
        Some(ToolInput::Json(input)) => Some(edited_arguments(input.raw())),
        Some(ToolInput::Text(text)) => Some(edited_arguments(text)),
        None => None,
    };
    let mut as_it_is = kept.clone();
    if note.is_some() && !as_it_is.content.is_empty() {
        as_it_is.content.remove(0);
    }
    let stored = turn.map_or(usize::MAX, |turn| turn.setup().limits.stored);
    let marker = as_it_is.content.last().and_then(OutcomePart::as_text);
    let Some(size) = marker.and_then(|marker| size_in(marker, stored)) else {
        return Ok(vec![as_it_is]);
    };
    let mut whole = as_it_is.clone();
    whole.content.pop();
    let known = whole.size() + note.map_or(0, |note| note.len());
    match size.saturating_sub(known) {
        // A tool may say such a thing itself.
        0 => Ok(vec![as_it_is]),
        lost if lost > LONGEST => Err(MissingRecord::Outcome { size }),
        lost => {
            whole.content.push(OutcomePart::Image(Image {
                detail: None,
                source: MediaSource::Url(filler(lost)),
            }));
            Ok(vec![whole, as_it_is])
        }
    }
}

/// An outcome of which only the size is known.
pub(super) fn of_size(size: usize, is_error: bool) -> Result<ToolResult, MissingRecord> {
    if size > LONGEST {
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

/// How long an outcome was that this marker says was cut at this limit.
fn size_in(marker: &str, limit: usize) -> Option<usize> {
    let size = marker.strip_prefix("[cut: ")?;
    let end = format!(" bytes were returned, at most {limit} are shown]");
    size.strip_suffix(&end)?.parse().ok()
}

/// The longest outcome that something stands in for: far above what is ever read of a tool.
const LONGEST: usize = 64 * 1024 * 1024;
