//! Opaque state: what a provider wants back, found by its owner.

use jackfield_domain::opaque::{OpaqueState, StateOwner};
use serde_json::Value;

/// The state of this kind that this owner left, and its place.
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

/// The state of this kind that any owner of this dialect left: what a client of the dialect is shown.
#[must_use]
pub fn of_dialect<'a>(states: &'a [OpaqueState], dialect: &str, kind: &str) -> Option<&'a Value> {
    let found = states
        .iter()
        .find(|state| *state.kind == *kind && *state.owner.dialect == *dialect);
    found.map(|state| &state.json)
}
