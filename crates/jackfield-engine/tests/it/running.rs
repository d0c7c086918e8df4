//! Running: parallel calls, their order, cancelling, and dropping.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jackfield_domain::fact::{CallEnd, Fact, TurnEnd};
use jackfield_domain::ids::{DeliveryId, TurnId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::rules;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_engine::{EngineError, Observer, ObserverEvent};
use jackfield_ports::toolbox::Toolbox;
use jackfield_store_memory::MemoryJournal;
use tokio::sync::{Barrier, Notify};

use crate::fixture::{Log, OneTool, Rounds, engine, message, options, session};

#[tokio::test(start_paused = true)]
async fn calls_run_at_once_up_to_the_limit_and_no_further() {
    let log = Log::default();
    let model = Rounds::once(&log, 8);
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    // Four have to meet before any of them goes on: a turn that ran fewer would time out.
    let meeting = Arc::new(Barrier::new(4));
    let (running, highest) = (Arc::clone(&now), Arc::clone(&most));
    let tool = OneTool::new(&log, move |_| {
        let (running, highest, meeting) = (
            Arc::clone(&running),
            Arc::clone(&highest),
            Arc::clone(&meeting),
        );
        async move {
            let at_once = running.fetch_add(1, Ordering::SeqCst) + 1;
            highest.fetch_max(at_once, Ordering::SeqCst);
            meeting.wait().await;
            running.fetch_sub(1, Ordering::SeqCst);
            ToolResult::text("met")
        }
    });
    let engine = engine(model, tool, Arc::new(MemoryJournal::default()));
    let mut options = options();
    options.limits.parallel_calls = 4;
    let report = engine
        .send(message(options), &mut ())
        .await
        .expect("a report");
    assert_eq!(report.answer(), ["met"; 8].join("|"));
    assert_eq!(most.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn outcomes_stand_in_call_order_when_the_last_call_finishes_first() {
    let log = Log::default();
    let model = Rounds::once(&log, 5);
    let tool = OneTool::new(&log, |run| async move {
        let n = run
            .arguments()
            .and_then(|fields| fields["n"].as_u64())
            .expect("n");
        tokio::time::sleep(Duration::from_millis(100 - n * 10)).await;
        ToolResult::text(n.to_string())
    });
    let engine = engine(model, tool, Arc::new(MemoryJournal::default()));
    let started = tokio::time::Instant::now();
    let report = engine
        .send(message(options()), &mut ())
        .await
        .expect("a report");
    assert_eq!(report.answer(), "0|1|2|3|4");
    let took = started.elapsed();
    assert!(
        took < Duration::from_millis(120),
        "all at once, not one after another: {took:?}"
    );
}

/// Keeps the id of the turn.
struct Opened(Arc<OnceLock<TurnId>>);

impl Observer for Opened {
    fn on_event(&mut self, news: ObserverEvent<'_>) {
        if let ObserverEvent::Fact {
            fact: Fact::TurnOpened { turn, .. },
            ..
        } = news
        {
            let _known = self.0.set(turn.clone());
        }
    }
}

/// A tool that says when it is called, never ends, and says when it is dropped.
fn endless(log: &Log, called: &Arc<Notify>, dropped: &Arc<Notify>) -> impl Toolbox + use<> {
    let (called, dropped) = (Arc::clone(called), Arc::clone(dropped));
    OneTool::new(log, move |_| {
        called.notify_one();
        let guard = Dropped(Arc::clone(&dropped));
        async move {
            let _guard = guard;
            std::future::pending::<ToolResult>().await
        }
    })
}

/// Tells when it is dropped.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_stops_the_tool_ends_the_turn_and_leaves_the_session_usable() {
    let log = Log::default();
    let model = Rounds::once(&log, 1);
    let (called, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let tool = endless(&log, &called, &dropped);
    let engine = engine(model, tool, Arc::new(MemoryJournal::default()));
    let turn = Arc::new(OnceLock::new());
    let (sending, mut opened) = (engine.clone(), Opened(Arc::clone(&turn)));
    let sent = tokio::spawn(async move { sending.send(message(options()), &mut opened).await });
    called.notified().await;
    let busy = engine
        .send(message(options()), &mut ())
        .await
        .expect_err("one turn at a time");
    assert!(matches!(busy, EngineError::Busy { .. }), "{busy}");
    let turn = turn
        .get()
        .expect("it was told before the tool was called")
        .clone();
    let body = DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn,
    };
    let id = DeliveryId::parse("stop").expect("a valid id");
    engine
        .deliver(&session(), id, "a person", body)
        .await
        .expect("delivered");
    let report = sent.await.expect("no panic").expect("a report");
    assert_eq!(report.end, TurnEnd::Cancelled(CancelCause::Asked));
    assert_eq!(
        report.calls[0].end,
        CallEnd::Reported,
        "it may have taken effect"
    );
    dropped.notified().await;
    rules::check_history(report.messages.iter()).expect("a valid history");
    // The next turn stands on all of that; its only round has no tools.
    let mut options = options();
    options.limits.rounds = 1;
    let next = engine
        .send(message(options), &mut ())
        .await
        .expect("a report");
    assert_eq!(next.rounds, 1);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_turn_aborts_what_runs_and_leaves_it_open_in_the_journal() {
    let log = Log::default();
    let model = Rounds::once(&log, 1);
    let (called, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let tool = endless(&log, &called, &dropped);
    let engine = engine(model, tool, Arc::new(MemoryJournal::default()));
    let sending = engine.clone();
    let sent = tokio::spawn(async move { sending.send(message(options()), &mut ()).await });
    called.notified().await;
    sent.abort();
    dropped.notified().await;
    assert!(sent.await.expect_err("aborted").is_cancelled());
    let open = engine
        .send(message(options()), &mut ())
        .await
        .expect_err("the turn is open");
    assert!(matches!(open, EngineError::LeftOpen { .. }), "{open}");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_takes_too_long_is_stopped_and_its_outcome_is_unknown() {
    let log = Log::default();
    let model = Rounds::once(&log, 1);
    let tool = OneTool::new(&log, |_| std::future::pending::<ToolResult>());
    let engine = engine(model, tool, Arc::new(MemoryJournal::default()));
    let report = engine
        .send(message(options()), &mut ())
        .await
        .expect("a report");
    assert_eq!(report.end, TurnEnd::Answered(FinishReason::Stop));
    assert!(
        report
            .answer()
            .starts_with("Outcome unknown (no answer within 30 s)"),
        "{report:?}"
    );
}
