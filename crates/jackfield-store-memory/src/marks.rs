//! The marks of all sessions, by which turns are found again.

use std::collections::HashMap;

use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_ports::journal::marks::{FoundTurn, Mark, StepMarks};

/// The turns with each mark, by the mark's place.
#[derive(Default)]
pub(crate) struct Marks(HashMap<Digest, Vec<(SessionId, TurnId)>>);

impl Marks {
    /// Adds the marks of a committed step.
    pub(crate) fn insert(&mut self, session: &SessionId, marked: &[StepMarks]) {
        for mark in marked {
            let turns = self.0.entry(mark.place).or_default();
            turns.push((session.clone(), mark.turn.clone()));
        }
    }

    /// The turns with these marks, for each mark the newest first.
    pub(crate) fn find(&self, principal: &str, marks: &[Mark], most: usize) -> Vec<FoundTurn> {
        // Without turns there is nothing to compute a place for.
        if self.0.is_empty() {
            return Vec::new();
        }
        let found = marks.iter().flat_map(|mark| {
            let turns = self.0.get(&mark.place(principal)).map(Vec::as_slice);
            let newest = turns.unwrap_or_default().iter().rev().take(most);
            newest.map(|(session, turn)| FoundTurn {
                mark: mark.clone(),
                session: session.clone(),
                turn: turn.clone(),
            })
        });
        found.collect()
    }

    /// Removes the marks of a session, given their places.
    pub(crate) fn remove(&mut self, session: &SessionId, places: &[Digest]) {
        for place in places {
            if let Some(turns) = self.0.get_mut(place) {
                turns.retain(|(owner, _)| owner != session);
                if turns.is_empty() {
                    self.0.remove(place);
                }
            }
        }
        shrink(&mut self.0);
    }
}

/// Releases memory once a map is mostly empty.
pub(crate) fn shrink<K: std::hash::Hash + Eq, V>(map: &mut HashMap<K, V>) {
    if map.capacity() > MIN_CAPACITY && map.len() < map.capacity() / 4 {
        map.shrink_to(MIN_CAPACITY.max(map.len() * 2));
    }
}

/// The minimum capacity that a map keeps.
const MIN_CAPACITY: usize = 64;
