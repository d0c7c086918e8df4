//! A whole session as another journal keeps it, to be written as it is.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{SessionId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};

use super::Loaded;
use super::sessions::LabelChange;
use super::summary::{self, Summary};
use super::waits::{TakenDelivery, WaitChange, WaitRow, WaitState, changes};

/// A session of another journal.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionCopy {
    /// The time of its last change.
    pub changed: WallTime,
    /// When it was made.
    pub created: WallTime,
    /// What a person said of it in lists.
    pub labels: LabelChange,
    /// Its contents.
    pub loaded: Loaded,
    /// Its id.
    pub session: SessionId,
}

/// Whether a copy was written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Imported {
    /// There is a session of this id, and nothing was written.
    AlreadyThere,
    /// It was written.
    Written,
}

impl SessionCopy {
    /// The summary of its steps.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for step in &self.loaded.steps {
            summary.apply(step);
        }
        summary
    }

    /// The rows of its waits, in the order in which they were opened.
    #[must_use]
    pub fn waits(&self) -> Vec<WaitRow> {
        let mut rows: Vec<WaitRow> = Vec::new();
        let mut places: HashMap<WaitId, usize> = HashMap::new();
        for change in self.changes() {
            if let WaitChange::Opened(wait) = change {
                places.entry(wait.id.clone()).or_insert_with(|| {
                    rows.push(WaitRow::opened(wait.clone()));
                    rows.len() - 1
                });
            }
        }
        // An answer is in the inbox only if it was accepted, and so before the end of its wait.
        for (index, delivery) in (0..).zip(&self.loaded.deliveries) {
            if let DeliveryBody::Answer { wait, .. } = &delivery.body
                && let Some(row) = places.get(wait).and_then(|place| rows.get_mut(*place))
            {
                row.state = WaitState::Answered(TakenDelivery {
                    at: delivery.at,
                    by: Arc::clone(&delivery.by),
                    delivery: delivery.id.clone(),
                    index,
                });
            }
        }
        for change in self.changes() {
            if let WaitChange::Closed { at, end, wait } = change
                && let Some(row) = places.get(wait).and_then(|place| rows.get_mut(*place))
            {
                row.close(end, at);
            }
        }
        rows
    }

    /// The position after the last delivery that an owner has to handle.
    #[must_use]
    pub fn owner_inbox_end(&self) -> u64 {
        let mut last = self.loaded.deliveries.iter();
        let last = last.rposition(|delivery| summary::is_for_owner(&delivery.body));
        last.map_or(0, |last| last as u64 + 1)
    }

    /// How many deliveries its last owner had seen, as far as the steps tell: up to the first answer to a wait that is
    /// not closed, or the first cancel of the open turn.
    #[must_use]
    pub fn seen(&self) -> u64 {
        let open = self.summary().open.map(|open| open.turn);
        let waits = self.waits();
        let is_unseen = |delivery: &Delivery| match &delivery.body {
            DeliveryBody::Answer { wait, .. } => waits
                .iter()
                .any(|row| row.wait.id == *wait && !matches!(row.state, WaitState::Closed { .. })),
            DeliveryBody::Cancel { turn, .. } => open.as_ref() == Some(turn),
            DeliveryBody::Late { .. }
            | DeliveryBody::Withdrawn { .. }
            | DeliveryBody::Written { .. } => false,
        };
        let deliveries = &self.loaded.deliveries;
        let first = deliveries.iter().position(is_unseen);
        first.unwrap_or(deliveries.len()) as u64
    }

    fn changes(&self) -> impl Iterator<Item = WaitChange<'_>> {
        let steps: &[Envelope] = &self.loaded.steps;
        steps.iter().flat_map(changes)
    }
}
