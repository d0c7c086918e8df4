//! Turns in the background: begun, told, left alone, drained, forgotten.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::cursor::Cursor;
use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::reply::FinishReason;
use jackfield_domain::session_events::SessionEvent;
use jackfield_domain::wait::CancelCause;
use jackfield_engine::{
    Disconnect, DrainReport, DriveOutcome, Engine, EngineError, Ephemeral, ResumeSession,
    SendMessage, StartedTurn, Watcher,
};
use jackfield_ports::journal::{Journal, JournalError};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{AppendFault, FaultyJournal, Gate, ScriptedModel, ScriptedReply};

use crate::fixture::{message, options, session};

const ANSWERED: TurnEnd = TurnEnd::Answered(FinishReason::Stop);
const CANCELLED: TurnEnd = TurnEnd::Cancelled(CancelCause::Asked);

fn engine(journal: &Arc<MemoryJournal>, replies: Vec<ScriptedReply>) -> (ScriptedModel, Engine) {
    let model = ScriptedModel::new();
    for reply in replies {
        model.push_reply(reply);
    }
    let engine = Engine::builder(Arc::clone(journal) as Arc<dyn Journal>)
        .model("provider", model.port())
        .build();
    (model, engine)
}

fn journal() -> Arc<MemoryJournal> {
    Arc::new(MemoryJournal::default())
}

/// A model that says nothing before this gate is open.
fn held(gate: &Gate) -> Vec<ScriptedReply> {
    vec![ScriptedReply::text("done").held_at(gate)]
}

/// The facts up to the end of the turn, and how that was; the clock runs ahead where nothing else happens.
pub(crate) async fn to_the_end(watcher: &mut Watcher) -> (Vec<Fact>, TurnEnd) {
    let mut facts = Vec::new();
    loop {
        let next = tokio::time::timeout(Duration::from_secs(3600), watcher.next()).await;
        let (_, told) = next.expect("there is news").expect("news");
        let SessionEvent::Fact { fact, .. } = told else {
            continue;
        };
        facts.push(Fact::clone(&fact));
        if let Fact::TurnEnded { end, .. } = *fact {
            return (facts, end);
        }
    }
}

async fn steps(journal: &MemoryJournal) -> usize {
    let loaded = journal.load(&session()).await.expect("a session");
    loaded.steps.len()
}

