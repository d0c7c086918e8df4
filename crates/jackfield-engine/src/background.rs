//! Beginning: a turn that is driven in the background, and somebody who is told of it.

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

/// A turn that is driven in the background, or was, and what tells it.
#[derive(Debug)]
#[non_exhaustive]
pub struct StartedTurn {
    /// What is held while the answer is being written.
    pub connection: Connection,
    /// The toolboxes, and tools of some, that the turn begins without.
    pub problems: Vec<ToolboxProblem>,
    /// Which of the answers of the turn is told: the first one, or the one behind so many batches of results
    /// of the client's own tools.
    pub segment: u32,
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// Tells the turn from its opening on.
    pub watcher: Watcher,
}

/// Which answer is told, and what becomes of the turn if nobody listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerSpec {
    pub(crate) disconnect: Disconnect,
    pub(crate) segment: u32,
    /// Whether replies are asked for as they are written, whatever the turn was set up with.
    pub(crate) streams: bool,
}

impl Engine {
    /// Sends a message, and has its turn driven in the background: until it is over, or only waits. This is
    /// there when the turn has begun, and its opening is committed.
    ///
    /// As with [`send`](Self::send), the [options](crate::TurnOptions) say what becomes of the message if the
    /// session is at work already. Dropping this before it is there takes nothing back that is committed.
    ///
    /// # Errors
    ///
    /// As those of [`send`](Self::send), and [`EngineError::Draining`]. What comes later is in the journal.
    pub fn begin(
        &self,
        message: SendMessage,
    ) -> impl Future<Output = Result<StartedTurn, EngineError>> + Send {
        self.begin_with(message, None)
    }

    /// The same, and holds something until the turn has begun, or nothing of it is on its way any more: also
    /// if this is dropped before, when its opening may still get into the journal. Such as what keeps others
    /// from beginning it, too: a [`Claim`](crate::Claim).
    ///
    /// # Errors
    ///
    /// As those of [`begin`](Self::begin).
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

    /// Takes up a session's open turn, and has it driven on in the background. Whether to stay is not asked:
    /// a turn that only waits is let go of.
    ///
    /// # Errors
    ///
    /// As those of [`resume`](Self::resume), and [`EngineError::Draining`].
    pub async fn go_on(&self, resume: ResumeSession) -> Result<StartedTurn, EngineError> {
        let telling = AnswerSpec {
            disconnect: Disconnect::Finish,
            segment: 0,
            streams: false,
        };
        // To own a session makes it: one that does not exist must not begin by being resumed.
        if !self.shared.journal.exists(&resume.session).await? {
            let session = resume.session;
            return Err(JournalError::UnknownSession { session }.into());
        }
        self.go_on_telling(&resume, telling).await
    }

    /// Does that for a session of which it is known that it exists.
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

    /// Drives a turn in a task of its own; comes back when its first step is committed.
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
        // In a box: a task moves its future several times on its way, and once more when it is over.
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
            // Others may have it before they hear that it was let go of.
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
        // Nothing of it was committed.
        match task.await {
            Ok(Ok(())) => Err(EngineError::NothingOpen { session }),
            Ok(Err(error)) => Err(error),
            Err(error) => Err(EngineError::NotCommitted {
                why: chain(&error).into(),
            }),
        }
    }

    /// Tells a turn that is there, whoever drives it, from its opening on: for the segment whose answer is
    /// owed. One that was left at work is taken up before others, if there is a keeper.
    ///
    /// # Errors
    ///
    /// [`EngineError::NoSuchTurn`] and [`EngineError::Journal`] if there is no such turn or session.
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

    /// Does that for whoever is connected already, in a session of which this is known.
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

/// A turn whose first step is on its way into the journal, and what is held meanwhile.
struct PendingStart {
    held: Option<Box<dyn Send>>,
    progress: watch::Receiver<SessionProgress>,
    turn: TurnId,
}

impl PendingStart {
    /// Waits until the step is committed; `false` if it is not going to be.
    async fn is_committed(&mut self) -> bool {
        let is_committed = is_committed(&mut self.progress, &self.turn).await;
        self.held = None;
        is_committed
    }
}

/// Waits until this turn has begun; `false` if it does not.
async fn is_committed(progress: &mut watch::Receiver<SessionProgress>, turn: &TurnId) -> bool {
    let has_begun = |known: &SessionProgress| known.turn.as_ref() == Some(turn);
    progress.wait_for(has_begun).await.is_ok()
}

impl Drop for PendingStart {
    /// Where nobody waits any more, the step is on its way all the same.
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
