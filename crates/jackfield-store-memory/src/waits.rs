//! The waits of a session: one row each, changed by comparing and setting.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{DeliveryId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Answer, Wait, WaitEnd, WaitEndKind};
use jackfield_ports::journal::{Append, Delivered, Refusal};

/// All waits that were ever opened.
#[derive(Default)]
pub(crate) struct Waits {
    rows: HashMap<WaitId, Row>,
}

/// One wait.
struct Row {
    state: State,
    wait: Wait,
}

/// Where a wait is.
enum State {
    /// An answer is in the inbox; the owner has not closed the wait yet.
    Answered(Taken),
    /// Its end is in the journal.
    Closed {
        at: WallTime,
        by: Option<Arc<str>>,
        how: WaitEndKind,
    },
    /// Nobody has answered.
    Open,
}

/// The delivery that answers a wait.
pub(crate) struct Taken {
    pub(crate) at: WallTime,
    pub(crate) by: Arc<str>,
    pub(crate) delivery: DeliveryId,
    /// Its place in the inbox.
    pub(crate) place: u64,
}

impl Waits {
    /// Refuses what closes a wait whose answer the owner has not seen, unless it closes it by that answer.
    pub(crate) fn check(&self, append: &Append) -> Result<(), Refusal> {
        for fact in append.steps.iter().flat_map(|step| &step.facts) {
            if let Change::Closed { end, wait } = Change::of(fact)
                && let Some(State::Answered(taken)) = self.rows.get(wait).map(|row| &row.state)
                && taken.place >= append.seen
                && !matches!(end, WaitEnd::Answered { delivery, .. } if *delivery == taken.delivery)
            {
                return Err(Refusal::Answered);
            }
        }
        Ok(())
    }

    /// Keeps what a committed step says of waits.
    pub(crate) fn apply(&mut self, step: &Envelope) {
        for fact in &step.facts {
            match Change::of(fact) {
                Change::Opened(wait) => {
                    self.rows.entry(wait.id.clone()).or_insert_with(|| Row {
                        state: State::Open,
                        wait: wait.clone(),
                    });
                }
                Change::Closed { end, wait } => {
                    if let Some(row) = self.rows.get_mut(wait) {
                        row.close(end, step.now.wall);
                    }
                }
                Change::Nothing => {}
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
        match &row.state {
            State::Answered(first) => Err(Delivered::Closed {
                at: first.at,
                by: Some(Arc::clone(&first.by)),
                how: WaitEndKind::Answered,
            }),
            State::Closed { at, by, how } => Err(Delivered::Closed {
                at: *at,
                by: by.clone(),
                how: *how,
            }),
            // Taken, it would keep the right answer out for ever.
            State::Open if !row.wait.kind.takes(answer) => Err(Delivered::NoSuchWait),
            State::Open if taken.at > row.wait.deadline => Err(Delivered::Closed {
                at: row.wait.deadline,
                by: None,
                how: WaitEndKind::Expired,
            }),
            State::Open => {
                row.state = State::Answered(taken);
                Ok(())
            }
        }
    }
}

impl Row {
    fn close(&mut self, end: &WaitEnd, now: WallTime) {
        let (at, by) = match (end, &self.state) {
            (_, State::Closed { .. }) => return,
            (WaitEnd::Answered { by, .. }, State::Answered(taken)) => (taken.at, Some(by)),
            (WaitEnd::Answered { by, .. }, State::Open) => (now, Some(by)),
            (WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded, _) => (now, None),
        };
        self.state = State::Closed {
            at,
            by: by.cloned(),
            how: end.kind(),
        };
    }
}

/// What a fact says of waits.
enum Change<'a> {
    Closed { end: &'a WaitEnd, wait: &'a WaitId },
    Nothing,
    Opened(&'a Wait),
}

impl<'a> Change<'a> {
    const fn of(fact: &'a Fact) -> Self {
        match fact {
            Fact::WaitOpened { wait } => Self::Opened(wait),
            Fact::WaitClosed { end, wait } => Self::Closed { end, wait },
            Fact::CallAccepted { .. }
            | Fact::CallClosed { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded { .. }
            | Fact::ModelCallStarted { .. }
            | Fact::ReplyReceived { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnOpened { .. }
            | Fact::TurnResumed { .. } => Self::Nothing,
        }
    }
}
