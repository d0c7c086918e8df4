//! The chat model: what of it is acme's own. The exchange itself is the same for every adapter.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use jackfield_domain::failure::{ModelFailure, Phase};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{BoxError, Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_provider_kit::base_url::BaseUrl;
use jackfield_provider_kit::chat_span;
use jackfield_provider_kit::exchange::{self, Adapter, ErrorAnswer, PreparedRequest};
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::Transport;
use tracing::Span;

use crate::reply::Decoder;
use crate::{DIALECT, error, request, wire};

/// Acme. Never retries; cancelled by dropping.
pub struct Acme {
    base_url: BaseUrl,
    headers: HeaderMap,
    key: Option<Secret>,
    missing_key: Option<String>,
    transport: Transport,
}

impl Acme {
    /// Sets the model up; nothing is sent. Without a key it says when it is asked why there is none.
    ///
    /// # Errors
    ///
    /// If that is no address, or the key cannot be sent. The key is not in it.
    pub fn new(
        base_url: &str,
        key: Option<Secret>,
        missing_key: Option<String>,
        transport: Transport,
    ) -> Result<Self, BoxError> {
        let base_url = BaseUrl::parse(base_url)?;
        exchange::warn_if_exposed(&base_url, key.as_ref());
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &key {
            headers.insert(AUTHORIZATION, key.header_value("Bearer ")?);
        }
        Ok(Self {
            base_url,
            headers,
            key,
            missing_key,
            transport,
        })
    }
}

impl Adapter for Acme {
    type Decoder = Decoder;

    const REQUEST_ID: (&'static str, &'static str) = ("x-acme-request", "acme.request_id");

    fn prepare(&self, request: &ModelRequest) -> Result<PreparedRequest<Decoder>, ModelFailure> {
        let owner = self.state_owner(&request.model.model);
        let body =
            request::to_wire(request, &owner).map_err(|refusal| exchange::unsupported(&refusal))?;
        let url = self.base_url.join("/v1/talk");
        PreparedRequest::post(&url, self.headers.clone(), body, Decoder::new(owner))
    }

    fn classify(&self, answer: &ErrorAnswer<'_>) -> Option<ModelFailure> {
        let body: wire::ErrorBody = serde_json::from_slice(answer.body).ok()?;
        let status = Some(answer.status.as_u16());
        Some(error::classify(
            status,
            &body.error,
            Phase::BeforeFirstDelta,
        ))
    }

    fn key(&self) -> Option<&Secret> {
        self.key.as_ref()
    }

    fn missing_key(&self) -> Option<&str> {
        self.missing_key.as_deref()
    }

    fn span(&self, model: &str) -> Span {
        chat_span!("acme", "acme.request_id", model, &self.base_url)
    }
}

#[async_trait]
impl ChatModel for Acme {
    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.parallel_calls = true;
        can.streaming = true;
        can.tools = true;
        can
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        StateOwner {
            dialect: DIALECT.into(),
            endpoint: Arc::clone(self.base_url.endpoint()),
            model: model.into(),
        }
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        call: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        exchange::reply(self, &self.transport, request, call, sink).await
    }
}

/// Without the key: the contract looks for it everywhere.
impl fmt::Debug for Acme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acme")
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}
