//! What comes late: counted and kept, whoever drives the session by then, and never told to the model.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::audit::{self, AuditEntry};
use jackfield_domain::fact::{CallEnd, Envelope, Fact, Late, TurnEnd};
use jackfield_domain::ids::{DeliveryId, ToolboxId, TurnId};
use jackfield_domain::late::LateOutcome;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool::{Safety, UnknownPolicy};
use jackfield_domain::turn_log::SessionLog;
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_engine::{Engine, Ephemeral, TurnOptions};
use jackfield_ports::journal::{Journal, Loaded};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{
    AppendFault, FaultyJournal, Gate, ScriptedCall, ScriptedModel, ScriptedReply, ScriptedToolbox,
};

use crate::fixture::{Paused, message, options, session};

/// A toolbox with one tool, `box__act`.
fn toolbox() -> ScriptedToolbox {
    let toolbox = ScriptedToolbox::new(ToolboxId::parse("box").expect("a valid id"));
    toolbox.tool("act", Safety::Unknown);
    toolbox
}

/// A call that comes to nothing while somebody waits for it, and to this once the gate opens.
fn outliving(text: &str, gate: &Gate) -> ScriptedCall {
    let never = ScriptedCall::text("in time").held_at(&Gate::new());
    never.late(ToolResult::text(text), gate)
}

fn engine(journal: &Arc<dyn Journal>, model: &ScriptedModel, toolbox: &ScriptedToolbox) -> Engine {
    Engine::builder(Arc::clone(journal))
        .model("provider", model.port())
        .toolbox(toolbox.port())
        .clock(Arc::new(Paused::default()))
        .build()
}

/// Everything, once this many deliveries are there.
async fn heard(journal: &Arc<dyn Journal>, deliveries: u64) -> Loaded {
    let session = session();
    let inbox = journal.inbox(&session, deliveries - 1);
    let came = tokio::time::timeout(Duration::from_secs(5), inbox).await;
    came.expect("a delivery").expect("an inbox");
    journal.load(&session).await.expect("a session")
}

/// What came late of the only call, and how that had ended.
fn audited(loaded: &Loaded) -> (Vec<LateOutcome>, Option<CallEnd>) {
    let mut told = audit::entries(&loaded.steps, &loaded.deliveries).into_iter();
    match told.next() {
        Some(AuditEntry::Call(call)) => (call.late, call.closed.map(|closed| closed.end)),
        other => panic!("{other:?}"),
    }
}

