//! Replay: every step of every world comes out the same, and what was changed in a record is found.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::{DeliveryId, ModelAttempt, SessionId, ToolName, WaitId};
use jackfield_domain::limits::Limits;
use jackfield_domain::message::Message;
use jackfield_domain::replay::{Replay, ReplayVerdict, StepReplay};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::send_message::SendMessageUseCase;
use jackfield_domain::session::Session;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool::Permission;
use jackfield_domain::tool_loop::{Input, LOOP_VERSION, Restriction, Restrictions, Step, ToolLoop};
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{Answer, Approval, Delivery, DeliveryBody, UnknownAnswer, WaitEnd};

use crate::world::{CHANGES, explored, setup};

#[test]
fn steps_of_every_kind_of_input_are_replayed() {
    if explored().broke_off {
        return;
    }
    let replayed = &explored().replays.steps;
    let rare: Vec<_> = FLOORS
        .iter()
        .filter(|(kind, floor)| replayed.get(*kind).copied().unwrap_or(0) < *floor)
        .collect();
    assert!(rare.is_empty(), "fewer steps than {rare:?}: {replayed:#?}");
}

#[test]
fn a_changed_decision_is_found_at_its_very_step() {
    let replays = &explored().replays;
    if let Some(missed) = &replays.missed {
        panic!("{missed}");
    }
    if explored().broke_off {
        return;
    }
    for (change, _) in CHANGES {
        let found = replays.found.get(change).copied().unwrap_or(0);
        assert!(found >= 20, "{change}: {found} times, {:#?}", replays.found);
    }
}

#[test]
fn a_difference_under_another_version_of_the_loop_is_told_as_decided_differently_since() {
    let mut recorder = Recorder::begin();
    recorder.call("read");
    let mut steps = recorder.steps;
    assert_eq!(verdicts(&steps), [ReplayVerdict::Same, ReplayVerdict::Same]);
    for step in &mut steps {
        step.version = LOOP_VERSION + 1;
    }
    assert_eq!(verdicts(&steps), [ReplayVerdict::Same, ReplayVerdict::Same]);
    for fact in &mut steps[1].facts {
        if let Fact::CallStarted { time_limit, .. } = fact {
            *time_limit = Duration::from_secs(77);
        }
    }
    let [
        ReplayVerdict::Same,
        ReplayVerdict::DecidedDifferentlySince(since),
    ] = &verdicts(&steps)[..]
    else {
        panic!("{:#?}", verdicts(&steps));
    };
    let told = "fact 1, call_started, time_limit: recorded 77s, decided 30s";
    assert_eq!(since.to_string(), told);
    steps[1].version = LOOP_VERSION;
    assert!(matches!(verdicts(&steps)[1], ReplayVerdict::Differs(_)));
}

#[test]
fn a_step_after_a_difference_is_judged_on_its_own() {
    let mut recorder = Recorder::begin();
    recorder.call("read");
    recorder.pass(Duration::from_secs(1));
    recorder.call("read");
    let mut steps = recorder.steps;
    for fact in &mut steps[0].facts {
        if let Fact::ModelCallStarted { active, .. } = fact {
            *active = Duration::from_secs(5);
        }
    }
    let verdicts = verdicts(&steps);
    assert!(matches!(verdicts[0], ReplayVerdict::Differs(_)));
    assert!(
        verdicts[1..]
            .iter()
            .all(|verdict| *verdict == ReplayVerdict::Same)
    );
}

#[test]
fn replies_that_cannot_be_read_are_rebuilt_whatever_broke_the_rules() {
    let begun = |index| Delta::BlockStarted {
        index,
        start: BlockStart::Text,
    };
    let broken: [&[Delta]; 4] = [
        &[begun(4), begun(4)],
        &[Delta::BlockEnded { index: 17 }],
        &[
            begun(3),
            Delta::ArgumentsAppended {
                index: 3,
                text: "{}".into(),
            },
        ],
        &[
            Delta::BlockStarted {
                index: 9,
                start: BlockStart::ToolCall {
                    json: true,
                    name: "read".into(),
                    ran_by: RanBy::Engine,
                    upstream: None,
                },
            },
            Delta::TextAppended {
                index: 9,
                text: "x".into(),
            },
        ],
    ];
    for pieces in broken {
        for text in ["", "so far"] {
            let mut recorder = Recorder::begin();
            recorder.say(1, text);
            for delta in pieces {
                recorder.delta(delta.clone());
            }
            assert_eq!(recorder.steps[1].input, InputKind::ReplyDelta);
            assert_eq!(
                verdicts(&recorder.steps),
                [ReplayVerdict::Same, ReplayVerdict::Same]
            );
        }
    }
}

#[test]
fn a_reply_that_ends_inside_a_block_is_rebuilt_with_what_it_cost() {
    for text in ["", "so far"] {
        let mut recorder = Recorder::begin();
        recorder.say(1, text);
        recorder.delta(Delta::BlockStarted {
            index: 12,
            start: BlockStart::Text,
        });
        recorder.end(FinishReason::Stop);
        let facts = &recorder.steps[1].facts;
        let counted = |fact: &Fact| matches!(fact, Fact::ModelCallEnded { usage: Some(_), .. });
        assert!(facts.iter().any(counted));
        assert_eq!(
            verdicts(&recorder.steps),
            [ReplayVerdict::Same, ReplayVerdict::Same]
        );
    }
}

