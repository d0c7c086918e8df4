//! The metrics of a gateway.

use std::fmt;

use jackfield_domain::routing::BreakerState;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_engine::{Durability, EndedTurn, Engine, TurnObserver, chain};
use jackfield_gateway::{EndedRequest, GatewayMetrics};
use prometheus_client::encoding::text;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::labels::Labels;
use crate::ledger::Ledger;
use crate::names;
use crate::requests::RequestFigures;
use crate::turns::TurnFigures;

/// The metrics of a gateway and its engine, in the text format of OpenMetrics 1.0, which Prometheus reads.
#[derive(Debug)]
pub struct Metrics {
    breakers: Family<Labels, Gauge>,
    ledger: Ledger,
    open_turns: Gauge,
    registry: Registry,
    requests: RequestFigures,
    turns: TurnFigures,
}

impl Metrics {
    /// Metrics of a process that starts now; `version` is that of the program.
    #[must_use]
    pub fn new(version: &str, now: WallTime) -> Self {
        let mut registry = Registry::default();
        let build = Info::new([("version", version.to_owned())]);
        registry.register(names::BUILD, "The program", build);
        let open_turns = Gauge::default();
        let help = "Turns that this process works on";
        registry.register(names::OPEN_TURNS, help, open_turns.clone());
        let breakers = Family::default();
        let help = "Whether requests keep off the target of a route: 1 if so, 0 if not";
        registry.register(names::TARGET_OPEN, help, breakers.clone());
        let ledger = Ledger::new(now);
        registry.register_collector(Box::new(ledger.clone()));
        Self {
            breakers,
            ledger,
            open_turns,
            requests: RequestFigures::register(&mut registry),
            turns: TurnFigures::register(&mut registry),
            registry,
        }
    }

    /// Reads the whole journal, and adds what it has as used to the figures of the ledger. These are shown from then on.
    /// They are those of `jackfield usage`, without turns in progress, and without what other processes write later.
    ///
    /// A journal that cannot be read is logged, and those figures stay hidden.
    pub async fn count_journal(&self, engine: &Engine) {
        if let Err(error) = self.ledger.add_journal(engine).await {
            let error = chain(&error);
            tracing::warn!(%error, "the journal cannot be read: metrics show no ledger");
        }
    }
}

impl TurnObserver for Metrics {
    fn turn_ended(&self, turn: &EndedTurn) {
        self.turns.record(&turn.steps);
        // What an ephemeral turn used comes as records.
        if turn.durability == Durability::Durable {
            self.ledger.add_turn(&turn.session, &turn.steps);
        }
    }

    fn record_stored(&self, record: &SpendingRecord) {
        self.ledger.add_record(record);
    }
}

impl GatewayMetrics for Metrics {
    fn request_ended(&self, request: &EndedRequest<'_>) {
        self.requests.record(request);
    }

    fn page(&self, engine: &Engine) -> String {
        let turns = engine.turns_in_flight();
        self.open_turns
            .set(i64::try_from(turns).unwrap_or(i64::MAX));
        for target in engine.routes().into_iter().flat_map(|route| route.targets) {
            let labels = vec![
                (names::PROVIDER, target.target.model.provider.to_string()),
                (names::MODEL, target.target.model.model.to_string()),
            ];
            let is_closed = target.state == BreakerState::Closed;
            let gauge = self.breakers.get_or_create(&labels);
            gauge.set(i64::from(!is_closed));
        }
        let mut page = String::new();
        match text::encode(&mut page, &self.registry) {
            Ok(()) => page,
            Err(fmt::Error) => String::new(),
        }
    }
}
