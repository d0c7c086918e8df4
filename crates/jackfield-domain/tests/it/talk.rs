//! A client that keeps the conversation on its side, and the session behind it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::{Block, Content, RanBy};
use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::client_view;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Envelope, Fact, InputKind, TurnEnd};
use jackfield_domain::ids::{DeliveryId, SessionId, TurnId};
use jackfield_domain::limits::Limits;
use jackfield_domain::locate::{SessionIndex, chain, results};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::send_message::SendMessageUseCase;
use jackfield_domain::session::Session;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool_loop::{Action, Input, LOOP_VERSION, Step, ToolLoop};
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{Answer, Delivery, DeliveryBody, Wait, WaitKind};

/// Whose the sessions are.
pub(crate) const ANN: &str = "ann";

/// A part of a model's reply.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// A call of a tool of the client's, with these arguments.
    Client(String),
    /// A call of a tool of the server's.
    Server(&'static str),
    Text(Arc<str>),
    Thinking(Arc<str>),
}

/// A conversation.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    deliveries: u32,
    display: Display,
    /// How long the history was at the end of each turn.
    pub(crate) ends: Vec<usize>,
    /// What the client has.
    pub(crate) history: Vec<Message>,
    now: Now,
    session: SessionId,
    pub(crate) steps: Vec<Envelope>,
}

impl Talk {
    /// A session in which nothing was said.
    pub(crate) fn new(session: &str, server_tools: bool) -> Self {
        Self {
            deliveries: 0,
            display: Display {
                calls_as_written: false,
                server_tools,
            },
            ends: Vec::new(),
            history: Vec::new(),
            now: Now {
                mono: MonoTime::from_start(Duration::from_secs(5)),
                wall: WallTime::from_millis(1_000_000),
            },
            session: SessionId::parse(session).expect("an id"),
            steps: Vec::new(),
        }
    }

    /// The same for clients that are shown their calls while they are written.
    pub(crate) const fn shown_as_written(mut self) -> Self {
        self.display.calls_as_written = true;
        self
    }

    /// What its client was shown.
    pub(crate) fn known(&self) -> SessionIndex {
        SessionIndex::from_steps(self.session.clone(), &self.steps)
    }

    /// The client says something, and gets it answered in these rounds; the last one calls nothing.
    pub(crate) fn say(&mut self, words: &str, rounds: &[Vec<Part>]) {
        self.history.push(Message::user(words));
        let caller = Caller {
            body: None,
            dialect: "claude".into(),
            display: self.display,
            echo: None,
            key: None,
            model: "m".into(),
            principal: ANN.into(),
            view: chain(&self.history).last().copied(),
        };
        let limits = Limits {
            rounds: 50,
            repeats: 50,
            ..Limits::default()
        };
        let setup = Arc::new(Setup {
            caller: Some(Arc::new(caller)),
            ..crate::world::setup(limits)
        });
        let facts = self.steps.iter().flat_map(|step| &step.facts);
        let folded = Session::fold(self.session.clone(), facts);
        let base = folded.next_turn();
        let opening = Opening::UserMessage(Arc::new(Message::user(words)));
        let (mut turn, step) = SendMessageUseCase::begin(base, opening, setup, self.now);
        let mut rounds = rounds.iter();
        let mut segment = 0;
        let mut work = self.keep(step, InputKind::Began);
        while !turn.is_over() {
            if let Some(action) = work.pop_front() {
                let more = self.perform(&mut turn, action, &mut rounds);
                work.extend(more);
                continue;
            }
            self.take(turn.turn().id(), segment);
            segment += 1;
            let more = self.bring(&mut turn);
            work.extend(more);
        }
        let is_answered = matches!(turn.turn().end(), Some(TurnEnd::Answered(_)));
        assert!(is_answered, "{:?}", turn.turn().end());
        self.take(turn.turn().id(), segment);
        self.ends.push(self.history.len());
    }

    /// The key that the last turn was recorded with.
    pub(crate) fn view(&self) -> Option<Digest> {
        let facts = self.steps.iter().flat_map(|step| &step.facts);
        let mut views = facts.filter_map(|fact| match fact {
            Fact::TurnEnded { view, .. } => Some(*view),
            _ => None,
        });
        views.next_back().flatten()
    }

    /// The client gets a reply.
    fn take(&mut self, turn: &TurnId, segment: u32) {
        let reply = client_view::reply(&self.steps, turn, segment);
        let reply = reply.expect("a segment that is over").expect("a reply");
        self.history.push(Message::clone(&reply.message));
    }

