//! Turns that are driven in the background, and subscriptions to their answers.

use std::pin::pin;
use std::sync::Arc;

use jackfield_domain::fact::{Fact, InputKind};
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_ports::journal::{JournalError, Loaded};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::catalog::ToolboxProblem;
use crate::driven_sessions::SessionProgress;
use crate::driver::Driver;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::options::{Disconnect, SendMessage};
use crate::perform::chain;
use crate::resume::{DriveOutcome, ResumeSession};
use crate::send::PreparedTurn;
use crate::subscribers::Connection;
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
    /// such as a [`Claim`](crate::Claim).
    ///
    /// # Errors
    ///
    /// Those of [`begin`](Self::begin).
    pub fn begin_holding(
        &self,
        message: SendMessage,
        held: impl Send + 'static,
    ) -> impl Future<Output = Result<StartedTurn, EngineError>> + Send {
        self.begin_with(message, Some(Box::new(held)))
    }

    async fn begin_with(
        &self,
        message: SendMessage,
        held: Option<Box<dyn Send>>,
    ) -> Result<StartedTurn, EngineError> {
        let under_way = self.shared.going.enter()?;
        let telling = AnswerSpec {
            disconnect: message.options.disconnect,
            segment: 0,
            streams: false,
        };
        let begins = self.prepare(message, &mut ()).await?;
        self.drive_on(begins, InputKind::Began, telling, under_way, held)
            .await
    }

    /// Resumes a session's open turn and drives it in the background. [`ResumeSession::stay`] is ignored: a
    /// turn that only waits is released.
    ///
    /// # Errors
    ///
    /// Those of [`resume`](Self::resume), and [`EngineError::Draining`].
    pub async fn go_on(&self, resume: ResumeSession) -> Result<StartedTurn, EngineError> {
        let telling = AnswerSpec {
            disconnect: Disconnect::Finish,
            segment: 0,
            streams: false,
        };
        // Taking the ownership creates the session; resuming must not create one.
        if !self.shared.journal.exists(&resume.session).await? {
            let session = resume.session;
            return Err(JournalError::UnknownSession { session }.into());
        }
        self.go_on_telling(&resume, telling).await
    }

    /// Like [`go_on`](Self::go_on), for a session that is known to exist.
    pub(crate) async fn go_on_telling(
        &self,
        resume: &ResumeSession,
        telling: AnswerSpec,
    ) -> Result<StartedTurn, EngineError> {
        let under_way = self.shared.going.enter()?;
        let begins = self.take_up_later(resume).await?;
        self.drive_on(begins, InputKind::Recovered, telling, under_way, None)
            .await
    }

    /// Drives a turn in its own task. Returns when the first step is committed.
    async fn drive_on(
        &self,
        begins: PreparedTurn,
        input: InputKind,
        telling: AnswerSpec,
        under_way: TaskTrackerToken,
        held: Option<Box<dyn Send>>,
    ) -> Result<StartedTurn, EngineError> {
        let PreparedTurn {
            busy,
            loaded,
            now,
            owned,
            problems,
            step,
            turn,
        } = begins;
        let (session, id) = (turn.session().clone(), turn.turn().id().clone());
        let speaker = self.shared.speeches.begin(&session, &loaded.steps);
        let begun = StartedTurn {
            connection: self.connect(&session, &id, telling.segment, telling.disconnect),
            problems,
            segment: telling.segment,
            session: session.clone(),
            turn: id.clone(),
            watcher: self.watcher_of(&session, &id, &loaded.steps),
        };
        let mut opening = PendingStart {
            held,
            progress: busy.progress.subscribe(),
            turn: id,
        };
        let of = (session.clone(), opening.turn.clone());
        let engine = self.clone();
        // Boxed: a task moves its future several times while it is spawned, and once more when it ends.
        let task = tokio::spawn(Box::pin(async move {
            let shared = Arc::clone(&engine.shared);
            let mut nobody = ();
            let driven = {
                let mut driver =
                    Driver::new(&shared, turn, owned, &loaded, speaker, &mut nobody, &busy);
                drop(loaded);
                driver.workers.streams = telling.streams;
                let driven = pin!(driver.run(step, input, now, false));
                shared.going.unless_stopped(driven).await
            };
            // Release the session before anyone learns that it is free.
            drop(busy);
            drop(under_way);
            match driven {
                Some(Ok(DriveOutcome::Over(report))) => {
                    engine.pass(&report.session, &report.turn).await;
                    Ok(())
                }
                Some(Ok(DriveOutcome::Waits(_))) => {
                    shared.noticed.let_go();
                    Ok(())
                }
                Some(Err(error)) => {
                    let why = chain(&error);
                    let (session, turn) = of;
                    tracing::warn!(%session, %turn, error = %why, "a turn in the background could not be driven on");
                    shared.noticed.let_go();
                    Err(error)
                }
                None => Err(EngineError::Draining),
            }
        }));
        if opening.is_committed().await {
            return Ok(begun);
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
        self.subscribed(connection, &loaded)
    }

    /// Like [`subscribe`](Self::subscribe), for an existing connection and a session that is already loaded.
    pub(crate) fn subscribed(
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
        self.take_up_first_of(&session, &turn, loaded);
        let watcher = self.watcher_of(&session, &turn, &loaded.steps);
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
    held: Option<Box<dyn Send>>,
    progress: watch::Receiver<SessionProgress>,
    turn: TurnId,
}

impl PendingStart {
    /// Waits until the first step is committed; `false` if it will not be.
    async fn is_committed(&mut self) -> bool {
        let is_committed = is_committed(&mut self.progress, &self.turn).await;
        self.held = None;
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
        let (Some(held), Ok(runtime)) = (self.held.take(), Handle::try_current()) else {
            return;
        };
        let (mut progress, turn) = (self.progress.clone(), self.turn.clone());
        runtime.spawn(async move {
            is_committed(&mut progress, &turn).await;
            drop(held);
        });
    }
}
