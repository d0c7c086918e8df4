//! What a journal keeps of a wait beside the facts: one row, changed by comparing and setting.
//!
//! A row is derived from facts and deliveries, and there so that neither has to be read again: every
//! journal keeps its rows in its own way, and changes them by these rules.

use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{DeliveryId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Answer, Wait, WaitEnd, WaitEndKind};

use super::DeliveryOutcome;

/// A wait, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitRow {
    /// Where it is.
    pub state: WaitState,
    /// What is asked.
    pub wait: Wait,
}

/// Where a wait is.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitState {
    /// An answer is in the inbox; the owner has not closed the wait yet.
    Answered(TakenDelivery),
    /// Its end is in the journal.
    Closed {
        /// When.
        at: WallTime,
        /// By whom, if somebody answered.
        by: Option<Arc<str>>,
        /// How.
        how: WaitEndKind,
    },
    /// Nobody has answered.
    Open,
}

/// The delivery that answers a wait.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TakenDelivery {
    /// When the journal took it.
    pub at: WallTime,
    /// Who put it there.
    pub by: Arc<str>,
    /// Its id.
    pub delivery: DeliveryId,
    /// Its place in the inbox.
    pub place: u64,
}

impl WaitRow {
    /// The row of a wait that was just opened.
    #[must_use]
    pub const fn opened(wait: Wait) -> Self {
        Self {
            state: WaitState::Open,
            wait,
        }
    }

    /// Whether an owner that has seen this many deliveries may close the wait like this: an answer
    /// that it has not seen is not passed over.
    #[must_use]
    pub fn may_close(&self, end: &WaitEnd, seen: u64) -> bool {
        match &self.state {
            WaitState::Answered(taken) => {
                taken.place < seen
                    || matches!(end, WaitEnd::Answered { delivery, .. } if *delivery == taken.delivery)
            }
            WaitState::Closed { .. } | WaitState::Open => true,
        }
    }

    /// Closes it, at this time unless its answer came before; what is closed stays as it ended.
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

    /// Takes an answer, if the wait is open for it.
    ///
    /// # Errors
    ///
    /// What whoever delivered it is told instead.
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
            // Taken, it would keep the right answer out for ever.
            WaitState::Open if !self.wait.kind.takes(answer) => Err(DeliveryOutcome::NoSuchWait),
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

/// What a step says of waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WaitChange<'a> {
    /// One ended.
    Closed {
        /// When, if not before.
        at: WallTime,
        /// How.
        end: &'a WaitEnd,
        /// Which.
        wait: &'a WaitId,
    },
    /// One was opened.
    Opened(&'a Wait),
}

/// Everything that a step says of waits, in its order.
pub fn changes(step: &Envelope) -> impl Iterator<Item = WaitChange<'_>> {
    let at = step.now.wall;
    step.facts.iter().filter_map(move |fact| match fact {
        Fact::WaitOpened { wait } => Some(WaitChange::Opened(wait)),
        Fact::WaitClosed { end, wait, .. } => Some(WaitChange::Closed { at, end, wait }),
        Fact::CallAccepted { .. }
        | Fact::CallClosed { .. }
        | Fact::CallLost { .. }
        | Fact::CallStarted { .. }
        | Fact::Late(_)
        | Fact::ModelCallEnded { .. }
        | Fact::ModelCallStarted { .. }
        | Fact::ReplyReceived { .. }
        | Fact::SessionForked { .. }
        | Fact::TurnEnded { .. }
        | Fact::TurnOpened { .. }
        | Fact::TurnResumed { .. } => None,
    })
}
