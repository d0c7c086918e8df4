//! The three answers of an append, and what the driver makes of each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::ids::{DeliveryId, WaitId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::wait::{Answer, Approval, DeliveryBody};
use jackfield_engine::{Engine, EngineError, Observer, ObserverEvent};
use jackfield_ports::journal::{AppendRefusal, DeliveryOutcome, Journal};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{
    AppendFault as FakeFault, FaultyJournal, Gate, ScriptedModel, ScriptedReply,
};
use tokio::sync::mpsc;

use crate::fixture::{
    Fault, Log, Logged, OneTool, Paused, Rounds, Watched, Watcher, asking, engine, message,
    options, session,
};

/// A turn of one round with two calls, on a journal with these faults.
async fn with_faults(
    faults: Vec<Fault>,
) -> (
    Result<jackfield_engine::TurnReport, EngineError>,
    Vec<Logged>,
) {
    let log = Log::default();
    let model = Rounds::once(&log, 2);
    let tool = OneTool::new(&log, |_| async { ToolResult::text("done") });
    let journal = Arc::new(Watched::new(&log, MemoryJournal::default()));
    *journal.faults.lock().expect("no panic under the lock") = faults;
    let engine = engine(model, tool, journal);
    let report = engine
        .send(message(options()), &mut Watcher(log.clone()))
        .await;
    (report, log.all())
}

fn tools_called(log: &[Logged]) -> usize {
    log.iter()
        .filter(|logged| matches!(logged, Logged::ToolCalled(_)))
        .count()
}

#[tokio::test(start_paused = true)]
async fn an_append_whose_answer_is_lost_is_asked_for_again_and_written_once() {
    for place in 0..4 {
        let mut faults = vec![Fault::None; place];
        faults.push(Fault::CommitAndLoseTheAnswer);
        let (report, log) = with_faults(faults).await;
        let report = report.expect("a report");
        assert_eq!(
            report.end,
            TurnEnd::Answered(FinishReason::Stop),
            "lost append {place}"
        );
        assert_eq!(tools_called(&log), 2);
        let told = log
            .iter()
            .filter(|logged| matches!(logged, Logged::Told(Fact::CallClosed { .. })));
        assert_eq!(told.count(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn whether_writes_fail_is_what_the_last_one_said() {
    let unwritable = || AppendRefusal::Unwritable {
        why: "it is full".into(),
    };
    let journal = FaultyJournal::new(Arc::new(MemoryJournal::default()));
    let model = ScriptedModel::new();
    model.push_reply(ScriptedReply::text("hello"));
    let engine = Engine::builder(Arc::new(journal.clone()))
        .model("provider", model.port())
        .build();
    let send = async || engine.send(message(options()), &mut ()).await;
    // A driver that is refused reloads and asks again, and at last gives up.
    for _ in 0..10 {
        journal.push_fault(FakeFault::Refuse(unwritable()));
    }
    assert!(!engine.is_journal_failing());
    send().await.expect_err("nothing is kept");
    assert!(engine.is_journal_failing());
    let mut was_kept = false;
    for _ in 0..10 {
        was_kept = was_kept || send().await.is_ok();
    }
    assert!(was_kept, "the faults are over");
    assert!(!engine.is_journal_failing());
    // That another process owns the session is no fault of the journal's.
    journal.push_fault(FakeFault::ChangeHands);
    let _stale = send().await;
    assert!(!engine.is_journal_failing());
    journal.set_unreachable(true);
    send().await.expect_err("it cannot be reached");
    assert!(engine.is_journal_failing());
    engine
        .check_writable()
        .await
        .expect_err("it cannot be reached");
    journal.set_unreachable(false);
    // Where nobody takes turns, to try is enough.
    engine.check_writable().await.expect("it can");
    assert!(!engine.is_journal_failing());
    // A disk that hangs says nothing at all.
    let gate = Gate::new();
    journal.hold_ownership(&gate);
    let error = engine.check_writable().await.expect_err("it hangs");
    let why = std::error::Error::source(&error).expect("a source");
    assert!(why.to_string().contains("within 10s"), "{why}");
    assert!(engine.is_journal_failing());
    gate.open();
    engine.check_writable().await.expect("it goes on");
    assert!(!engine.is_journal_failing());
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_never_answers_stops_the_turn_with_nothing_done() {
    let (report, log) = with_faults(vec![Fault::NeverAnswer; 1000]).await;
    let error = report.expect_err("nothing was committed");
    assert!(matches!(error, EngineError::NotCommitted { .. }), "{error}");
    assert_eq!(log, [], "nothing was called, nothing was told");
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_has_been_replaced_does_nothing_more() {
    // The append that holds the reply and the starts of both tools is refused.
    let (report, log) = with_faults(vec![Fault::None, Fault::Stale]).await;
    let error = report.expect_err("the ownership is lost");
    let refusal = AppendRefusal::StaleEpoch;
    assert!(
        matches!(&error, EngineError::OwnershipLost { refusal: r } if *r == refusal),
        "{error}"
    );
    assert_eq!(tools_called(&log), 0);
    let told = log
        .iter()
        .any(|logged| matches!(logged, Logged::Told(Fact::ReplyReceived { .. })));
    assert!(!told, "what was refused was told");
}

/// Sends the ids of waits that open.
struct Waits(mpsc::UnboundedSender<WaitId>);

impl Observer for Waits {
    fn on_event(&mut self, news: ObserverEvent<'_>) {
        if let ObserverEvent::Fact {
            fact: Fact::WaitOpened { wait },
            ..
        } = news
        {
            let _gone = self.0.send(wait.id.clone());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_unread_answer_beats_the_expiry_that_was_about_to_be_committed() {
    let log = Log::default();
    let ran = Arc::new(AtomicU32::new(0));
    let model = Rounds::once(&log, 1);
    let counter = Arc::clone(&ran);
    let tool = OneTool::new(&log, move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        async { ToolResult::text("done") }
    });
    let clock = Arc::new(Paused::default());
    let now = Arc::clone(&clock);
    let inner = MemoryJournal::with_clock(move || now.wall());
    let journal = Arc::new(Watched::new(&log, inner));
    journal.hide_inbox.store(true, Ordering::SeqCst);
    let engine = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
        .model("provider", Arc::new(model))
        .toolbox(Arc::new(tool))
        .clock(clock)
        .build();
    let (sender, mut waits) = mpsc::unbounded_channel();
    let sending = engine.clone();
    let turn =
        tokio::spawn(async move { sending.send(message(asking()), &mut Waits(sender)).await });
    let wait = waits.recv().await.expect("a wait");
    let id = DeliveryId::parse("yes").expect("a valid id");
    let answer = Answer::Approval(Approval::Granted {
        edited: None,
        for_session: false,
    });
    let body = DeliveryBody::Answer { answer, wait };
    let delivered = engine
        .deliver(&session(), id, "a person", body)
        .await
        .expect("delivered");
    assert_eq!(delivered, DeliveryOutcome::Accepted);
    // The inbox is read only when the journal refuses to close the wait over the answer in it.
    journal.hide_inbox.store(false, Ordering::SeqCst);
    let report = turn.await.expect("no panic").expect("a report");
    assert_eq!(report.end, TurnEnd::Answered(FinishReason::Stop));
    assert_eq!(
        ran.load(Ordering::SeqCst),
        1,
        "the approval was granted in time"
    );
}
