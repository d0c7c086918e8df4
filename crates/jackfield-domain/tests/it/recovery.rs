//! Recovery: what today may restrict, and that a crash changes nothing where everything may be repeated.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{AfterLoss, CallEnd, Fact, TurnEnd};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::ids::{DeliveryId, ModelAttempt, SessionId, ToolAttempt, ToolName};
use jackfield_domain::limits::Limits;
use jackfield_domain::message::{Message, Messages};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::send_message::SendMessageUseCase;
use jackfield_domain::session::Session;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool::Safety;
use jackfield_domain::tool_loop::{Action, Input, Restriction, Restrictions, Step, ToolLoop};
use jackfield_domain::wait::{Answer, Approval, Delivery, DeliveryBody, JobHandle, UnknownAnswer};

use crate::scene::{It, answer, calls, check};
use crate::world::setup;

/// A turn that is driven by hand.
pub(crate) struct Hand {
    pub(crate) facts: Vec<Fact>,
    pub(crate) machine: ToolLoop,
    now: Now,
}

impl Hand {
    pub(crate) fn begin(limits: Limits) -> (Self, Vec<Action>) {
        Self::begin_with(setup(limits))
    }

    fn begin_with(setup: Setup) -> (Self, Vec<Action>) {
        let now = Now {
            mono: MonoTime::from_start(Duration::from_secs(5)),
            wall: WallTime::from_millis(1_000_000),
        };
        let base = Session::new(session()).next_turn();
        let opening = Opening::UserMessage(Arc::new(Message::user("go")));
        let (machine, step) = SendMessageUseCase::begin(base, opening, Arc::new(setup), now);
        let mut hand = Self {
            facts: Vec::new(),
            machine,
            now,
        };
        let actions = hand.keep(step);
        (hand, actions)
    }

    fn keep(&mut self, step: Step) -> Vec<Action> {
        self.facts.extend(step.facts);
        step.actions
    }

    pub(crate) fn feed(&mut self, input: Input) -> Vec<Action> {
        let step = self.machine.handle(input, self.now);
        self.keep(step)
    }

    /// The model calls these tools.
    fn call(&mut self, attempt: ModelAttempt, tools: &[&str]) -> Vec<Action> {
        for (index, name) in (0..).zip(tools) {
            let start = BlockStart::ToolCall {
                json: true,
                name: (*name).into(),
                ran_by: RanBy::Engine,
                upstream: None,
            };
            let text = format!("{{\"n\":{index}}}").into();
            for delta in [
                Delta::BlockStarted { index, start },
                Delta::ArgumentsAppended { index, text },
                Delta::BlockEnded { index },
            ] {
                let _none = self.feed(Input::ReplyDelta { attempt, delta });
            }
        }
        let end = Box::new(ReplyEnd::new(FinishReason::ToolCalls));
        self.feed(Input::ReplyEnded { attempt, end })
    }

