//! A lease that passes while its owner commits: what was committed is left to the next owner to perform.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::tool::{Safety, UnknownPolicy};
use jackfield_engine::{
    ApprovalRequest, Approver, Decision, DriveOutcome, Engine, EngineError, Observer,
    ObserverEvent, ResumeSession, TurnOptions, TurnReport,
};
use jackfield_ports::journal::{AppendRefusal, Journal};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{
    AppendFault, CalledWhat, Ending, FaultyJournal, Gate, ScriptedCall, ScriptedModel,
    ScriptedReply, ScriptedToolbox,
};
use serde_json::json;

use crate::fixture::{Log, Watcher, asking, message, options, session};

/// One journal with leases, and what two processes share.
struct Scene {
    approver: Arc<Counted>,
    faults: FaultyJournal,
    journal: Arc<MemoryJournal>,
    model: ScriptedModel,
    toolbox: ScriptedToolbox,
}

impl Scene {
    /// A model that says these things, and a tool, `box__act`.
    fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let (model, id) = (ScriptedModel::new(), ToolboxId::parse("box"));
        for reply in replies {
            model.push_reply(reply);
        }
        let toolbox = ScriptedToolbox::new(id.expect("a valid id"));
        toolbox
            .tool("act", Safety::Unknown)
            .set_default_call("act", ScriptedCall::text("ran"));
        let journal = Arc::new(MemoryJournal::default().leased(Duration::from_secs(3600)));
        Self {
            approver: Arc::default(),
            faults: FaultyJournal::new(Arc::clone(&journal) as _),
            journal,
            model,
            toolbox,
        }
    }

    fn engine(&self, journal: Arc<dyn Journal>) -> Engine {
        Engine::builder(journal)
            .approver(Arc::clone(&self.approver) as _)
            .model("provider", self.model.port())
            .toolbox(self.toolbox.port())
            .build()
    }

    /// Sends a message, and lets the lease pass while the append after so many is committed.
    async fn send(&self, appends: usize, options: TurnOptions) -> Result<TurnReport, EngineError> {
        self.send_while(appends, options, async {}).await
    }

    /// The same, while something else is done.
    async fn send_while(
        &self,
        appends: usize,
        options: TurnOptions,
        other: impl Future<Output = ()>,
    ) -> Result<TurnReport, EngineError> {
        let gate = Gate::new();
        let held = AppendFault::HoldAnswer(gate.clone());
        self.faults.push_successes(appends).push_fault(held);
        let engine = self.engine(Arc::new(self.faults.clone()));
        let mut watcher = Watcher(Log::default());
        let passing = async {
            other.await;
            gate.reached().await;
            self.journal.pass_leases();
            gate.open();
        };
        let (report, ()) = tokio::join!(engine.send(message(options), &mut watcher), passing);
        report
    }

    /// Whether the journal has such a fact.
    async fn has(&self, is_it: fn(&Fact) -> bool) -> bool {
        let loaded = self.journal.load(&session()).await.expect("a session");
        let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
        facts.any(is_it)
    }

    /// Has another process take the turn up.
    async fn resume(&self) -> Result<DriveOutcome, EngineError> {
        let engine = self.engine(Arc::new(self.journal.another_process()));
        let resume = ResumeSession::new(session(), options().policy);
        engine.resume(resume, &mut Watcher(Log::default())).await
    }
}

/// Lets all leases pass when it observes such a fact, which is after the driver has looked at its lease and before
/// what it began has looked.
struct Passing<'a> {
    at: fn(&Fact) -> bool,
    journal: &'a MemoryJournal,
}

impl Observer for Passing<'_> {
    fn on_event(&mut self, news: ObserverEvent<'_>) {
        if let ObserverEvent::Fact { fact, .. } = news
            && (self.at)(fact)
        {
            self.journal.pass_leases();
        }
    }
}

/// An approver that allows everything, and counts.
#[derive(Default)]
struct Counted(AtomicUsize);

#[async_trait]
impl Approver for Counted {
    fn name(&self) -> &str {
        "counted"
    }

    async fn decide(&self, _: &ApprovalRequest) -> Decision {
        self.0.fetch_add(1, Ordering::SeqCst);
        Decision::Allow(None)
    }
}

fn lost(report: Result<TurnReport, EngineError>) {
    let stale = AppendRefusal::StaleEpoch;
    let lost = matches!(&report, Err(EngineError::OwnershipLost { refusal }) if *refusal == stale);
    assert!(lost, "{report:?}");
}

