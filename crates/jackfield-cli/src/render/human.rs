//! Renders a turn for people: the answer as it arrives, and each call in its place.

mod calls;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::delta::Delta;
use jackfield_domain::fact::{AfterLoss, Fact, ModelCallEnd, ToolUse, TurnEnd};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::setup::Setup;
use jackfield_domain::time::{MonoTime, Now};
use jackfield_domain::wait::{Wait, WaitEnd};
use jackfield_engine::{AnswerFit, TurnReport};
use jackfield_export::values;

use self::calls::{NAME_WIDTH, PrintedCall};
use crate::render::blocks::{BlockEvent, Blocks};
use crate::render::event::RenderEvent;
use crate::render::markdown::Markdown;
use crate::render::plain::{DIM, WARM};
use crate::render::screen::Screen;
use crate::render::spinner::Spinner;
use crate::render::words;
use crate::render::{self, PromptPlace, QuestionPrompt, TurnRenderer, answers, spent};

/// The options of the renderer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HumanOptions {
    /// Whether the answer is rendered as Markdown, and if so, whether with styles.
    pub markdown: Option<bool>,
    /// Whether a spinner shows the current activity.
    pub spins: bool,
    /// Whether the answer goes to a terminal, which would obey control characters.
    pub terminal: bool,
    /// Whether both streams are the same terminal or file.
    pub together: bool,
    /// Whether notes, reasoning and whole results are shown, too.
    pub verbose: bool,
}

/// Renders a turn for a person.
#[derive(Debug)]
pub struct HumanRenderer<O, E> {
    asks: bool,
    blocks: Blocks,
    calls: BTreeMap<ToolCallId, PrintedCall>,
    first: Option<MonoTime>,
    last: MonoTime,
    options: HumanOptions,
    markdown: Option<Markdown>,
    notes: Vec<Note>,
    has_output: bool,
    screen: Screen<O, E>,
    setup: Option<Arc<Setup>>,
    /// The target of the last model call.
    target: u32,
    spinner: Spinner,
}

impl<O: Write + Send, E: Write + Send> HumanRenderer<O, E> {
    /// A renderer on this screen.
    pub fn new(screen: Screen<O, E>, look: HumanOptions) -> Self {
        Self {
            asks: false,
            blocks: Blocks::default(),
            calls: BTreeMap::new(),
            first: None,
            last: MonoTime::default(),
            options: look,
            markdown: look.markdown.map(Markdown::new),
            notes: Vec::new(),
            has_output: false,
            screen,
            setup: None,
            target: 0,
            spinner: Spinner::new(look.spins),
        }
    }

    /// Whether a person answers questions here. The question shows a call that needs an approval then, and no line
    /// before it.
    #[must_use]
    pub const fn asking(mut self, asks: bool) -> Self {
        self.asks = asks;
        self
    }

    /// The screen, with everything printed to it.
    pub fn into_screen(self) -> Screen<O, E> {
        self.screen
    }

    /// Prints the part of the answer that was held back.
    fn flush_markdown(&mut self) -> io::Result<()> {
        let Some(markdown) = &mut self.markdown else {
            return Ok(());
        };
        let rest = markdown.finish();
        self.markdown = self.options.markdown.map(Markdown::new);
        self.screen.text(&rest)
    }

