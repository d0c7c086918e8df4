//! A turn by example: a table of what happens and what the loop does about it, line by line.
//!
//! At every step the conversation keeps the rules, and so does every request.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{DeliveryId, SessionId, ToolAttempt, ToolCallId};
use jackfield_domain::message::{Message, Messages};
use jackfield_domain::request::{Attempt, ModelRequest};
use jackfield_domain::rules;
use jackfield_domain::send_message::SendMessageUseCase;
use jackfield_domain::session::Session;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool_loop::{Action, Input, Step, ToolLoop};
use jackfield_domain::wait::{Delivery, DeliveryBody, JobHandle, Question, WaitKind};

mod happening;
mod line;

pub(crate) use self::happening::{
    It, Part, answer, asks, breaks, call, calls, fails, finishes, passes, reply, says, text,
};

/// What happens, and the lines that the loop answers with.
pub(crate) type Row<'a> = (It, &'a [&'a str]);

/// A turn that is driven by a table.
pub(crate) struct Scene {
    /// The tries at tool calls that were asked for and not answered, by the tool's name.
    asked: Vec<(String, ToolAttempt)>,
    deliveries: u32,
    pub(crate) facts: Vec<Fact>,
    /// The tries that were aborted, or lost with their process.
    gone: Vec<(String, ToolAttempt)>,
    pub(crate) machine: ToolLoop,
    now: Now,
    pub(crate) request: Option<ModelRequest>,
    pub(crate) wake: Option<MonoTime>,
}

/// Plays a turn that begins with "go", and compares every line.
pub(crate) fn check(setup: Setup, first: &[&str], rows: Vec<Row<'_>>) -> Scene {
    let (mut scene, lines) = Scene::begin(Arc::new(setup));
    assert_eq!(lines, first, "at the beginning");
    scene.go_on(rows);
    scene
}

impl Scene {
    /// A turn that begins with "go" in a session of its own.
    pub(crate) fn begin(setup: Arc<Setup>) -> (Self, Vec<String>) {
        let opening = Opening::UserMessage(Arc::new(Message::user("go")));
        Self::open(Session::new(session()), opening, setup, Vec::new())
    }

    /// A turn that begins with this opening, in a session as it is.
    pub(crate) fn open(
        session: Session,
        opening: Opening,
        setup: Arc<Setup>,
        before: Vec<Fact>,
    ) -> (Self, Vec<String>) {
        let now = Now {
            mono: MonoTime::from_start(Duration::from_secs(5)),
            wall: WallTime::from_millis(1_000_000),
        };
        let base = session.next_turn();
        let (machine, step) = SendMessageUseCase::begin(base, opening, setup, now);
        let mut scene = Self {
            asked: Vec::new(),
            deliveries: 0,
            facts: before,
            gone: Vec::new(),
            machine,
            now,
            request: None,
            wake: None,
        };
        let lines = scene.keep(step);
        (scene, lines)
    }

    /// The session's next turn, with what the facts so far tell.
    pub(crate) fn next_turn(self, opening: Opening, setup: Setup) -> (Self, Vec<String>) {
        let folded = Session::fold(session(), &self.facts);
        assert_eq!(folded.open_turn(), None, "the last turn has ended");
        Self::open(folded, opening, Arc::new(setup), self.facts)
    }

    /// Goes on with a table.
    pub(crate) fn go_on(&mut self, rows: Vec<Row<'_>>) {
        for (n, (it, expected)) in rows.into_iter().enumerate() {
            let what = format!("{it:?}");
            let lines = self.play(it);
            assert_eq!(lines, expected, "row {n}: {what}");
        }
    }

    /// Lets something happen.
    pub(crate) fn play(&mut self, it: It) -> Vec<String> {
        match it {
            It::Answers { of, answer } => {
                let call = self.call_named(of);
                let wait = self.machine.turn().waits().find(|wait| wait.call == call);
                let wait = wait.expect("an open question about it").id.clone();
                self.deliver(DeliveryBody::Answer { answer, wait })
            }
            It::Asks(tool) => {
                let attempt = self.take_asked(tool);
                let handle = handle();
                let question = Question {
                    message: "which one?".into(),
                    schema: None,
                    sampling: None,
                    url: None,
                };
                self.feed(Input::ToolAsked {
                    attempt,
                    handle,
                    question,
                })
            }
            It::Accepts(tool) => {
                let attempt = self.take_asked(tool);
                self.asked.push((tool.to_owned(), attempt.clone()));
                let handle = handle();
                self.feed(Input::ToolAccepted { attempt, handle })
            }
            It::Breaks(tool, failure) => {
                let attempt = self.take_asked(tool);
                self.feed(Input::ToolFailed { attempt, failure })
            }
            It::Cancels(cause) => {
                let turn = self.machine.turn().id().clone();
                self.deliver(DeliveryBody::Cancel { cause, turn })
            }
            It::Crashes(restrictions) => {
                self.gone.append(&mut self.asked);
                self.now.mono = MonoTime::from_start(Duration::from_secs(1));
                let recovered = SendMessageUseCase::recover(
                    &session(),
                    &self.facts,
                    &[],
                    self.now,
                    restrictions,
                    Vec::new(),
                );
                let (machine, step) = recovered.expect("an open turn");
                self.machine = machine;
                self.keep(step)
            }
            It::Fails(failure) => {
                let attempt = self.machine.calling().expect("a model call");
                self.feed(Input::ReplyFailed { attempt, failure })
            }
            It::Finishes(tool, result) => {
                let attempt = self.take_asked(tool);
                self.feed(Input::ToolFinished { attempt, result })
            }
            It::FinishesLate(tool, result) => {
                let place = self.gone.iter().position(|(name, _)| name == tool);
                let (_, attempt) = self.gone.remove(place.expect("a try that is gone"));
                self.feed(Input::ToolFinished { attempt, result })
            }
            It::Passes(time) => {
                self.now.mono = self.now.mono.after(time);
                self.now.wall = self.now.wall.after(time);
                self.feed(Input::Woke)
            }
            It::Replies { parts, end } => {
                let attempt = self.machine.calling().expect("a model call");
                let mut lines = self.say(&parts);
                if let Some(end) = end {
                    let end = Box::new(end);
                    lines.extend(self.feed(Input::ReplyEnded { attempt, end }));
                }
                lines
            }
            It::Told(input) => self.feed(input),
        }
    }

    /// What is in the messages, a line for each block.
    pub(crate) fn transcript(&self) -> Vec<String> {
        line::transcript(self.messages())
    }

    pub(crate) fn messages(&self) -> &Messages {
        self.machine.turn().messages_for_model()
    }

    pub(crate) fn feed(&mut self, input: Input) -> Vec<String> {
        let step = self.machine.handle(input, self.now);
        self.keep(step)
    }

    /// How long until the loop wants to be woken.
    pub(crate) fn sleep(&self) -> Option<Duration> {
        self.wake.map(|wake| wake.since(self.now.mono))
    }

    fn say(&mut self, parts: &[Part]) -> Vec<String> {
        let attempt = self.machine.calling().expect("a model call");
        let deltas = happening::deltas(parts);
        deltas
            .into_iter()
            .flat_map(|delta| self.feed(Input::ReplyDelta { attempt, delta }))
            .collect()
    }

    fn deliver(&mut self, body: DeliveryBody) -> Vec<String> {
        self.deliveries += 1;
        let id = DeliveryId::parse(&format!("d{}", self.deliveries)).expect("a valid id");
        self.feed(Input::Delivered(Delivery {
            at: self.now.wall,
            body,
            by: "somebody".into(),
            id,
        }))
    }

    fn keep(&mut self, step: Step) -> Vec<String> {
        self.wake = step.wake;
        self.facts.extend(step.facts.iter().cloned());
        let mut lines: Vec<String> = Vec::new();
        for fact in &step.facts {
            lines.extend(line::of_fact(fact, self.now, |call| self.name_of(call)));
        }
        let turn = self.machine.turn().messages_for_model();
        assert_eq!(rules::check_history(turn.iter()), Ok(()), "{lines:?}");
        for action in step.actions {
            lines.push(line::of_action(&action, |call| self.name_of(call)));
            match action {
                Action::Abort(Attempt::Tool(attempt)) => {
                    let place = self.asked.iter().position(|(_, asked)| *asked == attempt);
                    let gone = place.map(|place| self.asked.remove(place));
                    self.gone.extend(gone);
                }
                Action::CallModel { request, .. } => self.request = Some(*request),
                Action::ResumeTool { attempt, tool, .. } => {
                    self.asked.push((tool.tool.to_string(), attempt));
                }
                Action::RunTool(run) => {
                    self.asked
                        .push((run.tool.tool.to_string(), run.attempt.clone()));
                }
                Action::AbandonTool { .. }
                | Action::Abort(Attempt::Model(_))
                | Action::Finish(_)
                | Action::OpenWait(_) => {}
            }
        }
        lines
    }

    fn take_asked(&mut self, tool: &str) -> ToolAttempt {
        let place = self.asked.iter().position(|(name, _)| name == tool);
        self.asked.remove(place.expect("a call that runs")).1
    }

    /// The last call of this tool.
    pub(crate) fn call_named(&self, tool: &str) -> ToolCallId {
        if tool == BUDGET {
            let pause = self.machine.turn().waits().next();
            return pause.expect("a pause").call.clone();
        }
        let calls = self.facts.iter().rev().filter_map(|fact| match fact {
            Fact::ReplyReceived { reply, .. } => Some(reply.message.calls()),
            _ => None,
        });
        let mut calls = calls.flatten().filter(|call| call.name.as_str() == tool);
        calls.next().expect("a call of it").id.clone()
    }

    fn name_of(&self, id: &ToolCallId) -> String {
        let is_pause = |fact: &Fact| matches!(fact, Fact::WaitOpened { wait } if wait.call == *id && matches!(wait.kind, WaitKind::Budget { .. }));
        if self.facts.iter().any(is_pause) {
            return BUDGET.to_owned();
        }
        let replies = self.facts.iter().filter_map(|fact| match fact {
            Fact::ReplyReceived { reply, .. } => Some(reply),
            _ => None,
        });
        let mut calls = replies.flat_map(|reply| reply.message.calls());
        calls
            .find(|call| call.id == *id)
            .map_or_else(|| id.to_string(), |call| call.name.as_str().to_owned())
    }
}

/// The session of all scenes.
pub(crate) fn session() -> SessionId {
    SessionId::parse("scene").expect("a valid id")
}

/// What a paused turn waits for, in place of a call.
pub(crate) const BUDGET: &str = "the budget";

fn handle() -> JobHandle {
    JobHandle(Arc::new(serde_json::json!("job 7")))
}

/// The facts of a turn in which somebody allowed all calls of the tool `ask` for the session.
pub(crate) fn granted_for_session() -> Vec<Fact> {
    let (mut scene, _) = Scene::begin(Arc::new(crate::world::setup(
        jackfield_domain::limits::Limits::default(),
    )));
    scene.play(calls(&["ask"]));
    scene.play(answer(
        "ask",
        jackfield_domain::wait::Answer::Approval(jackfield_domain::wait::Approval::Granted {
            edited: None,
            for_session: true,
        }),
    ));
    scene.facts
}
