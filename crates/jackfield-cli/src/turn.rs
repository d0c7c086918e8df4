//! One turn at the command line: rendered as it runs, cancelled by Ctrl-C, with its questions put to a person.

mod past;
mod table;

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use jackfield_domain::fact::TurnEnd;
use jackfield_domain::ids::SessionId;
use jackfield_domain::policy::Policy;
use jackfield_domain::settings::ResponseFormat;
use jackfield_engine::{
    AnswerFit, DriveOutcome, Engine, EngineError, ResumeSession, SendMessage, TurnReport,
    WaitingTurn,
};
use tokio::sync::mpsc;

use self::table::QuestionTable;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::person::Person;
use crate::render::TurnRenderer;
use crate::render::event::{Forward, RenderEvent};
use crate::signals::{self, Interrupts};

/// Who answers the questions of a turn.
#[derive(Debug)]
pub enum AskMode<'p> {
    /// Not here; another process may answer while this one waits.
    Elsewhere,
    /// Not now; another process may answer later.
    Later,
    /// No one: calls that need approval are denied.
    Nobody,
    /// A person at a terminal.
    Person(&'p mut Person),
    /// No one: every call is allowed.
    Yes,
}

/// How a turn at the command line ended.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandTurnEnd {
    /// It was cancelled before it began, and left no trace.
    NotStarted,
    /// The output pipe was closed.
    OutputClosed,
    /// It has not ended: it waits for an answer from outside, and no process works on it.
    Waiting(WaitingTurn),
    Ended {
        /// Whether the answer has the requested form.
        fit: AnswerFit,
        report: Box<TurnReport>,
    },
}

/// Sends a message and shows its turn.
///
/// # Errors
///
/// [`CommandError`] if the turn could not be driven. A failed turn is a report, not an error.
pub async fn run(
    engine: &Engine,
    message: SendMessage,
    view: &mut dyn TurnRenderer,
    ask_mode: AskMode<'_>,
) -> Result<CommandTurnEnd, CommandError> {
    let format = message.options.settings.response_format.clone();
    let session = message.session.clone();
    let (mut forward, events) = Forward::new();
    let mut output = TurnOutput { broken: None, view };
    let mut run = CommandTurn {
        events,
        format,
        queued: VecDeque::new(),
        output: &mut output,
        table: QuestionTable::new(engine, session.clone(), ask_mode),
    };
    let mut interrupts = Interrupts::watch();
    let ended = {
        let sending = async {
            Ok(DriveOutcome::Finished(Box::new(
                engine.send(message, &mut forward).await?,
            )))
        };
        run.drive(Box::pin(sending), &mut interrupts).await?
    };
    match ended {
        Some(driven) => return run.finish(driven).await,
        // The future was dropped while the turn began. If the turn exists all the same, it is cancelled like any
        // other.
        None => match engine.fenced_open_turn(&session).await? {
            None => return Ok(CommandTurnEnd::NotStarted),
            Some(turn) => run.table.set_turn(turn),
        },
    }
    run.table.cancel().await;
    let driven = engine
        .resume(resume_cancelled(session), &mut forward)
        .await?;
    run.finish(driven).await
}

/// Resumes the open turn of a session: shows its past events, and then the new ones.
///
/// # Errors
///
/// [`CommandError`] if the turn could not be driven. A failed turn is a report, not an error.
pub async fn resume(
    engine: &Engine,
    resume: ResumeSession,
    view: &mut dyn TurnRenderer,
    ask_mode: AskMode<'_>,
) -> Result<CommandTurnEnd, CommandError> {
    let session = resume.session.clone();
    let loaded = engine.load(&session).await?;
    let past = past::events(&loaded.steps);
    let (mut forward, events) = Forward::new();
    let mut output = TurnOutput { broken: None, view };
    let mut run = CommandTurn {
        events,
        format: past.format,
        queued: VecDeque::new(),
        output: &mut output,
        table: QuestionTable::new(engine, session.clone(), ask_mode),
    };
    for event in &past.events {
        run.output.write(|view| view.show(event));
        if let RenderEvent::Fact { fact, .. } = event {
            run.table.record_fact(fact);
        }
    }
    run.output.write(|view| view.show(&RenderEvent::PastEnded));
    run.table.ask_next(run.output).await?;
    let mut interrupts = Interrupts::watch();
    let ended = {
        let resuming = engine.resume(resume, &mut forward);
        run.drive(Box::pin(resuming), &mut interrupts).await?
    };
    match ended {
        Some(driven) => run.finish(driven).await,
        None => Ok(CommandTurnEnd::NotStarted),
    }
}

/// Resumes a cancelled turn only to end it, so the current policy does not matter.
fn resume_cancelled(session: SessionId) -> ResumeSession {
    let mut resume = ResumeSession::new(session, Policy::default());
    resume.force = true;
    resume
}

