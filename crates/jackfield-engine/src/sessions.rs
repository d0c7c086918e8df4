//! Sessions as they are kept: looked at, forked, deleted.

use std::time::Duration;

use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::fork::{self, ForkPlace};
use jackfield_domain::ids::{DeliveryId, SessionId, TurnId};
use jackfield_domain::session::Session;
use jackfield_domain::tool_loop::LOOP_VERSION;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_ports::journal::sessions::{SessionQuery, SessionRow};
use jackfield_ports::journal::{Append, Appended, Hold, JournalError, Loaded};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::ownership::SessionOwnership;

impl Engine {
    /// Everything that is kept of a session.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if there is no such session, or it cannot be read.
    pub async fn load(&self, session: &SessionId) -> Result<Loaded, EngineError> {
        Ok(self.shared.journal.load(session).await?)
    }

    /// The sessions that are kept, the one that was changed last first.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, EngineError> {
        Ok(self.shared.journal.sessions(query).await?)
    }

    /// What a list would say of this session; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn session(&self, session: &SessionId) -> Result<Option<SessionRow>, EngineError> {
        let query = SessionQuery {
            most: 1,
            session: Some(session.clone()),
            ..SessionQuery::default()
        };
        Ok(self.shared.journal.sessions(&query).await?.pop())
    }

    /// Makes a session in which nothing has happened.
    ///
    /// # Errors
    ///
    /// [`EngineError::Exists`] if there is one of this id, and [`EngineError::Journal`] if the journal cannot
    /// be reached.
    pub async fn create(&self, session: &SessionId) -> Result<(), EngineError> {
        let journal = &self.shared.journal;
        // Looked at before: to own it would take it away from whoever is at work on it.
        if journal.exists(session).await? {
            return Err(EngineError::Exists {
                session: session.clone(),
            });
        }
        SessionOwnership::take(&self.shared, session)
            .await?
            .release()
            .await;
        Ok(())
    }

    /// Whether the last attempt to write to the journal failed, whichever turn it was for. Nothing is tried.
    #[must_use]
    pub fn writes_fail(&self) -> bool {
        self.shared.writes.fail()
    }

    /// Checks that the journal takes what is written, by making a session of no meaning and deleting it. A disk
    /// that says nothing is waited for no longer than ten seconds.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if it does not.
    pub async fn check_writable(&self) -> Result<(), EngineError> {
        let tried = tokio::time::timeout(LONGEST_TRY, self.try_writing()).await;
        let tried = tried.unwrap_or_else(|_| {
            let source = format!("nothing was written within {LONGEST_TRY:?}").into();
            Err(JournalError::Unreachable { source }.into())
        });
        match &tried {
            Ok(()) => self.shared.writes.went_well(),
            Err(_) => self.shared.writes.failed(),
        }
        tried
    }

    async fn try_writing(&self) -> Result<(), EngineError> {
        let journal = &self.shared.journal;
        let Ok(session) = SessionId::parse(PROBE) else {
            return Ok(());
        };
        match SessionOwnership::take(&self.shared, &session).await {
            Ok(mut owned) => {
                owned.release().await;
                match journal.delete(&session).await {
                    // Somebody else tries the same.
                    Ok(())
                    | Err(
                        JournalError::Held { .. }
                        | JournalError::Owned { .. }
                        | JournalError::UnknownSession { .. },
                    ) => Ok(()),
                    Err(error) => Err(error.into()),
                }
            }
            Err(JournalError::Owned { .. }) => self.try_delivering(&session).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Writes to a session that another process owns, which tries the same: that it was once owned there says
    /// nothing of what can be written now.
    async fn try_delivering(&self, session: &SessionId) -> Result<(), EngineError> {
        let now = self.shared.clock.now().wall.as_millis();
        let id = format!("probe-{}-{now}", std::process::id());
        let Ok(id) = DeliveryId::parse(&id) else {
            return Ok(());
        };
        let body = DeliveryBody::Cancel {
            cause: CancelCause::Asked,
            turn: TurnId::derive(session, 1),
        };
        let journal = &self.shared.journal;
        match journal.deliver(session, id, "a probe".into(), body).await {
            // The other process has deleted it, which is written, too.
            Ok(_) | Err(JournalError::UnknownSession { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps a session from being deleted, here and by other processes, until the hold is dropped. Turns of
    /// others go on in it as without a hold.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be reached.
    pub async fn hold(&self, session: &SessionId) -> Result<Hold, EngineError> {
        Ok(self.shared.journal.hold(session).await?)
    }

    /// Waits until a session has more steps than these, whichever process appends them. Can be dropped at any
    /// time.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if there is no such session, or it cannot be read.
    pub async fn grown(&self, session: &SessionId, steps: u64) -> Result<(), EngineError> {
        self.shared.journal.follow(session, steps).await?;
        Ok(())
    }

    /// Deletes a session with everything of it.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if there is no such session, or a process is at work on it or holds it.
    pub async fn delete(&self, session: &SessionId) -> Result<(), EngineError> {
        Ok(self.shared.journal.delete(session).await?)
    }

    /// Marks a session as restored from an older state: its open turn is parked, until a person has it go on.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if there is no such session, or the journal cannot be reached.
    pub async fn mark_restored(&self, session: &SessionId) -> Result<(), EngineError> {
        Ok(self.shared.journal.mark_restored(session).await?)
    }

    /// The session's turn that is not over, once everything that was asked of the journal before is done or
    /// can never be: what a [`send`](Engine::send) may have left that was dropped while it began.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the session cannot be read.
    pub async fn left_open(&self, session: &SessionId) -> Result<Option<TurnId>, EngineError> {
        let journal = &self.shared.journal;
        // To own a session makes it; where there is none, nothing was appended and nothing will be, as
        // that is asked for only by whoever owns it.
        match journal.load(session).await {
            Ok(_) => {}
            Err(JournalError::UnknownSession { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let mut fence = match SessionOwnership::take(&self.shared, session).await {
            Ok(owned) => owned,
            // Then it was never ours.
            Err(JournalError::Owned { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let loaded = journal.load(session).await?;
        fence.release().await;
        let folded = Session::fold(session.clone(), facts(&loaded));
        Ok(folded.open_turn().map(|turn| turn.id().clone()))
    }

    /// The places at which a session can be forked, in order.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if there is no such session, or it cannot be read.
    pub async fn fork_places(&self, session: &SessionId) -> Result<Vec<ForkPlace>, EngineError> {
        let loaded = self.load(session).await?;
        Ok(fork::places(session.clone(), facts(&loaded)))
    }

    /// Begins a session with what was said in another one up to a place, which stays as it is.
    ///
    /// # Errors
    ///
    /// [`EngineError::NoSuchPlace`] if the other one cannot be forked there, [`EngineError::Exists`] if the
    /// new one is not new, [`EngineError::Journal`] if either cannot be read, and
    /// [`EngineError::NotCommitted`] if the fork is not kept.
    pub async fn fork(
        &self,
        from: &SessionId,
        at: &ForkPlace,
        to: &SessionId,
    ) -> Result<(), EngineError> {
        let loaded = self.load(from).await?;
        let Some(messages) = fork::said_until(from.clone(), facts(&loaded), at) else {
            return Err(EngineError::NoSuchPlace {
                session: from.clone(),
            });
        };
        drop(loaded);
        let journal = &self.shared.journal;
        let exists = || EngineError::Exists {
            session: to.clone(),
        };
        // Looked at before: to own it would take it away from whoever is at work on it.
        if journal.exists(to).await? && !journal.load(to).await?.steps.is_empty() {
            return Err(exists());
        }
        let mut owned = SessionOwnership::take(&self.shared, to).await?;
        let loaded = journal.load(to).await?;
        if !loaded.steps.is_empty() {
            owned.release().await;
            return Err(exists());
        }
        let forked = Fact::SessionForked {
            at: at.clone(),
            from: from.clone(),
            messages,
        };
        let append = Append {
            epoch: owned.epoch(),
            position: 0,
            seen: loaded.deliveries.len() as u64,
            session: to.clone(),
            steps: vec![Envelope {
                facts: vec![forked],
                input: InputKind::Forked,
                now: self.shared.clock.now(),
                step: 0,
                version: LOOP_VERSION,
            }],
        };
        let mut appended = journal.append(&append).await;
        if let Appended::Unknown(_) = appended {
            // The same again tells.
            appended = journal.append(&append).await;
        }
        owned.release().await;
        match appended {
            Appended::Committed => Ok(()),
            Appended::Refused(refusal) => Err(EngineError::NotCommitted {
                why: refusal.to_string().into(),
            }),
            Appended::Unknown(error) => Err(EngineError::NotCommitted {
                why: error.to_string().into(),
            }),
        }
    }
}

/// The facts of everything that is kept.
fn facts(loaded: &Loaded) -> impl Iterator<Item = &Fact> {
    loaded.steps.iter().flat_map(|step| &step.facts)
}

/// The session by which it is tried whether the journal takes what is written.
const PROBE: &str = "probe-of-the-journal";

/// How long it is tried to write: a disk on which that takes longer is none to keep turns on.
const LONGEST_TRY: Duration = Duration::from_secs(10);