    pub(crate) fn crash(&mut self, restrictions: Restrictions) -> Vec<Action> {
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

    /// How each call of this tool was closed.
    fn ends(&self) -> BTreeMap<String, CallEnd> {
        let calls: BTreeMap<_, _> = self
            .facts
            .iter()
            .filter_map(|fact| match fact {
                Fact::ReplyReceived { reply, .. } => Some(reply.message.calls()),
                _ => None,
            })
            .flatten()
            .map(|call| (call.id.clone(), call.name.as_str().to_owned()))
            .collect();
        let closed = self.facts.iter().filter_map(|fact| match fact {
            Fact::CallClosed { call, end, .. } => Some((calls[call].clone(), *end)),
            _ => None,
        });
        closed.collect()
    }
}

fn session() -> SessionId {
    SessionId::parse("by-hand").expect("a valid id")
}

fn all_gone() -> Restrictions {
    let tools = ["read", "write", "again", "careful"].map(|name| {
        (
            ToolName::parse(name).expect("a valid name"),
            Restriction::Gone,
        )
    });
    Restrictions {
        tools: tools.into_iter().collect(),
    }
}

const FIRST: ModelAttempt = ModelAttempt {
    round: 1,
    attempt: 1,
};

fn runs(actions: &[Action]) -> usize {
    actions
        .iter()
        .filter(|action| matches!(action, Action::RunTool(_)))
        .count()
}

#[test]
fn what_has_not_started_is_restricted_by_today_and_what_has_is_not_called_unrun() {
    let (mut hand, _) = Hand::begin(Limits {
        parallel_calls: 1,
        ..Limits::default()
    });
    let actions = hand.call(FIRST, &["write", "read"]);
    assert_eq!(runs(&actions), 1, "one slot");
    let actions = hand.crash(all_gone());
    assert_eq!(runs(&actions), 0);
    let ends = hand.ends();
    assert_eq!(ends["write"], CallEnd::Reported, "it may have run");
    assert_eq!(ends["read"], CallEnd::NotRun, "it has not");
}

#[test]
fn a_repeatable_call_is_not_repeated_where_today_forbids_it() {
    let (mut hand, _) = Hand::begin(Limits::default());
    let _run = hand.call(FIRST, &["read", "again"]);
    let actions = hand.crash(all_gone());
    assert_eq!(runs(&actions), 0);
    assert!(
        hand.ends().values().all(|end| *end == CallEnd::Reported),
        "{:?}",
        hand.ends()
    );
}

/// The attempts that run after a crash at this time.
fn repeated(hand: &mut Hand, hours: u64) -> Vec<u32> {
    let since = Duration::from_hours(hours);
    hand.now.wall = WallTime::from_millis(1_000_000).after(since);
    let actions = hand.crash(Restrictions::default());
    let runs = actions.iter().filter_map(|action| match action {
        Action::RunTool(run) => Some(run.attempt.attempt),
        _ => None,
    });
    runs.collect()
}

/// A setup whose tool `write` is of this kind.
fn writing(limits: Limits, safety: Safety) -> Setup {
    let mut setup = setup(limits);
    let tools = setup.catalog.iter().cloned().map(|mut tool| {
        if tool.definition.name.as_str() == "write" {
            tool.safety = safety;
        }
        tool
    });
    setup.catalog = Arc::new(tools.collect());
    setup
}

#[test]
fn a_call_that_waits_to_be_repeated_until_its_key_is_forgotten_is_not() {
    let limits = Limits {
        parallel_calls: 1,
        ..Limits::default()
    };
    let (mut hand, _) = Hand::begin_with(writing(limits, Safety::Idempotent));
    // `ask` waits for a person, so `write` has the slot.
    let actions = hand.call(FIRST, &["ask", "write"]);
    assert_eq!(runs(&actions), 1);
    let opened = hand.facts.iter().find_map(|fact| match fact {
        Fact::WaitOpened { wait } => Some(wait.id.clone()),
        _ => None,
    });
    let granted = Approval::Granted {
        edited: None,
        for_session: false,
    };
    let delivery = Delivery {
        at: hand.now.wall,
        body: DeliveryBody::Answer {
            answer: Answer::Approval(granted),
            wait: opened.expect("a question"),
        },
        by: "a person".into(),
        id: DeliveryId::parse("yes").expect("an id"),
    };
    let actions = hand.feed(Input::Delivered(delivery));
    assert_eq!(runs(&actions), 0, "the slot is taken");
    // `ask` takes it first, and `write` waits to be repeated.
    let actions = hand.crash(Restrictions::default());
    let asked = actions.iter().find_map(|action| match action {
        Action::RunTool(run) => Some(run.attempt.clone()),
        _ => None,
    });
    let asked = asked.expect("it runs");
    assert_eq!((runs(&actions), asked.attempt), (1, 1));
    hand.now.wall = hand.now.wall.after(Duration::from_hours(25));
    let result = ToolResult::text("done");
    let actions = hand.feed(Input::ToolFinished {
        attempt: asked,
        result,
    });
    assert_eq!(runs(&actions), 0, "{actions:?}");
    assert_eq!(hand.ends()["write"], CallEnd::Reported);
}

#[test]
fn a_call_is_repeated_by_its_key_for_a_day_from_its_first_attempt_on() {
    let of = |safety| {
        let (mut hand, _) = Hand::begin_with(writing(Limits::default(), safety));
        let _run = hand.call(FIRST, &["write"]);
        hand
    };
    let mut hand = of(Safety::Idempotent);
    assert_eq!(repeated(&mut hand, 20), [2]);
    // The second attempt does not begin another day.
    assert_eq!(repeated(&mut hand, 24), [3]);
    assert_eq!(repeated(&mut hand, 25), [0; 0]);
    assert_eq!(hand.ends()["write"], CallEnd::Reported);
    let mut hand = of(Safety::Idempotent);
    assert_eq!(repeated(&mut hand, 25), [0; 0]);
    // It is lost once, and not to be repeated first.
    let lost = hand.facts.iter().filter_map(|fact| match fact {
        Fact::CallLost { then, .. } => Some(*then),
        _ => None,
    });
    assert_eq!(lost.collect::<Vec<_>>(), [AfterLoss::Report]);
    let mut hand = of(Safety::ReadOnly);
    assert_eq!(repeated(&mut hand, 1_000), [2]);
    let mut hand = of(Safety::Unknown);
    assert_eq!(repeated(&mut hand, 0), [0; 0]);
}

#[test]
fn a_job_is_polled_even_where_today_forbids_to_start_it() {
    let (mut hand, _) = Hand::begin(Limits::default());
    let actions = hand.call(FIRST, &["write"]);
    let Some(Action::RunTool(run)) = actions.first() else {
        panic!("{actions:?}")
    };
    let handle = JobHandle(Arc::new(serde_json::json!("job 7")));
    let (attempt, accepted) = (run.attempt.clone(), handle.clone());
    let _none = hand.feed(Input::ToolAccepted {
        attempt: attempt.clone(),
        handle: accepted,
    });
    let actions = hand.crash(all_gone());
    let resumed = actions.iter().any(|action| {
        matches!(action, Action::ResumeTool { attempt: a, handle: h, .. } if *a == attempt && *h == handle)
    });
    assert!(resumed && runs(&actions) == 0, "{actions:?}");
}

#[test]
fn a_job_that_takes_too_long_is_not_run_again_whatever_the_policy() {
    let (mut hand, _) = Hand::begin(Limits::default());
    let actions = hand.call(FIRST, &["again"]);
    let Some(Action::RunTool(run)) = actions.first() else {
        panic!("{actions:?}")
    };
    let (attempt, handle) = (
        run.attempt.clone(),
        JobHandle(Arc::new(serde_json::json!(7))),
    );
    let _none = hand.feed(Input::ToolAccepted { attempt, handle });
    hand.now.mono = hand.now.mono.after(Duration::from_secs(31));
    let actions = hand.feed(Input::Woke);
    assert_eq!(runs(&actions), 0, "{actions:?}");
    assert_eq!(hand.ends()["again"], CallEnd::Reported);
}

#[test]
fn a_lost_reply_is_not_asked_for_again_where_the_provider_may_have_acted() {
    for (tool, acted) in [("write", true), ("read", false), ("again", false)] {
        let mut setup = setup(Limits::default());
        let tools = setup.catalog.iter().cloned().map(|mut entry| {
            if entry.definition.name.as_str() == tool {
                entry.ran_by = RanBy::Provider;
            }
            entry
        });
        setup.catalog = Arc::new(tools.collect());
        let (mut hand, _) = Hand::begin_with(setup);
        let actions = hand.crash(Restrictions::default());
        let again = actions
            .iter()
            .any(|a| matches!(a, Action::CallModel { .. }));
        let interrupted = matches!(hand.machine.turn().end(), Some(TurnEnd::Interrupted(_)));
        assert_eq!((again, interrupted), (!acted, acted), "{tool}: {actions:?}");
    }
}

#[test]
fn an_ended_turn_is_not_taken_up() {
    let (mut hand, _) = Hand::begin(Limits::default());
    let end = Box::new(ReplyEnd::new(FinishReason::Stop));
    let _finish = hand.feed(Input::ReplyEnded {
        attempt: FIRST,
        end,
    });
    let none = Restrictions::default();
    assert!(
        SendMessageUseCase::recover(&session(), &hand.facts, &[], hand.now, none, Vec::new())
            .is_none()
    );
}

/// The attempts at the model calls of these actions, and whether each has its tools as text.
fn model_calls(actions: &[Action]) -> Vec<(ModelAttempt, bool)> {
    let calls = actions.iter().filter_map(|action| match action {
        Action::CallModel { attempt, request } => Some((*attempt, request.tools_as_text)),
        _ => None,
    });
    calls.collect()
}

#[test]
fn a_model_that_takes_no_tools_is_given_them_as_text_at_once_and_after_a_crash() {
    let at = |round, attempt| ModelAttempt { round, attempt };
    let kind = ModelFailureKind::ToolsUnsupported;
    let failed = |attempt, advice| Input::ReplyFailed {
        attempt,
        failure: ModelFailure {
            advice,
            ..ModelFailure::new(kind, Phase::BeforeFirstDelta, "no tools")
        },
    };
    let (mut hand, actions) = Hand::begin(Limits::default());
    assert_eq!(model_calls(&actions), [(at(1, 1), false)]);
    let actions = hand.feed(failed(at(1, 1), RetryAdvice::AtOnce));
    assert_eq!(model_calls(&actions), [(at(1, 2), true)]);
    let actions = hand.crash(Restrictions::default());
    assert_eq!(model_calls(&actions), [(at(1, 3), true)]);
    let actions = hand.call(at(1, 3), &["read"]);
    assert_eq!(runs(&actions), 1);
    let actions = hand.crash(Restrictions::default());
    let run = actions.iter().find_map(|action| match action {
        Action::RunTool(run) => Some(run.attempt.clone()),
        _ => None,
    });
    let result = ToolResult::text("done");
    let attempt = run.expect("a call that may be repeated");
    let actions = hand.feed(Input::ToolFinished { attempt, result });
    assert_eq!(model_calls(&actions), [(at(2, 1), true)]);
    // It says so again: no other form is left.
    let actions = hand.feed(failed(at(2, 1), RetryAdvice::Never));
    assert_eq!(model_calls(&actions), []);
    assert!(matches!(
        actions.last(),
        Some(Action::Finish(TurnEnd::Failed(_)))
    ));
}

#[test]
fn a_refusal_of_tools_without_another_form_ends_the_turn() {
    let (mut hand, _) = Hand::begin(Limits::default());
    let kind = ModelFailureKind::ToolsUnsupported;
    let failure = ModelFailure::new(kind, Phase::BeforeFirstDelta, "no tools");
    let attempt = FIRST;
    let actions = hand.feed(Input::ReplyFailed { attempt, failure });
    assert!(matches!(
        actions.last(),
        Some(Action::Finish(TurnEnd::Failed(_)))
    ));
}

/// An environment that answers by what it is asked alone: three rounds of calls, then an answer.
fn perform(hand: &mut Hand, action: &Action) -> Vec<Action> {
    match action {
        Action::CallModel { attempt, request } => {
            if attempt.round < 4 {
                return hand.call(*attempt, &["read", "read", "read"]);
            }
            let said = request.messages.len().to_string();
            for delta in [
                Delta::BlockStarted {
                    index: 0,
                    start: BlockStart::Text,
                },
                Delta::TextAppended {
                    index: 0,
                    text: said.into(),
                },
                Delta::BlockEnded { index: 0 },
            ] {
                let _none = hand.feed(Input::ReplyDelta {
                    attempt: *attempt,
                    delta,
                });
            }
            let end = Box::new(ReplyEnd::new(FinishReason::Stop));
            hand.feed(Input::ReplyEnded {
                attempt: *attempt,
                end,
            })
        }
        Action::RunTool(run) => {
            let arguments = run.arguments().expect("JSON").clone();
            let result = ToolResult::text(format!("read {}", arguments["n"]));
            hand.feed(Input::ToolFinished {
                attempt: run.attempt.clone(),
                result,
            })
        }
        Action::AbandonTool { .. }
        | Action::Abort(_)
        | Action::Finish(_)
        | Action::OpenWait(_)
        | Action::ResumeTool { .. } => Vec::new(),
    }
}

/// Plays the turn, and dies before the `crash`th action is answered.
fn played(crash: Option<usize>) -> (Messages, Option<TurnEnd>, usize) {
    let limits = Limits {
        repeats: 100,
        ..Limits::default()
    };
    let (mut hand, actions) = Hand::begin(limits);
    let mut todo: std::collections::VecDeque<Action> = actions.into();
    let mut answered = 0;
    while let Some(action) = todo.pop_front() {
        if crash == Some(answered) {
            todo = hand.crash(Restrictions::default()).into();
            answered += 1;
            continue;
        }
        answered += 1;
        todo.extend(perform(&mut hand, &action));
    }
    let turn = hand.machine.turn();
    (
        turn.messages_for_model().clone(),
        turn.end().cloned(),
        answered,
    )
}

/// The messages as text, without ids: those of a reply that was called again differ.
fn without_ids(messages: &Messages) -> Vec<String> {
    let describe = |content: &Content| match content {
        Content::ToolCall(call) => format!("call {} {:?}", call.name.as_str(), call.input),
        Content::ToolOutcome(outcome) => format!("outcome {:?}", outcome.result),
        other => format!("{other:?}"),
    };
    messages
        .iter()
        .flat_map(|message| message.blocks.iter().map(|block| describe(&block.content)))
        .collect()
}

#[test]
fn a_crash_at_any_point_changes_nothing_where_every_call_may_be_repeated() {
    let (undisturbed, end, answers) = played(None);
    assert_eq!(end, Some(TurnEnd::Answered(FinishReason::Stop)));
    assert_eq!(
        answers,
        4 + 9 + 1,
        "four model calls, nine tool calls, one finish"
    );
    for crash in 0..answers - 1 {
        let (messages, end_after_crash, _) = played(Some(crash));
        assert_eq!(
            without_ids(&messages),
            without_ids(&undisturbed),
            "crash before answer {crash}"
        );
        assert_eq!(end_after_crash, end);
    }
}

#[test]
fn what_today_forbids_stays_forbidden_for_the_rest_of_the_turn() {
    let restrictions = || {
        let why = || Restriction::Denied("not today".into());
        let tools = ["ask", "write"].map(|name| (ToolName::parse(name).expect("a name"), why()));
        Restrictions {
            tools: tools.into_iter().collect(),
        }
    };
    let granted = Answer::Approval(Approval::Granted {
        edited: None,
        for_session: false,
    });
    check(
        setup(Limits::default()),
        &["model 1.1"],
        vec![
            (calls(&["ask"]), &["wait for approval of ask"]),
            (
                It::Crashes(restrictions()),
                &["resumed 1", "wait for approval of ask"],
            ),
            (
                answer("ask", granted),
                &[
                    "wait Answered",
                    "ask NotRun error: The call was not run: not today.",
                    "model 2.1",
                ],
            ),
            (
                calls(&["write", "ask", "read"]),
                &[
                    "write NotRun error: The call was not run: not today.",
                    "ask NotRun error: The call was not run: not today.",
                    "run read",
                ],
            ),
        ],
    );
}

#[test]
fn a_retry_that_a_person_wants_is_not_made_where_today_forbids_it() {
    check(
        setup(Limits::default()),
        &["model 1.1"],
        vec![
            (calls(&["careful"]), &["run careful"]),
            (
                It::Crashes(all_gone()),
                &[
                    "resumed 1",
                    "careful lost: Crashed, Unknown, Ask",
                    "wait for word about careful",
                ],
            ),
            (
                answer("careful", Answer::UnknownOutcome(UnknownAnswer::Retry)),
                &[
                    "wait Answered",
                    "careful Reported error: Outcome unknown (the tool is no longer there): the \
                     call may or may not have taken effect. Check before repeating it.",
                    "model 2.1",
                ],
            ),
        ],
    );
}

#[test]
fn a_note_is_kept_once_however_often_the_history_is_mapped_and_after_a_crash() {
    let note = |path: &str| Note::new(NoteKind::Dropped, NoteEffect::Quality, "lost", path);
    let (mut hand, _) = Hand::begin(Limits::default());
    let mut told = Vec::new();
    for round in 1..=3_u32 {
        let attempt = hand.machine.calling().expect("a model call");
        for delta in read(round) {
            let _none = hand.feed(Input::ReplyDelta { attempt, delta });
        }
        // Each round notes everything before it again.
        let mut end = ReplyEnd::new(FinishReason::ToolCalls);
        end.notes = (0..round)
            .map(|n| note(&format!("messages[{n}]")))
            .collect();
        let end = Box::new(end);
        let actions = hand.feed(Input::ReplyEnded { attempt, end });
        let _resumed = hand.crash(Restrictions::default());
        let call = actions.iter().find_map(|action| match action {
            Action::RunTool(run) => Some(run.attempt.call.clone()),
            _ => None,
        });
        let attempt = ToolAttempt {
            call: call.expect("a tool call"),
            attempt: 2,
        };
        let result = ToolResult::text(round.to_string());
        let _next = hand.feed(Input::ToolFinished { attempt, result });
    }
    for fact in &hand.facts {
        if let Fact::ReplyReceived { reply, .. } = fact {
            told.extend(reply.end.notes.iter().map(|note| note.path.clone()));
        }
    }
    assert_eq!(told, ["messages[0]", "messages[1]", "messages[2]"]);
}

/// The pieces of one call of the tool that only reads.
pub(crate) fn read(n: u32) -> [Delta; 3] {
    let start = BlockStart::ToolCall {
        json: true,
        name: "read".into(),
        ran_by: RanBy::Engine,
        upstream: None,
    };
    [
        Delta::BlockStarted { index: 0, start },
        Delta::ArgumentsAppended {
            index: 0,
            text: format!("{{\"n\":{n}}}").into(),
        },
        Delta::BlockEnded { index: 0 },
    ]
}