/// A turn in progress, with its output and questions.
struct CommandTurn<'r, 'v> {
    events: mpsc::UnboundedReceiver<RenderEvent>,
    format: ResponseFormat,
    queued: VecDeque<RenderEvent>,
    output: &'r mut TurnOutput<'v>,
    table: QuestionTable<'r>,
}

impl CommandTurn<'_, '_> {
    /// Waits for the end of a turn, shows its events, and cancels it on request; `None` if it was cancelled
    /// before the turn was seen to begin.
    async fn drive(
        &mut self,
        mut turn: Pin<Box<impl Future<Output = Result<DriveOutcome, EngineError>>>>,
        interrupts: &mut Interrupts,
    ) -> Result<Option<DriveOutcome>, CommandError> {
        loop {
            tokio::select! {
                biased;
                signal = interrupts.recv() => {
                    signals::remember(signal);
                    while !self.table.has_begun() && let Ok(event) = self.events.try_recv() {
                        self.handle_event(&event).await?;
                    }
                    if !(self.table.has_begun() && self.table.cancel().await) {
                        return Ok(None);
                    }
                    self.output.write(|view| view.show_remark("cancelling; Ctrl-C again leaves at once"));
                }
                Some(said) = self.table.next_input() => self.table.answer(said, self.output).await?,
                Some(event) = self.events.recv() => {
                    if self.table.is_closed_by(&event) {
                        self.table.withdraw(&event, self.output).await;
                    }
                    self.queued.push_back(event);
                }
                driven = &mut turn => return Ok(Some(driven?)),
            }
            // Events that arrive during a question are shown after its answer.
            while !self.table.is_asking()
                && let Some(event) = self.queued.pop_front()
            {
                self.handle_event(&event).await?;
            }
            if self.output.broken.is_some() {
                self.table.cancel().await;
            }
        }
    }

    /// Shows an event, and handles its question.
    async fn handle_event(&mut self, event: &RenderEvent) -> Result<(), CommandError> {
        self.output.write(|view| view.show(event));
        match event {
            RenderEvent::Fact { fact, .. } => self.table.handle_fact(fact, self.output).await,
            RenderEvent::Undecided { wait } => self.table.ask_person(wait, self.output).await,
            RenderEvent::Delta { .. }
            | RenderEvent::PastEnded
            | RenderEvent::Progress { .. }
            | RenderEvent::Queued { .. }
            | RenderEvent::Unavailable { .. } => Ok(()),
        }
    }

    /// Shows the rest, and the result.
    async fn finish(mut self, driven: DriveOutcome) -> Result<CommandTurnEnd, CommandError> {
        for event in std::mem::take(&mut self.queued) {
            self.output.write(|view| view.show(&event));
        }
        while let Ok(event) = self.events.try_recv() {
            self.output.write(|view| view.show(&event));
        }
        let ended = match driven {
            DriveOutcome::Finished(report) => {
                let fit = check_answer(&self.format, &report).await;
                if let AnswerFit::Unchecked { why, .. } = &fit {
                    let remark = format!("the answer was not checked against its schema: {why}");
                    self.output.write(|view| view.show_remark(&remark));
                }
                self.output.write(|view| view.finish(&report, &fit));
                CommandTurnEnd::Ended { fit, report }
            }
            DriveOutcome::Waiting(waiting) => CommandTurnEnd::Waiting(waiting),
        };
        match self.output.broken.take() {
            None => Ok(ended),
            Some(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                Ok(CommandTurnEnd::OutputClosed)
            }
            Some(error) => Err(
                CommandError::new(Exit::Internal, "the answer cannot be written")
                    .with_cause(&error),
            ),
        }
    }
}

/// Whether the answer of a turn has the requested form. A turn without an answer is not checked.
async fn check_answer(format: &ResponseFormat, report: &TurnReport) -> AnswerFit {
    match report.end {
        TurnEnd::Answered(_)
        | TurnEnd::Limited {
            is_error: false, ..
        } => AnswerFit::check(format, &report.answer(), CHECK).await,
        TurnEnd::Cancelled(_)
        | TurnEnd::ClientExpired
        | TurnEnd::Failed(_)
        | TurnEnd::Interrupted(_)
        | TurnEnd::Limited { is_error: true, .. } => AnswerFit::Free,
    }
}

/// The time limit of checking an answer.
pub(crate) const CHECK: Duration = Duration::from_secs(5);

/// A renderer, until a write fails.
struct TurnOutput<'v> {
    broken: Option<io::Error>,
    view: &'v mut dyn TurnRenderer,
}

impl TurnOutput<'_> {
    fn write(&mut self, show: impl FnOnce(&mut dyn TurnRenderer) -> io::Result<()>) {
        if self.broken.is_none() {
            self.broken = show(self.view).err();
        }
    }
}
