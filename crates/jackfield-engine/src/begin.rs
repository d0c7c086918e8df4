//! Beginning: a turn that is driven in the background, and somebody who is told of it.

use std::pin::pin;
use std::sync::Arc;

use jackfield_domain::fact::{Fact, InputKind};
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::tool_loop::ToolLoop;
use jackfield_ports::journal::{JournalError, Loaded};
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::catalog::Problem;
use crate::driver::Driver;
use crate::engine::{Engine, Shared};
use crate::error::EngineError;
use crate::listening::Connection;
use crate::news::Observer;
use crate::occupied::Busy;
use crate::options::{Disconnect, SendMessage};
use crate::ownership::Owned;
use crate::perform::chain;
use crate::resume::{Driven, ResumeSession};
use crate::send::Begins;
use crate::watch::{Speaker, Watcher};

/// A turn that is driven in the background, or was, and what tells it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Begun {
    /// What is held while the answer is being written.
    pub connection: Connection,
    /// The toolboxes, and tools of some, that the turn begins without.
    pub problems: Vec<Problem>,
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
pub(crate) struct Telling {
    pub(crate) disconnect: Disconnect,
    pub(crate) segment: u32,
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
    pub async fn begin(&self, message: SendMessage) -> Result<Begun, EngineError> {
        let under_way = self.shared.going.enter()?;
        let telling = Telling {
            disconnect: message.options.disconnect,
            segment: 0,
        };
        let begins = self.prepare(message).await?;
        self.drive_on(begins, InputKind::Began, telling, under_way)
            .await
    }

    /// Takes up a session's open turn, and has it driven on in the background. Whether to stay is not asked:
    /// a turn that only waits is let go of.
    ///
    /// # Errors
    ///
    /// As those of [`resume`](Self::resume), and [`EngineError::Draining`].
    pub async fn go_on(&self, resume: ResumeSession) -> Result<Begun, EngineError> {
        let telling = Telling {
            disconnect: Disconnect::Finish,
            segment: 0,
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
        telling: Telling,
    ) -> Result<Begun, EngineError> {
        let under_way = self.shared.going.enter()?;
        let begins = self.take_up_later(resume).await?;
        self.drive_on(begins, InputKind::Recovered, telling, under_way)
            .await
    }

    /// Drives a turn in a task of its own; comes back when its first step is committed.
    async fn drive_on(
        &self,
        begins: Begins,
        input: InputKind,
        telling: Telling,
        under_way: TaskTrackerToken,
    ) -> Result<Begun, EngineError> {
        let Begins {
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
        let begun = Begun {
            connection: self.connect(&session, &id, telling.segment, telling.disconnect),
            problems,
            segment: telling.segment,
            session: session.clone(),
            turn: id.clone(),
            watcher: self.watcher_of(&session, &id, &loaded.steps),
        };
        let mut progress = busy.progress.subscribe();
        let engine = self.clone();
        let parts = Box::new((turn, owned, loaded, speaker));
        let task = tokio::spawn(async move {
            let shared = Arc::clone(&engine.shared);
            let mut nobody = ();
            let driven = {
                let mut driver = driver(&shared, parts, &mut nobody, &busy);
                let driven = pin!(driver.run(step, input, now, false));
                shared.going.unless_stopped(driven).await
            };
            // Others may have it before they hear that it was let go of.
            drop(busy);
            drop(under_way);
            match driven {
                Some(Ok(Driven::Over(report))) => {
                    engine.pass(&report.session, &report.turn).await;
                    Ok(())
                }
                Some(Ok(Driven::Waits(_))) => {
                    shared.noticed.let_go();
                    Ok(())
                }
                Some(Err(error)) => {
                    let why = chain(&error);
                    tracing::warn!(error = %why, "a turn in the background could not be driven on");
                    shared.noticed.let_go();
                    Err(error)
                }
                None => Err(EngineError::Draining),
            }
        });
        loop {
            if progress.borrow_and_update().turn.as_ref() == Some(&id) {
                return Ok(begun);
            }
            if progress.changed().await.is_err() {
                break;
            }
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
    /// owed.
    ///
    /// # Errors
    ///
    /// [`EngineError::NoSuchTurn`] and [`EngineError::Journal`] if there is no such turn or session.
    pub async fn attend(
        &self,
        session: &SessionId,
        turn: &TurnId,
        segment: u32,
        disconnect: Disconnect,
    ) -> Result<Begun, EngineError> {
        let connection = self.connect(session, turn, segment, disconnect);
        let loaded = self.shared.journal.load(session).await?;
        let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let opens =
            |fact: &Fact| matches!(fact, Fact::TurnOpened { turn: opened, .. } if opened == turn);
        if !facts.any(opens) {
            return Err(EngineError::NoSuchTurn {
                session: session.clone(),
                turn: turn.clone(),
            });
        }
        Ok(Begun {
            connection,
            problems: Vec::new(),
            segment,
            session: session.clone(),
            turn: turn.clone(),
            watcher: self.watcher_of(session, turn, &loaded.steps),
        })
    }
}

/// A driver of these parts. They come in a box, as whatever a task is given by value has its room in it for as
/// long as the turn is driven.
fn driver<'o>(
    shared: &Arc<Shared>,
    parts: Box<(ToolLoop, Owned, Loaded, Speaker)>,
    observer: &'o mut dyn Observer,
    busy: &Busy,
) -> Driver<'o> {
    let (turn, owned, loaded, speaker) = *parts;
    Driver::new(shared, turn, owned, &loaded, speaker, observer, busy)
}
