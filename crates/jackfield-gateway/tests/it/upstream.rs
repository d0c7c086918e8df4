//! A provider with an API of its own, which keeps what it is sent and replies as a test says, and a gateway before it.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use jackfield_dialect_kit::serve::ServeError;
use jackfield_domain::request::ModelRef;
use jackfield_domain::routing::{Abilities, OnExhausted, Route, RouteTarget, Strategy};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_engine::{Engine, ServerTools, TurnOptions};
use jackfield_gateway::{
    Gateway, GatewayConfig, PassthroughReply, PassthroughUpstream, Principal, ReceivedRequest,
};
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::upstream::{RawBody, RawReply, RawRequest, Upstream};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::ScriptedModel;
use tokio::sync::Notify;

/// The provider.
#[derive(Debug, Default)]
pub(crate) struct ScriptedUpstream {
    /// How it replies first: with these pieces, and then a sign of life each second.
    alive: Mutex<VecDeque<(Vec<Bytes>, Option<Bytes>)>>,
    asked: Notify,
    /// The fields that it has been said to refuse, by model.
    refused: Mutex<Vec<(String, String)>>,
    /// What it replies first, with its status.
    refusals: Mutex<VecDeque<(StatusCode, String)>>,
    /// The type of its replies and their pieces; it is silent without.
    reply: Mutex<Option<(&'static str, Vec<Bytes>)>>,
    sent: Mutex<Vec<(String, Bytes)>>,
    /// Whether it charges what its replies state.
    states_cost: AtomicBool,
}

impl ScriptedUpstream {
    /// It replies with these pieces from now on.
    pub(crate) fn answer(&self, content_type: &'static str, pieces: &[&[u8]]) {
        let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece));
        let reply = Some((content_type, pieces.collect()));
        *self.reply.lock().expect("no panic under the lock") = reply;
    }

    /// It answers the next request with a stream of these pieces, and then a sign of life each second.
    pub(crate) fn stays_alive(&self, pieces: &[&str], sign: &str) {
        let pieces = pieces.iter().map(|piece| Bytes::from((*piece).to_owned()));
        let reply = (pieces.collect(), Some(Bytes::from(sign.to_owned())));
        let mut alive = self.alive.lock().expect("no panic under the lock");
        alive.push_back(reply);
    }

    /// It answers the next request with a stream of these pieces, and ends it.
    pub(crate) fn ends(&self, pieces: &[&str]) {
        let pieces = pieces.iter().map(|piece| Bytes::from((*piece).to_owned()));
        let mut alive = self.alive.lock().expect("no panic under the lock");
        alive.push_back((pieces.collect(), None));
    }

    /// The next reply that does not end.
    fn next_alive(&self) -> Option<RawReply> {
        let mut alive = self.alive.lock().expect("no panic under the lock");
        let (pieces, sign) = alive.pop_front()?;
        let content_type = HeaderValue::from_static("text/event-stream");
        Some(RawReply {
            body: Box::new(Pieces(pieces.into_iter(), sign)),
            headers: HeaderMap::from_iter([(CONTENT_TYPE, content_type)]),
            status: StatusCode::OK,
        })
    }

    /// It answers the next request with this error.
    pub(crate) fn refuse(&self, status: u16, body: &str) {
        let status = StatusCode::from_u16(status).expect("a status");
        let mut refusals = self.refusals.lock().expect("no panic under the lock");
        refusals.push_back((status, body.to_owned()));
    }

    /// The error of the next request, in pieces, as a network has them.
    fn next_refusal(&self) -> Option<RawReply> {
        let mut refusals = self.refusals.lock().expect("no panic under the lock");
        let (status, body) = refusals.pop_front()?;
        let mut pieces = VecDeque::new();
        pieces.extend(body.as_bytes().chunks(7).map(Bytes::copy_from_slice));
        let content_type = HeaderValue::from_static("application/json");
        Some(RawReply {
            body: Box::new(Pieces(Vec::from(pieces).into_iter(), None)),
            headers: HeaderMap::from_iter([(CONTENT_TYPE, content_type)]),
            status,
        })
    }

    /// The bodies that it was sent.
    pub(crate) fn bodies(&self) -> Vec<String> {
        let sent = self.sent.lock().expect("no panic under the lock");
        let bodies = sent.iter().map(|(_, body)| body.to_vec());
        bodies
            .map(|body| String::from_utf8(body).expect("a text"))
            .collect()
    }

    /// It charges what its replies state.
    pub(crate) fn charges(&self) {
        self.states_cost.store(true, Ordering::Relaxed);
    }

    /// It is silent from now on.
    pub(crate) fn is_silent(&self) {
        *self.reply.lock().expect("no panic under the lock") = None;
    }

    /// Waits until it is asked.
    pub(crate) async fn is_asked(&self) {
        self.asked.notified().await;
    }
}

