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
    args: &WatchArgs,
) -> Result<Exit, CommandError> {
    let watched = WatchedSession {
        engine,
        replies: Replies::default(),
        session,
        output: WatchOutput::new(args.json, args.verbose),
        turn: None,
        notice_shown: false,
    };
    let ended = watched.follow(args).await;
    match ended {
        Ok(exit) => Ok(exit),
        // A closed pipe is no error: the reader has what it wants.
        Err(WatchStop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(Exit::Answered)
        }
        Err(WatchStop::Output(error)) => {
            Err(CommandError::new(Exit::Internal, "the session cannot be shown").with_cause(&error))
        }
        Err(WatchStop::Engine(error)) => Err(error.into()),
    }
}

enum WatchStop {
    Output(io::Error),
    Engine(EngineError),
}

impl From<io::Error> for WatchStop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<EngineError> for WatchStop {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

struct WatchedSession<'e> {
    engine: &'e Engine,
    replies: Replies,
    session: SessionId,
    output: WatchOutput,
    turn: Option<TurnId>,
    /// Whether the notice that no process works on it was printed.
    notice_shown: bool,
}

impl WatchedSession<'_> {
    async fn follow(mut self, args: &WatchArgs) -> Result<Exit, WatchStop> {
        let mut watcher = self.engine.watch(self.session.clone(), args.from).await?;
        self.replay_past(args).await?;
        let mut interrupts = Interrupts::watch();
        loop {
            if args.until_done && watcher.is_idle() {
                return Ok(Exit::Answered);
            }
            let mut next = pin!(watcher.next());
            let (cursor, event) = loop {
                tokio::select! {
                    biased;
                    signal = interrupts.recv() => {
                        signals::remember(signal);
                        return Ok(Exit::Cancelled);
                    }
                    told = &mut next => break told?,
                    () = sleep(SILENCE), if !self.notice_shown => self.warn_if_undriven().await?,
                }
            };
            let superseded = matches!(event, SessionEvent::Superseded { .. });
            match event {
                SessionEvent::Fact { fact, now, .. } => self.handle_fact(fact, now).await?,
                SessionEvent::Superseded { fact, now, .. } => self.handle_superseded(fact, now)?,
                SessionEvent::Text { attempt, piece } => {
                    for event in self.replies.take(attempt, piece) {
                        self.output.event(&event)?;
                    }
                }
            }
            self.output.end_event(cursor, superseded)?;
        }
    }

    /// Prints a notice if no events arrive because no process works on the turn.
    async fn warn_if_undriven(&mut self) -> Result<(), WatchStop> {
        let Some(row) = self.engine.session(&self.session).await? else {
            return Ok(());
        };
        let undriven = row.open.filter(|open| !row.owned && !open.only_waits);
        if undriven.is_some() {
            self.notice_shown = true;
            let id = &self.session;
            let message = "no process drives the open turn";
            self.output.warn(&format!(
                "{message}; `jackfield sessions resume {id}` goes on with it"
            ))?;
        }
        Ok(())
    }

    /// Reads the events before the cursor, which have the start times of calls and the notes.
    async fn replay_past(&mut self, args: &WatchArgs) -> Result<(), WatchStop> {
        let count = usize::try_from(args.from.facts()).unwrap_or(usize::MAX);
        if count == 0 {
            return Ok(());
        }
        let loaded = self.engine.load(&self.session).await?;
        let steps = loaded.steps.iter();
        let facts = steps.flat_map(|step| step.facts.iter().map(|fact| (fact, step.now)));
        for (fact, now) in facts.take(count) {
            if let Fact::TurnOpened { turn, .. } = fact {
                self.turn = Some(turn.clone());
            }
            let fact = Box::new(fact.clone());
            self.output.remember(&RenderEvent::Fact { fact, now })?;
        }
        Ok(())
    }

    async fn handle_fact(&mut self, fact: Box<Fact>, now: Now) -> Result<(), WatchStop> {
        if let Fact::TurnOpened { opening, turn, .. } = &*fact {
            self.turn = Some(turn.clone());
            if let Opening::UserMessage(message) = opening {
                self.output.message(&message.to_text())?;
            }
        } else if let Fact::ModelCallEnded {
            attempt,
            partial: Some(partial),
            retry_at: None,
            ..
        } = &*fact
        {
            // The partial reply is stored, and may never have arrived as text events.
            for event in self.replies.partial(*attempt, partial) {
                self.output.event(&event)?;
            }
        } else if matches!(*fact, Fact::TurnEnded { .. }) {
            self.output.event(&RenderEvent::Fact { fact, now })?;
            return self.print_report().await;
        }
        Ok(self.output.event(&RenderEvent::Fact { fact, now })?)
    }

    fn handle_superseded(&mut self, fact: Box<Fact>, now: Now) -> Result<(), WatchStop> {
        let is_lost = matches!(
            &*fact,
            Fact::ModelCallEnded {
                why: ModelCallEnd::Lost,
                ..
            }
        );
        self.output.event(&RenderEvent::Fact { fact, now })?;
        if is_lost {
            self.output.remark(
                "the reply was lost with the process that waited for it; nothing of it above holds",
            )?;
        }
        Ok(())
    }

    /// The report of the turn that has just ended.
    async fn print_report(&mut self) -> Result<(), WatchStop> {
        let loaded = self.engine.load(&self.session).await?;
        let mut reports = reports(&self.session, &loaded.steps).into_iter();
        let report = match &self.turn {
            Some(turn) => reports.find(|report| report.turn == *turn),
            None => None,
        };
        if let Some(report) = report {
            self.output.finish(&report)?;
        }
        Ok(())
    }
}

/// The silence after which the watch checks whether a process works on the turn.
const SILENCE: Duration = Duration::from_secs(1);
