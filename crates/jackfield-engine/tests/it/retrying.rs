//! Trying a model again: at the instant that is recorded, whichever process it comes in.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::time::WallTime;
use jackfield_engine::{Clock as _, DriveOutcome, Engine, ResumeSession};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;

use crate::fixture::{Paused, message, options, owner, session};

/// A model that has too much to do at first, and says when to ask again.
struct Busy {
    advice: RetryAdvice,
    asked: Mutex<Vec<WallTime>>,
    clock: Arc<Paused>,
    fails: usize,
}

#[async_trait]
impl ChatModel for Busy {
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        owner(model)
    }

    async fn reply(
        &self,
        _: &ModelRequest,
        _: &CallContext,
        _: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        let mut asked = self.asked.lock().expect("no panic under the lock");
        asked.push(self.clock.now().wall);
        if asked.len() > self.fails {
            return Ok(ReplyEnd::new(FinishReason::Stop));
        }
        let (kind, phase) = (ModelFailureKind::Overloaded, Phase::BeforeFirstDelta);
        let failure = ModelFailure {
            advice: self.advice,
            ..ModelFailure::new(kind, phase, "too much to do")
        };
        Err(failure.into())
    }
}

struct Bench {
    engine: Engine,
    journal: Arc<MemoryJournal>,
    model: Arc<Busy>,
}

impl Bench {
    fn new(fails: usize, advice: RetryAdvice) -> Self {
        let clock = Arc::new(Paused::default());
        let now = Arc::clone(&clock);
        let journal = Arc::new(MemoryJournal::with_clock(move || now.wall()));
        let model = Arc::new(Busy {
            advice,
            asked: Mutex::default(),
            clock: Arc::clone(&clock),
            fails,
        });
        let engine = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
            .clock(clock)
            .model("provider", Arc::clone(&model) as Arc<dyn ChatModel>)
            .build();
        Self {
            engine,
            journal,
            model,
        }
    }

    /// When the model was asked, from the first time on.
    fn asked(&self) -> Vec<Duration> {
        let asked = self.model.asked.lock().expect("no panic under the lock");
        asked.iter().map(|at| at.since(asked[0])).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn by_default_it_is_asked_twice_more_after_pauses_of_half_a_second_to_two() {
    let bench = Bench::new(3, RetryAdvice::Backoff);
    let report = bench.engine.send(message(options()), &mut ()).await;
    let end = report.expect("a report").end;
    assert!(matches!(end, TurnEnd::Failed(_)), "{end:?}");
    let asked = bench.asked();
    let [_, second, third] = asked[..] else {
        panic!("{asked:?}");
    };
    let between = |least, most| Duration::from_millis(least)..=Duration::from_millis(most);
    assert!(between(500, 1010).contains(&second), "{asked:?}");
    assert!(between(1000, 2010).contains(&(third - second)), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn the_instant_that_is_recorded_is_waited_for_after_a_restart() {
    for (downtime, then) in [(2, 40), (50, 50)] {
        let bench = Bench::new(1, RetryAdvice::After(Duration::from_secs(40)));
        let mut nobody = ();
        tokio::select! {
            report = bench.engine.send(message(options()), &mut nobody) => panic!("it ended: {report:?}"),
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
        tokio::time::sleep(Duration::from_secs(downtime - 1)).await;
        let resume = ResumeSession::new(session(), options().policy);
        let driven = bench.engine.resume(resume, &mut ()).await;
        let Ok(DriveOutcome::Finished(report)) = driven else {
            panic!("{driven:?}");
        };
        assert_eq!(report.end, TurnEnd::Answered(FinishReason::Stop));
        let asked = bench.asked();
        let [_, second] = asked[..] else {
            panic!("{asked:?}");
        };
        assert_eq!(second.as_secs(), then, "{asked:?}");
        let loaded = bench.journal.load(&session()).await.expect("a session");
        let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let lost = |fact: &Fact| {
            let why = jackfield_domain::fact::ModelCallEnd::Lost;
            matches!(fact, Fact::ModelCallEnded { why: known, .. } if *known == why)
        };
        assert!(!facts.any(lost), "nothing was under way");
    }
}
