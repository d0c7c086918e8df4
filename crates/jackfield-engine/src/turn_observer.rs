//! Sees what the turns of an engine did and used, for figures about all of them.

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::SessionId;
use jackfield_domain::spending_record::SpendingRecord;

use crate::options::Durability;

/// Sees each turn that an engine ends, and each spending record that it stores. Both are committed by then.
///
/// The methods are called between two steps of a turn: they must not block, and not take long.
pub trait TurnObserver: Send + Sync {
    /// A turn has ended.
    fn turn_ended(&self, turn: &EndedTurn);

    /// Whether it exports the traces of turns, so that the calls of a turn belong to its own spans.
    fn exports_traces(&self) -> bool {
        false
    }

    /// A spending record was stored.
    fn record_stored(&self, record: &SpendingRecord);
}

/// A turn that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedTurn {
    /// Where its session is. What an ephemeral turn used is stored as spending records, too.
    pub durability: Durability,
    /// Its session.
    pub session: SessionId,
    /// Its steps, from its opening on, those of earlier processes included.
    pub steps: Vec<Envelope>,
}

/// The steps of a turn in progress; nothing is kept if there is no observer.
#[derive(Debug, Default)]
pub(crate) struct ObservedSteps(Option<Vec<Envelope>>);

impl ObservedSteps {
    pub(crate) fn new(is_observed: bool) -> Self {
        Self(is_observed.then(Vec::new))
    }

    /// Adds a committed step. A turn begins with its opening.
    pub(crate) fn push(&mut self, step: &Envelope) {
        let Some(steps) = &mut self.0 else { return };
        let mut facts = step.facts.iter();
        if facts.any(|fact| matches!(fact, Fact::TurnOpened { .. })) {
            steps.clear();
        }
        steps.push(step.clone());
    }

    /// All steps so far, which are dropped here.
    pub(crate) fn take(&mut self) -> Vec<Envelope> {
        self.0.take().unwrap_or_default()
    }
}