fn facts(steps: &[Envelope]) -> impl Iterator<Item = &Fact> {
    steps.iter().flat_map(|step| &step.facts)
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_comes_when_its_turn_is_over_is_kept_and_changes_nothing() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let (model, toolbox, gate) = (ScriptedModel::new(), toolbox(), Gate::new());
    toolbox.push_call("act", outliving("it was done by then", &gate));
    model
        .push_reply(ScriptedReply::calls([("box__act", "{}")]))
        .push_reply(ScriptedReply::text("nobody knows"))
        .push_reply(ScriptedReply::text("still"));
    let engine = engine(&journal, &model, &toolbox);
    let report = engine.send(message(options()), &mut ()).await;
    assert_eq!(report.expect("a report").answer(), "nobody knows");
    let before = journal.load(&session()).await.expect("a session");
    assert_eq!(audited(&before), (vec![], Some(CallEnd::Reported)));
    gate.open();
    let after = heard(&journal, 1).await;
    assert_eq!(after.steps, before.steps);
    let (late, closed) = audited(&after);
    assert_eq!(closed, Some(CallEnd::Reported));
    let [late] = &late[..] else {
        panic!("{late:?}");
    };
    assert_eq!(
        (late.attempt.attempt, late.is_error, late.size),
        (1, false, 19)
    );
    assert_eq!(late.text.as_deref(), Some("it was done by then"));
    let log = SessionLog::from_steps(&after.steps, &after.deliveries);
    assert_eq!(log.turns[0].calls[0].late[0], *late);
    // Nothing is left to be done, and the next turn says nothing of it.
    let due = journal.due(late.at, 10).await.expect("a list");
    assert!(due.sessions.is_empty(), "{due:?}");
    let next = engine.send(message(options()), &mut ()).await;
    assert_eq!(next.expect("a report").answer(), "still");
    let said = format!("{:?}", model.requests());
    assert!(!said.contains("it was done by then"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn an_outcome_of_a_try_that_was_given_up_does_not_stand_in_for_the_next_one() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let (model, toolbox) = (ScriptedModel::new(), toolbox());
    let (late, next) = (Gate::new(), Gate::new());
    toolbox
        .push_call("act", outliving("the first", &late))
        .push_call("act", ScriptedCall::text("the second").held_at(&next));
    model
        .push_reply(ScriptedReply::calls([("box__act", "{}")]))
        .push_reply(ScriptedReply::text("done"));
    let engine = engine(&journal, &model, &toolbox);
    let options = TurnOptions {
        when_unknown: UnknownPolicy::Retry,
        ..options()
    };
    let sending = engine.clone();
    let sent = tokio::spawn(async move { sending.send(message(options), &mut ()).await });
    next.reached().await;
    late.open();
    let loaded = heard(&journal, 1).await;
    let (lates, closed) = audited(&loaded);
    assert_eq!((lates.len(), closed), (1, None));
    next.open();
    let report = sent.await.expect("no panic").expect("a report");
    assert_eq!(report.calls[0].result.to_text(), "the second");
    let loaded = journal.load(&session()).await.expect("a session");
    let (lates, closed) = audited(&loaded);
    assert_eq!(lates[0].text.as_deref(), Some("the first"));
    assert_eq!((lates.len(), closed), (1, Some(CallEnd::Ran)));
    assert!(!facts(&loaded.steps).any(|fact| matches!(fact, Fact::Late(_))));
}

#[tokio::test(start_paused = true)]
async fn each_try_has_a_late_outcome_of_its_own() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let (model, toolbox, gate) = (ScriptedModel::new(), toolbox(), Gate::new());
    toolbox
        .push_call("act", outliving("the first", &gate))
        .push_call("act", outliving("the second", &gate))
        .push_call("act", ScriptedCall::text("the third"));
    model
        .push_reply(ScriptedReply::calls([("box__act", "{}")]))
        .push_reply(ScriptedReply::text("done"));
    let engine = engine(&journal, &model, &toolbox);
    let options = TurnOptions {
        when_unknown: UnknownPolicy::Retry,
        ..options()
    };
    let report = engine.send(message(options), &mut ()).await;
    assert_eq!(report.expect("a report").answer(), "done");
    gate.open();
    let (mut late, _) = audited(&heard(&journal, 2).await);
    late.sort_by_key(|late| late.attempt.attempt);
    let texts: Vec<_> = late.iter().map(|late| late.text.as_deref()).collect();
    assert_eq!(texts, [Some("the first"), Some("the second")]);
}

#[tokio::test(start_paused = true)]
async fn what_comes_late_of_a_session_in_passing_is_kept_nowhere() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let (model, toolbox, gate) = (ScriptedModel::new(), toolbox(), Gate::new());
    toolbox.push_call("act", outliving("it was done by then", &gate));
    model
        .push_reply(ScriptedReply::calls([("box__act", "{}")]))
        .push_reply(ScriptedReply::text("nobody knows"));
    let engine = engine(&journal, &model, &toolbox);
    let engine = engine.with_ephemeral_journal(Arc::clone(&journal), Ephemeral::default());
    engine
        .create_ephemeral(&session())
        .expect("a journal for it");
    let report = engine.send(message(options()), &mut ()).await;
    assert_eq!(report.expect("a report").answer(), "nobody knows");
    gate.open();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let loaded = journal.load(&session()).await.expect("a session");
    assert_eq!(loaded.deliveries, []);
}

