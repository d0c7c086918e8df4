//! Opaque state, found by its owner.

use jackfield_domain::opaque::{OpaqueState, StateOwner};
use serde_json::Value;

/// The state of this kind from this owner, and its index.
#[must_use]
pub fn find<'a>(
    states: &'a [OpaqueState],
    owner: &StateOwner,
    kind: &str,
) -> Option<(usize, &'a Value)> {
    let found = states
        .iter()
        .enumerate()
        .find(|(_, state)| *state.kind == *kind && state.owner == *owner);
    found.map(|(place, state)| (place, &state.json))
}

/// The state of this kind from any owner of this dialect, which a client of the dialect may see.
#[must_use]
pub fn of_dialect<'a>(states: &'a [OpaqueState], dialect: &str, kind: &str) -> Option<&'a Value> {
    let found = states
        .iter()
        .find(|state| *state.kind == *kind && *state.owner.dialect == *dialect);
    found.map(|state| &state.json)
}
