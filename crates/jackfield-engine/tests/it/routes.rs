//! Routes: requests with random failures, and the one trial of a target that is half open.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::block::{Block, Content};
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::SessionId;
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::routing::{
    Abilities, BreakerState, Needs, OnExhausted, Route, RouteTarget, Strategy,
};
use jackfield_domain::setup::{Opening, Transcript};
use jackfield_engine::{Engine, EngineError, SendMessage, TurnOptions};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_store_memory::MemoryJournal;
use tokio::sync::Notify;

use crate::fixture::{Paused, options, owner};

/// A provider of which a share of the requests fails, by a fixed sequence.
struct Flaky {
    /// Requests that are held until they are let go.
    held: Option<Arc<Notify>>,
    percent: u64,
    requests: AtomicU64,
    seed: u64,
}

impl Flaky {
    fn new(percent: u64, seed: u64) -> Arc<Self> {
        Arc::new(Self {
            held: None,
            percent,
            requests: AtomicU64::new(0),
            seed,
        })
    }

    fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl ChatModel for Flaky {
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
        let nth = self.requests.fetch_add(1, Ordering::Relaxed) + self.seed;
        if let Some(held) = &self.held {
            held.notified().await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        // A generator of Lehmer's kind is random enough for this.
        let drawn = (nth * 48_271 + 11) % 2_147_483_647 * 48_271 % 2_147_483_647;
        if drawn % 100 >= self.percent {
            return Ok(ReplyEnd::new(FinishReason::Stop));
        }
        let kind = match drawn % 3 {
            0 => ModelFailureKind::Overloaded,
            1 => ModelFailureKind::ServerError,
            _ => ModelFailureKind::Transport,
        };
        Err(ModelFailure::new(kind, Phase::BeforeFirstDelta, "at random").into())
    }
}

fn model(provider: &str) -> ModelRef {
    ModelRef {
        model: "model".into(),
        provider: provider.into(),
    }
}

fn target(provider: &str) -> RouteTarget {
    RouteTarget {
        abilities: Abilities {
            images: false,
            ..Abilities::ALL
        },
        content_filter: false,
        first_byte: None,
        model: model(provider),
        tier: 0,
        weight: 1,
    }
}

/// An engine with a route over these providers, which are named by letters.
fn engine(models: &[Arc<Flaky>]) -> Engine {
    engine_by(Strategy::Ordered, models)
}

fn engine_by(strategy: Strategy, models: &[Arc<Flaky>]) -> Engine {
    let names = ["a", "b", "c"];
    let clock = Arc::new(Paused::default());
    let mut builder = Engine::builder(Arc::new(MemoryJournal::default())).clock(clock);
    for (name, model) in names.iter().zip(models) {
        builder = builder.model(*name, Arc::clone(model) as Arc<dyn ChatModel>);
    }
    let targets = names.iter().take(models.len()).map(|name| target(name));
    builder
        .route(Route {
            name: "route".into(),
            cache_minimum: 1024,
            on_exhausted: OnExhausted::default(),
            sticky: true,
            strategy,
            targets: targets.collect(),
        })
        .build()
}

fn routed(session: &str) -> SendMessage {
    let options = TurnOptions {
        model: model("a"),
        route: Some("route".into()),
        ..options()
    };
    SendMessage {
        opening: Opening::UserMessage(Arc::new(Message::user("go"))),
        options,
        session: SessionId::parse(session).expect("a valid id"),
    }
}

#[tokio::test(start_paused = true)]
async fn no_request_is_lost_as_long_as_a_target_answers() {
    let models = [
        Flaky::new(60, 1),
        Flaky::new(30, 1_000),
        Flaky::new(0, 2_000),
    ];
    let engine = engine(&models);
    for nth in 0..300 {
        let report = engine
            .send(routed(&format!("s{nth}")), &mut ())
            .await
            .expect("a report");
        assert!(
            matches!(report.end, TurnEnd::Answered(_)),
            "{:?}",
            report.end
        );
    }
    // The first fails so often that it is mostly left alone.
    let asked = models.each_ref().map(|model| model.requests());
    assert!(asked[0] < 150 && asked[2] > 0, "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_target_that_is_half_open_gets_one_request_of_two_at_once() {
    let held = Arc::new(Notify::new());
    let first = Arc::new(Flaky {
        held: Some(Arc::clone(&held)),
        percent: 100,
        requests: AtomicU64::new(0),
        seed: 0,
    });
    let engine = engine(&[Arc::clone(&first), Flaky::new(0, 0)]);
    for nth in 0..5 {
        held.notify_one();
        let sent = engine.send(routed(&format!("s{nth}")), &mut ()).await;
        sent.expect("a report");
    }
    let state = || engine.routes()[0].targets[0].state;
    assert!(matches!(state(), BreakerState::Open(_)), "{:?}", state());
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(state(), BreakerState::HalfOpen);
    // One goes there as a trial, and waits; the other is answered elsewhere meanwhile.
    let trial = tokio::spawn({
        let engine = engine.clone();
        async move { engine.send(routed("trial"), &mut ()).await }
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!((first.requests(), state()), (6, BreakerState::Trying));
    engine
        .send(routed("other"), &mut ())
        .await
        .expect("a report");
    assert_eq!(first.requests(), 6);
    // A trial that is given up says nothing: the next request may try.
    trial.abort();
    let _aborted = trial.await;
    assert_eq!(state(), BreakerState::HalfOpen);
    held.notify_one();
    engine
        .send(routed("again"), &mut ())
        .await
        .expect("a report");
    assert!(matches!(state(), BreakerState::Open(_)), "{:?}", state());
}

#[tokio::test(start_paused = true)]
async fn a_plain_model_is_never_blocked() {
    let models = [Flaky::new(100, 1)];
    let engine = engine(&models);
    for nth in 0..4 {
        let mut plain = routed(&format!("s{nth}"));
        plain.options.route = None;
        let report = engine.send(plain, &mut ()).await.expect("a report");
        assert!(matches!(report.end, TurnEnd::Failed(_)));
    }
    assert_eq!(models[0].requests(), 12, "each is tried three times");
    assert_ne!(engine.routes()[0].targets[0].state, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_no_target_can_serve_is_refused_by_what_it_needs() {
    let engine = engine(&[Flaky::new(0, 0)]);
    let mut message = routed("s");
    let image = Content::Image(Image {
        detail: None,
        source: MediaSource::Url("https://example.com/a.png".into()),
    });
    let block = Block {
        cache: None,
        content: image,
        opaque: Vec::new(),
    };
    message.opening = Opening::UserMessage(Arc::new(Message::new(Role::User, vec![block])));
    let refused = engine.send(message, &mut ()).await.expect_err("refused");
    let EngineError::NoCapableTarget { needs, .. } = refused else {
        panic!("{refused}");
    };
    let expected = Needs {
        images: true,
        ..Needs::default()
    };
    assert_eq!(needs, expected);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_stays_at_the_target_that_answered_it() {
    let models = [Flaky::new(0, 0), Flaky::new(0, 0)];
    let engine = engine_by(Strategy::Weighted, &models);
    let asked = || (models[0].requests(), models[1].requests());
    for _ in 0..4 {
        engine
            .send(routed("talk"), &mut ())
            .await
            .expect("a report");
    }
    assert_eq!(asked(), (4, 0));
    // Other conversations take turns.
    for session in ["one", "two", "three"] {
        engine
            .send(routed(session), &mut ())
            .await
            .expect("a report");
    }
    assert_eq!(asked(), (5, 2));
}

/// A message of a client that keeps its conversation itself.
fn stateless(session: &str, texts: &[&str]) -> SendMessage {
    let mut message = routed(session);
    let messages = texts.iter().enumerate().map(|(index, text)| {
        let role = [Role::User, Role::Assistant][index % 2];
        Message::new(role, vec![Block::text(*text)])
    });
    let transcript = Transcript::parse(messages.collect()).expect("a valid conversation");
    message.opening = Opening::Transcript(transcript);
    message
}

#[tokio::test(start_paused = true)]
async fn a_long_conversation_without_a_session_stays_at_its_target() {
    let models = [Flaky::new(0, 0), Flaky::new(0, 0)];
    let engine = engine_by(Strategy::Weighted, &models);
    let asked = || (models[0].requests(), models[1].requests());
    let long = "word ".repeat(1_000);
    let send = async |session: &str, texts: &[&str]| {
        let sent = engine.send(stateless(session, texts), &mut ()).await;
        sent.expect("a report");
    };
    send("one", &[&long]).await;
    send("two", &[&long, "yes", "go on"]).await;
    send("three", &[&long, "yes", "go on", "so", "and then"]).await;
    assert_eq!(asked(), (3, 0));
    // A short one is not worth it, and another one goes by the strategy.
    send("four", &["hi"]).await;
    send("five", &["hi", "yes", "go on"]).await;
    assert_eq!(asked(), (4, 1));
    send("six", &[&format!("Another {long}")]).await;
    assert_eq!(asked(), (4, 2));
    // After some minutes, no provider has the prompt any more.
    tokio::time::sleep(Duration::from_secs(11 * 60)).await;
    send("seven", &[&long, "yes", "later"]).await;
    send("eight", &[&long, "yes", "later", "yes", "still"]).await;
    assert_eq!(asked(), (6, 2));
}
