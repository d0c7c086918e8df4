//! An append, encoded for its statements.

use std::sync::Arc;

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{SessionId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::WaitEnd;
use jackfield_ports::journal::summary::searchable_text;
use jackfield_ports::journal::waits::{WaitChange, changes};
use jackfield_ports::journal::{Append, Epoch};
use jackfield_record::{EncodeError, Part};

/// An append with its encoded records.
pub(crate) struct AppendJob<'a> {
    /// Whether it is refused once the lease of its owner has passed.
    pub(crate) begins: bool,
    /// The number of bytes of the records, including their parts.
    pub(crate) bytes: usize,
    pub(crate) changes: Vec<WaitUpdate<'a>>,
    pub(crate) epoch: Epoch,
    /// Whether the number in each step equals its position.
    pub(crate) is_numbered: bool,
    /// The large texts cut out of the records.
    pub(crate) parts: Vec<Part>,
    pub(crate) position: u64,
    pub(crate) records: Vec<Vec<u8>>,
    pub(crate) seen: u64,
    pub(crate) session: &'a SessionId,
    pub(crate) steps: &'a [Envelope],
    /// The positions and search texts of the steps that have one.
    pub(crate) texts: (Vec<i64>, Vec<String>),
}

/// A change that an append makes to a wait.
pub(crate) enum WaitUpdate<'a> {
    Closed {
        at: WallTime,
        end: &'a WaitEnd,
        wait: &'a WaitId,
    },
    Opened {
        record: Vec<u8>,
        wait: &'a jackfield_domain::wait::Wait,
    },
}

impl<'a> AppendJob<'a> {
    pub(crate) fn new(append: &'a Append) -> Result<Self, EncodeError> {
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
                WaitChange::Closed { at, end, wait } => WaitUpdate::Closed { at, end, wait },
                WaitChange::Opened(wait) => WaitUpdate::Opened {
                    record: jackfield_record::encode_wait(wait)?,
                    wait,
                },
            })
        });
        let mut numbered = (0..).zip(&append.steps);
        let texts = append.steps.iter().filter_map(|step| {
            let text = searchable_text(step)?;
            Some((crate::pool::int(step.step), without_nul(&text)))
        });
        Ok(Self {
            begins: append.begins(),
            bytes,
            changes: changes.collect::<Result<_, EncodeError>>()?,
            epoch: append.epoch,
            is_numbered: numbered
                .all(|(nth, step)| append.position.checked_add(nth) == Some(step.step)),
            parts,
            position: append.position,
            records,
            seen: append.seen,
            session: &append.session,
            steps: &append.steps,
            texts: texts.unzip(),
        })
    }

    /// The number of steps after it.
    pub(crate) fn end(&self) -> u64 {
        self.position.saturating_add(self.records.len() as u64)
    }
}

/// A text for a column, which can have no NUL.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

pub(crate) fn utf8(bytes: &[u8]) -> Result<Arc<str>, crate::error::Fault> {
    let text = std::str::from_utf8(bytes).map_err(crate::error::Fault::row)?;
    Ok(text.into())
}
