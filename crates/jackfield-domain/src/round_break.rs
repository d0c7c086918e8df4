//! Where in a reply to a client the words of another round begin.

use serde_json::json;

use crate::opaque::{OpaqueState, StateOwner, StateScope};

/// The first words of a round that is not the first one, as it hangs on their block.
///
/// A client is shown several rounds as one reply, and may be shown nothing of what happened between them.
/// A dialect whose messages have one text parts these words from those before; otherwise two sentences would
/// stand together as one. No provider is ever sent this.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RoundBreak;

impl RoundBreak {
    /// Whether another round begins with the block that has these states.
    #[must_use]
    pub fn begins(states: &[OpaqueState]) -> bool {
        let mut states = states.iter();
        states.any(|state| *state.kind == *KIND && *state.owner.dialect == *OWNER)
    }

    /// The state that says so.
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

/// Whose state this is: no dialect of a provider has this name.
const OWNER: &str = "jackfield";
const KIND: &str = "later_round";