#[async_trait]
impl Upstream for ScriptedUpstream {
    fn endpoints(&self) -> &[Cow<'static, str>] {
        &[]
    }

    fn serves(&self, path: &str) -> bool {
        path != NOT_SERVED
    }

    fn takes_field(&self, model: &str, field: &str) -> bool {
        let refused = self.refused.lock().expect("no panic under the lock");
        !refused.contains(&(model.to_owned(), field.to_owned()))
    }

    fn states_cost(&self, _model: &str) -> bool {
        self.states_cost.load(Ordering::Relaxed)
    }

    fn field_refused(&self, model: &str, field: &'static str) {
        let mut refused = self.refused.lock().expect("no panic under the lock");
        refused.push((model.to_owned(), field.to_owned()));
    }

    async fn send(&self, request: RawRequest) -> Result<RawReply, ModelError> {
        let sent = (request.path, request.body);
        self.sent
            .lock()
            .expect("no panic under the lock")
            .push(sent);
        self.asked.notify_one();
        if let Some(refusal) = self.next_refusal() {
            return Ok(refusal);
        }
        if let Some(alive) = self.next_alive() {
            return Ok(alive);
        }
        let reply = self.reply.lock().expect("no panic under the lock").clone();
        let Some((content_type, pieces)) = reply else {
            return std::future::pending().await;
        };
        let content_type = HeaderValue::from_static(content_type);
        Ok(RawReply {
            body: Box::new(Pieces(pieces.into_iter(), None)),
            headers: HeaderMap::from_iter([(CONTENT_TYPE, content_type)]),
            status: StatusCode::OK,
        })
    }
}

/// Pieces, and what comes each second after them.
struct Pieces(std::vec::IntoIter<Bytes>, Option<Bytes>);

#[async_trait]
impl RawBody for Pieces {
    async fn next(&mut self) -> Result<Option<Bytes>, ModelError> {
        let next = self.0.find(|piece| !piece.is_empty());
        if let (None, Some(sign)) = (&next, &self.1) {
            tokio::time::sleep(Duration::from_secs(1)).await;
            // An empty one is silence.
            if sign.is_empty() {
                return std::future::pending().await;
            }
            return Ok(Some(sign.clone()));
        }
        Ok(next)
    }
}

/// A gateway whose default model is `a/b`, which has a route `m` over `a/one` and `a/two`, by turns,
/// and a route `quick` over `a/one`, which has to begin within 10 s, and then `a/two`.
pub(crate) struct PassingWorld {
    pub(crate) client: Principal,
    pub(crate) gateway: Gateway,
    pub(crate) upstream: Arc<ScriptedUpstream>,
}

