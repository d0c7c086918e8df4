//! A second message to a session that is at work, that waits, or that was left.

use std::sync::Arc;

use jackfield_domain::fact::{CallEnd, Fact, TurnEnd};
use jackfield_domain::ids::TurnId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::policy::Policy;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::wait::CancelCause;
use jackfield_engine::{Engine, EngineError, SecondMessage, SendMessage, TurnReport};
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use tokio::sync::{Notify, Semaphore};

use crate::fixture::{Log, OneTool, Rounds, engine, message, options, session};

/// An engine whose first tool call is at work until the gate opens.
struct Bench {
    called: Arc<Notify>,
    engine: Engine,
    gate: Arc<Semaphore>,
    journal: Arc<MemoryJournal>,
}

impl Bench {
    fn new() -> Self {
        let log = Log::default();
        let model = Rounds::once(&log, 1);
        let (called, gate) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
        let (at_work, opened) = (Arc::clone(&called), Arc::clone(&gate));
        let tool = OneTool::new(&log, move |_| {
            at_work.notify_one();
            let opened = Arc::clone(&opened);
            async move {
                opened.acquire().await.expect("never closed").forget();
                ToolResult::text("done")
            }
        });
        let journal = Arc::new(MemoryJournal::default());
        let port = Arc::clone(&journal) as Arc<dyn Journal>;
        Self {
            called,
            engine: engine(model, tool, port),
            gate,
            journal,
        }
    }

    async fn send(&self, message: SendMessage) -> Result<TurnReport, EngineError> {
        self.engine.send(message, &mut ()).await
    }

    /// The ends of all turns, in the order in which they came.
    async fn ends(&self) -> Vec<TurnEnd> {
        let loaded = self.journal.load(&session()).await.expect("a session");
        let facts = loaded.steps.into_iter().flat_map(|step| step.facts);
        let ends = facts.filter_map(|fact| match fact {
            Fact::TurnEnded { end, .. } => Some(end),
            _ => None,
        });
        ends.collect()
    }

    async fn is_waiting(&self) {
        loop {
            tokio::task::yield_now().await;
            let Ok(loaded) = self.journal.load(&session()).await else {
                continue;
            };
            let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
            if facts.any(|fact| matches!(fact, Fact::WaitOpened { .. })) {
                return;
            }
        }
    }
}

fn second(second: SecondMessage) -> SendMessage {
    let mut options = options();
    options.if_busy = second;
    message(options)
}

/// A message to whose calls somebody has to say yes.
fn asking() -> SendMessage {
    let mut options = options();
    options.policy = Policy {
        can_ask: true,
        rules: Vec::new(),
    };
    message(options)
}

const ANSWERED: TurnEnd = TurnEnd::Answered(FinishReason::Stop);

#[tokio::test(start_paused = true)]
async fn it_is_refused_with_the_id_of_the_turn_that_runs() {
    let bench = Bench::new();
    let later = async {
        bench.called.notified().await;
        let refused = bench.send(second(SecondMessage::Refuse)).await;
        bench.gate.add_permits(1);
        refused
    };
    let (first, refused) = tokio::join!(bench.send(message(options())), later);
    let turn = first.expect("a report").turn;
    let refused = refused.expect_err("one turn at a time");
    assert!(
        matches!(&refused, EngineError::Busy { turn: known, .. } if *known == turn),
        "{refused}"
    );
    assert_eq!(bench.ends().await, [ANSWERED]);
}

#[tokio::test(start_paused = true)]
async fn queued_messages_come_one_after_the_other_in_their_order() {
    let bench = Bench::new();
    let queued = |text: &'static str| {
        let bench = &bench;
        async move {
            let mut message = second(SecondMessage::Queue);
            message.opening = jackfield_domain::setup::Opening::UserMessage(Arc::new(
                jackfield_domain::message::Message::user(text),
            ));
            bench.send(message).await
        }
    };
    let open = async {
        bench.called.notified().await;
        // All three stand in the queue by now, in the order in which they were asked for.
        bench.gate.add_permits(10);
    };
    let (a, b, c, d, ()) = tokio::join!(
        queued("one"),
        queued("two"),
        queued("three"),
        queued("four"),
        open
    );
    let turns = [a, b, c, d].map(|report| report.expect("a report").turn);
    let expected = [1, 2, 3, 4].map(|ordinal| TurnId::derive(&session(), ordinal));
    assert_eq!(turns, expected);
}