#[test]
fn a_reply_that_breaks_off_after_a_count_is_rebuilt_with_what_was_counted() {
    let text = |length| "x".repeat(length);
    for (before, after) in [(0, 0), (0, 1), (0, 100), (3, 0), (100, 1), (100, 100)] {
        for way in 0..3 {
            let mut recorder = Recorder::begin();
            recorder.say(1, &text(before));
            let attempt = recorder.attempt();
            let usage = Usage {
                input: 10,
                output: 5,
                ..Usage::default()
            };
            recorder.tell(Input::ReplyCounted { attempt, usage });
            recorder.say(2, &text(after));
            match way {
                0 => {
                    let kind = ModelFailureKind::Overloaded;
                    let failure = ModelFailure::new(kind, Phase::MidReply, "no");
                    recorder.tell(Input::ReplyFailed { attempt, failure });
                }
                1 => recorder.delta(Delta::BlockEnded { index: 17 }),
                _ => {
                    let end = Box::new(ReplyEnd::new(FinishReason::Stop));
                    recorder.tell(Input::ReplyEnded { attempt, end });
                }
            }
            let used = recorder.steps[1].facts.iter().find_map(Fact::usage);
            let (_, used) = used.expect("what it used");
            assert_eq!((used.without_estimates(), used.estimated_input), (usage, 0));
            assert!(used.estimated_output > 0);
            let place = (before, after, way);
            let verdicts = verdicts(&recorder.steps);
            assert_eq!(
                verdicts,
                [ReplayVerdict::Same, ReplayVerdict::Same],
                "{place:?}"
            );
        }
    }
}

#[test]
fn a_reply_that_is_too_long_is_rebuilt() {
    let mut recorder = Recorder::begin();
    let text = "x".repeat(jackfield_domain::accumulator::ReplyAccumulator::MAX_UNITS);
    recorder.say(1, &text);
    let verdicts = verdicts(&recorder.steps);
    assert_eq!(verdicts, [ReplayVerdict::Same, ReplayVerdict::Same]);
}

#[test]
fn what_a_day_forbade_is_part_of_the_record() {
    for restriction in [
        Restriction::Changed,
        Restriction::Denied("denied by a rule".into()),
        Restriction::Gone,
    ] {
        let mut recorder = Recorder::begin();
        recorder.call("read");
        let read = ToolName::parse("read").expect("a name");
        let tools = [(read, restriction)].into();
        recorder.recover(Restrictions { tools });
        // The next call of it is not run either.
        recorder.call("read");
        let verdicts = verdicts(&recorder.steps);
        assert!(
            verdicts
                .iter()
                .all(|verdict| *verdict == ReplayVerdict::Same),
            "{verdicts:#?}"
        );
    }
}

#[test]
fn what_nobody_allowed_for_the_session_is_found_in_the_setup() {
    let mut recorder = Recorder::begin();
    recorder.call("ask");
    let mut steps = recorder.steps;
    for fact in &mut steps[0].facts {
        if let Fact::TurnOpened { setup, .. } = fact {
            let tools = setup.catalog.iter().cloned().map(|mut tool| {
                if &*tool.origin.tool == "ask" {
                    tool.permission = Permission::Granted {
                        by: "somebody".into(),
                        wait: WaitId::parse("wait_1").expect("an id"),
                    };
                }
                tool
            });
            let catalog = Arc::new(tools.collect());
            *setup = Arc::new(Setup {
                catalog,
                ..Setup::clone(setup)
            });
        }
    }
    let ReplayVerdict::Differs(found) = &verdicts(&steps)[0] else {
        panic!("{:#?}", verdicts(&steps));
    };
    assert_eq!((found.kind, found.field), ("turn_opened", Some("setup")));
}

#[test]
fn an_answer_that_came_in_time_and_was_passed_over_is_found() {
    for recovered in [false, true] {
        let mut recorder = Recorder::begin();
        recorder.call("ask");
        let wait = recorder.machine.turn().waits().next().cloned();
        let wait = wait.expect("somebody is asked");
        let over = wait.deadline.since(recorder.now.wall);
        if recovered {
            recorder.now.wall = wait.deadline;
            recorder.recover(Restrictions::default());
            recorder.tell(Input::Woke);
        } else {
            recorder.pass(over);
        }
        let steps = recorder.steps;
        let expired = |fact: &Fact| {
            let expired = WaitEnd::Expired;
            matches!(fact, Fact::WaitClosed { end, .. } if *end == expired)
        };
        let place = steps.iter().position(|step| step.facts.iter().any(expired));
        let place = place.expect("it expires");
        let delivered = |at, answer| Delivery {
            at,
            body: DeliveryBody::Answer {
                answer,
                wait: wait.id.clone(),
            },
            by: "somebody".into(),
            id: DeliveryId::parse("d1").expect("an id"),
        };
        let yes = Answer::Approval(Approval::Granted {
            edited: None,
            for_session: false,
        });
        let late = wait.deadline.after(Duration::from_millis(1));
        let other = Answer::UnknownOutcome(UnknownAnswer::Report);
        for harmless in [
            delivered(late, yes.clone()),
            delivered(wait.deadline, other),
        ] {
            let verdicts = verdicts_with(&steps, &[harmless]);
            assert!(
                verdicts
                    .iter()
                    .all(|verdict| *verdict == ReplayVerdict::Same)
            );
        }
        let verdicts = verdicts_with(&steps, &[delivered(wait.deadline, yes)]);
        let ReplayVerdict::Differs(found) = &verdicts[place] else {
            panic!("{recovered}: {verdicts:#?}");
        };
        assert_eq!((found.kind, found.field), ("wait_closed", Some("end")));
        assert_eq!(found.decided, "the answer of d1, delivered in time");
    }
}