impl PassingWorld {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// The same, with a changed configuration.
    pub(crate) fn with(change: impl FnOnce(&mut GatewayConfig)) -> Self {
        let upstream = Arc::new(ScriptedUpstream::default());
        upstream.answer("application/json", &[b"{}"]);
        let quick = RouteTarget {
            first_byte: Some(Duration::from_secs(10)),
            ..target("a", "one")
        };
        let later = RouteTarget {
            tier: 1,
            ..target("a", "two")
        };
        let engine = Engine::builder(Arc::new(MemoryJournal::default()))
            .model("a", ScriptedModel::new().port())
            .model("apart", ScriptedModel::new().port())
            .route(route("m", [target("a", "one"), target("a", "two")]))
            .route(route("quick", [quick, later]))
            .route(route("mixed", [target("a", "b"), target("apart", "b")]))
            .build();
        let options = TurnOptions::new(model("a", "b"));
        let mut config = GatewayConfig::new(options.clone());
        config.options.insert("apart".into(), options);
        config.passthrough.is_enabled = true;
        let passed = PassthroughUpstream {
            is_enabled: true,
            upstream: Arc::clone(&upstream) as Arc<dyn Upstream>,
        };
        config.passthrough.upstreams.insert("a".into(), passed);
        change(&mut config);
        let ephemeral = Arc::new(MemoryJournal::default().ephemeral());
        Self {
            client: client(),
            gateway: Gateway::new(engine, ephemeral, config),
            upstream,
        }
    }

    /// The reply to a request; `None` if it is not passed through.
    pub(crate) async fn reply(&self, request: &ReceivedRequest) -> Option<PassthroughReply> {
        let prepared = self.gateway.passthrough(&self.client, request).await;
        Some(
            prepared
                .expect("no refusal")?
                .send()
                .await
                .expect("a reply"),
        )
    }

    /// What the provider is sent of a request, its path and its body; `None` if it is not passed through.
    pub(crate) async fn sent(&self, path: &str, body: &str) -> Option<(String, String)> {
        self.reply(&request(path, body.to_owned())).await?;
        self.last_sent()
    }

    /// What the provider was sent last.
    pub(crate) fn last_sent(&self) -> Option<(String, String)> {
        let mut sent = self.upstream.sent.lock().expect("no panic under the lock");
        let (path, body) = sent.pop()?;
        Some((path, String::from_utf8(body.to_vec()).expect("a text")))
    }

    /// What was recorded.
    pub(crate) async fn records(&self) -> Vec<SpendingRecord> {
        let engine = self.gateway.engine();
        engine.flush_receipts().await;
        let mut records = Vec::new();
        let read = engine.read_spending(None, |record| records.push(record.clone()));
        read.await.expect("a journal");
        records
    }
}

/// A request for an address, with its query.
pub(crate) fn request(address: &str, body: impl Into<Bytes>) -> ReceivedRequest {
    let (path, query) = match address.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (address, None),
    };
    ReceivedRequest {
        body: body.into(),
        headers: HeaderMap::new(),
        method: Method::POST,
        path: path.to_owned(),
        query,
    }
}

/// All that arrives of a reply's body.
pub(crate) async fn body_of(mut reply: PassthroughReply) -> Result<Vec<u8>, ServeError> {
    let mut body = Vec::new();
    while let Some(piece) = reply.body.next().await? {
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

pub(crate) fn client() -> Principal {
    Principal {
        admin: false,
        endpoints: Vec::new(),
        has_no_approvals: false,
        has_own_servers: false,
        lookup: None,
        models: None,
        name: "ann".into(),
        passthrough: None,
        principal: "ann".into(),
        quotas: Vec::new(),
        tools: ServerTools::None,
    }
}

fn model(provider: &str, model: &str) -> ModelRef {
    ModelRef {
        model: model.into(),
        provider: provider.into(),
    }
}

fn route(name: &str, targets: [RouteTarget; 2]) -> Route {
    Route {
        cache_minimum: 0,
        name: name.into(),
        on_exhausted: OnExhausted::default(),
        sticky: true,
        strategy: Strategy::Weighted,
        targets: targets.into(),
    }
}

fn target(provider: &str, name: &str) -> RouteTarget {
    RouteTarget {
        abilities: Abilities::ALL,
        content_filter: false,
        first_byte: None,
        model: model(provider, name),
        tier: 0,
        weight: 1,
    }
}

/// The only path that the provider does not serve.
pub(crate) const NOT_SERVED: &str = "/v1/completions";
pub(crate) const CHAT: &str = "/v1/chat/completions";
pub(crate) const MESSAGES: &str = "/v1/messages";
pub(crate) const RESPONSES: &str = "/v1/responses";
