//! One turn at the command line: shown as it goes, cancelled by Ctrl-C, its questions put to a person.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::pin::pin;
use std::sync::Arc;

use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{DeliveryId, SessionId, ToolCallId, TurnId};
use jackfield_domain::wait::{
    Answer, Approval, CancelCause, DeliveryBody, ElicitationAnswer, UnknownAnswer, Wait, WaitKind,
};
use jackfield_engine::{Engine, SendMessage, TurnReport};
use tokio::sync::mpsc;

use crate::approval::{self, Choice, Terminal};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::render::View;
use crate::render::event::{Event, Forward};
use crate::signals::Interrupts;

/// Who answers the questions of a turn.
#[derive(Debug)]
pub enum Asks {
    /// Nobody.
    Nobody,
    /// A person at a terminal.
    Person(Terminal),
    /// Nobody: every call may run.
    Yes,
}

/// Sends a message and shows its turn; gives nothing if whoever read the answer went away.
///
/// # Errors
///
/// A [`Fault`] if the turn could not be driven; a turn that failed is a report.
pub async fn run(
    engine: &Engine,
    message: SendMessage,
    view: &mut dyn View,
    asks: Asks,
) -> Result<Option<TurnReport>, Fault> {
    let (news, mut events) = mpsc::unbounded_channel();
    let mut forward = Forward(news);
    let mut table = Table::new(engine, message.session.clone(), asks);
    let mut shown = Shown { broken: None, view };
    let mut sending = pin!(engine.send(message, &mut forward));
    let mut interrupts = Interrupts::watch();
    let report = loop {
        tokio::select! {
            biased;
            true = interrupts.asked() => {
                if !table.cancel().await {
                    // Nothing holds what is left: it is what a crash would leave.
                    std::process::exit(i32::from(Exit::Cancelled.code()));
                }
                shown.with(|view| view.say("cancelling; Ctrl-C again leaves at once"));
            }
            Some(line) = table.line() => table.answer(line, &mut shown).await?,
            Some(event) = events.recv(), if table.asked.is_none() => {
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
        None => Ok(Some(report)),
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
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

/// The questions that are on the table, and the one that a person is at.
struct Table<'a> {
    all: BTreeSet<String>,
    asked: Option<Wait>,
    asks: Option<Person>,
    cancelled: bool,
    engine: &'a Engine,
    names: Vec<(ToolCallId, String)>,
    open: VecDeque<Wait>,
    session: SessionId,
    yes: bool,
}

/// A person, on a thread of their own: nothing else can wait for a line.
struct Person {
    lines: mpsc::UnboundedReceiver<Option<String>>,
    wanted: std::sync::mpsc::Sender<()>,
}

impl Person {
    fn at(mut terminal: Terminal) -> Self {
        let (wanted, wants) = std::sync::mpsc::channel();
        let (answers, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            while let Ok(()) = wants.recv() {
                if answers.send(terminal.line()).is_err() {
                    break;
                }
            }
        });
        Self { lines, wanted }
    }
}

impl<'a> Table<'a> {
    fn new(engine: &'a Engine, session: SessionId, asks: Asks) -> Self {
        let (asks, yes) = match asks {
            Asks::Nobody => (None, false),
            Asks::Person(terminal) => (Some(Person::at(terminal)), false),
            Asks::Yes => (None, true),
        };
        Self {
            all: BTreeSet::new(),
            asked: None,
            asks,
            cancelled: false,
            engine,
            names: Vec::new(),
            open: VecDeque::new(),
            session,
            yes,
        }
    }

    /// Takes up a question, and forgets those that are closed.
    async fn see(&mut self, fact: &Fact, shown: &mut Shown<'_>) -> Result<(), Fault> {
        match fact {
            Fact::ReplyReceived { reply, .. } => {
                let calls = reply.message.calls();
                self.names
                    .extend(calls.map(|call| (call.id.clone(), call.name.as_str().to_owned())));
                return Ok(());
            }
            Fact::WaitOpened { wait } => self.open.push_back(wait.clone()),
            Fact::WaitClosed { wait, .. } => self.open.retain(|open| open.id != *wait),
            Fact::CallAccepted { .. }
            | Fact::CallClosed { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded { .. }
            | Fact::ModelCallStarted { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnOpened { .. }
            | Fact::TurnResumed { .. } => return Ok(()),
        }
        self.ask_next(shown).await
    }

    /// Answers what needs nobody, and asks about the next of the rest.
    async fn ask_next(&mut self, shown: &mut Shown<'_>) -> Result<(), Fault> {
        while self.asked.is_none() && !self.cancelled {
            let Some(wait) = self.open.pop_front() else {
                break;
            };
            if let Some(answer) = self.answer_without_asking(&wait) {
                self.deliver(&wait, answer).await?;
                continue;
            }
            let (Some(person), true) = (&self.asks, wait.kind != WaitKind::ClientResult) else {
                continue;
            };
            shown.with(|view| view.ask(&wait));
            // A thread that is gone has said so by a line that is none.
            let _asked = person.wanted.send(());
            self.asked = Some(wait);
        }
        Ok(())
    }

    fn answer_without_asking(&self, wait: &Wait) -> Option<Answer> {
        match &wait.kind {
            WaitKind::Approval if self.yes || self.all.contains(self.name(wait)) => {
                Some(Answer::Approval(Approval::Granted { edited: None }))
            }
            WaitKind::Approval if self.asks.is_none() => {
                let reason = "nobody is there to ask".into();
                Some(Answer::Approval(Approval::Denied { reason }))
            }
            WaitKind::UnknownOutcome if self.asks.is_none() => {
                Some(Answer::UnknownOutcome(UnknownAnswer::Report))
            }
            // No form can be filled in here.
            WaitKind::Elicitation { .. } => Some(Answer::Elicitation(ElicitationAnswer::Declined)),
            WaitKind::Approval | WaitKind::ClientResult | WaitKind::UnknownOutcome => None,
        }
    }

    /// The next line of the person, while one is asked.
    async fn line(&mut self) -> Option<Option<String>> {
        match (&self.asked, &mut self.asks) {
            (Some(_), Some(person)) => Some(person.lines.recv().await.flatten()),
            _ => None,
        }
    }

    /// Takes the person's line as the answer; asks again if it is none.
    async fn answer(&mut self, line: Option<String>, shown: &mut Shown<'_>) -> Result<(), Fault> {
        let Some(wait) = self.asked.take() else {
            return Ok(());
        };
        let Some(answer) = self.understand(&wait, line) else {
            self.open.push_front(wait);
            return self.ask_next(shown).await;
        };
        self.deliver(&wait, answer).await?;
        self.ask_next(shown).await
    }

    fn understand(&mut self, wait: &Wait, line: Option<String>) -> Option<Answer> {
        if wait.kind == WaitKind::UnknownOutcome {
            let word = line.as_deref().unwrap_or("t").trim().to_lowercase();
            return match word.as_str() {
                "r" | "run" => Some(Answer::UnknownOutcome(UnknownAnswer::Retry)),
                "t" | "tell" => Some(Answer::UnknownOutcome(UnknownAnswer::Report)),
                _ => None,
            };
        }
        let choice = match line {
            Some(line) => approval::parse(&line)?,
            None => Choice::Deny("nobody is there to ask".to_owned()),
        };
        Some(Answer::Approval(match choice {
            Choice::All => {
                self.all.insert(self.name(wait).to_owned());
                Approval::Granted { edited: None }
            }
            Choice::Deny(reason) => Approval::Denied {
                reason: reason.into(),
            },
            Choice::Once => Approval::Granted { edited: None },
        }))
    }

    fn name(&self, wait: &Wait) -> &str {
        let found = self.names.iter().rev().find(|(call, _)| *call == wait.call);
        found.map_or("", |(_, name)| name)
    }

    async fn deliver(&self, wait: &Wait, answer: Answer) -> Result<(), Fault> {
        let body = DeliveryBody::Answer {
            answer,
            wait: wait.id.clone(),
        };
        self.put(wait.id.as_str(), body).await
    }

    /// Ends the turn in one step; says whether there is a turn to end.
    async fn cancel(&mut self) -> bool {
        if self.cancelled {
            return true;
        }
        (self.cancelled, self.asked) = (true, None);
        // A command has one turn, the first of its session.
        let turn = TurnId::derive(&self.session, 1);
        let body = DeliveryBody::Cancel {
            cause: CancelCause::Asked,
            turn,
        };
        self.put("cancel", body).await.is_ok()
    }

    async fn put(&self, what: &str, body: DeliveryBody) -> Result<(), Fault> {
        let internal = |error: &(dyn std::error::Error + 'static)| {
            Fault::new(Exit::Internal, "the answer could not be delivered").because(error)
        };
        let id = DeliveryId::parse(&format!("cli-{what}")).map_err(|error| internal(&error))?;
        let by: Arc<str> = "the command line".into();
        self.engine
            .deliver(&self.session, id, by, body)
            .await
            .map_err(|error| internal(&error))?;
        Ok(())
    }
}
