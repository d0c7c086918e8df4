//! The kinds of opaque state in this dialect, and how to read them.

pub(crate) use jackfield_dialect_kit::state::find;
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use serde_json::Value;

use crate::chat::DIALECT;

/// The name of the field in which a thinking block's text arrived: one of [`REASONING_FIELDS`].
pub(crate) const REASONING_FIELD: &str = "reasoning_field";
/// The reasoning of a reply in parts with signatures: an array.
pub(crate) const REASONING_DETAILS: &str = "reasoning_details";
/// JSON that a server requires back with a call.
pub(crate) const EXTRA_CONTENT: &str = "extra_content";

/// The fields for reasoning; the first one wins if there are several.
pub(crate) const REASONING_FIELDS: [&str; 4] = [
    "reasoning_content",
    "reasoning",
    "thinking",
    REASONING_DETAILS,
];

/// The kind of the opaque block that holds audio output.
pub(crate) const AUDIO: &str = "audio";

pub(crate) fn new_state(
    owner: &StateOwner,
    kind: &str,
    json: Value,
    scope: StateScope,
) -> OpaqueState {
    OpaqueState {
        kind: kind.into(),
        json,
        owner: owner.clone(),
        scope,
    }
}

/// The state of this kind from any owner of this dialect, which a client of the dialect may see.
pub(crate) fn of_dialect<'a>(states: &'a [OpaqueState], kind: &str) -> Option<&'a Value> {
    jackfield_dialect_kit::state::of_dialect(states, DIALECT, kind)
}

/// The text of reasoning in parts: texts and summaries, concatenated.
pub(crate) fn details_text(details: &[Value]) -> String {
    let words = |part: &Value| {
        let text = part.get("text").or_else(|| part.get("summary"))?;
        text.as_str().map(str::to_owned)
    };
    details.iter().filter_map(words).collect()
}
