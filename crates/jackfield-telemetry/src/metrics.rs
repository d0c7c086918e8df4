//! The metrics of a gateway.

use std::fmt;
use std::time::Duration;

use jackfield_domain::caller::tags::TagNames;
use jackfield_domain::request::ModelRef;
use jackfield_domain::routing::BreakerState;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_engine::{
    Durability, EndedTurn, Engine, EngineError, McpObserver, McpRequest, McpSession, TurnObserver,
    chain,
};
use jackfield_gateway::{EndedRequest, GatewayMetrics};
use prometheus_client::encoding::text;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::labels::Labels;
use crate::ledger::Ledger;
use crate::mcp_figures::McpFigures;
use crate::names;
use crate::requests::RequestFigures;
use crate::turns::TurnFigures;

/// The metrics of a gateway and its engine, in the text format of OpenMetrics 1.0, which Prometheus reads.
#[derive(Debug)]
pub struct Metrics {
    breakers: Family<Labels, Gauge>,
    ledger: Ledger,
    mcp: McpFigures,
    open_turns: Gauge,
    registry: Registry,
    requests: RequestFigures,
    turns: TurnFigures,
}

impl Metrics {
    /// No metrics yet; `version` is that of the program.
    #[must_use]
    pub fn new(version: &str) -> Self {
        let mut registry = Registry::default();
        let build = Info::new([("version", version.to_owned())]);
        registry.register(names::BUILD, "The program", build);
        let open_turns = Gauge::default();
        let help = "Turns that this process works on";
        registry.register(names::OPEN_TURNS, help, open_turns.clone());
        let breakers = Family::default();
        let help = "Whether requests keep off the target of a route: 1 if so, 0 if not";
        registry.register(names::TARGET_OPEN, help, breakers.clone());
        let ledger = Ledger::new();
        registry.register_collector(Box::new(ledger.clone()));
        Self {
            breakers,
            ledger,
            mcp: McpFigures::register(&mut registry),
            open_turns,
            requests: RequestFigures::register(&mut registry),
            turns: TurnFigures::register(&mut registry),
            registry,
        }
    }

    /// Keeps the places of these models, which the configuration names: clients name others, and of those only some have
    /// a series of their own.
    #[must_use]
    pub fn expecting(self, models: &[ModelRef]) -> Self {
        self.turns.models.expect(models);
        self.ledger.expect(models);
        self
    }

    /// Shows sums of the ledger by the tags of these names.
    #[must_use]
    pub fn by_tags(self, names: &TagNames) -> Self {
        self.ledger.expect_tags(names);
        self
    }

    /// Shows the ledger, if no other process with the journal does, and keeps it up to date. It ends when it is dropped.
    ///
    /// The figures are those of `jackfield usage`, without turns in progress. Until the whole journal was read, and
    /// while it cannot be read, they are not shown: the latter is logged.
    pub async fn follow_journal(&self, engine: &Engine) {
        let mut is_readable = true;
        loop {
            let read = self.read_journal(engine, engine.now()).await;
            if let Err(error) = &read
                && is_readable
            {
                let error = chain(error);
                tracing::warn!(%error, "the journal cannot be read: metrics show no ledger");
            }
            is_readable = read.is_ok();
            tokio::time::sleep(JOURNAL_PAUSE).await;
        }
    }

    /// Adds what is new in the journal to the ledger, if it is for this process to show it at this time.
    ///
    /// # Errors
    ///
    /// The journal cannot be read.
    pub async fn read_journal(&self, engine: &Engine, now: WallTime) -> Result<(), EngineError> {
        self.ledger.read_journal(engine, now).await
    }

    /// Lets another process show the ledger.
    pub async fn leave_journal(&self, engine: &Engine) {
        self.ledger.leave(engine).await;
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
        self.turns.record_passed(record);
        self.ledger.add_record(record);
    }
}

impl McpObserver for Metrics {
    fn request_ended(&self, request: &McpRequest) {
        self.mcp.record(request);
    }

    fn session_ended(&self, session: &McpSession) {
        self.mcp.record_session(session);
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

/// The pause between two readings of the journal.
const JOURNAL_PAUSE: Duration = Duration::from_secs(3);
