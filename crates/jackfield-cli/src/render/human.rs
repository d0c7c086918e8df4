//! A turn for people: the answer as it comes, and every call in its place.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::delta::Delta;
use jackfield_domain::fact::{AfterLoss, CallEnd, Fact, ModelCallEnd, ToolUse, TurnEnd};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::setup::Setup;
use jackfield_domain::time::{MonoTime, Now};
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::wait::{Wait, WaitKind};
use jackfield_engine::{AnswerFit, TurnReport};

use crate::render::blocks::{Blocks, Piece};
use crate::render::event::Event;
use crate::render::markdown::Markdown;
use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::screen::Screen;
use crate::render::spinner::Spinner;
use crate::render::words::{self, Status};
use crate::render::{self, Manner, View};

/// Where a turn is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Look {
    /// Whether the answer is drawn as Markdown, and if so, whether with styles.
    pub markdown: Option<bool>,
    /// Whether a spinner says what is under way.
    pub spins: bool,
    /// Whether the answer goes to a terminal, which would obey control characters.
    pub terminal: bool,
    /// Whether both streams are one terminal, or one file.
    pub together: bool,
    /// Whether notes, reasoning and whole outcomes are shown, too.
    pub verbose: bool,
}

/// Shows a turn to a person.
#[derive(Debug)]
pub struct Human<O, E> {
    blocks: Blocks,
    calls: BTreeMap<ToolCallId, Shown>,
    first: Option<MonoTime>,
    last: MonoTime,
    look: Look,
    markdown: Option<Markdown>,
    notes: Vec<Note>,
    said: bool,
    screen: Screen<O, E>,
    setup: Option<Arc<Setup>>,
    spinner: Spinner,
}

/// A call that was shown.
#[derive(Debug)]
struct Shown {
    label: String,
    name: String,
    started: Option<MonoTime>,
    status: Status,
}

impl<O: Write + Send, E: Write + Send> Human<O, E> {
    /// A view on this screen.
    pub fn new(screen: Screen<O, E>, look: Look) -> Self {
        Self {
            blocks: Blocks::default(),
            calls: BTreeMap::new(),
            first: None,
            last: MonoTime::default(),
            look,
            markdown: look.markdown.map(Markdown::new),
            notes: Vec::new(),
            said: false,
            screen,
            setup: None,
            spinner: Spinner::new(look.spins),
        }
    }

    /// The screen, with everything that was printed.
    pub fn into_screen(self) -> Screen<O, E> {
        self.screen
    }

    /// Prints what is held back of the answer.
    fn settle(&mut self) -> io::Result<()> {
        let Some(markdown) = &mut self.markdown else {
            return Ok(());
        };
        let rest = markdown.finish();
        self.markdown = self.look.markdown.map(Markdown::new);
        self.screen.text(&rest)
    }

