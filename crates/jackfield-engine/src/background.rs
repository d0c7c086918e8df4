//! Turns that are driven in the background, and subscriptions to their answers.

use std::pin::pin;
use std::sync::Arc;

use jackfield_domain::fact::{Fact, InputKind};
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_ports::journal::{Journal as _, JournalError, Loaded};
use jackfield_ports::toolbox_source::ToolboxProblem;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::connection::Connection;
use crate::drive_outcome::DriveOutcome;
use crate::driven_sessions::SessionProgress;
use crate::driver::Driver;
use crate::error::{EngineError, chain};
use crate::options::{Disconnect, Held, SendMessage};
use crate::ownership::PreparedTurn;
use crate::resume::ResumeSession;
use crate::retention::EphemeralCleanup;
use crate::state::Engine;
use crate::watch::Watcher;

/// A turn that is or was driven in the background, with a subscription to it.
#[derive(Debug)]
#[non_exhaustive]
pub struct StartedTurn {
    /// The connection to the client; held while the answer is being written to it.
    pub connection: Connection,
    /// The toolboxes, and single tools, that are missing from the turn.
    pub problems: Vec<ToolboxProblem>,
    /// The segment of the turn that this answer covers: 0 is the first answer, `n` the one after `n` batches of
    /// client tool results.
    pub segment: u32,
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// Yields the turn's events, from its opening on.
    pub watcher: Watcher,
}

/// Which answer the client gets, and what happens to the turn if the client disconnects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerSpec {
    pub(crate) disconnect: Disconnect,
    pub(crate) segment: u32,
    /// Whether to stream replies from the model, regardless of the turn's setup.
    pub(crate) streams: bool,
}

impl Engine {
    /// Sends a message and drives its turn in the background, until the turn ends or only waits. The future
    /// resolves when the turn's opening is committed.
    ///
    /// As with [`send`](Self::send), the [options](crate::TurnOptions) decide what happens to the message if
    /// the session is busy. Dropping the future does not undo an opening that is already committed.
    ///
    /// # Errors
    ///
    /// Those of [`send`](Self::send), and [`EngineError::Draining`]. Later errors are recorded in the journal.
    pub fn begin(
        &self,
        message: SendMessage,
    ) -> impl Future<Output = Result<StartedTurn, EngineError>> + Send {
        self.begin_with(message, None)
    }

    /// Like [`begin`](Self::begin), but keeps `held` alive until the first append has committed or failed, even
    /// if this future is dropped before. Use it for a guard that keeps others from beginning the same turn,
    /// such as a lock on an idempotency key.
    ///
    /// # Errors
    ///
    /// Those of [`begin`](Self::begin).
    pub fn begin_with_guard(
        &self,
        message: SendMessage,
        guard: impl Send + 'static,
    ) -> impl Future<Output = Result<StartedTurn, EngineError>> + Send {
        self.begin_with(message, Some(Box::new(guard)))
    }

    async fn begin_with(
        &self,
        message: SendMessage,
        guard: Option<Box<dyn Send>>,
    ) -> Result<StartedTurn, EngineError> {
        let token = self.shared.shutdown.track_turn()?;
        let spec = AnswerSpec {
            disconnect: message.options.disconnect,
            segment: 0,
            streams: false,
        };
        let cleanup = EphemeralCleanup::new(self, &message.session);
        let token = (token, message.options.held.clone());
        let prepared = self.prepare(message, &mut ()).await?;
        let started = self.spawn_driver(prepared, InputKind::Began, spec, token, guard);
        let started = started.await?;
        cleanup.disarm();
        Ok(started)
    }

    /// Resumes a session's open turn and drives it in the background. [`ResumeSession::stay`] is ignored: a
    /// turn that only waits is released.
    ///
    /// # Errors
    ///
    /// Those of [`resume`](Self::resume), and [`EngineError::Draining`].
    pub async fn resume_in_background(
        &self,
        resume: ResumeSession,
    ) -> Result<StartedTurn, EngineError> {
        let spec = AnswerSpec {
            disconnect: Disconnect::Finish,
            segment: 0,
            streams: false,
        };
        // Taking the ownership creates the session; resuming must not create one.
        if !self.shared.journal.exists(&resume.session).await? {
            let session = resume.session;
            return Err(JournalError::UnknownSession { session }.into());
        }
        self.resume_existing_in_background(&resume, spec, None)
            .await
    }

    /// Like [`resume_in_background`](Self::resume_in_background), for a session that is known to exist.
    pub(crate) async fn resume_existing_in_background(
        &self,
        resume: &ResumeSession,
        spec: AnswerSpec,
        held: Option<Held>,
    ) -> Result<StartedTurn, EngineError> {
        let token = self.shared.shutdown.track_turn()?;
        let prepared = self.prepare_resume(resume).await?;
        let token = (token, held);
        self.spawn_driver(prepared, InputKind::Recovered, spec, token, None)
            .await
    }

