//! Probes of the journal: whether it takes a write as large as those of turns.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::ids::{DeliveryId, ModelAttempt, SessionId, TurnId};
use jackfield_domain::tool_loop::LOOP_VERSION;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_ports::journal::{
    Append, AppendRefusal, Appended, Epoch, Journal as _, JournalError, Outage, OutageError,
};

use super::SessionOwnership;
use crate::error::EngineError;
use crate::state::{Engine, EngineState};

impl Engine {
    /// Checks that the journal has the form of this build and accepts writes as large as a turn's, and as large as the
    /// appends that failed, by creating and deleting a probe session with a step. Gives up after ten seconds.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if it does not. [`Outage::of`](jackfield_ports::journal::Outage::of) may say why.
    pub async fn check_writable(&self) -> Result<(), EngineError> {
        check_writable(&self.shared).await
    }
}

/// As [`Engine::check_writable`].
pub(crate) async fn check_writable(shared: &Arc<EngineState>) -> Result<(), EngineError> {
    // Two at a time would take the session from each other, and prove nothing.
    let _one_at_a_time = shared.probing.lock().await;
    let size = shared.write_health.lacking().max(PROBE_SIZE);
    let tried = tokio::time::timeout(MAX_ATTEMPT_TIME, shared.try_writing(size)).await;
    let tried = tried.unwrap_or_else(|_| {
        let why = format!("nothing was written within {MAX_ATTEMPT_TIME:?}");
        let outage = Outage::Slow;
        let source = OutageError { outage, why }.into();
        Err(JournalError::Unreachable { source }.into())
    });
    match &tried {
        Ok(()) => {
            shared.write_health.record_room(size);
            shared.write_health.record_success();
        }
        Err(_) => shared.write_health.record_failure(),
    }
    tried
}

/// Fails if so many earlier resumes of a turn came to nothing, and the journal takes no write as large as those of turns:
/// one more would come to nothing, too, and count against the turn.
pub(crate) async fn check_room(
    shared: &Arc<EngineState>,
    earlier_resumes: u32,
) -> Result<(), EngineError> {
    if earlier_resumes == 0 {
        return Ok(());
    }
    check_writable(shared).await
}

impl EngineState {
    async fn try_writing(self: &Arc<Self>, size: usize) -> Result<(), EngineError> {
        let journal = &self.journal;
        let Ok(session) = SessionId::parse(PROBE) else {
            return Ok(());
        };
        journal.check_form().await?;
        match SessionOwnership::take(self, &session).await {
            Ok(mut owned) => {
                let appended = journal
                    .append(&self.probe(&session, owned.epoch(), size))
                    .await;
                owned.release().await;
                match appended {
                    Appended::Committed => {}
                    // Another process has taken it, or a probe was not deleted, as it is below.
                    Appended::Refused(AppendRefusal::Position | AppendRefusal::StaleEpoch) => {
                        self.try_delivering(&session, size).await?;
                    }
                    Appended::Refused(refusal) => {
                        let why = refusal.to_string().into();
                        return Err(EngineError::NotCommitted { why });
                    }
                    Appended::Unknown(source) => {
                        return Err(JournalError::Unreachable { source }.into());
                    }
                }
                match journal.delete(&session).await {
                    // Another process probes at the same time, and has deleted it.
                    Ok(()) | Err(JournalError::UnknownSession { .. }) => Ok(()),
                    // Another process has it, or its release was not written.
                    Err(JournalError::Held { .. } | JournalError::Owned { .. }) => {
                        self.try_delivering(&session, size).await
                    }
                    Err(error) => Err(error.into()),
                }
            }
            Err(JournalError::Owned { .. }) => self.try_delivering(&session, size).await,
            Err(error) => Err(error.into()),
        }
    }

    /// An append of a step as large as those of turns are: where the last room is used up, small rows still fit.
    fn probe(&self, session: &SessionId, epoch: Epoch, size: usize) -> Append {
        Append {
            epoch,
            position: 0,
            seen: 0,
            session: session.clone(),
            steps: vec![Envelope {
                // It belongs to no turn.
                facts: vec![Fact::BackendSession {
                    attempt: ModelAttempt {
                        attempt: 0,
                        round: 0,
                    },
                    id: ballast(size),
                }],
                input: InputKind::Began,
                now: self.clock.now(),
                step: 0,
                version: LOOP_VERSION,
            }],
        }
    }

    /// Probes by a delivery, because another process owns the probe session: its ownership, granted earlier,
    /// does not prove that writes work now.
    async fn try_delivering(&self, session: &SessionId, size: usize) -> Result<(), EngineError> {
        let now = self.clock.now().wall.as_millis();
        let id = format!("probe-{}-{now}", std::process::id());
        let Ok(id) = DeliveryId::parse(&id) else {
            return Ok(());
        };
        let body = DeliveryBody::Cancel {
            cause: CancelCause::Asked,
            turn: TurnId::derive(session, 1),
        };
        let journal = &self.journal;
        match journal.deliver(session, id, ballast(size), body).await {
            // The other process has deleted the probe session, which proves a write, too.
            Ok(_) | Err(JournalError::UnknownSession { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Random letters, which no store can make smaller.
fn ballast(size: usize) -> Arc<str> {
    let mut bytes = vec![0; size / 2];
    // Without random numbers it is a smaller probe.
    let _random = getrandom::fill(&mut bytes);
    let letters = bytes.iter().map(|byte| format!("{byte:02x}"));
    letters.collect::<String>().into()
}

/// The size of a probe, in bytes, where no larger append has failed.
const PROBE_SIZE: usize = 32 << 10;

/// The id of the probe session.
const PROBE: &str = "probe-of-the-journal";

/// The time limit of a write probe: a disk that takes longer is unfit for turns.
const MAX_ATTEMPT_TIME: Duration = Duration::from_secs(10);
