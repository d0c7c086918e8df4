//! Requests to write, encoded by the requester, so that the writing thread does nothing else.

use std::sync::Arc;

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{DeliveryId, SessionId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{DeliveryBody, Wait, WaitEnd};
use jackfield_ports::journal::summary::searchable_text;
use jackfield_ports::journal::waits::{WaitChange, changes};
use jackfield_ports::journal::{Append, Epoch};
use jackfield_record::{EncodeError, Part};

/// An append with its encoded records.
pub(crate) struct AppendJob {
    /// The number of bytes of the records, including their parts.
    pub(crate) bytes: usize,
    pub(crate) changes: Vec<WaitUpdate>,
    pub(crate) epoch: Epoch,
    /// Whether the number in each step equals its position.
    pub(crate) is_numbered: bool,
    /// The large texts cut out of the records.
    pub(crate) parts: Vec<Part>,
    pub(crate) position: u64,
    pub(crate) records: Vec<Vec<u8>>,
    pub(crate) seen: u64,
    pub(crate) session: SessionId,
    /// Cheap to copy, as the large values in a step are shared.
    pub(crate) steps: Vec<Envelope>,
    /// The search text of each step, if it has one.
    pub(crate) words: Vec<Option<String>>,
}

/// A change that an append makes to a wait.
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
    pub(crate) fn from_append(append: &Append) -> Result<Self, EncodeError> {
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
            words: append.steps.iter().map(searchable_text).collect(),
        })
    }

    /// The number of the first step, given the number of the last one.
    pub(crate) fn first_number(&self, last: i64) -> i64 {
        let count = i64::try_from(self.records.len()).unwrap_or(i64::MAX);
        last.saturating_sub(count).saturating_add(1)
    }
}

/// A delivery without its time, which is set when it is written.
pub(crate) struct DeliverJob {
    pub(crate) body: DeliveryBody,
    pub(crate) by: Arc<str>,
    pub(crate) id: DeliveryId,
    pub(crate) session: SessionId,
}