fn answered(outcome: Result<DriveOutcome, EngineError>) {
    let outcome = outcome.expect("it is taken up");
    let DriveOutcome::Finished(report) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(report.end, TurnEnd::Answered(FinishReason::Stop));
}

fn called(calls: usize) -> [ScriptedReply; 2] {
    let calls = std::iter::repeat_n(("box__act", "{}"), calls);
    [ScriptedReply::calls(calls), ScriptedReply::text("done")]
}

#[tokio::test(start_paused = true)]
async fn an_owner_whose_lease_passes_before_the_act_leaves_it_to_the_next() {
    let scene = Scene::new(called(1));
    let mut options = options();
    options.when_unknown = UnknownPolicy::Retry;
    // The second append says that the call was started.
    lost(scene.send(1, options).await);
    assert_eq!(scene.toolbox.runs(), []);
    assert_eq!(scene.model.requests().len(), 1);
    answered(scene.resume().await);
    assert_eq!(scene.toolbox.runs().len(), 1);
    assert_eq!(scene.model.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn no_model_is_asked_after_the_lease_has_passed() {
    let scene = Scene::new([ScriptedReply::text("done")]);
    lost(scene.send(0, options()).await);
    assert_eq!(scene.model.requests(), []);
    answered(scene.resume().await);
    assert_eq!(scene.model.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_model_call_that_finds_the_lease_passed_is_left_to_the_next_owner() {
    let scene = Scene::new([ScriptedReply::text("done")]);
    let mut passing = Passing {
        at: |fact| matches!(fact, Fact::ModelCallStarted { .. }),
        journal: &scene.journal,
    };
    let engine = scene.engine(Arc::clone(&scene.journal) as _);
    lost(engine.send(message(options()), &mut passing).await);
    assert_eq!(scene.model.requests(), []);
    assert!(
        !scene
            .has(|fact| matches!(fact, Fact::ModelCallEnded { .. }))
            .await
    );
    answered(scene.resume().await);
    assert_eq!(scene.model.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_tool_call_that_finds_the_lease_passed_is_left_to_the_next_owner() {
    let scene = Scene::new(called(1));
    let mut passing = Passing {
        at: |fact| matches!(fact, Fact::CallStarted { .. }),
        journal: &scene.journal,
    };
    let mut options = options();
    options.when_unknown = UnknownPolicy::Retry;
    let engine = scene.engine(Arc::clone(&scene.journal) as _);
    lost(engine.send(message(options), &mut passing).await);
    assert_eq!(scene.toolbox.runs(), []);
    assert!(
        !scene
            .has(|fact| matches!(fact, Fact::CallClosed { .. }))
            .await
    );
    answered(scene.resume().await);
    assert_eq!(scene.toolbox.runs().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_under_way_ends_with_the_lease() {
    let gate = Gate::new();
    let scene = Scene::new(called(1));
    let slow = ScriptedCall::text("too late").held_at(&gate);
    scene.toolbox.push_call("act", slow);
    let engine = scene.engine(Arc::clone(&scene.journal) as _);
    let mut watcher = Watcher(Log::default());
    let passing = async {
        gate.reached().await;
        scene.journal.pass_leases();
    };
    let began = tokio::time::Instant::now();
    let sending = engine.send(message(options()), &mut watcher);
    let (report, ()) = tokio::join!(sending, passing);
    lost(report);
    assert!(began.elapsed() < Duration::from_secs(10), "it goes on");
    // Its outcome is nobody's any more.
    gate.open();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(
        !scene
            .has(|fact| matches!(fact, Fact::CallClosed { .. }))
            .await
    );
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_owner_finds_the_lease_passed_is_taken_up_by_the_next_under_its_handle() {
    let scene = Scene::new(called(1));
    let (handle, held) = (json!({ "job": 1 }), Gate::new());
    let job = ScriptedCall::text("never").accepted(handle.clone());
    scene
        .toolbox
        .push_call("act", job.held_at(&held))
        .push_resume(ScriptedCall::text("the job's result"));
    // The third append has the handle.
    let accepted = Gate::new();
    let fault = AppendFault::HoldAnswer(accepted.clone());
    scene.faults.push_successes(2).push_fault(fault);
    let engine = scene.engine(Arc::new(scene.faults.clone()));
    let mut watcher = Watcher(Log::default());
    tokio::select! {
        report = engine.send(message(options()), &mut watcher) => panic!("{report:?}"),
        () = accepted.reached() => {}
    }
    scene.journal.pass_leases();
    let mut passing = Passing {
        at: |fact| matches!(fact, Fact::TurnResumed { .. }),
        journal: &scene.journal,
    };
    let second = scene.engine(Arc::new(scene.journal.another_process()));
    let resume = ResumeSession::new(session(), options().policy);
    let refused = second.resume(resume, &mut passing).await;
    assert!(
        matches!(&refused, Err(EngineError::OwnershipLost { .. })),
        "{refused:?}"
    );
    assert!(
        !scene
            .has(|fact| matches!(fact, Fact::CallClosed { .. }))
            .await
    );
    answered(scene.resume().await);
    let calls = scene.toolbox.calls();
    let resumed = calls.iter().filter(
        |call| matches!(&call.what, CalledWhat::Resume { handle: under, .. } if *under.0 == handle),
    );
    assert_eq!((calls.len(), resumed.count()), (2, 1), "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn no_approver_is_asked_after_the_lease_has_passed() {
    let scene = Scene::new(called(1));
    lost(scene.send(1, asking()).await);
    tokio::task::yield_now().await;
    assert_eq!(scene.approver.0.load(Ordering::SeqCst), 0);
    assert_eq!(scene.toolbox.runs(), []);
}

#[tokio::test(start_paused = true)]
async fn what_runs_is_aborted_when_the_lease_has_passed() {
    let scene = Scene::new(called(3));
    let (quick, slow) = (Gate::new(), Gate::new());
    scene
        .toolbox
        .push_call("act", ScriptedCall::text("quick").held_at(&quick))
        .push_call("act", ScriptedCall::text("slow").held_at(&slow));
    let mut options = options();
    options.limits.parallel_calls = 2;
    // The third append has the outcome of the first call, and says that the third one was started.
    let both_run = async {
        quick.reached().await;
        slow.reached().await;
        quick.open();
    };
    lost(scene.send_while(2, options, both_run).await);
    let endings: Vec<Ending> = scene
        .toolbox
        .calls()
        .iter()
        .map(|call| call.ending)
        .collect();
    assert_eq!(endings, [Ending::CameBack, Ending::Dropped]);
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_with_the_lease_although_a_commit_has_no_answer() {
    let scene = Scene::new(called(2));
    let (quick, slow, held) = (Gate::new(), Gate::new(), Gate::new());
    scene
        .toolbox
        .push_call("act", ScriptedCall::text("quick").held_at(&quick))
        .push_call("act", ScriptedCall::text("slow").held_at(&slow));
    // The third append has the outcome of the first call.
    let fault = AppendFault::HoldAnswer(held.clone());
    scene.faults.push_successes(2).push_fault(fault);
    let engine = scene.engine(Arc::new(scene.faults.clone()));
    let mut watcher = Watcher(Log::default());
    let ended = async {
        quick.reached().await;
        slow.reached().await;
        quick.open();
        held.reached().await;
        scene.journal.pass_leases();
        for _ in 0..60 {
            let calls = scene.toolbox.calls();
            if calls.iter().any(|call| call.ending == Ending::Dropped) {
                return held.open();
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("a call goes on: {:?}", scene.toolbox.calls());
    };
    let sending = engine.send(message(options()), &mut watcher);
    let (report, ()) = tokio::join!(sending, ended);
    lost(report);
}

#[tokio::test(start_paused = true)]
async fn facts_alone_need_no_lease_after_their_commit() {
    let scene = Scene::new([ScriptedReply::text("done")]);
    let report = scene.send(1, options()).await.expect("a report");
    assert_eq!(report.end, TurnEnd::Answered(FinishReason::Stop));
}

#[tokio::test(start_paused = true)]
async fn while_a_lease_lasts_another_process_is_kept_out() {
    let scene = Scene::new([ScriptedReply::text("done")]);
    let lease = scene.journal.own(&session()).await.expect("a lease");
    let refused = scene.resume().await;
    assert!(
        matches!(
            refused,
            Err(EngineError::Journal(_) | EngineError::Busy { .. })
        ),
        "{refused:?}"
    );
    assert!(!lease.deadline.has_passed());
}
