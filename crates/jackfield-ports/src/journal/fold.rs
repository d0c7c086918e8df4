//! Everything that a journal derives of one session, folded from its steps and deliveries.
//!
//! A store in memory keeps a [`SessionFold`] per session. A store elsewhere keeps the derived values in columns of
//! its own, or folds them anew from the records.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::WaitId;
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};

use super::marks::{StepMarks, step_marks};
use super::sessions::OpenTurn;
use super::summary::{self, AT_ONCE, OpenTurnSummary, Summary};
use super::waits::{TakenDelivery, WaitChange, WaitRow, changes};
use super::{Append, AppendRefusal, DeliveryOutcome};

/// What a journal derives of one session.
#[derive(Clone, Debug, Default)]
pub struct SessionFold {
    /// The number of deliveries.
    pub deliveries: u64,
    /// Whether it was marked as restored since the last append.
    pub restored: bool,
    /// The number of steps.
    pub steps: u64,
    /// The summary.
    pub summary: Summary,
    /// The index after the last delivery that an owner has to consume.
    owner_inbox_end: u64,
    /// The number of deliveries that its owner had seen at the last append.
    seen: u64,
    /// All waits that were ever opened.
    waits: HashMap<WaitId, WaitRow>,
}

impl SessionFold {
    /// Whether this append may be committed after the present steps, by the numbers of its steps and by the answers
    /// that its owner has not seen. Its epoch, and whether it is repeated, are for the journal to check before.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn check(&self, append: &Append) -> Result<(), AppendRefusal> {
        let mut numbered = (0..).zip(&append.steps);
        let is_numbered =
            numbered.all(|(nth, step)| append.position.checked_add(nth) == Some(step.step));
        if append.position != self.steps || !is_numbered {
            return Err(AppendRefusal::Position);
        }
        let mut changes = append.steps.iter().flat_map(changes);
        let is_allowed = changes.all(|change| match change {
            WaitChange::Closed { end, wait, .. } => self
                .wait(wait)
                .is_none_or(|row| row.may_close(end, append.seen)),
            WaitChange::Opened(_) => true,
        });
        if is_allowed {
            Ok(())
        } else {
            Err(AppendRefusal::Answered)
        }
    }

    /// Applies an append that is committed. Returns the marks that it sets.
    pub fn apply(&mut self, append: &Append) -> Vec<StepMarks> {
        (self.restored, self.seen) = (false, self.seen.max(append.seen));
        let steps = append.steps.iter();
        steps.flat_map(|step| self.apply_step(step)).collect()
    }

    fn apply_step(&mut self, step: &Envelope) -> Vec<StepMarks> {
        for change in changes(step) {
            match change {
                WaitChange::Opened(wait) => {
                    let row = || WaitRow::opened(wait.clone());
                    self.waits.entry(wait.id.clone()).or_insert_with(row);
                }
                WaitChange::Closed { at, end, wait } => {
                    if let Some(row) = self.waits.get_mut(wait) {
                        row.close(end, at);
                    }
                }
            }
        }
        let marks = step_marks(&self.summary, step);
        self.summary.apply(step);
        self.steps += 1;
        marks
    }

    /// Accepts a delivery whose id is new, at its time.
    ///
    /// # Errors
    ///
    /// The outcome for the sender if it is not accepted, and must not be stored.
    pub fn deliver(&mut self, delivery: &Delivery) -> Result<(), DeliveryOutcome> {
        if let DeliveryBody::Answer { answer, wait } = &delivery.body {
            let taken = TakenDelivery {
                at: delivery.at,
                by: Arc::clone(&delivery.by),
                delivery: delivery.id.clone(),
                index: self.deliveries,
            };
            let row = self
                .waits
                .get_mut(wait)
                .ok_or(DeliveryOutcome::NoSuchWait)?;
            row.answer(answer, taken)?;
        }
        self.deliveries += 1;
        if summary::is_for_owner(&delivery.body) {
            self.owner_inbox_end = self.deliveries;
        }
        Ok(())
    }

    /// When the session is due if it has no owner; `None` if there is nothing to do.
    #[must_use]
    pub fn due(&self) -> Option<WallTime> {
        if self.summary.open.is_some() && self.seen < self.owner_inbox_end {
            Some(AT_ONCE)
        } else if self.restored {
            None
        } else {
            self.summary.due()
        }
    }

    /// The open turn, as it is listed.
    #[must_use]
    pub fn open_turn(&self) -> Option<OpenTurn> {
        let mut open = self.summary.open.as_ref().map(OpenTurnSummary::to_row)?;
        open.parked |= self.restored;
        Some(open)
    }

    /// The row of a wait, if it was ever opened.
    #[must_use]
    pub fn wait(&self, id: &WaitId) -> Option<&WaitRow> {
        self.waits.get(id)
    }
}
