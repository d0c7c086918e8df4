//! What is written, made ready where it was asked for: the thread that writes does nothing else.

use std::sync::Arc;

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{DeliveryId, SessionId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{DeliveryBody, Wait, WaitEnd};
use jackfield_ports::journal::summary::words;
use jackfield_ports::journal::waits::{WaitChange, changes};
use jackfield_ports::journal::{Append, Epoch};
use jackfield_record::{EncodeError, Part};

use crate::owned::OwnerRow;

/// An append with its records.
pub(crate) struct AppendJob {
    /// How many bytes the records have, with what was cut out of them.
    pub(crate) bytes: usize,
    pub(crate) changes: Vec<WaitUpdate>,
    pub(crate) epoch: Epoch,
    /// Whether the steps bear the numbers of their places.
    pub(crate) is_numbered: bool,
    /// What was cut out of the records.
    pub(crate) parts: Vec<Part>,
    pub(crate) position: u64,
    /// As they are stored.
    pub(crate) records: Vec<Vec<u8>>,
    pub(crate) seen: u64,
    pub(crate) session: SessionId,
    /// Cheap to have: what is large in a step is shared.
    pub(crate) steps: Vec<Envelope>,
    /// What is searched of each step, if anything is.
    pub(crate) words: Vec<Option<String>>,
}

/// What an append says of waits.
pub(crate) enum WaitUpdate {
    Closed {
        at: WallTime,
        end: WaitEnd,
        wait: WaitId,
    },
    Opened {
        record: Vec<u8>,
        wait: Wait,
    },
}

impl AppendJob {
    pub(crate) fn of(append: &Append) -> Result<Self, EncodeError> {
        let mut bytes = 0_usize;
        let mut parts = Vec::new();
        let records = append.steps.iter().map(|step| {
            let cut = jackfield_record::cut(jackfield_record::encode_envelope(step)?);
            bytes = bytes.saturating_add(cut.length);
            parts.extend(cut.parts);
            Ok(cut.record)
        });
        let records = records.collect::<Result<_, EncodeError>>()?;
        let changes = append.steps.iter().flat_map(changes);
        let changes = changes.map(|change| {
            Ok(match change {
                WaitChange::Closed { at, end, wait } => WaitUpdate::Closed {
                    at,
                    end: end.clone(),
                    wait: wait.clone(),
                },
                WaitChange::Opened(wait) => WaitUpdate::Opened {
                    record: jackfield_record::encode_wait(wait)?,
                    wait: wait.clone(),
                },
            })
        });
        let mut numbered = (0..).zip(&append.steps);
        Ok(Self {
            bytes,
            changes: changes.collect::<Result<_, EncodeError>>()?,
            epoch: append.epoch,
            is_numbered: numbered
                .all(|(nth, step)| append.position.checked_add(nth) == Some(step.step)),
            parts,
            position: append.position,
            records,
            seen: append.seen,
            session: append.session.clone(),
            steps: append.steps.clone(),
            words: append.steps.iter().map(words).collect(),
        })
    }

    /// The number of its first step, if its last one has this.
    pub(crate) fn first(&self, last: i64) -> i64 {
        let count = i64::try_from(self.records.len()).unwrap_or(i64::MAX);
        last.saturating_sub(count).saturating_add(1)
    }

    /// Whether it goes on from what is known, and touches no wait.
    pub(crate) fn is_next_of(&self, known: &OwnerRow) -> bool {
        self.epoch.0 == known.epoch
            && self.position == known.steps
            && self.is_numbered
            && self.changes.is_empty()
    }
}

/// A delivery that has no time yet.
pub(crate) struct DeliverJob {
    pub(crate) body: DeliveryBody,
    pub(crate) by: Arc<str>,
    pub(crate) id: DeliveryId,
    pub(crate) session: SessionId,
}
