//! A world apart from the journal: what acts, what is recorded and what is lost at a crash are different events.
//!
//! The world drives the bare loop as a driver would, from a list of [`Op`]s. It keeps what was
//! committed, what was asked for, and what is in flight, and writes down every violation of a
//! property by its name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::Block;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolAttempt};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::request::Attempt;
use jackfield_domain::send_message::SendMessageUseCase;
use jackfield_domain::session::Session;
use jackfield_domain::setup::{Opening, Setup, Transcript};
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool_loop::{Action, Input, LOOP_VERSION, Restrictions, Step, ToolLoop};
use jackfield_domain::wait::{CancelCause, Delivery, DeliveryBody, Wait};

mod answers;
mod checks;
mod compactions;
mod days;
mod explore;
mod forks;
mod inbox;
mod ledger;
mod logs;
mod offers;
mod oracle;
mod replayed;
mod routes;
mod scenario;
mod targets;
mod unusable;
mod views;

pub(crate) use self::checks::Property;
pub(crate) use self::explore::{Class, explored};
use self::ledger::Ledger;
pub(crate) use self::replayed::CHANGES;
pub(crate) use self::scenario::{TOOLS, setup};
use self::views::Watched;

/// Something that the world does to the loop, or to itself. Numbers are taken modulo what there is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Time passes.
    Advance { millis: u32 },
    /// A model or a tool that is at work answers.
    Answer { pick: u16, variant: u16 },
    /// Somebody cancels.
    Cancel,
    /// The process dies around the next commit, and another one takes over.
    Crash { point: CrashPoint },
    /// Somebody answers a wait; it is consumed at once, or lies in the inbox.
    Deliver {
        consumed: bool,
        pick: u16,
        variant: u16,
    },
    /// From the next crash on, this tool may no longer start; or all may again.
    Forbid { pick: u16 },
    /// Something that was told before is told again, and a tool answers a call that was given up.
    Repeat { pick: u16 },
    /// The breaker of a target opens for so many seconds, or is half open with its trial in flight; 0 closes it.
    Trip { target: u32, seconds: Option<u8> },
}

/// Where a process dies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum CrashPoint {
    /// The append did not happen.
    BeforeCommit,
    /// The append happened, nothing was done.
    BeforeAct,
    /// The append happened, everything was asked for; all that is in flight is lost.
    AfterAct,
    /// At once, between two inputs.
    Now,
}

/// What is in flight.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    pub(crate) attempt: Attempt,
    /// The next block's number, for a model.
    pub(crate) blocks: u32,
    /// Whether it can be taken up again, for a tool.
    pub(crate) accepted: bool,
}

/// The world.
pub(crate) struct World {
    pub(crate) asked: Vec<Action>,
    /// The breakers that are not closed, by target, each with the instant at which it may be tried.
    breakers: BTreeMap<u32, Option<WallTime>>,
    pub(crate) classes: BTreeSet<Class>,
    pub(crate) committed: Vec<Fact>,
    crash_next: Option<CrashPoint>,
    deliveries: u32,
    pub(crate) inbox: Vec<Delivery>,
    pub(crate) in_flight: Vec<InFlight>,
    ledger: Ledger,
    pub(crate) machine: ToolLoop,
    now: Now,
    recovering: bool,
    pub(crate) seen: usize,
    session: SessionId,
    pub(crate) setup: Arc<Setup>,
    /// What was committed, as a journal keeps it.
    pub(crate) steps: Vec<Envelope>,
    /// What the process forbids that takes over next.
    pub(crate) today: Restrictions,
    told: Vec<Input>,
    pub(crate) violations: Vec<(Property, String)>,
    /// What could be watched.
    pub(crate) watched: Vec<Watched>,
}

impl World {
    /// A world in which a turn has just begun.
    pub(crate) fn begin(setup: Arc<Setup>) -> Self {
        let session = SessionId::parse("world").expect("a valid id");
        let now = Now {
            mono: MonoTime::from_start(Duration::from_secs(10)),
            wall: WallTime::from_millis(1_700_000_000_000),
        };
        let base = Session::new(session.clone()).next_turn();
        let message = Message::user("do it");
        let opening = if setup.compaction.is_some() {
            // A beginning that is worth a compaction.
            let before = Message::new(Role::Assistant, vec![Block::text("long ".repeat(160))]);
            let messages = vec![Message::user("before"), before, message];
            Opening::Transcript(Transcript::parse(messages).expect("a transcript"))
        } else {
            Opening::UserMessage(Arc::new(message))
        };
        let (machine, step) = SendMessageUseCase::begin(base, opening, Arc::clone(&setup), now);
        let mut world = Self {
            asked: Vec::new(),
            breakers: BTreeMap::new(),
            classes: BTreeSet::new(),
            committed: Vec::new(),
            crash_next: None,
            deliveries: 0,
            inbox: Vec::new(),
            in_flight: Vec::new(),
            ledger: Ledger::default(),
            machine,
            now,
            recovering: false,
            seen: 0,
            session,
            setup,
            steps: Vec::new(),
            today: Restrictions::default(),
            told: Vec::new(),
            violations: Vec::new(),
            watched: Vec::new(),
        };
        world.check_step(&step, None);
        world.commit(step, InputKind::Began);
        world
    }