#[tokio::test(start_paused = true)]
async fn of_many_late_outcomes_at_once_only_so_many_are_on_their_way() {
    const LIMIT: usize = 64;
    let faulty = FaultyJournal::new(Arc::new(MemoryJournal::default()));
    let journal: Arc<dyn Journal> = Arc::new(faulty.clone());
    let (model, toolbox) = (ScriptedModel::new(), toolbox());
    let (many, one) = (Gate::new(), Gate::new());
    for _ in 0..=LIMIT {
        toolbox.push_call("act", outliving("one of many", &many));
    }
    toolbox.push_call("act", outliving("the last", &one));
    model
        .push_reply(ScriptedReply::calls([("box__act", "{}"); LIMIT + 1]))
        .push_reply(ScriptedReply::calls([("box__act", "{}")]))
        .push_reply(ScriptedReply::text("nobody knows"));
    let engine = engine(&journal, &model, &toolbox);
    let mut options = options();
    options.limits.parallel_calls = 100;
    options.limits.repeats = 100;
    let report = engine.send(message(options), &mut ()).await;
    let report = report.expect("a report");
    assert_eq!(report.answer(), "nobody knows", "{:?}", report.end);
    let held = Gate::new();
    faulty.hold_deliveries(&held);
    many.open();
    // When nothing can go on by itself, all that will ever be on their way are.
    tokio::time::sleep(Duration::from_secs(1)).await;
    held.open();
    heard(&journal, LIMIT as u64).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let loaded = journal.load(&session()).await.expect("a session");
    assert_eq!(loaded.deliveries.len(), LIMIT, "one was too many");
    // Then there is room again.
    one.open();
    let loaded = heard(&journal, LIMIT as u64 + 1).await;
    let last = loaded.deliveries.last().map(|last| format!("{last:?}"));
    assert!(last.is_some_and(|last| last.contains("the last")));
}

/// Cancels a turn while something is held at this gate, which comes back while the append that says so waits;
/// gives what is recorded in the end.
async fn cancelled(model: &ScriptedModel, toolbox: &ScriptedToolbox, gate: &Gate) -> Loaded {
    let journal = FaultyJournal::new(Arc::new(MemoryJournal::default()));
    let port: Arc<dyn Journal> = Arc::new(journal.clone());
    let engine = engine(&port, model, toolbox);
    let sending = engine.clone();
    let sent = tokio::spawn(async move { sending.send(message(options()), &mut ()).await });
    gate.reached().await;
    let held = Gate::new();
    journal.push_fault(AppendFault::Hold(held.clone()));
    let body = DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: TurnId::derive(&session(), 1),
    };
    let id = DeliveryId::parse("stop").expect("a valid id");
    let told = engine.deliver(&session(), id, "a person", body).await;
    told.expect("delivered");
    held.reached().await;
    gate.open();
    tokio::time::sleep(Duration::from_millis(10)).await;
    held.open();
    let report = sent.await.expect("no panic").expect("a report");
    assert_eq!(report.end, TurnEnd::Cancelled(CancelCause::Asked));
    port.load(&session()).await.expect("a session")
}

#[tokio::test(start_paused = true)]
async fn what_comes_while_the_end_is_being_committed_is_a_late_fact() {
    let (model, toolbox, gate) = (ScriptedModel::new(), toolbox(), Gate::new());
    toolbox.push_call("act", ScriptedCall::text("just too late").held_at(&gate));
    model.push_reply(ScriptedReply::calls([("box__act", "{}")]));
    let loaded = cancelled(&model, &toolbox, &gate).await;
    let (late, closed) = audited(&loaded);
    assert_eq!((late.len(), closed), (1, Some(CallEnd::Reported)));
    let last = facts(&loaded.steps).last();
    assert!(
        matches!(last, Some(Fact::Late(Late::Outcome { size: 13, .. }))),
        "{last:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_count_that_comes_while_a_cancel_is_being_committed_takes_the_place_of_the_estimate() {
    let (model, toolbox, gate) = (ScriptedModel::new(), toolbox(), Gate::new());
    let counted = Usage {
        input: 70,
        output: 7,
        ..Usage::default()
    };
    let reply = ScriptedReply::text("a long answer");
    model.push_reply(reply.held_after(2, &gate).with_usage(counted));
    let loaded = cancelled(&model, &toolbox, &gate).await;
    let log = SessionLog::from_steps(&loaded.steps, &loaded.deliveries);
    assert_eq!(log.turns[0].usage(), counted);
}
