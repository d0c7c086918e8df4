//! Commits whole steps as one append, and handles its three results.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::{Append, AppendRefusal, Appended, Journal as _, Loaded};
use tokio::task::JoinSet;

use crate::crash;
use crate::error::{EngineError, chain};
use crate::journals::Journals;
use crate::ownership::SessionOwnership;
use crate::state::EngineState;
use crate::writes::WriteHealth;

/// The result of committing a batch.
pub(crate) enum CommitOutcome {
    /// Nothing was written: the batch closes a wait that has an unseen answer.
    Answered,
    /// The batch is not in the journal, or this is unknown.
    Failed {
        /// The refusal, if the journal refused the append.
        refusal: Option<AppendRefusal>,
        /// The reason as text.
        why: Arc<str>,
    },
    /// The batch is committed.
    Committed,
}

/// The owner's write access to a session's journal.
pub(crate) struct Ledger {
    journal: Arc<Journals>,
    ownership: SessionOwnership,
    /// The number of steps in the journal.
    pub(crate) position: u64,
    /// The number of deliveries that the loop has consumed.
    pub(crate) seen: u64,
    session: SessionId,
    write_health: Arc<WriteHealth>,
}

impl Ledger {
    pub(crate) fn new(
        shared: &EngineState,
        session: &SessionId,
        ownership: SessionOwnership,
        loaded: &Loaded,
    ) -> Self {
        Self {
            journal: Arc::clone(&shared.journal),
            ownership,
            position: loaded.steps.len() as u64,
            seen: loaded.deliveries.len() as u64,
            session: session.clone(),
            write_health: Arc::clone(&shared.write_health),
        }
    }

    /// Commits these steps as one append, and sets their numbers.
    pub(crate) async fn commit(&mut self, steps: &mut Vec<Envelope>) -> CommitOutcome {
        for (number, step) in (self.position..).zip(steps.iter_mut()) {
            step.step = number;
        }
        let append = Append {
            epoch: self.ownership.epoch(),
            position: self.position,
            seen: self.seen,
            session: self.session.clone(),
            steps: std::mem::take(steps),
        };
        crash::point("before-append");
        let outcome = if append.begins() && self.ownership.has_passed() {
            // The process has slept, and its client may have asked another one: only that one begins the turn. What is
            // repeated below is refused by the journal.
            let refusal = AppendRefusal::StaleEpoch;
            CommitOutcome::Failed {
                why: refusal.to_string().into(),
                refusal: Some(refusal),
            }
        } else {
            self.append(&append).await
        };
        *steps = append.steps;
        if matches!(outcome, CommitOutcome::Committed) {
            self.position += steps.len() as u64;
            crash::point("after-append");
        }
        outcome
    }

    /// Fails if another process may own the session by now, and may have performed what this one is about to.
    pub(crate) fn check_lease(&self) -> Result<(), EngineError> {
        if self.ownership.has_passed() {
            return Err(EngineError::stale());
        }
        Ok(())
    }

    /// Releases the ownership of the session.
    pub(crate) async fn release(&mut self) {
        self.ownership.release().await;
    }

    /// Like [`release`](Self::release), but only after these tasks have stopped.
    pub(crate) fn release_after(&mut self, tasks: JoinSet<()>) {
        self.ownership.release_after(tasks);
    }

    /// Appends; repeats the append when its result is unknown. The journal recognises the repetition.
    async fn append(&self, append: &Append) -> CommitOutcome {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.journal.append(append).await {
                Appended::Committed => {
                    self.write_health.record_success();
                    return CommitOutcome::Committed;
                }
                Appended::Refused(AppendRefusal::Answered) => return CommitOutcome::Answered,
                Appended::Refused(refusal) => {
                    if matches!(refusal, AppendRefusal::Unwritable { .. }) {
                        self.write_health.record_failed(append);
                    }
                    return CommitOutcome::Failed {
                        why: refusal.to_string().into(),
                        refusal: Some(refusal),
                    };
                }
                Appended::Unknown(error) if pause > MAX_PAUSE => {
                    self.write_health.record_failed(append);
                    return CommitOutcome::Failed {
                        refusal: None,
                        why: chain(&*error).into(),
                    };
                }
                Appended::Unknown(error) => {
                    self.write_health.record_failure();
                    tracing::warn!(error = %chain(&*error), "an append has no answer; asking again");
                    tokio::time::sleep(pause).await;
                    pause *= 4;
                }
            }
        }
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const MAX_PAUSE: Duration = Duration::from_secs(2);