    /// Does one thing.
    pub(crate) fn run(&mut self, op: Op) {
        match op {
            Op::Advance { millis } => {
                let passed = Duration::from_millis(u64::from(millis));
                self.now.mono = self.now.mono.after(passed);
                self.now.wall = self.now.wall.after(passed);
                self.feed(Input::Woke);
            }
            Op::Answer { pick, variant } => self.answer(pick, variant),
            Op::Cancel => {
                let turn = self.machine.turn().id().clone();
                let body = DeliveryBody::Cancel {
                    cause: CancelCause::Asked,
                    turn,
                };
                self.deliver(body, true);
            }
            Op::Crash {
                point: CrashPoint::Now,
            } => self.crash_and_recover(),
            Op::Crash { point } => self.crash_next = Some(point),
            Op::Deliver {
                consumed,
                pick,
                variant,
            } => {
                let waits: Vec<Wait> = self.machine.turn().waits().cloned().collect();
                if let Some(wait) = pick_from(&waits, pick) {
                    let answer = answers::to_wait(wait, variant);
                    let body = DeliveryBody::Answer {
                        answer,
                        wait: wait.id.clone(),
                    };
                    self.deliver(body, consumed);
                }
            }
            Op::Forbid { pick } => self.forbid(pick),
            Op::Trip { target, seconds } => {
                let until = |seconds| self.now.wall.after(Duration::from_secs(u64::from(seconds)));
                match seconds {
                    Some(0) => _ = self.breakers.remove(&target),
                    seconds => _ = self.breakers.insert(target, seconds.map(until)),
                }
            }
            Op::Repeat { pick } => {
                if let Some(input) = pick_from(&self.told, pick).cloned() {
                    self.feed_again(input);
                }
                self.hear_late(pick);
            }
        }
    }

    /// Lets everything go well until the turn ends.
    pub(crate) fn play_out(&mut self) {
        for n in 0..200 {
            if self.machine.is_over() {
                return;
            }
            if !self.in_flight.is_empty() {
                // The model goes on calling for a while, then answers.
                let variant = if n % 3 == 0 { 0 } else { answers::FINAL };
                self.answer(0, variant);
                continue;
            }
            self.consume();
            let wait = self.machine.turn().waits().next().cloned();
            if let Some(wait) = wait {
                let answer = answers::to_wait(&wait, 0);
                let body = DeliveryBody::Answer {
                    answer,
                    wait: wait.id,
                };
                self.deliver(body, true);
                // It may have been too late for an answer.
                self.feed(Input::Woke);
            } else {
                self.run(Op::Advance { millis: 10_000 });
            }
        }
        self.violate(Property::EveryTurnEnds, {
            let waits: Vec<_> = self.machine.turn().waits().collect();
            format!(
                "still open: waits {waits:?}, in flight {:?}, inbox {:?}",
                self.in_flight, self.inbox
            )
        });
    }

    /// Tells the loop something, with the pieces of a reply before its end.
    pub(crate) fn feed(&mut self, input: Input) {
        if self.machine.is_over() {
            self.classes.insert(Class::ToldAfterTheEnd);
        }
        self.show_breakers();
        let before = self.machine.clone();
        let step = self.machine.handle(input.clone(), self.now);
        if self.is_answered(&step) {
            // The journal refuses to close a wait that has an answer which nobody has read.
            self.classes.insert(Class::AnsweredRefusal);
            self.machine = before;
            self.consume();
            if !self.machine.is_over() {
                self.feed(input);
            }
            return;
        }
        self.check_step(&step, Some((&before, &input)));
        self.check_late(&before, &input, &step);
        if let Input::ReplyDelta { attempt, delta } = &input
            && self.machine.calling() == Some(*attempt)
        {
            self.watched.push(Watched::Delta(*attempt, delta.clone()));
        }
        self.ledger.tell(&input);
        let kind = input.kind();
        self.told.push(input);
        self.commit(step, kind);
    }

    /// A zombie, or a network, tells something a second time.
    fn feed_again(&mut self, input: Input) {
        // The same piece twice in one reply is the adapter's fault, and not what this is about.
        let attempt = answers::attempt_of(&input);
        if self
            .in_flight
            .iter()
            .any(|flying| Some(&flying.attempt) == attempt.as_ref())
        {
            return;
        }
        self.show_breakers();
        let before = self.machine.clone();
        let step = self.machine.handle(input.clone(), self.now);
        self.check_repeated(&before, &input, &step);
        self.check_step(&step, Some((&before, &input)));
        self.ledger.tell(&input);
        self.commit(step, input.kind());
    }

