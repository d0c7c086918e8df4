//! One turn at the command line: shown as it goes, cancelled by Ctrl-C, its questions put to a person.

mod table;

use std::collections::VecDeque;
use std::io;
use std::pin::pin;
use std::time::Duration;

use jackfield_domain::fact::TurnEnd;
use jackfield_domain::settings::ResponseFormat;
use jackfield_engine::{AnswerFit, Engine, SendMessage, TurnReport};
use tokio::sync::mpsc;

use self::table::Table;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::person::Person;
use crate::render::View;
use crate::render::event::{Event, Forward};
use crate::signals::{self, Interrupts};

/// Who answers the questions of a turn.
#[derive(Debug)]
pub enum Asks<'p> {
    /// Nobody.
    Nobody,
    /// A person at a terminal.
    Person(&'p mut Person),
    /// Nobody: every call may run.
    Yes,
}

/// How a turn at the command line ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// It was cancelled before it began: there is no trace of it.
    BeforeItBegan,
    /// Whoever read the answer went away.
    Unread,
    /// So.
    With {
        /// Whether the answer has the form that was asked for.
        fit: AnswerFit,
        /// What came of it.
        report: Box<TurnReport>,
    },
}

/// Sends a message and shows its turn.
///
/// # Errors
///
/// A [`Fault`] if the turn could not be driven; a turn that failed is a report.
pub async fn run(
    engine: &Engine,
    message: SendMessage,
    view: &mut dyn View,
    asks: Asks<'_>,
) -> Result<Ended, Fault> {
    let format = message.options.settings.response_format.clone();
    let (news, mut events) = mpsc::unbounded_channel();
    let mut forward = Forward(news);
    let mut table = Table::new(engine, message.session.clone(), asks);
    let mut shown = Shown { broken: None, view };
    let mut sending = pin!(engine.send(message, &mut forward));
    let mut interrupts = Interrupts::watch();
    let mut held = VecDeque::new();
    let report = loop {
        tokio::select! {
            biased;
            signal = interrupts.asked() => {
                signals::remember(signal);
                while !table.has_begun() && let Ok(event) = events.try_recv() {
                    see(&event, &mut table, &mut shown).await?;
                }
                if !(table.has_begun() && table.cancel().await) {
                    // Nothing has begun, so that nothing can be left behind. A wish to cancel would wait
                    // for the next turn, which has the same place.
                    return Ok(Ended::BeforeItBegan);
                }
                shown.with(|view| view.say("cancelling; Ctrl-C again leaves at once"));
            }
            Some(said) = table.said() => table.answer(said, &mut shown).await?,
            Some(event) = events.recv() => {
                if table.is_settled_by(&event) {
                    table.withdraw(&event, &mut shown).await;
                }
                held.push_back(event);
            }
            report = &mut sending => break report?,
        }
        // What happens while somebody is asked is shown when they have answered.
        while !table.is_asking()
            && let Some(event) = held.pop_front()
        {
            see(&event, &mut table, &mut shown).await?;
        }
        if shown.broken.is_some() {
            table.cancel().await;
        }
    };
    held.into_iter()
        .for_each(|event| shown.with(|view| view.show(&event)));
    while let Ok(event) = events.try_recv() {
        shown.with(|view| view.show(&event));
    }
    let fit = fit(&format, &report).await;
    if let AnswerFit::Unchecked { why, .. } = &fit {
        let remark = format!("the answer was not checked against its schema: {why}");
        shown.with(|view| view.say(&remark));
    }
    shown.with(|view| view.finish(&report, &fit));
    match shown.broken {
        None => Ok(Ended::With {
            fit,
            report: Box::new(report),
        }),
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Ended::Unread),
        Some(error) => {
            Err(Fault::new(Exit::Internal, "the answer cannot be written").because(&error))
        }
    }
}

/// Whether the answer of a turn has the form that was asked for. A turn that came to none has none to look at.
async fn fit(format: &ResponseFormat, report: &TurnReport) -> AnswerFit {
    match report.end {
        TurnEnd::Answered(_)
        | TurnEnd::Limited {
            is_error: false, ..
        } => AnswerFit::of(format, &report.answer(), CHECK).await,
        TurnEnd::Cancelled(_)
        | TurnEnd::ClientExpired
        | TurnEnd::Failed(_)
        | TurnEnd::Interrupted(_)
        | TurnEnd::Limited { is_error: true, .. } => AnswerFit::Free,
    }
}

/// How long it may take to check an answer.
pub(crate) const CHECK: Duration = Duration::from_secs(5);

/// Shows a piece of news, and takes up what it asks.
async fn see(event: &Event, table: &mut Table<'_>, shown: &mut Shown<'_>) -> Result<(), Fault> {
    shown.with(|view| view.show(event));
    match event {
        Event::Fact { fact, .. } => table.see(fact, shown).await,
        Event::Delta { .. } | Event::Progress { .. } | Event::Unavailable { .. } => Ok(()),
    }
}

/// A view, until it cannot be written any more.
struct Shown<'v> {
    broken: Option<io::Error>,
    view: &'v mut dyn View,
}

impl Shown<'_> {
    fn with(&mut self, show: impl FnOnce(&mut dyn View) -> io::Result<()>) {
        if self.broken.is_none() {
            self.broken = show(self.view).err();
        }
    }
}
