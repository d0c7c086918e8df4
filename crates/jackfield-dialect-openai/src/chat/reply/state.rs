//! What opaque state there is in this dialect, and how it is read.

pub(crate) use jackfield_dialect_kit::state::find;
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use serde_json::Value;

use crate::chat::DIALECT;

/// The field in which the text of a thinking block came: one of [`REASONING_FIELDS`].
pub(crate) const REASONING_FIELD: &str = "reasoning_field";
/// The reasoning of a reply in parts, with proofs: an array.
pub(crate) const REASONING_DETAILS: &str = "reasoning_details";
/// What a server wants back with a call: any JSON.
pub(crate) const EXTRA_CONTENT: &str = "extra_content";

/// The fields that reasoning comes in; the first one is taken where there are several.
pub(crate) const REASONING_FIELDS: [&str; 4] = [
    "reasoning_content",
    "reasoning",
    "thinking",
    REASONING_DETAILS,
];

/// The kind of the opaque block that holds what the model said aloud.
pub(crate) const AUDIO: &str = "audio";

/// State of this owner.
pub(crate) fn of(owner: &StateOwner, kind: &str, json: Value, scope: StateScope) -> OpaqueState {
    OpaqueState {
        kind: kind.into(),
        json,
        owner: owner.clone(),
        scope,
    }
}

/// The state of this kind that any owner of this dialect left: what a client of the dialect is shown.
pub(crate) fn of_dialect<'a>(states: &'a [OpaqueState], kind: &str) -> Option<&'a Value> {
    jackfield_dialect_kit::state::of_dialect(states, DIALECT, kind)
}

/// The words of reasoning in parts: texts and summaries, one after another.
pub(crate) fn details_text(details: &[Value]) -> String {
    let words = |part: &Value| {
        let text = part.get("text").or_else(|| part.get("summary"))?;
        text.as_str().map(str::to_owned)
    };
    details.iter().filter_map(words).collect()
}
