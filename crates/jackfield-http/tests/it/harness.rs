//! A gateway over a model in memory: no file, no configuration, no socket.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::{Method, Request};
use jackfield_domain::request::ModelRef;
use jackfield_engine::{Engine, ServerTools, TurnOptions};
use jackfield_gateway::{Gateway, GatewayConfig, Principal};
use jackfield_http::router;
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{ScriptedModel, ScriptedReply};
use tower::ServiceExt as _;

/// The provider of the model.
pub(crate) const PROVIDER: &str = "claude";

/// A gateway in front of a model with these replies.
pub(crate) fn gateway(
    replies: impl IntoIterator<Item = ScriptedReply>,
    change: impl FnOnce(&mut GatewayConfig),
) -> Gateway {
    gateway_over(Arc::new(MemoryJournal::new()), replies, change)
}

/// The same, over this journal.
pub(crate) fn gateway_over(
    journal: Arc<dyn Journal>,
    replies: impl IntoIterator<Item = ScriptedReply>,
    change: impl FnOnce(&mut GatewayConfig),
) -> Gateway {
    let model = ScriptedModel::new();
    for reply in replies {
        model.push_reply(reply);
    }
    let engine = Engine::builder(journal)
        .model(PROVIDER, model.port())
        .build();
    let mut config = GatewayConfig::new(TurnOptions::new(ModelRef {
        model: "model".into(),
        provider: PROVIDER.into(),
    }));
    change(&mut config);
    Gateway::new(
        engine,
        Arc::new(MemoryJournal::default().ephemeral()),
        config,
    )
}

/// A client of the configuration.
pub(crate) fn principal(name: &str, tools: ServerTools) -> Principal {
    Principal {
        admin: false,
        endpoints: Vec::new(),
        has_no_approvals: false,
        has_own_servers: false,
        lookup: None,
        models: None,
        name: name.into(),
        passthrough: None,
        principal: name.into(),
        quotas: Vec::new(),
        tools,
    }
}

/// The administrator `root`.
pub(crate) fn admin() -> Principal {
    Principal {
        admin: true,
        ..principal("root", ServerTools::All)
    }
}

/// Sends a request without a body.
pub(crate) async fn send(
    gateway: &Gateway,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
) -> Response {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::empty()).expect("a request");
    let answered = router(gateway).oneshot(request).await;
    answered.expect("an answer")
}
