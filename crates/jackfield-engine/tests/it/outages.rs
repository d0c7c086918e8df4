//! A journal that fails for a while, in each of the things that it is asked for: turns are broken off, told
//! so, and taken up again in the same process; nothing is done twice, and nothing that is owed is forgotten.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::cursor::Cursor;
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::ids::{DeliveryId, ToolboxId, TurnId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::policy::Policy;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::session::Session;
use jackfield_domain::tool::Safety;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_engine::{
    Disconnect, Engine, EngineError, Keeper, KeeperOptions, ResumeSession, StartedTurn,
};
use jackfield_ports::journal::sessions::SessionQuery;
use jackfield_ports::journal::{AppendRefusal, Journal, JournalError, Loaded};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{
    AppendFault, FaultyJournal, Gate, JournalRequest, ScriptedCall, ScriptedModel, ScriptedReply,
    ScriptedToolbox,
};
use tokio::time::Instant;

use crate::background::to_the_end;
use crate::fixture::{Paused, asking, message, options, session};
use crate::keeping::waits;

struct Scene {
    engine: Engine,
    journal: FaultyJournal,
    model: ScriptedModel,
    toolbox: ScriptedToolbox,
}

impl Scene {
    /// A model that says these things, and a tool, `box__act`, that may not be run twice.
    fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let (model, id) = (ScriptedModel::new(), ToolboxId::parse("box"));
        for reply in replies {
            model.push_reply(reply);
        }
        let toolbox = ScriptedToolbox::new(id.expect("a valid id"));
        toolbox.tool("act", Safety::Unknown);
        let journal = FaultyJournal::new(Arc::new(MemoryJournal::default()));
        let engine = Engine::builder(Arc::new(journal.clone()) as Arc<dyn Journal>)
            .clock(Arc::new(Paused::default()))
            .model("provider", model.port())
            .toolbox(toolbox.port())
            .build();
        Self {
            engine,
            journal,
            model,
            toolbox,
        }
    }

    fn keep(&self) -> Keeper {
        let policy: Policy = options().policy;
        self.engine.spawn_keeper(KeeperOptions::new(policy), |_| {})
    }

    async fn loaded(&self) -> Loaded {
        self.journal.load(&session()).await.expect("a session")
    }

    /// How the last turn ended, if it did.
    async fn end(&self) -> Option<TurnEnd> {
        let loaded = self.loaded().await;
        let facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let folded = Session::fold(session(), facts);
        folded.last_turn().and_then(|turn| turn.end().cloned())
    }

    /// Waits until the last turn has ended; says how long that took.
    async fn ended(&self) -> Duration {
        let asked = Instant::now();
        while self.end().await.is_none() {
            assert!(asked.elapsed() < AN_HOUR, "it stays open");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        asked.elapsed()
    }

    fn runs(&self) -> usize {
        self.toolbox.runs().len()
    }

    /// Whether a list would say that somebody is at work on the session.
    async fn is_owned(&self) -> bool {
        let query = SessionQuery {
            limit: 10,
            ..SessionQuery::default()
        };
        let rows = self.journal.sessions(&query).await.expect("a list");
        rows.iter().any(|row| row.owned)
    }

    async fn cancel(&self, turn: &TurnId) -> Result<(), EngineError> {
        let body = DeliveryBody::Cancel {
            cause: CancelCause::Asked,
            turn: turn.clone(),
        };
        let id = DeliveryId::parse("stop").expect("a valid id");
        let session = session();
        let delivered = self.engine.deliver(&session, id, "somebody", body);
        delivered.await.map(drop)
    }
}

fn called() -> Vec<ScriptedReply> {
    vec![
        ScriptedReply::calls([("box__act", "{}")]),
        ScriptedReply::text("done"),
    ]
}

fn unwritable() -> AppendFault {
    AppendFault::Refuse(AppendRefusal::Unwritable { why: "full".into() })
}

/// Waits until the watcher is told that the turn was broken off.
async fn broken_off(begun: &mut StartedTurn) -> EngineError {
    let told = async {
        loop {
            if let Err(error) = begun.watcher.next().await {
                return error;
            }
        }
    };
    let told = tokio::time::timeout(AN_HOUR, told).await;
    told.expect("whoever waits is told")
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_append_fails_is_taken_up_when_the_journal_is_well_again() {
    // The append fails that would have opened the turn's second round, after the tool has run.
    let lost = || {
        std::iter::repeat_with(|| AppendFault::Lose)
            .take(9)
            .collect()
    };
    let faults: [Vec<AppendFault>; 2] = [vec![unwritable()], lost()];
    for faults in faults {
        let scene = Scene::new(called());
        let gate = Gate::new();
        let call = ScriptedCall::text("ran").held_at(&gate);
        scene.toolbox.push_call("act", call);
        let _keeper = scene.keep();
        let mut begun = scene.engine.begin(message(options())).await.expect("begun");
        gate.reached().await;
        for fault in faults {
            scene.journal.push_fault(fault);
        }
        scene.journal.fail_next(JournalRequest::Own, 3);
        scene.journal.fail_next(JournalRequest::Release, 3);
        gate.open();
        let error = broken_off(&mut begun).await;
        assert!(matches!(error, EngineError::NotCommitted { .. }), "{error}");
        assert!(error.is_journal_failure());
        assert!(scene.engine.is_journal_failing());
        let took = scene.ended().await;
        assert!(took < Duration::from_secs(15), "{took:?}");
        assert_eq!(scene.end().await, Some(ANSWERED));
        assert_eq!(scene.runs(), 1, "what may have run is not run again");
        assert!(!scene.engine.is_journal_failing());
        // Whoever comes back has the whole answer.
        let again = session();
        let again = scene
            .engine
            .subscribe(&again, &begun.turn, 0, Disconnect::Finish);
        let mut again = again.await.expect("it is there");
        assert_eq!(to_the_end(&mut again.watcher).await.1, ANSWERED);
        assert_eq!(scene.model.requests().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_could_not_be_let_go_of_is_let_go_of_later() {
    let scene = Scene::new([ScriptedReply::text("one")]);
    scene.journal.fail_next(JournalRequest::Release, 20);
    let mut begun = scene.engine.begin(message(options())).await.expect("begun");
    assert_eq!(to_the_end(&mut begun.watcher).await.1, ANSWERED);
    assert!(scene.is_owned().await);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(scene.journal.remaining_failures(JournalRequest::Release), 0);
    assert!(!scene.is_owned().await);
}

#[tokio::test(start_paused = true)]
async fn a_late_release_takes_nothing_from_the_next_owner() {
    let gate = Gate::new();
    let scene = Scene::new([
        ScriptedReply::text("one"),
        ScriptedReply::text("two").held_at(&gate),
    ]);
    scene.journal.fail_next(JournalRequest::Release, 3);
    let mut begun = scene.engine.begin(message(options())).await.expect("begun");
    to_the_end(&mut begun.watcher).await;
    let next = scene.engine.begin(message(options())).await;
    let mut next = next.expect("its last turn is over");
    gate.reached().await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(scene.journal.remaining_failures(JournalRequest::Release), 0);
    assert!(scene.is_owned().await);
    gate.open();
    assert_eq!(to_the_end(&mut next.watcher).await.1, ANSWERED);
}

#[tokio::test(start_paused = true)]
async fn however_long_the_journal_failed_what_was_left_is_taken_up_within_seconds() {
    let scene = Scene::new(called());
    let gate = Gate::new();
    scene
        .toolbox
        .push_call("act", ScriptedCall::text("ran").held_at(&gate));
    let _keeper = scene.keep();
    let mut begun = scene.engine.begin(message(options())).await.expect("begun");
    gate.reached().await;
    scene.journal.set_unreachable(true);
    gate.open();
    broken_off(&mut begun).await;
    tokio::time::sleep(AN_HOUR).await;
    scene.journal.set_unreachable(false);
    let took = scene.ended().await;
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(scene.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn sessions_that_cannot_be_owned_for_a_while_are_not_left_alone_for_longer_each_time() {
    let scene = Scene::new(called());
    let gate = Gate::new();
    scene
        .toolbox
        .push_call("act", ScriptedCall::text("ran").held_at(&gate));
    let begun = scene.engine.begin(message(options())).await.expect("begun");
    gate.reached().await;
    // As a crash leaves it.
    scene.engine.drain(Duration::ZERO).await;
    drop(begun);
    let lease = scene.journal.own(&session()).await.expect("owned");
    let released = scene.journal.release(&session(), lease.epoch).await;
    released.expect("released");
    let next = Engine::builder(Arc::new(scene.journal.clone()) as Arc<dyn Journal>)
        .clock(Arc::new(Paused::default()))
        .model("provider", scene.model.port())
        .toolbox(scene.toolbox.port())
        .build();
    for request in [
        JournalRequest::Due,
        JournalRequest::Own,
        JournalRequest::Load,
    ] {
        scene.journal.fail_next(request, 10);
    }
    let asked = Instant::now();
    let _keeper = next.spawn_keeper(KeeperOptions::new(options().policy), |_| {});
    while scene.journal.remaining_failures(JournalRequest::Load) > 0 {
        assert!(asked.elapsed() < AN_HOUR, "it was given up");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    scene.ended().await;
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(90), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_back_while_the_journal_fails_does_not_wait_for_it() {
    let scene = Scene::new(called());
    let gate = Gate::new();
    scene
        .toolbox
        .push_call("act", ScriptedCall::text("ran").held_at(&gate));
    let _keeper = scene.keep();
    let mut begun = scene.engine.begin(message(options())).await.expect("begun");
    gate.reached().await;
    scene.journal.push_fault(unwritable());
    scene.journal.fail_next(JournalRequest::Own, 100);
    gate.open();
    broken_off(&mut begun).await;
    for _ in 0..3 {
        let same = session();
        let again = scene
            .engine
            .subscribe(&same, &begun.turn, 0, Disconnect::Finish);
        let mut again = again.await.expect("it can be read");
        let asked = Instant::now();
        broken_off(&mut again).await;
        assert!(asked.elapsed() < Duration::from_secs(5));
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    scene.journal.fail_next(JournalRequest::Own, 0);
    scene.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_taken_up_where_small_rows_alone_fit_is_not_parked() {
    check_room(2_000, 6_000).await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_append_needs_more_room_than_most_is_not_parked() {
    // Whatever is smaller than that append fits, by far more than a step has usually.
    check_room(20_000, 60_000).await;
}

/// Where the last room is used up, a small row still fits, and the next larger one does not.
async fn check_room(words: usize, room: usize) {
    let gate = Gate::new();
    let large = || ScriptedReply::text(&"large ".repeat(words));
    let mut replies = vec![large().held_at(&gate)];
    replies.extend((0..20).map(|_| large()));
    let scene = Scene::new(replies);
    let _keeper = scene.keep();
    let mut begun = scene.engine.begin(message(options())).await.expect("begun");
    gate.reached().await;
    scene.journal.leave_room(Some(room));
    gate.open();
    broken_off(&mut begun).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(scene.engine.check_writable().await.is_err());
    let loaded = scene.loaded().await;
    let facts = loaded.steps.iter().flat_map(|step| &step.facts);
    let folded = Session::fold(session(), facts);
    let open = folded.open_turn().expect("it is open");
    assert!(open.resumes_without_progress() <= 1, "{open:?}");
    assert!(
        scene.model.requests().len() <= 3,
        "it is asked again and again"
    );
    scene.journal.leave_room(None);
    assert!(scene.ended().await < Duration::from_secs(10));
    assert_eq!(scene.end().await, Some(ANSWERED));
}

#[tokio::test(start_paused = true)]
async fn a_client_of_a_parked_turn_is_told_so_and_a_watcher_of_its_session_is_not() {
    let gates: Vec<Gate> = (0..4).map(|_| Gate::new()).collect();
    let scene = Scene::new(
        gates
            .iter()
            .map(|gate| ScriptedReply::text("never").held_at(gate)),
    );
    let (first, later) = gates.split_first().expect("four");
    let mut nobody = ();
    tokio::select! {
        sent = scene.engine.send(message(options()), &mut nobody) => panic!("it ended: {sent:?}"),
        () = first.reached() => {}
    }
    let turn = TurnId::derive(&session(), 1);
    let subscribe = async || {
        let (session, finish) = (session(), Disconnect::Finish);
        let subscribed = scene.engine.subscribe(&session, &turn, 0, finish);
        subscribed.await.expect("it can be read")
    };
    // One that has come before learns it as well.
    let mut early = subscribe().await;
    for gate in later {
        let resume = ResumeSession::new(session(), options().policy);
        tokio::select! {
            resumed = scene.engine.resume(resume, &mut nobody) => panic!("it ended: {resumed:?}"),
            () = gate.reached() => {}
        }
    }
    let asked = Instant::now();
    for begun in [&mut early, &mut subscribe().await] {
        let error = broken_off(begun).await;
        assert!(matches!(error, EngineError::Parked { .. }), "{error}");
    }
    assert!(asked.elapsed() < Duration::from_secs(5));
    let watching = scene.engine.watch(session(), Cursor::START).await;
    let mut watcher = watching.expect("a watcher");
    let until = Instant::now() + Duration::from_secs(30);
    while let Ok(told) = tokio::time::timeout_at(until, watcher.next()).await {
        told.expect("nothing is wrong with it");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_person_waits_on() {
    let scene = Scene::new([ScriptedReply::calls([("box__act", "{}")])]);
    let mut begun = scene.engine.begin(message(asking())).await.expect("begun");
    while waits(&scene.loaded().await.steps).is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    scene.journal.fail_next(JournalRequest::Own, 1_000);
    let failed = scene.engine.check_writable().await;
    assert!(failed.is_err());
    let until = Instant::now() + Duration::from_secs(30);
    while let Ok(told) = tokio::time::timeout_at(until, begun.watcher.next()).await {
        told.expect("nothing is wrong with it");
    }
}

#[tokio::test(start_paused = true)]
async fn an_inbox_that_cannot_be_read_for_a_while_is_read_afterwards() {
    let gate = Gate::new();
    let scene = Scene::new([ScriptedReply::text("never").held_at(&gate)]);
    scene.journal.fail_next(JournalRequest::Inbox, 5);
    let mut begun = scene.engine.begin(message(options())).await.expect("begun");
    gate.reached().await;
    scene.cancel(&begun.turn).await.expect("delivered");
    let (_, end) = to_the_end(&mut begun.watcher).await;
    assert_eq!(end, TurnEnd::Cancelled(CancelCause::Asked));
    assert_eq!(scene.journal.remaining_failures(JournalRequest::Inbox), 0);
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_fails_is_an_error_and_works_when_it_is_sent_again() {
    let gate = Gate::new();
    let scene = Scene::new([ScriptedReply::text("never").held_at(&gate)]);
    let mut begun = scene.engine.begin(message(options())).await.expect("begun");
    gate.reached().await;
    scene.journal.fail_next(JournalRequest::Deliver, 1);
    let failed = scene.cancel(&begun.turn).await.expect_err("it is not kept");
    assert!(
        matches!(
            failed,
            EngineError::Journal(JournalError::Unreachable { .. })
        ),
        "{failed}"
    );
    scene.cancel(&begun.turn).await.expect("delivered");
    let (_, end) = to_the_end(&mut begun.watcher).await;
    assert_eq!(end, TurnEnd::Cancelled(CancelCause::Asked));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_nobody_listens_to_is_cancelled_although_the_journal_fails_meanwhile() {
    let gate = Gate::new();
    let scene = Scene::new([ScriptedReply::text("never").held_at(&gate)]);
    let mut unheard = options();
    unheard.disconnect = Disconnect::Cancel(Duration::ZERO);
    let begun = scene.engine.begin(message(unheard)).await.expect("begun");
    gate.reached().await;
    scene.journal.fail_next(JournalRequest::Load, 3);
    scene.journal.fail_next(JournalRequest::Deliver, 3);
    let StartedTurn {
        connection,
        mut watcher,
        ..
    } = begun;
    drop(connection);
    let (_, end) = to_the_end(&mut watcher).await;
    assert_eq!(end, TurnEnd::Cancelled(CancelCause::Asked));
}

#[tokio::test(start_paused = true)]
async fn that_an_answer_was_written_is_kept_when_the_journal_is_well_again() {
    let scene = Scene::new([ScriptedReply::text("done")]);
    let mut begun = scene.engine.begin(message(options())).await.expect("begun");
    to_the_end(&mut begun.watcher).await;
    scene.journal.fail_next(JournalRequest::Deliver, 10);
    begun.connection.mark_written();
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(scene.journal.remaining_failures(JournalRequest::Deliver), 0);
    let deliveries = scene.loaded().await.deliveries;
    let is_written = |body: &DeliveryBody| matches!(body, DeliveryBody::Written { .. });
    assert!(deliveries.iter().any(|delivery| is_written(&delivery.body)));
}

#[tokio::test(start_paused = true)]
async fn an_end_in_order_waits_no_longer_than_for_one_more_try() {
    let scene = Scene::new([ScriptedReply::text("done")]);
    let mut begun = scene.engine.begin(message(options())).await.expect("begun");
    to_the_end(&mut begun.watcher).await;
    scene.journal.fail_next(JournalRequest::Deliver, usize::MAX);
    begun.connection.mark_written();
    let settled = tokio::time::timeout(Duration::from_secs(5), scene.engine.flush_receipts()).await;
    settled.expect("it does not wait for ever");
}

#[tokio::test(start_paused = true)]
async fn what_comes_late_is_kept_when_the_journal_is_well_again() {
    let scene = Scene::new(called());
    let gate = Gate::new();
    let never = ScriptedCall::text("in time").held_at(&Gate::new());
    let late = never.late(ToolResult::text("late"), &gate);
    scene.toolbox.push_call("act", late);
    let report = scene.engine.send(message(options()), &mut ()).await;
    report.expect("a report");
    scene.journal.fail_next(JournalRequest::Deliver, 10);
    gate.open();
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(scene.journal.remaining_failures(JournalRequest::Deliver), 0);
    assert_eq!(scene.loaded().await.deliveries.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_cannot_read_says_so_and_goes_on() {
    let scene = Scene::new([ScriptedReply::text("done")]);
    let mut begun = scene.engine.begin(message(options())).await.expect("begun");
    to_the_end(&mut begun.watcher).await;
    scene.journal.fail_next(JournalRequest::Follow, 1);
    let error = broken_off(&mut begun).await;
    assert!(matches!(error, EngineError::Journal(_)), "{error}");
    let told = tokio::time::timeout(Duration::from_secs(5), begun.watcher.next()).await;
    assert!(told.is_err(), "there is no more news: {told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_probe_writes_although_another_process_has_one_under_way() {
    let scene = Scene::new([]);
    scene.engine.check_writable().await.expect("it is well");
    scene.journal.fail_next(JournalRequest::Deliver, 1);
    scene.journal.refuse_ownership(1);
    assert!(scene.engine.check_writable().await.is_err());
    assert!(scene.engine.is_journal_failing());
    scene
        .engine
        .check_writable()
        .await
        .expect("it is well again");
    assert!(!scene.engine.is_journal_failing());
}

const ANSWERED: TurnEnd = TurnEnd::Answered(FinishReason::Stop);
const AN_HOUR: Duration = Duration::from_secs(3600);