#[tokio::test(start_paused = true)]
async fn it_cancels_the_turn_that_runs_and_takes_its_place() {
    let bench = Bench::new();
    let later = async {
        bench.called.notified().await;
        bench.send(second(SecondMessage::Cancel)).await
    };
    // The gate opens for the second turn alone.
    let open = async {
        while bench.journal.load(&session()).await.is_err() || bench.ends().await.is_empty() {
            tokio::task::yield_now().await;
        }
        bench.gate.add_permits(1);
    };
    let (first, later, ()) = tokio::join!(bench.send(message(options())), later, open);
    let cancelled = TurnEnd::Cancelled(CancelCause::Superseded);
    assert_eq!(first.expect("a report").end, cancelled);
    assert_eq!(later.expect("a report").end, ANSWERED);
    assert_eq!(bench.ends().await, [cancelled, ANSWERED]);
}

#[tokio::test(start_paused = true)]
async fn it_supersedes_a_turn_that_only_waits_in_this_process() {
    for how in [
        SecondMessage::Cancel,
        SecondMessage::Queue,
        SecondMessage::Refuse,
    ] {
        let bench = Bench::new();
        bench.gate.add_permits(1);
        let later = async {
            bench.is_waiting().await;
            bench.send(second(how)).await
        };
        let (first, later) = tokio::join!(bench.send(asking()), later);
        let first = first.expect("a report");
        assert_eq!(first.end, TurnEnd::Cancelled(CancelCause::Superseded));
        assert_eq!(later.expect("a report").end, ANSWERED, "{how:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_supersedes_a_turn_that_another_process_left_waiting() {
    let bench = Bench::new();
    bench.gate.add_permits(1);
    tokio::select! {
        report = bench.send(asking()) => panic!("it ended: {report:?}"),
        () = bench.is_waiting() => {}
    }
    let report = bench.send(second(SecondMessage::Refuse)).await;
    assert_eq!(report.expect("a report").end, ANSWERED);
    let superseded = TurnEnd::Cancelled(CancelCause::Superseded);
    assert_eq!(bench.ends().await, [superseded, ANSWERED]);
}

#[tokio::test(start_paused = true)]
async fn what_another_process_left_at_work_is_ended_only_if_that_was_said() {
    let bench = Bench::new();
    let at_work = bench.called.notified();
    tokio::select! {
        report = bench.send(message(options())) => panic!("it ended: {report:?}"),
        () = at_work => {}
    }
    for how in [SecondMessage::Refuse, SecondMessage::Queue] {
        let error = bench.send(second(how)).await.expect_err("it was left");
        assert!(matches!(error, EngineError::LeftOpen { .. }), "{error}");
    }
    bench.gate.add_permits(1);
    let report = bench.send(second(SecondMessage::Cancel)).await;
    assert_eq!(report.expect("a report").end, ANSWERED);
    let cancelled = TurnEnd::Cancelled(CancelCause::Superseded);
    assert_eq!(bench.ends().await, [cancelled, ANSWERED]);
    let loaded = bench.journal.load(&session()).await.expect("a session");
    let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
    let reported = |fact: &Fact| {
        let end = CallEnd::Reported;
        matches!(fact, Fact::CallClosed { end: known, .. } if *known == end)
    };
    assert!(facts.any(reported), "what the call did is not known");
}

/// A message whose sender saw this many turns.
fn after(how: SecondMessage, turns: u32) -> SendMessage {
    let mut message = second(how);
    message.options.expected_turns = Some(turns);
    message
}

const ALL: [SecondMessage; 3] = [
    SecondMessage::Cancel,
    SecondMessage::Queue,
    SecondMessage::Refuse,
];

#[tokio::test(start_paused = true)]
async fn it_begins_no_turn_after_another_one_than_its_sender_saw() {
    for how in ALL {
        let bench = Bench::new();
        bench.gate.add_permits(9);
        let first = bench.send(after(how, 0)).await;
        assert_eq!(first.expect("a report").end, ANSWERED);
        let error = bench.send(after(how, 0)).await;
        let error = error.expect_err("there is one turn");
        assert!(error.is_overtaken(0), "{how:?}: {error}");
        let second = bench.send(after(how, 1)).await;
        assert_eq!(second.expect("a report").end, ANSWERED);
        assert_eq!(bench.ends().await, [ANSWERED, ANSWERED], "{how:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_supersedes_no_turn_that_its_sender_did_not_see() {
    for how in ALL {
        let bench = Bench::new();
        bench.gate.add_permits(1);
        tokio::select! {
            report = bench.send(asking()) => panic!("it ended: {report:?}"),
            overtaken = async {
                bench.is_waiting().await;
                bench.send(after(how, 0)).await
            } => {
                let error = overtaken.expect_err("there is a turn");
                assert!(error.is_overtaken(0), "{how:?}: {error}");
            }
        }
        // Another process has left it, and it is refused as well.
        let error = bench
            .send(after(how, 0))
            .await
            .expect_err("there is a turn");
        assert!(error.is_overtaken(0), "{how:?}: {error}");
        assert!(bench.ends().await.is_empty(), "{how:?}");
    }
}
