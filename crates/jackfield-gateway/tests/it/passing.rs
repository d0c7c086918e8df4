//! Requests that are passed through, and what observers and the journal learn of them.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use http::{HeaderMap, Method};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_engine::{EndedTurn, Engine, PassedRequest, TurnObserver, TurnOptions};
use jackfield_gateway::{Gateway, GatewayConfig, PassthroughUpstream, ReceivedRequest};
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::upstream::{RawReply, RawRequest, Upstream};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::ScriptedModel;

use crate::upstream::client;

/// The errors of the requests that ended.
#[derive(Default)]
struct Seen(Mutex<Vec<Option<Arc<str>>>>);

impl TurnObserver for Seen {
    fn turn_ended(&self, _turn: &EndedTurn) {}

    fn exports_traces(&self) -> bool {
        true
    }

    fn record_stored(&self, _record: &SpendingRecord) {}

    fn request_passed(&self, request: &PassedRequest) {
        let mut seen = self.0.lock().expect("no panic");
        seen.push(request.error.clone());
    }
}

/// A provider that cannot be reached.
#[derive(Debug)]
struct Unreachable;

#[async_trait]
impl Upstream for Unreachable {
    fn endpoints(&self) -> &[Cow<'static, str>] {
        &[Cow::Borrowed("/v1/chat/completions")]
    }

    async fn send(&self, _request: RawRequest) -> Result<RawReply, ModelError> {
        let kind = ModelFailureKind::Transport;
        Err(ModelFailure::new(kind, Phase::BeforeSend, "no connection").into())
    }
}

fn gateway() -> (Gateway, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .model("provider", ScriptedModel::new().port())
        .turn_observer(Arc::clone(&seen) as Arc<dyn TurnObserver>)
        .build();
    let mut config = GatewayConfig::new(TurnOptions::new(ModelRef {
        model: "model".into(),
        provider: "provider".into(),
    }));
    config.passthrough.is_enabled = true;
    let upstream = PassthroughUpstream {
        is_enabled: true,
        upstream: Arc::new(Unreachable),
    };
    let upstreams = &mut config.passthrough.upstreams;
    upstreams.insert("provider".into(), upstream);
    let memory = Arc::new(MemoryJournal::default().ephemeral());
    (Gateway::new(engine, memory, config), seen)
}

fn request(path: &str) -> ReceivedRequest {
    ReceivedRequest {
        body: br#"{"model":"provider/model","messages":[]}"#.as_slice().into(),
        headers: HeaderMap::new(),
        method: Method::POST,
        path: path.to_owned(),
        query: None,
    }
}

/// How many spending records there are.
async fn records(gateway: &Gateway) -> usize {
    let engine = gateway.engine();
    engine.flush_receipts().await;
    let mut count = 0;
    let read = engine.read_spending(None, |_| count += 1).await;
    read.expect("a journal");
    count
}

/// The client got an error: it did not go away.
#[tokio::test]
async fn a_request_that_the_gateway_refuses_ends_with_the_error() {
    let (gateway, seen) = gateway();
    let refused = gateway.passthrough_only(&client(), &request("/v1/other"));
    let error = refused.expect_err("it is not open");
    let seen = seen.0.lock().expect("no panic");
    assert_eq!(*seen, [Some(error.kind.code().into())]);
}

/// There may be no room for the request, or its client goes away first.
#[tokio::test]
async fn a_request_that_is_not_sent_has_no_record() {
    let (gateway, _) = gateway();
    let prepare = async || {
        let request = request("/v1/chat/completions");
        let prepared = gateway.passthrough(&client(), &request).await;
        prepared.expect("no refusal").expect("it is passed through")
    };
    drop(prepare().await);
    assert_eq!(records(&gateway).await, 0);
    let sent = prepare().await.send().await;
    assert!(sent.is_err(), "{sent:?}");
    assert_eq!(records(&gateway).await, 1);
}