    /// The client brings what the last reply asks for, in an order of its own.
    fn bring(&mut self, turn: &mut ToolLoop) -> VecDeque<Action> {
        let last = self.history.last().expect("a reply");
        let asked = last.calls().filter(|call| call.ran_by == RanBy::Client);
        let outcomes = asked.map(|call| {
            let outcome = ToolOutcome {
                call: call.id.clone(),
                opaque: Vec::new(),
                result: ToolResult::text(format!("what {} gives", call.id)),
            };
            Block::from(Content::ToolOutcome(Arc::new(outcome)))
        });
        let mut outcomes: Vec<Block> = outcomes.collect();
        outcomes.reverse();
        assert!(!outcomes.is_empty(), "nothing was asked for: {last:?}");
        self.history.push(Message::new(Role::Tool, outcomes));
        if self.deliveries.is_multiple_of(2) {
            self.history.push(Message::user("and mind the gap"));
        }
        let mut work = VecDeque::new();
        for brought in results(&self.history) {
            self.deliveries += 1;
            let wait = {
                let mut waits = turn.turn().waits();
                let asks =
                    |wait: &&Wait| wait.kind == WaitKind::ClientResult && wait.call == brought.call;
                waits.find(asks).expect("an open wait").id.clone()
            };
            let delivery = Delivery {
                at: self.now.wall,
                body: DeliveryBody::Answer {
                    answer: Answer::ClientResult(brought.result.clone().into()),
                    wait,
                },
                by: ANN.into(),
                id: DeliveryId::parse(&format!("d{}", self.deliveries)).expect("an id"),
            };
            let step = turn.handle(Input::Delivered(delivery), self.now);
            work.extend(self.keep(step, InputKind::Delivered));
        }
        work
    }

    fn perform<'a>(
        &mut self,
        turn: &mut ToolLoop,
        action: Action,
        rounds: &mut impl Iterator<Item = &'a Vec<Part>>,
    ) -> VecDeque<Action> {
        match action {
            Action::RunTool(run) => {
                let input = Input::ToolFinished {
                    result: ToolResult::text(format!("fine {}", run.attempt.call)),
                    attempt: run.attempt,
                };
                let step = turn.handle(input, self.now);
                self.keep(step, InputKind::ToolFinished)
            }
            Action::CallModel { attempt, .. } => {
                let parts = rounds.next().expect("a round");
                for delta in deltas(parts) {
                    let step = turn.handle(Input::ReplyDelta { attempt, delta }, self.now);
                    assert_eq!(step.facts, []);
                }
                let usage = Usage {
                    input: 10,
                    output: 5,
                    ..Usage::default()
                };
                let end = Box::new(ReplyEnd {
                    usage: Some(usage),
                    ..ReplyEnd::new(FinishReason::Stop)
                });
                let step = turn.handle(Input::ReplyEnded { attempt, end }, self.now);
                self.keep(step, InputKind::ReplyEnded)
            }
            Action::AbandonTool { .. }
            | Action::Abort(_)
            | Action::Finish(_)
            | Action::OpenWait(_)
            | Action::ResumeTool { .. } => VecDeque::new(),
        }
    }

    fn keep(&mut self, step: Step, input: InputKind) -> VecDeque<Action> {
        if !step.facts.is_empty() {
            self.steps.push(Envelope {
                facts: step.facts,
                input,
                now: self.now,
                step: self.steps.len() as u64,
                version: LOOP_VERSION,
            });
        }
        step.actions.into()
    }
}

fn deltas(parts: &[Part]) -> Vec<Delta> {
    let mut deltas = Vec::new();
    for (index, part) in (0..).zip(parts) {
        let call = |name: &str| BlockStart::ToolCall {
            json: true,
            name: name.into(),
            ran_by: RanBy::Engine,
            upstream: None,
        };
        let (start, piece) = match part {
            Part::Client(raw) => {
                let text = raw.as_str().into();
                (call("client"), Delta::ArgumentsAppended { index, text })
            }
            Part::Server(tool) => {
                let text = "{}".into();
                (call(tool), Delta::ArgumentsAppended { index, text })
            }
            Part::Text(text) => {
                let text = Arc::clone(text);
                (BlockStart::Text, Delta::TextAppended { index, text })
            }
            Part::Thinking(text) => {
                let text = Arc::clone(text);
                let start = BlockStart::Thinking { redacted: false };
                (start, Delta::TextAppended { index, text })
            }
        };
        deltas.push(Delta::BlockStarted { index, start });
        deltas.push(piece);
        deltas.push(Delta::BlockEnded { index });
    }
    deltas
}