    /// Drives a turn in its own task. Returns when the first step is committed.
    async fn spawn_driver(
        &self,
        prepared: PreparedTurn,
        input: InputKind,
        spec: AnswerSpec,
        token: (TaskTrackerToken, Option<Held>),
        guard: Option<Box<dyn Send>>,
    ) -> Result<StartedTurn, EngineError> {
        let PreparedTurn {
            driven_guard: busy,
            loaded,
            now,
            owned,
            problems,
            step,
        } = prepared;
        let turn = &owned.turn;
        let (session, id) = (turn.session().clone(), turn.turn().id().clone());
        let feed_writer = self.shared.feeds.begin(&session, &loaded.steps);
        let started = StartedTurn {
            connection: self.connect(&session, &id, spec.segment, spec.disconnect),
            problems,
            segment: spec.segment,
            session: session.clone(),
            turn: id.clone(),
            watcher: self.turn_watcher(&session, &id, &loaded.steps),
        };
        let mut opening = PendingStart {
            guard,
            progress: busy.progress.subscribe(),
            turn: id,
        };
        let log_ids = (session.clone(), opening.turn.clone());
        let engine = self.clone();
        // Boxed: a task moves its future several times while it is spawned, and once more when it ends.
        let task = tokio::spawn(Box::pin(async move {
            let shared = Arc::clone(&engine.shared);
            let mut no_observer = ();
            let driven = {
                let mut driver = Driver::new(
                    &shared,
                    owned,
                    &loaded,
                    feed_writer,
                    &mut no_observer,
                    &busy,
                );
                drop(loaded);
                driver.workers.streams = spec.streams;
                let driven = pin!(driver.run(step, input, now, false));
                shared.shutdown.unless_stopped(driven).await
            };
            // Release the session before anyone learns that it is free.
            drop(busy);
            drop(token);
            match driven {
                Some(Ok(DriveOutcome::Finished(report))) => {
                    engine
                        .delete_when_delivered(&report.session, &report.turn)
                        .await;
                    Ok(())
                }
                Some(Ok(DriveOutcome::Waiting(_))) => {
                    shared.notices.notify_released();
                    Ok(())
                }
                Some(Err(error)) => {
                    let why = chain(&error);
                    let (session, turn) = log_ids;
                    tracing::warn!(%session, %turn, error = %why, "a turn in the background could not be driven on");
                    shared.notices.notify_released();
                    Err(error)
                }
                None => Err(EngineError::Draining),
            }
        }));
        if opening.is_committed().await {
            return Ok(started);
        }
        // Nothing was committed.
        match task.await {
            Ok(Ok(())) => Err(EngineError::NothingOpen { session }),
            Ok(Err(error)) => Err(error),
            Err(error) => Err(EngineError::NotCommitted {
                why: chain(&error).into(),
            }),
        }
    }

    /// Subscribes to an existing turn, from its opening on, for one of its segments, regardless of which
    /// process drives the turn. If the turn was left unfinished and this engine has a keeper, the keeper
    /// resumes it before others.
    ///
    /// # Errors
    ///
    /// [`EngineError::NoSuchTurn`] and [`EngineError::Journal`] if the turn or the session does not exist.
    pub async fn subscribe(
        &self,
        session: &SessionId,
        turn: &TurnId,
        segment: u32,
        disconnect: Disconnect,
    ) -> Result<StartedTurn, EngineError> {
        let connection = self.connect(session, turn, segment, disconnect);
        let loaded = self.shared.journal.load(session).await?;
        self.subscribe_loaded(connection, &loaded)
    }

    /// Like [`subscribe`](Self::subscribe), unless this process is writing the answer to another client, or has just
    /// written it: then `None`.
    ///
    /// # Errors
    ///
    /// Those of [`subscribe`](Self::subscribe).
    pub async fn subscribe_exclusive(
        &self,
        session: &SessionId,
        turn: &TurnId,
        segment: u32,
        disconnect: Disconnect,
    ) -> Result<Option<StartedTurn>, EngineError> {
        let Some(connection) = self.connect_exclusive(session, turn, segment, disconnect) else {
            return Ok(None);
        };
        let loaded = self.shared.journal.load(session).await?;
        Ok(Some(self.subscribe_loaded(connection, &loaded)?))
    }

    /// Like [`subscribe`](Self::subscribe), for an existing connection and a session that is already loaded.
    fn subscribe_loaded(
        &self,
        connection: Connection,
        loaded: &Loaded,
    ) -> Result<StartedTurn, EngineError> {
        let (session, turn) = (connection.session().clone(), connection.turn().clone());
        let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let opens =
            |fact: &Fact| matches!(fact, Fact::TurnOpened { turn: opened, .. } if *opened == turn);
        if !facts.any(opens) {
            return Err(EngineError::NoSuchTurn { session, turn });
        }
        self.prioritize_resume_loaded(&session, &turn, loaded);
        let watcher = self.turn_watcher(&session, &turn, &loaded.steps);
        Ok(StartedTurn {
            problems: Vec::new(),
            segment: connection.segment(),
            session,
            turn,
            watcher,
            connection,
        })
    }
}

/// A turn whose first append is in flight, and the guard that is held meanwhile.
struct PendingStart {
    guard: Option<Box<dyn Send>>,
    progress: watch::Receiver<SessionProgress>,
    turn: TurnId,
}

impl PendingStart {
    /// Waits until the first step is committed; `false` if it will not be.
    async fn is_committed(&mut self) -> bool {
        let is_committed = is_committed(&mut self.progress, &self.turn).await;
        self.guard = None;
        is_committed
    }
}

/// Waits until this turn has begun; `false` if it will not.
async fn is_committed(progress: &mut watch::Receiver<SessionProgress>, turn: &TurnId) -> bool {
    let has_begun = |known: &SessionProgress| known.turn.as_ref() == Some(turn);
    progress.wait_for(has_begun).await.is_ok()
}

impl Drop for PendingStart {
    /// The append may still commit after the caller is gone, so the guard is kept until that is decided.
    fn drop(&mut self) {
        let (Some(guard), Ok(runtime)) = (self.guard.take(), Handle::try_current()) else {
            return;
        };
        let (mut progress, turn) = (self.progress.clone(), self.turn.clone());
        runtime.spawn(async move {
            is_committed(&mut progress, &turn).await;
            drop(guard);
        });
    }
}