    fn fact(&mut self, fact: &Fact, now: Now) -> io::Result<()> {
        self.flush_markdown()?;
        self.first.get_or_insert(now.mono);
        self.last = now.mono;
        match fact {
            Fact::TurnOpened { setup, .. } => self.setup = Some(Arc::clone(setup)),
            Fact::ModelCallStarted { target, tools, .. } => {
                if *target != self.target
                    && let Some(model) = self
                        .setup
                        .as_ref()
                        .and_then(|setup| setup.model_of(*target))
                {
                    self.remark(&format!(
                        "asking {}",
                        words::one_line(&values::model(model))
                    ))?;
                }
                self.target = *target;
                (self.blocks, self.has_output) = (Blocks::default(), false);
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
                    let wait = at.since(now.wall);
                    let when = if wait.is_zero() {
                        "going on at once".to_owned()
                    } else {
                        format!("retrying in {}", words::time(wait))
                    };
                    let again = if self.has_output {
                        " (the text above will be repeated)"
                    } else {
                        ""
                    };
                    self.warning(&format!("{}; {when}{again}", failure.message))?;
                }
            }
            Fact::Compacted(compaction) => {
                let line = spent::compaction(compaction, self.setup.as_deref());
                if compaction.failure.is_some() {
                    self.warning(&line)?;
                } else {
                    self.remark(&line)?;
                }
            }
            Fact::CallStarted {
                attempt, edited, ..
            } => {
                if let Some(edited) = edited {
                    self.edited(&attempt.call, edited)?;
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
            Fact::TurnResumed { .. } => self.forget_process(),
            Fact::WaitOpened { wait } => self.set_waiting(&wait.call),
            Fact::BackendSession { .. }
            | Fact::CallAccepted { .. }
            | Fact::CallLost { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded { .. }
            | Fact::SessionForked { .. }
            | Fact::SessionImported { .. }
            | Fact::TurnEnded { .. }
            | Fact::WaitClosed { .. } => {}
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> io::Result<()> {
        for piece in self.blocks.take(delta, call) {
            if !matches!(piece, BlockEvent::Text(_)) {
                self.flush_markdown()?;
            }
            match piece {
                BlockEvent::Call { id, input, name } => self.call(id.as_ref(), &name, &input)?,
                BlockEvent::CallBegan { name } => {
                    self.spin(format!("calling {}", words::shortened(&name, NAME_WIDTH)))?;
                }
                BlockEvent::Text(text) => {
                    self.has_output = true;
                    if let Some(markdown) = &mut self.markdown {
                        self.screen.text(&markdown.push(&text, render::columns()))?;
                    } else if self.options.terminal {
                        self.screen.text(&words::printable(&text))?;
                    } else {
                        self.screen.text(&text)?;
                    }
                }
                BlockEvent::TextBegan => {
                    self.spinner.clear();
                    self.screen.begin()?;
                }
                BlockEvent::Thinking(text) if self.options.verbose => {
                    self.screen
                        .part(format_args!("{DIM}{}{DIM:#}", words::printable(&text)))?;
                }
                BlockEvent::ThinkingBegan if self.options.verbose => {
                    self.spinner.clear();
                    self.screen.leave()?;
                }
                BlockEvent::Thinking(_) | BlockEvent::ThinkingBegan => {}
            }
        }
        Ok(())
    }

    /// Shows the spinner on a line of its own, the only line that it clears.
    fn spin(&mut self, words: String) -> io::Result<()> {
        if self.options.spins {
            self.screen.leave()?;
        }
        self.spinner.set_text(words);
        Ok(())
    }

    fn notes(&mut self, notes: &[Note]) -> io::Result<()> {
        for note in notes {
            // A change of meaning is shown in any case.
            let grave = note.effect == NoteEffect::Meaning && note.kind != NoteKind::Carried;
            if self.notes.contains(note) || !(grave || self.options.verbose) {
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

    fn elapsed(&self) -> Duration {
        self.last.since(self.first.unwrap_or(self.last))
    }
}

impl<O: Write + Send, E: Write + Send> TurnRenderer for HumanRenderer<O, E> {
    fn show(&mut self, event: &RenderEvent) -> io::Result<()> {
        match event {
            RenderEvent::Delta { call, delta, .. } => self.delta(delta, call.as_ref()),
            RenderEvent::Fact { fact, now } => self.fact(fact, *now),
            RenderEvent::PastEnded => {
                self.forget_process();
                Ok(())
            }
            RenderEvent::Progress {
                attempt,
                done,
                message,
                total,
            } => {
                let Some(shown) = self.calls.get(&attempt.call) else {
                    return Ok(());
                };
                let progress = words::progress(*done, *total, message.as_deref());
                let words = format!("{}: {progress}", shown.name);
                self.spin(words)
            }
            RenderEvent::Queued { session } => self.show_remark(&words::queued(session)),
            RenderEvent::Undecided { .. } => Ok(()),
            RenderEvent::Unavailable { problem } => self.warning(&words::problem(problem)),
        }
    }

    fn show_question(&mut self, wait: &Wait, prompt: &QuestionPrompt) -> io::Result<()> {
        self.question(wait, prompt)
    }

    fn show_answer(
        &mut self,
        wait: &Wait,
        end: &WaitEnd,
        prompt_place: PromptPlace,
    ) -> io::Result<()> {
        if prompt_place == PromptPlace::Inline {
            self.screen.line("")?;
        }
        let name = self.name(&wait.call);
        self.remark(&format!("{name}: {}", answers::wait_end(end)))
    }

    fn show_remark(&mut self, remark: &str) -> io::Result<()> {
        self.flush_markdown()?;
        self.remark(remark)
    }

    fn finish(&mut self, report: &TurnReport, _fit: &AnswerFit) -> io::Result<()> {
        self.spinner.clear();
        self.flush_markdown()?;
        self.screen.end()?;
        match &report.end {
            TurnEnd::Answered(finish) => {
                if let Some(remark) = words::finish(finish) {
                    self.warning(&remark)?;
                } else if report.answer().trim().is_empty() {
                    self.warning("the model had nothing to say")?;
                }
            }
            TurnEnd::Cancelled(cause) => self.warning(words::cancelled(*cause))?,
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
            setup.model_of(self.target).unwrap_or(&setup.model),
            (&report.usage, report.cost.as_ref()),
            report.rounds,
            report.calls.len(),
            self.elapsed(),
        );
        self.screen.line(format_args!("{DIM}{usage}{DIM:#}"))
    }
}
