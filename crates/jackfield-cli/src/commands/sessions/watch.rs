//! `jackfield sessions watch`: follows a session live, in any process.

mod output;
mod replies;

use std::io;
use std::pin::pin;
use std::time::Duration;

use jackfield_domain::fact::{Fact, ModelCallEnd};
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::session_events::SessionEvent;
use jackfield_domain::setup::Opening;
use jackfield_domain::time::Now;
use jackfield_engine::{Engine, EngineError, reports};
use tokio::time::sleep;

use self::output::WatchOutput;
use self::replies::Replies;
use crate::args::WatchArgs;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::RenderEvent;
use crate::signals::{self, Interrupts};

/// Shows the session until Ctrl-C, or until it is at rest if requested.
///
/// # Errors
///
/// [`CommandError`] if the session does not exist or cannot be read, or the cursor does not belong to it.
pub(super) async fn run(
    engine: &Engine,
    session: SessionId,
    asked: &WatchArgs,
) -> Result<Exit, CommandError> {
    let watched = WatchedSession {
        engine,
        replies: Replies::default(),
        session,
        shown: WatchOutput::new(asked.json, asked.verbose),
        turn: None,
        was_told: false,
    };
    let ended = watched.follow(asked).await;
    match ended {
        Ok(exit) => Ok(exit),
        // A closed pipe is no error: the reader has what it wants.
        Err(WatchStop::Unread(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(Exit::Answered)
        }
        Err(WatchStop::Unread(error)) => {
            Err(CommandError::new(Exit::Internal, "the session cannot be shown").because(&error))
        }
        Err(WatchStop::Unreadable(error)) => Err(error.into()),
    }
}

/// Why the watch stopped.
enum WatchStop {
    Unread(io::Error),
    Unreadable(EngineError),
}

impl From<io::Error> for WatchStop {
    fn from(error: io::Error) -> Self {
        Self::Unread(error)
    }
}

impl From<EngineError> for WatchStop {
    fn from(error: EngineError) -> Self {
        Self::Unreadable(error)
    }
}

/// A watched session.
struct WatchedSession<'e> {
    engine: &'e Engine,
    replies: Replies,
    session: SessionId,
    shown: WatchOutput,
    /// The last opened turn.
    turn: Option<TurnId>,
    /// Whether the notice that no process works on it was printed.
    was_told: bool,
}

impl WatchedSession<'_> {
    async fn follow(mut self, asked: &WatchArgs) -> Result<Exit, WatchStop> {
        let mut watcher = self.engine.watch(self.session.clone(), asked.from).await?;
        self.remember(asked).await?;
        let mut interrupts = Interrupts::watch();
        loop {
            if asked.until_done && watcher.is_at_rest() {
                return Ok(Exit::Answered);
            }
            let mut next = pin!(watcher.next());
            let (cursor, told) = loop {
                tokio::select! {
                    biased;
                    signal = interrupts.asked() => {
                        signals::remember(signal);
                        return Ok(Exit::Cancelled);
                    }
                    told = &mut next => break told?,
                    () = sleep(SILENCE), if !self.was_told => self.tell_if_left().await?,
                }
            };
            let superseded = matches!(told, SessionEvent::Superseded { .. });
            match told {
                SessionEvent::Fact { fact, now, .. } => self.fact(fact, now).await?,
                SessionEvent::Superseded { fact, now, .. } => self.superseded(fact, now)?,
                SessionEvent::Text { attempt, piece } => {
                    for event in self.replies.take(attempt, piece) {
                        self.shown.event(&event)?;
                    }
                }
            }
            self.shown.told(cursor, superseded)?;
        }
    }

    /// Prints a notice if no events arrive because no process works on the turn.
    async fn tell_if_left(&mut self) -> Result<(), WatchStop> {
        let Some(row) = self.engine.session(&self.session).await? else {
            return Ok(());
        };
        let left = row.open.filter(|open| !row.owned && !open.only_waits);
        if left.is_some() {
            self.was_told = true;
            let id = &self.session;
            let says = "no process drives the open turn";
            self.shown.warn(&format!(
                "{says}; `jackfield sessions resume {id}` goes on with it"
            ))?;
        }
        Ok(())
    }

    /// Reads the events before the cursor, which have the start times of calls and the notes.
    async fn remember(&mut self, asked: &WatchArgs) -> Result<(), WatchStop> {
        let known = usize::try_from(asked.from.facts()).unwrap_or(usize::MAX);
        if known == 0 {
            return Ok(());
        }
        let loaded = self.engine.load(&self.session).await?;
        let steps = loaded.steps.iter();
        let facts = steps.flat_map(|step| step.facts.iter().map(|fact| (fact, step.now)));
        for (fact, now) in facts.take(known) {
            if let Fact::TurnOpened { turn, .. } = fact {
                self.turn = Some(turn.clone());
            }
            let fact = Box::new(fact.clone());
            self.shown.remember(&RenderEvent::Fact { fact, now })?;
        }
        Ok(())
    }

    async fn fact(&mut self, fact: Box<Fact>, now: Now) -> Result<(), WatchStop> {
        match &*fact {
            Fact::TurnOpened { opening, turn, .. } => {
                self.turn = Some(turn.clone());
                if let Opening::UserMessage(message) = opening {
                    self.shown.message(&message.to_text())?;
                }
            }
            // The partial reply is stored, and may never have arrived as text events.
            Fact::ModelCallEnded {
                attempt,
                partial: Some(partial),
                retry_at: None,
                ..
            } => {
                for event in self.replies.partial(*attempt, partial) {
                    self.shown.event(&event)?;
                }
            }
            Fact::TurnEnded { .. } => {
                self.shown.event(&RenderEvent::Fact { fact, now })?;
                return self.ended().await;
            }
            Fact::CallAccepted { .. }
            | Fact::CallClosed { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded { .. }
            | Fact::ModelCallStarted { .. }
            | Fact::ReplyReceived { .. }
            | Fact::SessionForked { .. }
            | Fact::TurnResumed { .. }
            | Fact::WaitClosed { .. }
            | Fact::WaitOpened { .. } => {}
        }
        Ok(self.shown.event(&RenderEvent::Fact { fact, now })?)
    }

    fn superseded(&mut self, fact: Box<Fact>, now: Now) -> Result<(), WatchStop> {
        let is_lost = matches!(
            &*fact,
            Fact::ModelCallEnded {
                why: ModelCallEnd::Lost,
                ..
            }
        );
        self.shown.event(&RenderEvent::Fact { fact, now })?;
        if is_lost {
            self.shown.say(
                "the reply was lost with the process that waited for it; nothing of it above holds",
            )?;
        }
        Ok(())
    }

    /// The report of the turn that has just ended.
    async fn ended(&mut self) -> Result<(), WatchStop> {
        let loaded = self.engine.load(&self.session).await?;
        let mut reports = reports(&self.session, &loaded.steps).into_iter();
        let report = match &self.turn {
            Some(turn) => reports.find(|report| report.turn == *turn),
            None => None,
        };
        if let Some(report) = report {
            self.shown.finish(&report)?;
        }
        Ok(())
    }
}

/// The silence after which the watch checks whether a process works on the turn.
const SILENCE: Duration = Duration::from_secs(1);