    /// Commits, then acts: or dies somewhere in between.
    fn commit(&mut self, step: Step, input: InputKind) {
        if step.facts.is_empty() && step.actions.is_empty() {
            return self.ledger.commit();
        }
        // Of a turn that is over nothing is taken up that could take back what its machine was told.
        let mut committed = self.committed.iter();
        let is_over = committed.any(|fact| matches!(fact, Fact::TurnEnded { .. }));
        let crash = self.crash_next.take().filter(|_| !is_over);
        if crash == Some(CrashPoint::BeforeCommit) {
            self.ledger.lose();
            return self.crash_and_recover();
        }
        if !step.facts.is_empty() {
            let committed = Envelope {
                facts: step.facts.clone(),
                input,
                now: self.now,
                step: self.steps.len() as u64,
                version: LOOP_VERSION,
            };
            self.watched.push(Watched::Step(committed.clone()));
            self.steps.push(committed);
        }
        self.committed.extend(step.facts);
        self.ledger.commit();
        self.check_spending();
        if crash == Some(CrashPoint::BeforeAct) {
            return self.crash_and_recover();
        }
        for action in step.actions {
            self.act(action);
        }
        if crash == Some(CrashPoint::AfterAct) {
            self.crash_and_recover();
        }
    }

    fn act(&mut self, action: Action) {
        self.check_action(&action);
        match &action {
            Action::Abort(attempt) => {
                self.in_flight.retain(|flying| flying.attempt != *attempt);
            }
            Action::CallModel { attempt, .. } => self.fly(Attempt::Model(*attempt), false),
            Action::ResumeTool { attempt, .. } => self.fly(Attempt::Tool(attempt.clone()), true),
            Action::RunTool(run) => self.fly(Attempt::Tool(run.attempt.clone()), false),
            Action::AbandonTool { .. } | Action::Finish(_) | Action::OpenWait(_) => {}
        }
        self.asked.push(action);
    }

    fn fly(&mut self, attempt: Attempt, accepted: bool) {
        self.in_flight.retain(|flying| flying.attempt != attempt);
        self.in_flight.push(InFlight {
            attempt,
            blocks: 0,
            accepted,
        });
    }

    /// Everything that is not committed is gone; another process takes over.
    fn crash_and_recover(&mut self) {
        self.count_crash();
        self.watched.push(Watched::Crash);
        self.in_flight.clear();
        // No turn was ever accepted: there is nothing to take up.
        if self.committed.is_empty() {
            let fresh = Self::begin(Arc::clone(&self.setup));
            self.machine = fresh.machine;
            self.committed = fresh.committed;
            self.ledger = fresh.ledger;
            self.steps = fresh.steps;
            self.watched = fresh.watched;
            self.asked = fresh.asked;
            self.in_flight = fresh.in_flight;
            return;
        }
        self.now.mono = MonoTime::from_start(Duration::from_secs(1));
        let recovered = SendMessageUseCase::recover(
            &self.session,
            &self.committed,
            &self.inbox,
            self.now,
            self.today.clone(),
            self.snapshots(),
        );
        let Some((machine, step)) = recovered else {
            return;
        };
        self.check_recovery(&machine, &step);
        self.seen = self.inbox.len();
        self.machine = machine;
        self.recovering = true;
        self.check_step(&step, None);
        self.commit(step, InputKind::Recovered);
        self.recovering = false;
    }

    pub(crate) const fn is_recovering(&self) -> bool {
        self.recovering
    }

    pub(crate) fn violate(&mut self, property: Property, detail: String) {
        self.violations.push((property, detail));
    }

    pub(crate) const fn session(&self) -> &SessionId {
        &self.session
    }

    /// Tells the pieces of a text block.
    pub(crate) fn say(&mut self, attempt: ModelAttempt, index: u32, text: &str) {
        let start = BlockStart::Text;
        for delta in [
            Delta::BlockStarted { index, start },
            Delta::TextAppended {
                index,
                text: format!("{text} ({}.{})", attempt.round, attempt.attempt).into(),
            },
            Delta::BlockEnded { index },
        ] {
            self.feed(Input::ReplyDelta { attempt, delta });
        }
    }

    /// How often each try at a tool call was asked for.
    pub(crate) fn runs(&self) -> BTreeMap<&ToolAttempt, u32> {
        let mut runs = BTreeMap::new();
        for action in &self.asked {
            if let Action::RunTool(run) = action {
                *runs.entry(&run.attempt).or_default() += 1;
            }
        }
        runs
    }
}

/// The element at this place, modulo how many there are.
pub(crate) fn pick_from<T>(from: &[T], pick: u16) -> Option<&T> {
    from.get(usize::from(pick).checked_rem(from.len())?)
}