#[tokio::test(start_paused = true)]
async fn it_has_begun_when_its_opening_is_committed_and_ends_without_anybody() {
    let (journal, gate) = (journal(), Gate::new());
    let (_model, engine) = engine(&journal, held(&gate));
    let begun = engine.begin(message(options())).await.expect("begun");
    assert_eq!(steps(&journal).await, 1);
    let StartedTurn {
        connection,
        mut watcher,
        ..
    } = begun;
    // Whoever asked is gone.
    drop(connection);
    gate.open();
    let (facts, end) = to_the_end(&mut watcher).await;
    assert_eq!(end, ANSWERED);
    assert!(matches!(facts.first(), Some(Fact::TurnOpened { .. })));
    assert!(watcher.is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_second_turn_is_told_from_its_own_opening_on() {
    let journal = journal();
    let replies = vec![ScriptedReply::text("one"), ScriptedReply::text("two")];
    let (_model, engine) = engine(&journal, replies);
    engine
        .send(message(options()), &mut ())
        .await
        .expect("a report");
    let mut begun = engine.begin(message(options())).await.expect("begun");
    let (facts, _) = to_the_end(&mut begun.watcher).await;
    let opened: Vec<&Fact> = facts
        .iter()
        .filter(|fact| matches!(fact, Fact::TurnOpened { .. }))
        .collect();
    assert!(
        matches!(opened[..], [Fact::TurnOpened { ordinal: 2, turn, .. }] if *turn == begun.turn),
        "{opened:?}"
    );
    // Whoever comes later from the same cursor sees the same.
    let again = session();
    let later = engine.subscribe(&again, &begun.turn, 0, Disconnect::Finish);
    let later = &mut later.await.expect("it is there").watcher;
    assert_eq!(to_the_end(later).await.0, facts);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_begin_says_so_and_begins_nothing() {
    let journal = journal();
    let (_model, engine) = engine(&journal, Vec::new());
    let mut nowhere = options();
    nowhere.model.provider = "nowhere".into();
    let error = engine.begin(message(nowhere)).await.expect_err("refused");
    assert!(
        matches!(error, EngineError::UnknownProvider { .. }),
        "{error}"
    );
    let known = journal.exists(&session()).await.expect("reachable");
    assert!(!known);
}

#[tokio::test(start_paused = true)]
async fn two_at_once_in_one_session_are_one_turn_and_one_refusal() {
    let (journal, gate) = (journal(), Gate::new());
    let (_model, engine) = engine(&journal, held(&gate));
    let both = tokio::join!(
        engine.begin(message(options())),
        engine.begin(message(options())),
    );
    let refused = match both {
        (Ok(_begun), Err(error)) | (Err(error), Ok(_begun)) => error,
        (Ok(_), Ok(_)) => panic!("both began"),
        (Err(one), Err(two)) => panic!("none began: {one}, {two}"),
    };
    assert!(matches!(refused, EngineError::Busy { .. }), "{refused}");
    gate.open();
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_nobody_listens_to_is_cancelled_where_that_was_said() {
    for (after, ends) in [(0, CANCELLED), (10, CANCELLED), (20, ANSWERED)] {
        let (journal, gate) = (journal(), Gate::new());
        let (_model, engine) = engine(&journal, held(&gate));
        let mut options = options();
        options.disconnect = Disconnect::Cancel(Duration::from_secs(after));
        let begun = engine.begin(message(options)).await.expect("begun");
        let mut watcher = begun.watcher;
        drop(begun.connection);
        let opens = gate.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(15)).await;
            opens.open();
        });
        assert_eq!(to_the_end(&mut watcher).await.1, ends, "after {after} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_somebody_listens_to_again_in_time_goes_on() {
    let (journal, gate) = (journal(), Gate::new());
    let (_model, engine) = engine(&journal, held(&gate));
    let mut options = options();
    let disconnect = Disconnect::Cancel(Duration::from_secs(10));
    options.disconnect = disconnect;
    let begun = engine.begin(message(options)).await.expect("begun");
    drop(begun.connection);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let again = engine
        .subscribe(&session(), &begun.turn, 0, disconnect)
        .await;
    let mut again = again.expect("it is there");
    tokio::time::sleep(Duration::from_secs(60)).await;
    gate.open();
    assert_eq!(to_the_end(&mut again.watcher).await.1, ANSWERED);
}

#[tokio::test(start_paused = true)]
async fn a_session_in_passing_is_gone_when_its_answer_was_written_and_else_a_while_later() {
    for is_written in [true, false] {
        let journal = journal();
        let (_model, engine) = engine(&journal, vec![ScriptedReply::text("done")]);
        let passing = Arc::new(MemoryJournal::default());
        let port = Arc::clone(&passing) as Arc<dyn Journal>;
        let engine = engine.with_ephemeral_journal(port, Ephemeral::default());
        engine
            .create_ephemeral(&session())
            .expect("a journal for it");
        let mut begun = engine.begin(message(options())).await.expect("begun");
        assert_eq!(to_the_end(&mut begun.watcher).await.1, ANSWERED);
        let exists = async || passing.exists(&session()).await.expect("reachable");
        assert!(exists().await);
        if is_written {
            begun.connection.mark_written();
        } else {
            drop(begun.connection);
            tokio::time::sleep(Duration::from_secs(119)).await;
            assert!(exists().await, "it may be asked for again");
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        // A moment for whoever deletes it.
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(!exists().await, "written: {is_written}");
        // The other journal knows nothing of it.
        let unknown = journal.load(&session()).await.expect_err("not there");
        assert!(matches!(unknown, JournalError::UnknownSession { .. }));
    }
}

/// What an ephemeral turn used is recorded when it ends, before its answer is delivered.
#[tokio::test(start_paused = true)]
async fn what_an_ephemeral_turn_used_stays_when_its_session_goes() {
    let journal = journal();
    let (_model, engine) = engine(&journal, vec![ScriptedReply::text("done")]);
    let port = Arc::new(MemoryJournal::default()) as Arc<dyn Journal>;
    let engine = engine.with_ephemeral_journal(port, Ephemeral::default());
    engine
        .create_ephemeral(&session())
        .expect("a journal for it");
    let mut begun = engine.begin(message(options())).await.expect("begun");
    assert_eq!(to_the_end(&mut begun.watcher).await.1, ANSWERED);
    // The turn's task records after it has told the end.
    tokio::time::sleep(Duration::from_millis(1)).await;
    engine.flush_receipts().await;
    let mut records = Vec::new();
    let read = engine.read_spending(None, |record| records.push(record.clone()));
    assert_eq!(read.await.expect("readable"), 0);
    let [record] = &records[..] else {
        panic!("one record: {records:#?}");
    };
    let loaded = engine.load(&session()).await.expect("not delivered yet");
    let spent = jackfield_domain::spending::by_turn(&loaded.steps).remove(0);
    assert_eq!(
        *record.id,
        format!("{}.{}.1.1", begun.turn, spent.at.as_millis())
    );
    assert_eq!(record.model, spent.model);
    assert_eq!(record.usage, spent.usage());
    assert!(record.usage.total() > 0, "{record:?}");
}

#[tokio::test(start_paused = true)]
async fn of_too_many_sessions_in_passing_that_nobody_asks_for_the_first_ones_go() {
    let journal = journal();
    let answers = (0..4).map(|_| ScriptedReply::text("done"));
    let (_model, engine) = engine(&journal, answers.collect());
    let passing = Arc::new(MemoryJournal::default());
    let port = Arc::clone(&passing) as Arc<dyn Journal>;
    let bounds = Ephemeral {
        max_sessions: 2,
        ..Ephemeral::default()
    };
    let engine = engine.with_ephemeral_journal(port, bounds);
    let named = |n: usize| SessionId::parse(&format!("s{n}")).expect("a valid id");
    let mut kept = None;
    for n in 0..4 {
        let message = SendMessage {
            session: named(n),
            ..message(options())
        };
        engine
            .create_ephemeral(&named(n))
            .expect("a journal for it");
        let mut begun = engine.begin(message).await.expect("begun");
        assert_eq!(to_the_end(&mut begun.watcher).await.1, ANSWERED);
        if n == 0 {
            // Who is being told is none of them.
            kept = Some(begun);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let there = async || {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let mut there = Vec::new();
        for n in 0..4 {
            there.push(passing.exists(&named(n)).await.expect("reachable"));
        }
        there
    };
    assert_eq!(there().await, [true, false, true, true]);
    drop(kept);
    assert_eq!(there().await, [true, false, false, true]);
    // Who collects one of them has it, and makes room.
    let disconnect = Disconnect::Finish;
    let turn = TurnId::derive(&named(3), 1);
    let again = engine.subscribe(&named(3), &turn, 0, disconnect).await;
    again.expect("it is there").connection.mark_written();
    assert_eq!(there().await, [true, false, false, false]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_in_passing_that_nobody_listens_to_is_cancelled() {
    let (journal, gate) = (journal(), Gate::new());
    let (_model, engine) = engine(&journal, held(&gate));
    let port = Arc::new(MemoryJournal::default()) as Arc<dyn Journal>;
    let engine = engine.with_ephemeral_journal(port, Ephemeral::default());
    engine
        .create_ephemeral(&session())
        .expect("a journal for it");
    let mut begun = engine.begin(message(options())).await.expect("begun");
    drop(begun.connection);
    let asked = tokio::time::Instant::now();
    assert_eq!(to_the_end(&mut begun.watcher).await.1, CANCELLED);
    assert_eq!(asked.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn draining_lets_what_runs_end_and_begins_nothing_new() {
    let (journal, gate) = (journal(), Gate::new());
    let (_model, engine) = engine(&journal, held(&gate));
    let mut begun = engine.begin(message(options())).await.expect("begun");
    let drains = engine.clone();
    let drained = tokio::spawn(async move { drains.drain(Duration::from_secs(30)).await });
    while !engine.is_draining() {
        tokio::task::yield_now().await;
    }
    let refused = engine.begin(message(options())).await.expect_err("refused");
    assert!(matches!(refused, EngineError::Draining), "{refused}");
    assert!(!drained.is_finished());
    gate.open();
    assert_eq!(to_the_end(&mut begun.watcher).await.1, ANSWERED);
    assert_eq!(drained.await.expect("no panic"), DrainReport { stopped: 0 });
}

#[tokio::test(start_paused = true)]
async fn what_is_left_when_the_time_is_over_is_stopped_and_recovered_by_another_process() {
    let (journal, gate) = (journal(), Gate::new());
    let (_model, engine_before) = engine(&journal, held(&gate));
    let begun = engine_before
        .begin(message(options()))
        .await
        .expect("begun");
    let drained = engine_before.drain(Duration::from_secs(5)).await;
    assert_eq!(drained, DrainReport { stopped: 1 });
    let (_again, after) = engine(&journal, vec![ScriptedReply::text("again")]);
    let resume = ResumeSession::new(session(), options().policy);
    // It was let go of: nobody has to wait for the end of that process.
    let driven = after.resume(resume, &mut ()).await.expect("it is driven");
    let DriveOutcome::Finished(report) = driven else {
        panic!("it is over: {driven:?}");
    };
    assert_eq!((report.turn, report.end), (begun.turn, ANSWERED));
}

#[tokio::test(start_paused = true)]
async fn what_was_left_goes_on_in_the_background() {
    let (journal, gate) = (journal(), Gate::new());
    let (_model, before) = engine(&journal, held(&gate));
    let begun = before.begin(message(options())).await.expect("begun");
    before.drain(Duration::ZERO).await;
    let (_again, after) = engine(&journal, vec![ScriptedReply::text("again")]);
    let resume = ResumeSession::new(session(), options().policy);
    let mut goes_on = after
        .resume_in_background(resume)
        .await
        .expect("it goes on");
    assert_eq!(goes_on.turn, begun.turn);
    let (facts, end) = to_the_end(&mut goes_on.watcher).await;
    assert_eq!(end, ANSWERED);
    let opened = |fact: &Fact| matches!(fact, Fact::TurnOpened { .. });
    let resumed = |fact: &Fact| matches!(fact, Fact::TurnResumed { .. });
    assert!(opened(&facts[0]) && facts.iter().any(resumed), "{facts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_client_went_away_before_it_had_begun_is_cancelled_too() {
    let inner = journal();
    let faulty = FaultyJournal::new(Arc::clone(&inner) as Arc<dyn Journal>);
    let (said, commits) = (Gate::new(), Gate::new());
    faulty.push_fault(AppendFault::Hold(commits.clone()));
    let model = ScriptedModel::new();
    model.push_reply(ScriptedReply::text("done").held_at(&said));
    let engine = Engine::builder(Arc::new(faulty))
        .model("provider", model.port())
        .build();
    let mut options = options();
    options.disconnect = Disconnect::Cancel(Duration::ZERO);
    tokio::select! {
        begun = engine.begin(message(options)) => panic!("it has begun: {begun:?}"),
        () = commits.reached() => {}
    }
    // Whoever listened is gone; what was sent is committed all the same.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    commits.open();
    let mut watcher = engine
        .watch(session(), Cursor::START)
        .await
        .expect("a session");
    let (_, end) = to_the_end(&mut watcher).await;
    assert_eq!(end, CANCELLED);
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_is_counted_and_what_only_waits_or_is_over_is_not() {
    let gate = Gate::new();
    let (_model, engine) = engine(&journal(), held(&gate));
    assert_eq!(engine.turns_in_flight(), 0);
    let mut begun = engine.begin(message(options())).await.expect("begun");
    assert_eq!(engine.turns_in_flight(), 1);
    gate.open();
    to_the_end(&mut begun.watcher).await;
    while engine.turns_in_flight() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
