//! The waits of a session, each as its row.

use std::collections::HashMap;

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::WaitId;
use jackfield_domain::wait::Answer;
use jackfield_ports::journal::waits::{Taken, WaitChange, WaitRow, changes};
use jackfield_ports::journal::{Append, Delivered, Refusal};

/// All waits that were ever opened.
#[derive(Default)]
pub(crate) struct Waits {
    rows: HashMap<WaitId, WaitRow>,
}

impl Waits {
    /// Refuses what closes a wait whose answer the owner has not seen, unless it closes it by that answer.
    pub(crate) fn check(&self, append: &Append) -> Result<(), Refusal> {
        let may_be = append
            .steps
            .iter()
            .flat_map(changes)
            .all(|change| match change {
                WaitChange::Closed { end, wait, .. } => self
                    .rows
                    .get(wait)
                    .is_none_or(|row| row.may_close(end, append.seen)),
                WaitChange::Opened(_) => true,
            });
        if may_be {
            Ok(())
        } else {
            Err(Refusal::Answered)
        }
    }

    /// Keeps what a committed step says of waits.
    pub(crate) fn apply(&mut self, step: &Envelope) {
        for change in changes(step) {
            match change {
                WaitChange::Opened(wait) => {
                    self.rows
                        .entry(wait.id.clone())
                        .or_insert_with(|| WaitRow::opened(wait.clone()));
                }
                WaitChange::Closed { at, end, wait } => {
                    if let Some(row) = self.rows.get_mut(wait) {
                        row.close(end, at);
                    }
                }
            }
        }
    }

    /// Answers a wait, if it is open; otherwise says why not.
    pub(crate) fn answer(
        &mut self,
        wait: &WaitId,
        answer: &Answer,
        taken: Taken,
    ) -> Result<(), Delivered> {
        let row = self.rows.get_mut(wait).ok_or(Delivered::NoSuchWait)?;
        row.answer(answer, taken)
    }
}
