//! Keeping: what is due is taken up, and nothing else is touched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jackfield_domain::fact::{Envelope, Fact, TurnEnd};
use jackfield_domain::ids::{DeliveryId, SessionId, TurnId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::policy::Policy;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::Safety;
use jackfield_domain::wait::{Answer, Approval, CancelCause, DeliveryBody, Wait, WaitEnd};
use jackfield_engine::{
    Disconnect, DriveOutcome, Engine, EngineError, Keeper, KeeperOptions, KeptSession,
    ResumeSession, SendMessage, ServerTools,
};
use jackfield_ports::journal::{DeliveryOutcome, Journal};
use jackfield_ports::toolbox::Toolbox;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{Gate, ScriptedModel, ScriptedReply};
use tokio::sync::{Notify, mpsc};

use crate::fixture::{Log, OneTool, Paused, Rounds, message, options, session};
use crate::vast::Vast;

fn model(log: &Log) -> Rounds {
    Rounds::once(log, 1)
}

fn engine(journal: Arc<dyn Journal>, tool: impl Toolbox + 'static) -> Engine {
    Engine::builder(journal)
        .clock(Arc::new(Paused::default()))
        .model("provider", Arc::new(model(&Log::default())))
        .toolbox(Arc::new(tool))
        .build()
}

/// A journal by the clock of its engine.
fn by_one_clock() -> (Arc<MemoryJournal>, Engine) {
    let clock = Arc::new(Paused::default());
    let now = Arc::clone(&clock);
    let journal = Arc::new(MemoryJournal::with_clock(move || now.wall()));
    let engine = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
        .clock(clock)
        .model("provider", Arc::new(model(&Log::default())))
        .toolbox(Arc::new(done()))
        .build();
    (journal, engine)
}

fn done() -> impl Toolbox {
    let mut tool = OneTool::new(&Log::default(), |_| async { ToolResult::text("done") });
    tool.spec.safety = Safety::ReadOnly;
    tool
}

pub(crate) fn named(name: &str) -> SessionId {
    SessionId::parse(name).expect("a valid id")
}

/// A keeper, and what it tells.
fn keep(engine: &Engine, options: KeeperOptions) -> (Keeper, mpsc::UnboundedReceiver<KeptSession>) {
    let (sender, kept) = mpsc::unbounded_channel();
    let keeper = engine.spawn_keeper(options, move |kept| {
        let _gone = sender.send(kept);
    });
    (keeper, kept)
}

fn allows() -> KeeperOptions {
    KeeperOptions::new(options().policy)
}

fn asks() -> Policy {
    Policy {
        can_ask: true,
        rules: Vec::new(),
    }
}

/// Leaves a session as a process does that dies while a tool is at work.
async fn crash(journal: &Arc<MemoryJournal>, session: &SessionId) {
    let called = Arc::new(Notify::new());
    let at_work = Arc::clone(&called);
    let mut tool = OneTool::new(&Log::default(), move |_| {
        at_work.notify_one();
        std::future::pending::<ToolResult>()
    });
    tool.spec.safety = Safety::ReadOnly;
    let engine = engine(Arc::clone(journal) as Arc<dyn Journal>, tool);
    let message = SendMessage {
        session: session.clone(),
        ..message(options())
    };
    let mut nobody = ();
    tokio::select! {
        report = engine.send(message, &mut nobody) => panic!("it ended: {report:?}"),
        () = called.notified() => {}
    }
    let_go(journal, session).await;
}

/// What the end of its owner does to a session.
pub(crate) async fn let_go(journal: &MemoryJournal, session: &SessionId) {
    let lease = journal.own(session).await.expect("nobody else is there");
    journal.release(session, lease.epoch).await.expect("let go");
}

/// Leaves a session with a turn that waits for a person, and says what it waits for.
async fn left_waiting(journal: &Arc<MemoryJournal>, engine: &Engine) -> Vec<Wait> {
    let mut asking = options();
    asking.policy = asks();
    let waits = async {
        loop {
            tokio::task::yield_now().await;
            if let Ok(loaded) = journal.load(&session()).await
                && !waits(&loaded.steps).is_empty()
            {
                return waits(&loaded.steps);
            }
        }
    };
    let mut nobody = ();
    let waits = tokio::select! {
        report = engine.send(message(asking), &mut nobody) => panic!("it ended: {report:?}"),
        waits = waits => waits,
    };
    let_go(journal, &session()).await;
    waits
}

pub(crate) fn waits(steps: &[Envelope]) -> Vec<Wait> {
    let facts = steps.iter().flat_map(|step| &step.facts);
    let waits = facts.filter_map(|fact| match fact {
        Fact::WaitOpened { wait } => Some(wait.clone()),
        _ => None,
    });
    waits.collect()
}

fn end(kept: KeptSession) -> TurnEnd {
    match kept.outcome.expect("it was driven") {
        DriveOutcome::Finished(report) => report.end,
        DriveOutcome::Waiting(waiting) => panic!("it waits: {waiting:?}"),
    }
}

const ANSWERED: TurnEnd = TurnEnd::Answered(FinishReason::Stop);

#[tokio::test(start_paused = true)]
async fn what_was_left_is_taken_up_so_many_at_a_time() {
    let journal = Arc::new(MemoryJournal::default());
    let left: BTreeSet<SessionId> = (0..7).map(|n| named(&format!("s{n}"))).collect();
    for session in &left {
        crash(&journal, session).await;
    }
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (running, highest) = (Arc::clone(&now), Arc::clone(&most));
    let mut tool = OneTool::new(&Log::default(), move |_| {
        let (running, highest) = (Arc::clone(&running), Arc::clone(&highest));
        async move {
            highest.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(5)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            ToolResult::text("done")
        }
    });
    tool.spec.safety = Safety::ReadOnly;
    let engine = engine(Arc::clone(&journal) as Arc<dyn Journal>, tool);
    let options = KeeperOptions {
        max_concurrent: 3,
        ..allows()
    };
    let (_keeper, mut kept) = keep(&engine, options);
    let mut taken = BTreeSet::new();
    for _ in 0..left.len() {
        let kept = kept.recv().await.expect("the keeper lives");
        taken.insert(kept.session.clone());
        assert_eq!(end(kept), ANSWERED);
    }
    assert_eq!(taken, left);
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_heard_at_once_and_nothing_is_touched_before() {
    let (journal, engine) = by_one_clock();
    let waits = left_waiting(&journal, &engine).await;
    let (_keeper, mut kept) = keep(&engine, allows());
    let early = tokio::time::timeout(Duration::from_secs(3600), kept.recv()).await;
    assert!(early.is_err(), "it was touched: {early:?}");
    let steps = journal.load(&session()).await.expect("a session").steps;
    let wait = waits.first().expect("a wait").id.clone();
    let body = DeliveryBody::Answer {
        answer: Answer::Approval(Approval::Granted {
            edited: None,
            for_session: false,
        }),
        wait,
    };
    let id = DeliveryId::parse("yes").expect("a valid id");
    let asked = tokio::time::Instant::now();
    let delivered = engine.deliver(&session(), id, "somebody", body).await;
    assert_eq!(delivered.expect("it is taken"), DeliveryOutcome::Accepted);
    let kept = kept.recv().await.expect("the keeper lives");
    assert_eq!(end(kept), ANSWERED);
    assert!(
        asked.elapsed() < Duration::from_millis(100),
        "it was not told"
    );
    assert!(
        journal
            .load(&session())
            .await
            .expect("a session")
            .steps
            .len()
            > steps.len()
    );
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_only_waits_is_not_touched_because_its_client_asks_for_it() {
    let (journal, engine) = by_one_clock();
    left_waiting(&journal, &engine).await;
    let (_keeper, mut kept) = keep(&engine, allows());
    let steps = journal.load(&session()).await.expect("a session").steps;
    let turn = TurnId::derive(&session(), 1);
    let session_id = session();
    let attended = engine.subscribe(&session_id, &turn, 0, Disconnect::Finish);
    let _attended = attended.await.expect("the turn is there");
    let kept = tokio::time::timeout(Duration::from_secs(3600), kept.recv()).await;
    assert!(kept.is_err(), "it was taken up: {kept:?}");
    let after = journal.load(&session()).await.expect("a session").steps;
    assert_eq!(after, steps);
}

#[tokio::test(start_paused = true)]
async fn a_parked_session_is_told_once_and_does_not_keep_the_others_out() {
    let journal = Arc::new(MemoryJournal::default());
    crash(&journal, &named("a-parked")).await;
    let nothing = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
        .clock(Arc::new(Paused::default()))
        .model("provider", Arc::new(model(&Log::default())))
        .build();
    let options = KeeperOptions {
        max_concurrent: 1,
        ..allows()
    };
    let (_keeper, mut kept) = keep(&nothing, options);
    let parked = kept.recv().await.expect("the keeper lives");
    let error = parked.outcome.expect_err("it is parked");
    assert!(matches!(error, EngineError::Parked { .. }), "{error}");
    // One without tools is not kept out by it.
    let other = named("b-other");
    let (silent, never) = (ScriptedModel::new(), Gate::new());
    silent.push_reply(ScriptedReply::text("not said").held_at(&never));
    let dying = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
        .clock(Arc::new(Paused::default()))
        .model("provider", silent.port())
        .build();
    let mut plain = crate::fixture::options();
    plain.server_tools = ServerTools::None;
    let message = SendMessage {
        session: other.clone(),
        ..message(plain)
    };
    let mut nobody = ();
    tokio::select! {
        () = never.reached() => {}
        report = dying.send(message, &mut nobody) => panic!("it ended: {report:?}"),
    }
    let_go(&journal, &other).await;
    let next = tokio::time::timeout(Duration::from_secs(60), kept.recv()).await;
    let next = next.expect("it is taken up").expect("the keeper lives");
    assert_eq!(next.session, other);
    let again = tokio::time::timeout(Duration::from_secs(300), kept.recv()).await;
    assert!(again.is_err(), "told again: {again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_of_a_parked_session_is_heard_at_once_from_here_and_from_elsewhere() {
    for is_here in [true, false] {
        let journal = Arc::new(MemoryJournal::default());
        crash(&journal, &named("parked")).await;
        let nothing = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
            .clock(Arc::new(Paused::default()))
            .model("provider", Arc::new(model(&Log::default())))
            .build();
        let (_keeper, mut kept) = keep(&nothing, allows());
        let parked = kept.recv().await.expect("the keeper lives");
        assert!(parked.outcome.is_err());
        tokio::time::sleep(Duration::from_secs(5)).await;
        let turn = TurnId::derive(&named("parked"), 1);
        let body = DeliveryBody::Cancel {
            cause: CancelCause::Asked,
            turn,
        };
        let id = DeliveryId::parse("stop").expect("a valid id");
        let asked = tokio::time::Instant::now();
        if is_here {
            let delivered = nothing
                .deliver(&named("parked"), id, "somebody", body)
                .await;
            delivered.expect("delivered");
        } else {
            let delivered = journal
                .deliver(&named("parked"), id, "somebody".into(), body)
                .await;
            delivered.expect("delivered");
        }
        let cancelled = kept.recv().await.expect("the keeper lives");
        assert_eq!(end(cancelled), TurnEnd::Cancelled(CancelCause::Asked));
        assert!(
            asked.elapsed() < Duration::from_millis(100),
            "here: {is_here}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_is_heard_while_it_is_kept_and_while_nobody_was_there() {
    for is_kept in [true, false] {
        let (journal, engine) = by_one_clock();
        left_waiting(&journal, &engine).await;
        if is_kept {
            let (_keeper, mut kept) = keep(&engine, allows());
            let kept = kept.recv().await.expect("the keeper lives");
            assert_eq!(end(kept), ANSWERED);
        } else {
            tokio::time::advance(Duration::from_secs(25 * 3600)).await;
            let resume = ResumeSession::new(session(), options().policy);
            let driven = engine.resume(resume, &mut ()).await.expect("it is driven");
            assert!(matches!(driven, DriveOutcome::Finished(_)), "{driven:?}");
        }
        let steps = journal.load(&session()).await.expect("a session").steps;
        let mut facts = steps.iter().flat_map(|step| &step.facts);
        let expired = |fact: &Fact| {
            let end = WaitEnd::Expired;
            matches!(fact, Fact::WaitClosed { end: known, .. } if *known == end)
        };
        assert!(facts.any(expired));
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_hundred_thousand_waiting_turns_only_those_are_touched_that_are_due() {
    let memory = Arc::new(MemoryJournal::default());
    let before = engine(Arc::clone(&memory) as Arc<dyn Journal>, done());
    left_waiting(&memory, &before).await;
    let template = memory.load(&session()).await.expect("a session").steps;
    let clock = Paused::default();
    let start = clock.wall();
    let all = (0..100_000).map(|n| named(&format!("s{n}")));
    let answered: BTreeSet<SessionId> = ["s7", "s70707", "s99999"].map(named).into();
    let mut due: BTreeMap<WallTime, BTreeSet<SessionId>> = BTreeMap::new();
    for session in all {
        let wait = if answered.contains(&session) {
            3
        } else {
            80_000
        };
        let at = start.after(Duration::from_secs(wait));
        due.entry(at).or_default().insert(session);
    }
    let journal = Vast::of(due, answered.clone(), template);
    let engine = engine(Arc::clone(&journal) as Arc<dyn Journal>, done());
    let (_keeper, mut kept) = keep(&engine, allows());
    for _ in 0..answered.len() {
        assert_eq!(end(kept.recv().await.expect("the keeper lives")), ANSWERED);
    }
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(*journal.touched.lock().expect("no panic"), answered);
    let asked = journal.asked.load(Ordering::SeqCst);
    assert!(asked < 1000, "it asked {asked} times in ten minutes");
}

/// A session that is due for ever, as it is for a keeper that looked before somebody else took it up.
fn due_for_ever(template: Vec<Envelope>) -> Arc<Vast> {
    let due = [(Paused::default().wall(), [session()].into())];
    Vast::of(due.into(), BTreeSet::new(), template)
}

#[tokio::test(start_paused = true)]
async fn what_somebody_else_took_up_first_is_no_failure() {
    let memory = Arc::new(MemoryJournal::default());
    let before = engine(Arc::clone(&memory) as Arc<dyn Journal>, done());
    left_waiting(&memory, &before).await;
    let load = || async { memory.load(&session()).await.expect("a session").steps };
    let waiting = load().await;
    let cancel = DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: TurnId::derive(&session(), 1),
    };
    let id = DeliveryId::parse("cancel").expect("a valid id");
    let session_id = session();
    let delivered = memory.deliver(&session_id, id, "somebody".into(), cancel);
    delivered.await.expect("delivered");
    let resume = ResumeSession::new(session(), options().policy);
    before.resume(resume, &mut ()).await.expect("it ends");
    for (template, is_driven) in [(waiting, true), (load().await, false)] {
        let journal = due_for_ever(template);
        let engine = engine(Arc::clone(&journal) as Arc<dyn Journal>, done());
        let mut resume = ResumeSession::new(session(), asks());
        resume.stay = true;
        let theirs = engine.clone();
        let theirs = tokio::spawn(async move {
            if is_driven {
                let driven = theirs.resume(resume, &mut ()).await;
                panic!("it ended: {driven:?}");
            }
        });
        while is_driven && journal.epochs.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let (_keeper, mut kept) = keep(&engine, allows());
        tokio::time::sleep(Duration::from_secs(60)).await;
        let told = kept.try_recv();
        assert!(told.is_err(), "{told:?}");
        let asked = journal.asked.load(Ordering::SeqCst);
        assert!((10..300).contains(&asked), "it asked {asked} times");
        theirs.abort();
    }
}
