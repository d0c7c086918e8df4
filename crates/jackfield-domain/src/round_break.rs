//! Marks where the text of another round begins in a reply to a client.

use serde_json::json;

use crate::opaque::{OpaqueState, StateOwner, StateScope};

/// The marker of the first text block of a round after the first.
///
/// A client gets several rounds as one reply, and may not see what happened between them. A dialect whose
/// messages have a single text inserts a separator here; otherwise two sentences would run together. The marker
/// is never sent to a provider.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RoundBreak;

impl RoundBreak {
    /// Whether another round begins with the block that has these states.
    #[must_use]
    pub fn is_marked(states: &[OpaqueState]) -> bool {
        let mut states = states.iter();
        states.any(|state| *state.kind == *KIND && *state.owner.dialect == *OWNER)
    }

    /// The marker state.
    #[must_use]
    pub fn state() -> OpaqueState {
        OpaqueState {
            kind: KIND.into(),
            json: json!(true),
            owner: StateOwner {
                dialect: OWNER.into(),
                endpoint: "".into(),
                model: "".into(),
            },
            scope: StateScope::Block,
        }
    }
}

/// The owner of the state; no provider's dialect has this name.
const OWNER: &str = "jackfield";
const KIND: &str = "later_round";
