//! Prints how 10,000 requests fare whose providers fail at random: how many are answered, by how many targets, and the
//! time that it adds. Time is simulated, so the figures are those of the decisions and the same on every machine.
//!
//! ```sh
//! cargo run --package jackfield-engine --example routes
//! ```
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "an example that prints its result"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::routing::{Abilities, OnExhausted, Route, RouteTarget, Strategy};
use jackfield_domain::setup::Opening;
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_engine::{Clock, Engine, SendMessage, TurnOptions};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_store_memory::MemoryJournal;
use tokio::time::Instant;

/// How often each provider fails, in percent of its requests.
const PERCENT: [u64; 3] = [20, 10, 5];
const NAMES: [&str; 3] = ["one", "two", "three"];
const REQUESTS: u64 = 10_000;
/// The time between two requests; each takes 300 ms, so that about 15 are in flight.
const APART: Duration = Duration::from_millis(20);
const ANSWER: Duration = Duration::from_millis(300);

struct Simulated(Instant);

impl Clock for Simulated {
    fn now(&self) -> Now {
        let elapsed = self.0.elapsed();
        Now {
            mono: MonoTime::from_start(elapsed),
            wall: WallTime::from_millis(0).after(elapsed),
        }
    }
}

/// Fails by a fixed sequence; for a minute of each ten it is down.
struct Provider {
    began: Instant,
    name: &'static str,
    percent: u64,
    requests: AtomicU64,
}

#[async_trait]
impl ChatModel for Provider {
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        StateOwner {
            dialect: "none".into(),
            endpoint: self.name.into(),
            model: model.into(),
        }
    }

    async fn reply(
        &self,
        _: &ModelRequest,
        _: &CallContext,
        _: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        let nth = self.requests.fetch_add(1, Ordering::Relaxed);
        let drawn = Digest::of_parts([self.name, &nth.to_string()]).to_u64() % 100;
        let is_down = self.name == "one" && self.began.elapsed().as_secs() % 120 >= 60;
        if is_down || drawn < self.percent {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let kind = ModelFailureKind::Overloaded;
            return Err(ModelFailure::new(kind, Phase::BeforeFirstDelta, "simulated").into());
        }
        tokio::time::sleep(ANSWER).await;
        Ok(ReplyEnd::new(FinishReason::Stop))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    tokio::time::pause();
    println!("| a model | requests | answered | asked in all | added, p50 | p99 | the most |");
    println!("|---|---|---|---|---|---|---|");
    run("`one`, alone", None).await;
    run("a route of three", Some("route")).await;
}

async fn run(what: &str, route: Option<&str>) {
    let began = Instant::now();
    let mut builder =
        Engine::builder(Arc::new(MemoryJournal::default())).clock(Arc::new(Simulated(began)));
    let mut providers = Vec::new();
    for (name, percent) in NAMES.into_iter().zip(PERCENT) {
        let provider = Arc::new(Provider {
            began,
            name,
            percent,
            requests: AtomicU64::new(0),
        });
        builder = builder.model(name, Arc::clone(&provider) as Arc<dyn ChatModel>);
        providers.push(provider);
    }
    let model = |name: &str| ModelRef {
        model: "model".into(),
        provider: name.into(),
    };
    let engine = builder
        .route(Route {
            name: "route".into(),
            cache_minimum: 1024,
            on_exhausted: OnExhausted::default(),
            sticky: true,
            strategy: Strategy::Ordered,
            targets: NAMES
                .map(|name| RouteTarget {
                    abilities: Abilities::ALL,
                    content_filter: false,
                    first_byte: None,
                    model: model(name),
                    tier: 0,
                    weight: 1,
                })
                .to_vec(),
        })
        .build();
    let mut turns = tokio::task::JoinSet::new();
    for nth in 0..REQUESTS {
        let (engine, route) = (engine.clone(), route.map(Into::into));
        let message = SendMessage {
            opening: Opening::UserMessage(Arc::new(Message::user("hello"))),
            options: TurnOptions {
                route,
                ..TurnOptions::new(model("one"))
            },
            session: SessionId::parse(&format!("s{nth}")).expect("a valid id"),
        };
        turns.spawn(async move {
            let began = Instant::now();
            let report = engine.send(message, &mut ()).await.expect("a report");
            let is_answered = matches!(report.end, TurnEnd::Answered(_));
            is_answered.then(|| began.elapsed().saturating_sub(ANSWER))
        });
        tokio::time::sleep(APART).await;
    }
    let ended = turns.join_all().await;
    let mut added: Vec<Duration> = ended.into_iter().flatten().collect();
    added.sort();
    let at = |percent: usize| {
        added
            .get(added.len() * percent / 100)
            .map(Duration::as_millis)
    };
    let asked: u64 = providers
        .iter()
        .map(|provider| provider.requests.load(Ordering::Relaxed))
        .sum();
    println!(
        "| {what} | {REQUESTS} | {} | {asked} | {} ms | {} ms | {} ms |",
        added.len(),
        at(50).unwrap_or_default(),
        at(99).unwrap_or_default(),
        added.last().map(Duration::as_millis).unwrap_or_default(),
    );
}
