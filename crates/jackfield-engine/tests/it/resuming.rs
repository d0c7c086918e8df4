//! Resuming: what is taken up, what is left alone, and what today takes away.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jackfield_domain::block::Content;
use jackfield_domain::fact::{CallEnd, Fact, TurnEnd};
use jackfield_domain::ids::{DeliveryId, ToolboxId, TurnId};
use jackfield_domain::message::Message;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::policy::{Policy, PolicyRule, RuleVerdict, UnknownRule};
use jackfield_domain::reply::{FinishReason, Reply};
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{Safety, UnknownPolicy};
use jackfield_domain::wait::{Answer, Approval, CancelCause, DeliveryBody};
use jackfield_engine::{
    DriveOutcome, Engine, EngineError, ParkReason, ResumeSession, TurnOptions, TurnReport,
};
use jackfield_ports::journal::{Append, Appended, Journal};
use jackfield_store_memory::MemoryJournal;
use tokio::sync::Notify;

use crate::fixture::{
    Log, Logged, OneTool, Rounds, Unreachable, engine, message, options, session,
};

/// A model that calls two tools in one round, then answers with their outcomes.
pub(crate) fn model(log: &Log) -> Rounds {
    Rounds::once(log, 2)
}

/// Runs a turn until its first tool call is at work, and loses the process there.
pub(crate) async fn crash_in_a_tool(journal: &Arc<MemoryJournal>, safety: Safety) {
    crash_with(journal, safety, options()).await;
}

pub(crate) async fn crash_with(
    journal: &Arc<MemoryJournal>,
    safety: Safety,
    mut options: TurnOptions,
) {
    let log = Log::default();
    let called = Arc::new(Notify::new());
    let at_work = Arc::clone(&called);
    let mut tool = OneTool::new(&log, move |_| {
        at_work.notify_one();
        std::future::pending::<ToolResult>()
    });
    tool.spec.safety = safety;
    let engine = engine(model(&log), tool, Arc::clone(journal) as Arc<dyn Journal>);
    options.limits.parallel_calls = 1;
    let mut nobody = ();
    tokio::select! {
        report = engine.send(message(options), &mut nobody) => panic!("it ended: {report:?}"),
        () = called.notified() => {}
    }
}

/// The engine of the process that comes after.
fn after(journal: &Arc<MemoryJournal>, log: &Log, change: impl FnOnce(&mut SpecOf)) -> Engine {
    let mut spec = SpecOf {
        description: "does it",
        safety: Safety::Unknown,
    };
    change(&mut spec);
    let mut tool = OneTool::new(log, |run: ToolRun| async move {
        ToolResult::text(format!("done {}", run.attempt.attempt))
    });
    tool.spec.description = spec.description.into();
    tool.spec.safety = spec.safety;
    engine(model(log), tool, Arc::clone(journal) as Arc<dyn Journal>)
}

/// What may be different about the tool.
struct SpecOf {
    description: &'static str,
    safety: Safety,
}

pub(crate) fn resume() -> ResumeSession {
    ResumeSession::new(session(), options().policy)
}

pub(crate) fn over(driven: Result<DriveOutcome, EngineError>) -> TurnReport {
    match driven.expect("it was driven") {
        DriveOutcome::Finished(report) => *report,
        DriveOutcome::Waiting(waiting) => panic!("it waits: {waiting:?}"),
    }
}

pub(crate) fn ends(report: &TurnReport) -> Vec<CallEnd> {
    report.calls.iter().map(|call| call.end).collect()
}

fn tools_called(log: &Log) -> usize {
    let all = log.all();
    let calls = all.iter();
    calls
        .filter(|logged| matches!(logged, Logged::ToolCalled(_)))
        .count()
}

