//! A turn whose budget is used up in its middle waits, and goes on when there is room again, wherever a process is lost.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::wait::WaitKind;
use jackfield_engine::{
    DriveOutcome, Engine, Ephemeral, KeeperOptions, OpenQuestion, TurnOptions, WaitQuery,
};
use jackfield_ports::journal::{Append, Journal};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{AppendFault, FaultyJournal, Gate};
use tokio::sync::mpsc;

use crate::budgeted::{ROUND, ann, answer, assert_counted, call, engine, limit, tokens};
use crate::fixture::{message, options, session};

fn pausing(options: TurnOptions) -> TurnOptions {
    TurnOptions {
        pauses: true,
        ..options
    }
}

/// The question of the paused turn.
async fn pause(engine: &Engine) -> OpenQuestion {
    loop {
        tokio::task::yield_now().await;
        let query = WaitQuery {
            limit: 1,
            ..WaitQuery::default()
        };
        let open = engine.open_questions(&query, |_| true).await;
        let open = open.expect("questions").waits;
        let questions = engine.load_questions(&open).await.expect("questions");
        let is_open = |asked: &OpenQuestion| asked.end.is_none();
        if let Some(question) = questions.into_iter().find(is_open) {
            return question;
        }
    }
}

fn keeps() -> KeeperOptions {
    KeeperOptions::new(options().policy)
}

#[tokio::test(start_paused = true)]
async fn a_turn_goes_on_after_a_raise() {
    let (model, engine) = engine(Arc::new(MemoryJournal::new()), [call(), answer()]);
    let options = pausing(ann(&engine, tokens(ROUND)).await);
    let _keeper = engine.spawn_keeper(keeps(), |_| {});
    let mut nobody = ();
    let sending = engine.send(message(options), &mut nobody);
    tokio::pin!(sending);
    let question = tokio::select! {
        sent = &mut sending => panic!("it ended: {sent:?}"),
        question = pause(&engine) => question,
    };
    let WaitKind::Budget { message } = &question.wait.kind else {
        panic!("{question:?}");
    };
    assert!(
        message.contains("1100 tokens per day, is used up: 1100 tokens were spent"),
        "{message}"
    );
    assert_eq!(model.requests().len(), 1);
    limit(&engine, tokens(1_000_000)).await;
    let sent = sending.await.expect("sent");
    assert!(matches!(sent.end, TurnEnd::Answered(_)), "{sent:?}");
    assert_counted(&engine, 2).await;
}

/// The process dies while the turn waits, and the raise is made while no process runs.
#[tokio::test(start_paused = true)]
async fn a_pause_and_a_raise_survive_the_process() {
    let journal = Arc::new(MemoryJournal::new());
    let (_, first) = engine(Arc::clone(&journal) as Arc<dyn Journal>, [call()]);
    let options = pausing(ann(&first, tokens(ROUND)).await);
    let mut nobody = ();
    tokio::select! {
        sent = first.send(message(options), &mut nobody) => panic!("it ended: {sent:?}"),
        _ = pause(&first) => {}
    }
    crate::keeping::let_go(&journal, &session()).await;
    limit(&first, tokens(1_000_000)).await;
    let (_, second) = engine(Arc::clone(&journal) as Arc<dyn Journal>, [answer()]);
    let (sender, mut kept) = mpsc::unbounded_channel();
    let _keeper = second.spawn_keeper(keeps(), move |one| {
        let _gone = sender.send(one);
    });
    loop {
        let outcome = kept.recv().await.expect("a kept session").outcome;
        match outcome.expect("driven") {
            DriveOutcome::Finished(report) => {
                assert!(matches!(report.end, TurnEnd::Answered(_)), "{report:?}");
                break;
            }
            DriveOutcome::Waiting(_) => {}
        }
    }
    assert_counted(&second, 2).await;
}

/// A turn that has read the budget before a raise, and begins to wait after the keeper has seen it, is not forgotten.
#[tokio::test(start_paused = true)]
async fn a_raise_just_before_the_wait_counts() {
    let dry = FaultyJournal::new(Arc::new(MemoryJournal::new()));
    let (_, first) = engine(Arc::new(dry.clone()), [call()]);
    let options = pausing(ann(&first, tokens(ROUND)).await);
    let mut nobody = ();
    tokio::select! {
        sent = first.send(message(options), &mut nobody) => panic!("it ended: {sent:?}"),
        _ = pause(&first) => {}
    }
    let is_wait = |append: &Append| {
        let mut facts = append.steps.iter().flat_map(|step| &step.facts);
        facts.any(|fact| matches!(fact, Fact::WaitOpened { .. }))
    };
    let nth = dry.appends().iter().position(is_wait).expect("a wait");

    let (journal, gate) = (
        FaultyJournal::new(Arc::new(MemoryJournal::new())),
        Gate::new(),
    );
    journal
        .push_successes(nth)
        .push_fault(AppendFault::Hold(gate.clone()));
    let (_, second) = engine(Arc::new(journal), [call(), answer()]);
    let options = pausing(ann(&second, tokens(ROUND)).await);
    let _keeper = second.spawn_keeper(keeps(), |_| {});
    let sending = second.send(message(options), &mut nobody);
    tokio::pin!(sending);
    let raising = async {
        gate.reached().await;
        limit(&second, tokens(1_000_000)).await;
        // The keeper looks for changes every second.
        tokio::time::sleep(Duration::from_secs(5)).await;
        gate.open();
    };
    tokio::select! {
        sent = &mut sending => panic!("it ended: {sent:?}"),
        () = raising => {}
    }
    // Not only when the day has ended.
    let sent = tokio::time::timeout(Duration::from_secs(60), sending).await;
    let sent = sent.expect("it goes on").expect("sent");
    assert!(matches!(sent.end, TurnEnd::Answered(_)), "{sent:?}");
}

/// A change that leaves the budget full wakes no turn.
#[tokio::test(start_paused = true)]
async fn a_change_without_room_leaves_the_turn_waiting() {
    let (model, engine) = engine(Arc::new(MemoryJournal::new()), [call(), answer()]);
    let options = pausing(ann(&engine, tokens(ROUND)).await);
    let _keeper = engine.spawn_keeper(keeps(), |_| {});
    let mut nobody = ();
    let looking = async {
        let question = pause(&engine).await;
        limit(&engine, tokens(ROUND - 1)).await;
        // The keeper looks every second.
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(pause(&engine).await.wait, question.wait);
    };
    tokio::select! {
        sent = engine.send(message(options), &mut nobody) => panic!("it ended: {sent:?}"),
        () = looking => {}
    }
    assert_eq!(model.requests().len(), 1);
}

/// What is in memory only cannot wait for a person.
#[tokio::test]
async fn an_ephemeral_turn_ends() {
    let (_, engine) = engine(Arc::new(MemoryJournal::new()), [call(), answer()]);
    let options = pausing(ann(&engine, tokens(ROUND)).await);
    let memory = Arc::new(MemoryJournal::new());
    let engine = engine.with_ephemeral_journal(memory, Ephemeral::default());
    engine.create_ephemeral(&session()).expect("created");
    let sent = engine.send(message(options), &mut ()).await.expect("sent");
    assert!(matches!(sent.end, TurnEnd::Failed(_)), "{sent:?}");
}
