//! The waits of a session, one row each.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::WaitId;
use jackfield_domain::wait::Answer;
use jackfield_ports::journal::waits::{TakenDelivery, WaitChange, WaitRow, WaitState, changes};
use jackfield_ports::journal::{Append, AppendRefusal, DeliveryOutcome};

/// All waits that were ever opened.
#[derive(Default)]
pub(crate) struct WaitTable {
    rows: HashMap<WaitId, WaitEntry>,
}

/// A wait, and its position among all that were ever opened.
struct WaitEntry {
    nth: u64,
    row: WaitRow,
}

impl WaitTable {
    /// Refuses an append that closes a wait with an unseen answer, unless it closes the wait by that answer.
    pub(crate) fn check(&self, append: &Append) -> Result<(), AppendRefusal> {
        let is_allowed = append
            .steps
            .iter()
            .flat_map(changes)
            .all(|change| match change {
                WaitChange::Closed { end, wait, .. } => self
                    .rows
                    .get(wait)
                    .is_none_or(|opened| opened.row.may_close(end, append.seen)),
                WaitChange::Opened(_) => true,
            });
        if is_allowed {
            Ok(())
        } else {
            Err(AppendRefusal::Answered)
        }
    }

    /// Applies the changes of a committed step.
    pub(crate) fn apply(&mut self, step: &Envelope) {
        for change in changes(step) {
            match change {
                WaitChange::Opened(wait) => {
                    self.rows
                        .entry(wait.id.clone())
                        .or_insert_with(|| WaitEntry {
                            nth: OPENED.fetch_add(1, Ordering::Relaxed),
                            row: WaitRow::opened(wait.clone()),
                        });
                }
                WaitChange::Closed { at, end, wait } => {
                    if let Some(opened) = self.rows.get_mut(wait) {
                        opened.row.close(end, at);
                    }
                }
            }
        }
    }

    /// Answers a wait if it is open; otherwise returns the reason.
    pub(crate) fn answer(
        &mut self,
        wait: &WaitId,
        answer: &Answer,
        taken: TakenDelivery,
    ) -> Result<(), DeliveryOutcome> {
        let opened = self.rows.get_mut(wait).ok_or(DeliveryOutcome::NoSuchWait)?;
        opened.row.answer(answer, taken)
    }

    /// The open waits, each with its position.
    pub(crate) fn open(&self) -> impl Iterator<Item = (u64, &WaitRow)> {
        let rows = self.rows.values().map(|opened| (opened.nth, &opened.row));
        rows.filter(|(_, row)| match &row.state {
            WaitState::Open => true,
            WaitState::Answered(_) | WaitState::Closed { .. } => false,
        })
    }
}

/// The number of waits that were ever opened, in all journals of the process.
static OPENED: AtomicU64 = AtomicU64::new(0);