pub(crate) async fn facts(journal: &MemoryJournal) -> Vec<Fact> {
    let loaded = journal.load(&session()).await.expect("a session");
    let steps = loaded.steps.into_iter();
    steps.flat_map(|step| step.facts).collect()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_have_run_is_reported_and_one_that_did_not_start_is_run() {
    let journal = Arc::new(MemoryJournal::default());
    crash_in_a_tool(&journal, Safety::Unknown).await;
    let log = Log::default();
    let engine = after(&journal, &log, |_| {});
    let report = over(engine.resume(resume(), &mut ()).await);
    assert_eq!(report.end, TurnEnd::Answered(FinishReason::Stop));
    assert_eq!(ends(&report), [CallEnd::Reported, CallEnd::Ran]);
    assert_eq!(tools_called(&log), 1);
    let first = report.calls.first().expect("a call");
    assert_eq!(first.took, None, "no clock of this process saw it run");
    let all = facts(&journal).await;
    let nth: Vec<_> = all
        .iter()
        .filter_map(|fact| match fact {
            Fact::TurnResumed { nth, restrictions } => Some((*nth, restrictions.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(nth, [(1, None)]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_changes_nothing_is_run_again() {
    let journal = Arc::new(MemoryJournal::default());
    crash_in_a_tool(&journal, Safety::ReadOnly).await;
    let log = Log::default();
    let engine = after(&journal, &log, |spec| spec.safety = Safety::ReadOnly);
    let report = over(engine.resume(resume(), &mut ()).await);
    assert_eq!(report.answer(), "done 2|done 1");
}

#[tokio::test(start_paused = true)]
async fn the_rule_of_a_tool_says_what_becomes_of_its_unknown_outcomes() {
    for (pattern, ends) in [
        ("box/act", [CallEnd::Ran, CallEnd::Ran]),
        ("box/other", [CallEnd::Reported, CallEnd::Ran]),
    ] {
        let journal = Arc::new(MemoryJournal::default());
        let mut options = options();
        options.unknown_rules = vec![UnknownRule {
            answer: UnknownPolicy::Retry,
            pattern: pattern.into(),
        }];
        crash_with(&journal, Safety::Unknown, options).await;
        // What the rules say today is not asked: the turn began under those of its day.
        let engine = after(&journal, &Log::default(), |_| {});
        let report = over(engine.resume(resume(), &mut ()).await);
        assert_eq!(self::ends(&report), ends, "{pattern}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_without_an_open_turn_says_so() {
    let journal = Arc::new(MemoryJournal::default());
    let log = Log::default();
    let engine = after(&journal, &log, |_| {});
    let nobody = engine
        .resume(resume(), &mut ())
        .await
        .expect_err("no session");
    assert!(matches!(nobody, EngineError::Journal(_)), "{nobody}");
    let loaded = journal.load(&session()).await;
    assert!(loaded.is_err(), "it was made by being asked for");
    let report = engine.send(message(options()), &mut ()).await;
    report.expect("a report");
    let over = engine
        .resume(resume(), &mut ())
        .await
        .expect_err("it is over");
    assert!(matches!(over, EngineError::NothingOpen { .. }), "{over}");
}

/// What an engine of these says, and that it left everything as it was.
async fn parked(journal: &Arc<MemoryJournal>, engine: &Engine) -> ParkReason {
    let before = facts(journal).await;
    let error = engine.resume(resume(), &mut ()).await.expect_err("parked");
    assert_eq!(facts(journal).await, before, "it was touched");
    match error {
        EngineError::Parked { why, .. } => *why,
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_left_alone_where_its_provider_or_its_toolboxes_are_not() {
    let journal = Arc::new(MemoryJournal::default());
    crash_in_a_tool(&journal, Safety::Unknown).await;
    let log = Log::default();
    let port = || Arc::clone(&journal) as Arc<dyn Journal>;
    let no_model = Engine::builder(port()).build();
    let why = parked(&journal, &no_model).await;
    assert!(
        matches!(&why, ParkReason::NoProvider { name, .. } if &**name == "provider"),
        "{why}"
    );
    let no_tools = || Engine::builder(port()).model("provider", Arc::new(model(&log)));
    let missing = vec!["box".to_owned()];
    let why = parked(&journal, &no_tools().build()).await;
    assert_eq!(why, ParkReason::NoToolboxes { missing });
    let toolbox = ToolboxId::parse("box").expect("a valid id");
    let down = no_tools().toolbox(Arc::new(Unreachable(toolbox.clone())));
    let why = parked(&journal, &down.build()).await;
    let message = "nobody answers".to_owned();
    assert_eq!(why, ParkReason::ToolboxDown { message, toolbox });
    // A person may want it to go on without.
    let go_on = ResumeSession {
        force: true,
        ..resume()
    };
    let report = over(no_tools().build().resume(go_on, &mut ()).await);
    assert_eq!(ends(&report), [CallEnd::Reported, CallEnd::NotRun]);
}

#[tokio::test(start_paused = true)]
async fn what_is_denied_or_changed_today_is_not_started() {
    let denied = Policy {
        can_ask: false,
        rules: vec![PolicyRule {
            pattern: "box/*".into(),
            verdict: RuleVerdict::Deny,
        }],
    };
    for (policy, description) in [
        (denied, "does it"),
        (options().policy, "does something else"),
    ] {
        let journal = Arc::new(MemoryJournal::default());
        crash_in_a_tool(&journal, Safety::ReadOnly).await;
        let log = Log::default();
        let engine = after(&journal, &log, |spec| {
            spec.safety = Safety::ReadOnly;
            spec.description = description;
        });
        let resume = ResumeSession::new(session(), policy);
        let report = over(engine.resume(resume, &mut ()).await);
        assert_eq!(ends(&report), [CallEnd::Reported, CallEnd::NotRun]);
        assert_eq!(tools_called(&log), 0);
        let all = facts(&journal).await;
        let said = |fact: &Fact| {
            matches!(
                fact,
                Fact::TurnResumed {
                    restrictions: Some(_),
                    ..
                }
            )
        };
        assert!(
            all.iter().any(said),
            "what was forbidden is not in the journal"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_nobody_is_there_to_be_asked_by_takes_nothing_away() {
    let journal = Arc::new(MemoryJournal::default());
    crash_in_a_tool(&journal, Safety::Unknown).await;
    let log = Log::default();
    let engine = after(&journal, &log, |_| {});
    let resume = ResumeSession::new(session(), Policy::default());
    let report = over(engine.resume(resume, &mut ()).await);
    assert_eq!(ends(&report), [CallEnd::Reported, CallEnd::Ran]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_takes_its_process_down_three_times_is_left_to_a_person() {
    let journal = Arc::new(MemoryJournal::default());
    crash_in_a_tool(&journal, Safety::ReadOnly).await;
    let tries = Arc::new(AtomicUsize::new(0));
    let try_on = |go_on: bool| {
        let log = Log::default();
        let called = Arc::new(Notify::new());
        let (at_work, tries) = (Arc::clone(&called), Arc::clone(&tries));
        let mut tool = OneTool::new(&log, move |_| {
            tries.fetch_add(1, Ordering::SeqCst);
            at_work.notify_one();
            std::future::pending::<ToolResult>()
        });
        tool.spec.safety = Safety::ReadOnly;
        let engine = engine(model(&log), tool, Arc::clone(&journal) as Arc<dyn Journal>);
        async move {
            let resume = ResumeSession {
                force: go_on,
                ..resume()
            };
            let mut nobody = ();
            tokio::select! {
                driven = engine.resume(resume, &mut nobody) => Some(driven),
                () = called.notified() => None,
            }
        }
    };
    for _ in 0..3 {
        let driven = try_on(false).await;
        assert!(driven.is_none(), "{driven:?}");
    }
    let Some(Err(EngineError::Parked { why, .. })) = try_on(false).await else {
        panic!("a fourth time");
    };
    assert_eq!(*why, ParkReason::NoProgress { times: 3 });
    assert_eq!(tries.load(Ordering::SeqCst), 3);
    let driven = try_on(true).await;
    assert!(driven.is_none(), "{driven:?}");
    assert_eq!(tries.load(Ordering::SeqCst), 4, "a person said to go on");
}

/// A turn of two calls that both have to be allowed, left waiting.
async fn left_waiting(journal: &Arc<MemoryJournal>, log: &Log) -> (Engine, TurnId) {
    let engine = after(journal, log, |_| {});
    let mut asking = options();
    asking.policy = asks();
    let waits = async {
        loop {
            tokio::task::yield_now().await;
            let Ok(loaded) = journal.load(&session()).await else {
                continue;
            };
            let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
            if facts.any(|fact| matches!(fact, Fact::WaitOpened { .. })) {
                return;
            }
        }
    };
    let mut nobody = ();
    tokio::select! {
        report = engine.send(message(asking), &mut nobody) => panic!("it ended: {report:?}"),
        () = waits => {}
    }
    (engine, TurnId::derive(&session(), 1))
}

fn asks() -> Policy {
    Policy {
        can_ask: true,
        rules: Vec::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_only_waits_is_let_go_of_as_often_as_it_is_asked_after_and_goes_on_with_its_answers()
 {
    let journal = Arc::new(MemoryJournal::default());
    let log = Log::default();
    let (engine, turn) = left_waiting(&journal, &log).await;
    let mut waits = Vec::new();
    for _ in 0..5 {
        let driven = engine.resume(resume(), &mut ()).await;
        let DriveOutcome::Waiting(waiting) = driven.expect("only waiting is no try") else {
            panic!("it is over");
        };
        assert_eq!(
            (waiting.turn.clone(), waiting.waits.len()),
            (turn.clone(), 2)
        );
        assert!(waiting.next_deadline().is_some());
        waits = waiting.waits;
    }
    for (n, wait) in waits.iter().enumerate() {
        let id = DeliveryId::parse(&format!("d{n}")).expect("a valid id");
        let body = DeliveryBody::Answer {
            answer: allowed(),
            wait: wait.id.clone(),
        };
        let delivered = engine.deliver(&session(), id, "somebody", body).await;
        delivered.expect("it is taken");
    }
    let report = over(engine.resume(resume(), &mut ()).await);
    assert_eq!(ends(&report), [CallEnd::Ran, CallEnd::Ran]);
    assert_eq!(report.end, TurnEnd::Answered(FinishReason::Stop));
}

fn allowed() -> Answer {
    Answer::Approval(Approval::Granted {
        edited: None,
        for_session: false,
    })
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_was_cancelled_is_ended_whatever_is_missing() {
    let journal = Arc::new(MemoryJournal::default());
    crash_in_a_tool(&journal, Safety::Unknown).await;
    let nothing = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>).build();
    let body = DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: TurnId::derive(&session(), 1),
    };
    let id = DeliveryId::parse("stop").expect("a valid id");
    let delivered = nothing.deliver(&session(), id, "somebody", body).await;
    delivered.expect("it is taken");
    let report = over(nothing.resume(resume(), &mut ()).await);
    assert_eq!(report.end, TurnEnd::Cancelled(CancelCause::Asked));
    assert_eq!(ends(&report), [CallEnd::Reported, CallEnd::Cancelled]);
}

#[tokio::test(start_paused = true)]
async fn a_message_to_a_session_that_was_left_is_refused_and_changes_nothing() {
    let journal = Arc::new(MemoryJournal::default());
    crash_in_a_tool(&journal, Safety::Unknown).await;
    let before = facts(&journal).await;
    let log = Log::default();
    let engine = after(&journal, &log, |_| {});
    let error = engine.send(message(options()), &mut ()).await;
    let error = error.expect_err("it has an open turn");
    assert!(matches!(error, EngineError::LeftOpen { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("jackfield sessions resume session"),
        "{error}"
    );
    assert_eq!(facts(&journal).await, before);
}

#[tokio::test(start_paused = true)]
async fn nobody_takes_up_what_is_driven_here() {
    let journal = Arc::new(MemoryJournal::default());
    let log = Log::default();
    let called = Arc::new(Notify::new());
    let at_work = Arc::clone(&called);
    let tool = OneTool::new(&log, move |_| {
        at_work.notify_one();
        std::future::pending::<ToolResult>()
    });
    let engine = engine(model(&log), tool, Arc::clone(&journal) as Arc<dyn Journal>);
    let taken = async {
        called.notified().await;
        engine.resume(resume(), &mut ()).await
    };
    let mut nobody = ();
    tokio::select! {
        report = engine.send(message(options()), &mut nobody) => panic!("it ended: {report:?}"),
        taken = taken => {
            let error = taken.expect_err("it is driven here");
            assert!(matches!(error, EngineError::Busy { .. }), "{error}");
        }
    }
}

/// The same session in another journal, where the calls of each reply have one id.
async fn with_one_id(journal: &MemoryJournal) -> Arc<MemoryJournal> {
    let mut steps = journal.load(&session()).await.expect("a session").steps;
    for fact in steps.iter_mut().flat_map(|step| &mut step.facts) {
        if let Fact::ReplyReceived { reply, .. } = fact {
            let mut altered = Reply::clone(reply);
            let mut message = Message::clone(&altered.message);
            let first = message.calls().next().expect("a call").id.clone();
            for block in &mut message.blocks {
                if let Content::ToolCall(call) = &mut block.content {
                    Arc::make_mut(call).id = first.clone();
                }
            }
            altered.message = Arc::new(message);
            *reply = Arc::new(altered);
        }
    }
    let altered = MemoryJournal::default();
    let append = Append {
        epoch: altered.own(&session()).await.expect("nobody's").epoch,
        position: 0,
        seen: 0,
        session: session(),
        steps,
    };
    let epoch = append.epoch;
    assert!(matches!(altered.append(&append).await, Appended::Committed));
    altered.release(&session(), epoch).await.expect("let go");
    Arc::new(altered)
}

// By the clock of the world: what spins lets no other one go on.
#[tokio::test]
async fn two_calls_of_one_id_hold_nobody_up() {
    for safety in [Safety::Unknown, Safety::ReadOnly] {
        let journal = Arc::new(MemoryJournal::default());
        crash_in_a_tool(&journal, safety).await;
        let altered = with_one_id(&journal).await;
        let log = Log::default();
        let engine = after(&altered, &log, |spec| spec.safety = safety);
        let mut nobody = ();
        let resumed = engine.resume(resume(), &mut nobody);
        let resumed = tokio::time::timeout(Duration::from_secs(60), resumed).await;
        let report = over(resumed.expect("it comes to an end"));
        assert_eq!(report.end, TurnEnd::Answered(FinishReason::Stop));
    }
}
