//! The row of a wait, which a journal stores beside the facts; it is updated by compare-and-set.
//!
//! A row is derived from facts and deliveries, so that neither has to be read again. Every journal stores its
//! rows in its own way, and updates them by these rules.

use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{DeliveryId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Answer, Wait, WaitEnd, WaitEndKind};

use super::DeliveryOutcome;

/// A wait and its state.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitRow {
    /// The state.
    pub state: WaitState,
    /// The wait.
    pub wait: Wait,
}

/// The state of a wait.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitState {
    /// An answer is in the inbox, but the owner has not closed the wait yet.
    Answered(TakenDelivery),
    /// The journal contains its end.
    Closed {
        /// When.
        at: WallTime,
        /// The person or program that answered, if it was answered.
        by: Option<Arc<str>>,
        /// How it was closed.
        how: WaitEndKind,
    },
    /// It has no answer.
    Open,
}

/// The delivery that answered a wait.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TakenDelivery {
    /// When the journal accepted it.
    pub at: WallTime,
    /// The sender.
    pub by: Arc<str>,
    /// Its id.
    pub delivery: DeliveryId,
    /// Its index in the inbox.
    pub index: u64,
}

impl WaitRow {
    /// The row of a new wait.
    #[must_use]
    pub const fn opened(wait: Wait) -> Self {
        Self {
            state: WaitState::Open,
            wait,
        }
    }

    /// Whether an owner that has seen this many deliveries may close the wait with this end: it must not ignore
    /// an answer that it has not seen.
    #[must_use]
    pub fn may_close(&self, end: &WaitEnd, seen: u64) -> bool {
        match &self.state {
            WaitState::Answered(taken) => {
                taken.index < seen
                    || matches!(end, WaitEnd::Answered { delivery, .. } if *delivery == taken.delivery)
            }
            WaitState::Closed { .. } | WaitState::Open => true,
        }
    }

    /// Closes it, at this time or at the time of its answer. A closed wait does not change.
    pub fn close(&mut self, end: &WaitEnd, now: WallTime) {
        let (at, by) = match (end, &self.state) {
            (_, WaitState::Closed { .. }) => return,
            (WaitEnd::Answered { by, .. }, WaitState::Answered(taken)) => (taken.at, Some(by)),
            (WaitEnd::Answered { by, .. }, WaitState::Open) => (now, Some(by)),
            (WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded, _) => (now, None),
        };
        self.state = WaitState::Closed {
            at,
            by: by.cloned(),
            how: end.kind(),
        };
    }

    /// Accepts an answer, if the wait is open for it.
    ///
    /// # Errors
    ///
    /// The result for the sender otherwise.
    pub fn answer(&mut self, answer: &Answer, taken: TakenDelivery) -> Result<(), DeliveryOutcome> {
        match &self.state {
            WaitState::Answered(first) => Err(DeliveryOutcome::Closed {
                at: first.at,
                by: Some(Arc::clone(&first.by)),
                how: WaitEndKind::Answered,
            }),
            WaitState::Closed { at, by, how } => Err(DeliveryOutcome::Closed {
                at: *at,
                by: by.clone(),
                how: *how,
            }),
            // If it were accepted, the right answer could never be given.
            WaitState::Open if !self.wait.kind.accepts(answer) => Err(DeliveryOutcome::NoSuchWait),
            WaitState::Open if taken.at > self.wait.deadline => Err(DeliveryOutcome::Closed {
                at: self.wait.deadline,
                by: None,
                how: WaitEndKind::Expired,
            }),
            WaitState::Open => {
                self.state = WaitState::Answered(taken);
                Ok(())
            }
        }
    }
}

/// A change of a wait by a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WaitChange<'a> {
    /// A wait ended.
    Closed {
        /// When, unless its answer came before.
        at: WallTime,
        /// How.
        end: &'a WaitEnd,
        /// Its id.
        wait: &'a WaitId,
    },
    /// A wait was opened.
    Opened(&'a Wait),
}

/// All changes of waits by a step, in order.
pub fn changes(step: &Envelope) -> impl Iterator<Item = WaitChange<'_>> {
    let at = step.now.wall;
    step.facts.iter().filter_map(move |fact| {
        if let Fact::WaitOpened { wait } = fact {
            Some(WaitChange::Opened(wait))
        } else if let Fact::WaitClosed { end, wait, .. } = fact {
            Some(WaitChange::Closed { at, end, wait })
        } else {
            None
        }
    })
}
