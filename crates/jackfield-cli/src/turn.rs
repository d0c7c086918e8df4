//! One turn at the command line: shown as it goes, cancelled by Ctrl-C, its questions put to a person.

mod table;

use std::io;
use std::pin::pin;

use jackfield_engine::{Engine, SendMessage, TurnReport};
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
    With(Box<TurnReport>),
}

/// Sends a message and shows its turn.
///
/// `place` is the turn's place in its session, from 1.
///
/// # Errors
///
/// A [`Fault`] if the turn could not be driven; a turn that failed is a report.
pub async fn run(
    engine: &Engine,
    message: SendMessage,
    place: u32,
    view: &mut dyn View,
    asks: Asks<'_>,
) -> Result<Ended, Fault> {
    let (news, mut events) = mpsc::unbounded_channel();
    let mut forward = Forward(news);
    let mut table = Table::new(engine, message.session.clone(), place, asks);
    let mut shown = Shown { broken: None, view };
    let mut sending = pin!(engine.send(message, &mut forward));
    let mut interrupts = Interrupts::watch();
    let report = loop {
        tokio::select! {
            biased;
            signal = interrupts.asked() => {
                signals::remember(signal);
                if !table.cancel().await {
                    // Nothing has begun, so that nothing can be left behind.
                    return Ok(Ended::BeforeItBegan);
                }
                shown.with(|view| view.say("cancelling; Ctrl-C again leaves at once"));
            }
            Some(said) = table.said() => table.answer(said, &mut shown).await?,
            Some(event) = events.recv(), if !table.is_asking() => {
                shown.with(|view| view.show(&event));
                if let Event::Fact { fact, .. } = &event {
                    table.see(fact, &mut shown).await?;
                }
            }
            report = &mut sending => break report?,
        }
        if shown.broken.is_some() {
            table.cancel().await;
        }
    };
    while let Ok(event) = events.try_recv() {
        shown.with(|view| view.show(&event));
    }
    shown.with(|view| view.finish(&report));
    match shown.broken {
        None => Ok(Ended::With(Box::new(report))),
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Ended::Unread),
        Some(error) => {
            Err(Fault::new(Exit::Internal, "the answer cannot be written").because(&error))
        }
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