    fn fact(&mut self, fact: &Fact, now: Now) -> io::Result<()> {
        self.settle()?;
        self.first.get_or_insert(now.mono);
        self.last = now.mono;
        match fact {
            Fact::TurnOpened { setup, .. } => self.setup = Some(Arc::clone(setup)),
            Fact::ModelCallStarted { tools, .. } => {
                (self.blocks, self.said) = (Blocks::default(), false);
                if let ToolUse::LastRound(limit) = tools {
                    self.remark(&format!(
                        "{}: one last round without tools",
                        words::limit(*limit).0
                    ))?;
                }
                self.spin("thinking".to_owned())?;
            }
            Fact::ReplyReceived { reply, .. } => {
                self.spinner.clear();
                for call in reply.message.calls() {
                    if !self.calls.contains_key(&call.id) {
                        self.call(Some(&call.id), call.name.as_str(), &call.input)?;
                    }
                }
                self.notes(&reply.end.notes)?;
            }
            Fact::ModelCallEnded {
                retry_at,
                why: ModelCallEnd::Failed(failure),
                ..
            } => {
                if let Some(at) = retry_at {
                    let wait = words::time(at.since(now.wall));
                    let again = if self.said {
                        " (what stands above will be said anew)"
                    } else {
                        ""
                    };
                    self.warning(&format!(
                        "{}; trying again in {wait}{again}",
                        failure.message
                    ))?;
                }
            }
            Fact::CallStarted {
                attempt, edited, ..
            } => {
                if let Some(edited) = edited {
                    let name = self.name(&attempt.call);
                    let arguments = words::arguments(edited);
                    self.remark(&format!("{name} runs with edited arguments: {arguments}"))?;
                }
                self.started(&attempt.call, now)?;
            }
            Fact::CallClosed {
                call, end, result, ..
            } => self.closed(call, *end, result, now)?,
            Fact::CallLost {
                attempt,
                message,
                then: AfterLoss::Repeat,
                ..
            } => {
                let name = self.name(&attempt.call);
                self.warning(&format!("{name}: {message}; it is called again"))?;
            }
            Fact::WaitOpened { wait } => self.waiting(&wait.call, true),
            Fact::CallAccepted { .. }
            | Fact::CallLost { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnResumed { .. }
            | Fact::WaitClosed { .. } => {}
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> io::Result<()> {
        for piece in self.blocks.take(delta, call) {
            if !matches!(piece, Piece::Text(_)) {
                self.settle()?;
            }
            match piece {
                Piece::Call { id, input, name } => self.call(id.as_ref(), &name, &input)?,
                Piece::CallBegan { name } => {
                    self.spin(format!("calling {}", words::shortened(&name, NAME_WIDTH)))?;
                }
                Piece::Text(text) => {
                    self.said = true;
                    if let Some(markdown) = &mut self.markdown {
                        self.screen.text(&markdown.push(&text, render::columns()))?;
                    } else if self.look.terminal {
                        self.screen.text(&words::printable(&text))?;
                    } else {
                        self.screen.text(&text)?;
                    }
                }
                Piece::TextBegan => {
                    self.spinner.clear();
                    self.screen.begin()?;
                }
                Piece::Thinking(text) if self.look.verbose => {
                    self.screen
                        .part(format_args!("{DIM}{}{DIM:#}", words::printable(&text)))?;
                }
                Piece::ThinkingBegan if self.look.verbose => {
                    self.spinner.clear();
                    self.screen.leave()?;
                }
                Piece::Thinking(_) | Piece::ThinkingBegan => {}
            }
        }
        Ok(())
    }

    fn name(&self, call: &ToolCallId) -> String {
        let shown = self.calls.get(call);
        shown.map_or_else(|| "a call".to_owned(), |shown| shown.name.clone())
    }

    fn call(&mut self, id: Option<&ToolCallId>, name: &str, input: &ToolInput) -> io::Result<()> {
        self.spinner.clear();
        let tool = self
            .setup
            .as_ref()
            .and_then(|setup| setup.catalog.tool(name));
        let icon = tool
            .and_then(words::icon)
            .unwrap_or_else(|| ICON.to_owned());
        let name = words::shortened(name, NAME_WIDTH);
        let arguments = words::arguments(input);
        let label = format!("{icon} {NAME}{name}{NAME:#}({arguments})");
        self.screen.line(&label)?;
        if let Some(id) = id {
            let shown = Shown {
                label,
                name,
                started: None,
                status: Status::Waiting,
            };
            self.calls.insert(id.clone(), shown);
        }
        Ok(())
    }

    fn started(&mut self, call: &ToolCallId, now: Now) -> io::Result<()> {
        if let Some(shown) = self.calls.get_mut(call) {
            (shown.started, shown.status) = (Some(now.mono), Status::Running);
            if self.look.verbose && !self.look.spins {
                let line = format!(
                    "  {DIM}{} {} · running{DIM:#}",
                    Status::Running.sign(),
                    shown.name
                );
                self.screen.line(line)?;
            }
        }
        self.spin_calls()
    }

    fn closed(
        &mut self,
        call: &ToolCallId,
        end: CallEnd,
        result: &ToolResult,
        now: Now,
    ) -> io::Result<()> {
        self.spinner.clear();
        let status = Status::of(end, result.is_error);
        let (name, took) = match self.calls.get_mut(call) {
            Some(shown) => {
                shown.status = status;
                (
                    shown.name.clone(),
                    shown.started.map(|started| now.mono.since(started)),
                )
            }
            None => ("a call".to_owned(), None),
        };
        let style = match status {
            Status::Done => GOOD,
            Status::Denied | Status::Failed => BAD,
            Status::Cancelled
            | Status::NotRun
            | Status::Running
            | Status::Unknown
            | Status::Waiting => WARM,
        };
        let took = took
            .map(|took| format!(" in {}", words::time(took)))
            .unwrap_or_default();
        let outcome = if self.look.verbose {
            String::new()
        } else {
            words::outcome(result)
        };
        let dot = if outcome.is_empty() { "" } else { " · " };
        self.screen.line(format_args!(
            "  {style}{}{style:#} {name} · {style}{}{style:#}{DIM}{took}{DIM:#}{dot}{outcome}",
            status.sign(),
            status.words(),
        ))?;
        if self.look.verbose {
            for line in words::printable(&result.to_text()).lines() {
                self.screen.line(format_args!("    {line}"))?;
            }
        }
        self.spin_calls()
    }

    /// Spins beside the names of the calls that run.
    fn spin_calls(&mut self) -> io::Result<()> {
        let running = self
            .calls
            .values()
            .filter(|shown| shown.status == Status::Running);
        let names: Vec<&str> = running.map(|shown| shown.name.as_str()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let names = words::shortened(&names.join(", "), 60);
        self.spin(format!("running {names}"))
    }

    /// Spins on a line of its own, which is all that it takes away with it.
    fn spin(&mut self, words: String) -> io::Result<()> {
        if self.look.spins {
            self.screen.leave()?;
        }
        self.spinner.say(words);
        Ok(())
    }

    fn waiting(&mut self, call: &ToolCallId, waits: bool) {
        if let Some(shown) = self.calls.get_mut(call) {
            shown.status = if waits {
                Status::Waiting
            } else {
                Status::Running
            };
        }
    }

    fn notes(&mut self, notes: &[Note]) -> io::Result<()> {
        for note in notes {
            // Whoever asked something else than was meant wants to know that in any case.
            let grave = note.effect == NoteEffect::Meaning && note.kind != NoteKind::Carried;
            if self.notes.contains(note) || !(grave || self.look.verbose) {
                continue;
            }
            self.notes.push(note.clone());
            let words = words::note(note);
            if grave {
                self.warning(&words)?;
            } else {
                self.remark(&words)?;
            }
        }
        Ok(())
    }

    fn remark(&mut self, remark: &str) -> io::Result<()> {
        self.spinner.clear();
        self.screen
            .line(format_args!("{DIM}{}{DIM:#}", words::printable(remark)))
    }

    fn warning(&mut self, warning: &str) -> io::Result<()> {
        self.spinner.clear();
        self.screen.line(format_args!(
            "{WARM}!{WARM:#} {}",
            words::printable(warning)
        ))
    }

    fn took(&self) -> Duration {
        self.last.since(self.first.unwrap_or(self.last))
    }
}

impl<O: Write + Send, E: Write + Send> View for Human<O, E> {
    fn show(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Delta { call, delta, .. } => self.delta(delta, call.as_ref()),
            Event::Fact { fact, now } => self.fact(fact, *now),
            Event::Progress {
                attempt, message, ..
            } => {
                let Some((shown, message)) = self.calls.get(&attempt.call).zip(message.as_ref())
                else {
                    return Ok(());
                };
                let words = format!("{}: {}", shown.name, words::shortened(message, 60));
                self.spin(words)
            }
            Event::Unavailable { problem } => self.warning(&words::problem(problem)),
        }
    }

    fn ask(&mut self, wait: &Wait, manner: Manner) -> io::Result<()> {
        self.spinner.clear();
        let label = self
            .calls
            .get(&wait.call)
            .map_or("a call", |shown| &shown.label);
        let question = match wait.kind {
            WaitKind::UnknownOutcome => format!(
                "{WARM}?{WARM:#} nobody knows whether {label} took effect: \
                 {NAME}r{NAME:#}un it again, or {NAME}t{NAME:#}ell the model so?"
            ),
            WaitKind::Approval | WaitKind::ClientResult | WaitKind::Elicitation { .. } => {
                let scope = match manner {
                    Manner::Below => " in this session",
                    Manner::Inline => "",
                };
                format!(
                    "{WARM}?{WARM:#} may {label} run? {NAME}y{NAME:#}es, \
                     {NAME}a{NAME:#}ll of this tool{scope}, {NAME}e{NAME:#}dit, \
                     or {NAME}n{NAME:#}o and why:"
                )
            }
        };
        match manner {
            Manner::Below => self.screen.line(question),
            Manner::Inline => self.screen.question(format_args!("{question} ")),
        }
    }

    fn say(&mut self, remark: &str) -> io::Result<()> {
        self.settle()?;
        self.remark(remark)
    }

    fn finish(&mut self, report: &TurnReport, _fit: &AnswerFit) -> io::Result<()> {
        self.spinner.clear();
        self.settle()?;
        self.screen.end()?;
        match &report.end {
            TurnEnd::Answered(finish) => {
                if let Some(remark) = words::finish(finish) {
                    self.warning(&remark)?;
                } else if report.answer().trim().is_empty() {
                    self.warning("the model had nothing to say")?;
                }
            }
            TurnEnd::Cancelled(_) => self.warning("cancelled")?,
            TurnEnd::Limited {
                is_error: false,
                limit,
            } => {
                let (what, key) = words::limit(*limit);
                self.warning(&format!(
                    "{what}; this answer is what was known by then (see {key})"
                ))?;
            }
            TurnEnd::ClientExpired
            | TurnEnd::Failed(_)
            | TurnEnd::Interrupted(_)
            | TurnEnd::Limited { .. } => {}
        }
        let Some(setup) = self.setup.as_ref().filter(|_| report.usage.total() > 0) else {
            return Ok(());
        };
        let usage = words::usage(
            &setup.model,
            &report.usage,
            report.rounds,
            report.calls.len(),
            self.took(),
        );
        self.screen.line(format_args!("{DIM}{usage}{DIM:#}"))
    }
}

/// The icon of tools that have none.
const ICON: &str = "⚙";

/// The most characters of a tool's name.
const NAME_WIDTH: usize = 64;