fn verdicts(steps: &[Envelope]) -> Vec<ReplayVerdict> {
    verdicts_with(steps, &[])
}

fn verdicts_with(steps: &[Envelope], deliveries: &[Delivery]) -> Vec<ReplayVerdict> {
    let mut replay = Replay::new(session(), deliveries);
    let verdict = |step| {
        let StepReplay { verdict, .. } = replay.step(step);
        verdict
    };
    steps.iter().map(verdict).collect()
}

fn session() -> SessionId {
    SessionId::parse("recorded").expect("a valid id")
}

/// A turn, and the record of it.
struct Recorder {
    machine: ToolLoop,
    now: Now,
    steps: Vec<Envelope>,
}

impl Recorder {
    fn begin() -> Self {
        let now = Now {
            mono: MonoTime::from_start(Duration::from_secs(5)),
            wall: WallTime::from_millis(1_700_000_000_000),
        };
        let opening = Opening::UserMessage(Arc::new(Message::user("do it")));
        let setup = Arc::new(setup(Limits::default()));
        let base = Session::new(session()).next_turn();
        let (machine, step) = SendMessageUseCase::begin(base, opening, setup, now);
        let mut recorder = Self {
            machine,
            now,
            steps: Vec::new(),
        };
        recorder.record(step, InputKind::Began);
        recorder
    }

    fn record(&mut self, step: Step, input: InputKind) {
        if !step.facts.is_empty() {
            self.steps.push(Envelope {
                facts: step.facts,
                input,
                now: self.now,
                step: self.steps.len() as u64,
                version: LOOP_VERSION,
            });
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.after(time);
        self.now.wall = self.now.wall.after(time);
        self.tell(Input::Woke);
    }

    fn tell(&mut self, input: Input) {
        let kind = input.kind();
        let step = self.machine.handle(input, self.now);
        self.record(step, kind);
    }

    fn recover(&mut self, restrictions: Restrictions) {
        let facts = self.steps.iter().flat_map(|step| &step.facts);
        let (machine, step) =
            SendMessageUseCase::recover(&session(), facts, &[], self.now, restrictions, Vec::new())
                .expect("a turn");
        self.machine = machine;
        self.record(step, InputKind::Recovered);
    }

    fn attempt(&self) -> ModelAttempt {
        self.machine.calling().expect("a model call")
    }

    fn delta(&mut self, delta: Delta) {
        let attempt = self.attempt();
        self.tell(Input::ReplyDelta { attempt, delta });
    }

    fn say(&mut self, index: u32, text: &str) {
        let start = BlockStart::Text;
        self.delta(Delta::BlockStarted { index, start });
        let text = text.into();
        self.delta(Delta::TextAppended { index, text });
        if self.machine.calling().is_some() {
            self.delta(Delta::BlockEnded { index });
        }
    }

    fn end(&mut self, finish: FinishReason) {
        let usage = Usage {
            input: 10,
            output: 5,
            ..Usage::default()
        };
        let end = Box::new(ReplyEnd {
            usage: Some(usage),
            ..ReplyEnd::new(finish)
        });
        let attempt = self.attempt();
        self.tell(Input::ReplyEnded { attempt, end });
    }

    /// A reply with a call of this tool.
    fn call(&mut self, name: &str) {
        if self.machine.calling().is_none() {
            return;
        }
        let (index, text) = (0, "{}".into());
        let start = BlockStart::ToolCall {
            json: true,
            name: name.into(),
            ran_by: RanBy::Engine,
            upstream: None,
        };
        self.delta(Delta::BlockStarted { index, start });
        self.delta(Delta::ArgumentsAppended { index, text });
        self.delta(Delta::BlockEnded { index });
        self.end(FinishReason::ToolCalls);
    }
}

/// How many steps of each kind have to be replayed: about half of those that are.
const FLOORS: [(&str, u32); 11] = [
    ("Began", 6000),
    ("Delivered", 850),
    ("Recovered", 1150),
    ("ReplyDelta", 270),
    ("ReplyEnded", 2900),
    ("ReplyFailed", 550),
    ("ToolAccepted", 60),
    ("ToolAsked", 80),
    ("ToolFailed", 150),
    ("ToolFinished", 750),
    ("Woke", 640),
];
