//! The chat model: sends requests to Ollama and emits the replies.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderMap;
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::listing::ListedModel;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_provider_kit::chat_span;
use jackfield_provider_kit::exchange::{self, Adapter, ErrorAnswer, PreparedRequest};
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::Transport;
use tracing::Span;

use crate::config::{InvalidConfig, OllamaConfig};
use crate::reply::Decoder;
use crate::{DIALECT, error, models, request};

/// A server with Ollama's own API. Never retries; dropping a future cancels its request.
pub struct Ollama {
    config: OllamaConfig,
    headers: HeaderMap,
    transport: Transport,
}

impl Ollama {
    /// Creates the model; sends nothing.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if the key is not valid in a header.
    pub fn new(config: OllamaConfig, transport: Transport) -> Result<Self, InvalidConfig> {
        exchange::warn_if_exposed(&config.base_url, config.key.as_ref());
        Ok(Self {
            headers: config.headers()?,
            config,
            transport,
        })
    }
}

impl Adapter for Ollama {
    type Decoder = Decoder;

    const LINES: &'static [&'static str] = &["application/x-ndjson"];

    /// Ollama names no request; a gateway in front may.
    const REQUEST_ID: (&'static str, &'static str) = ("x-request-id", "ollama.request_id");

    fn prepare(&self, request: &ModelRequest) -> Result<PreparedRequest<Decoder>, ModelFailure> {
        let owner = self.state_owner(&request.model.model);
        let body = request::to_wire(request, &owner, &self.config.defaults)
            .map_err(|refusal| exchange::unsupported(&refusal))?;
        let url = self.config.base_url.join("/api/chat");
        let decoder = Decoder::for_request(owner, request);
        PreparedRequest::post(&url, self.headers.clone(), body, decoder)
    }

    fn classify(&self, answer: &ErrorAnswer<'_>) -> Option<ModelFailure> {
        error::classify(answer.status.as_u16(), answer.body)
    }

    fn key(&self) -> Option<&Secret> {
        self.config.key.as_ref()
    }

    fn missing_key(&self) -> Option<&str> {
        self.config.missing_key.as_deref()
    }

    fn span(&self, model: &str) -> Span {
        let base_url = &self.config.base_url;
        chat_span!("ollama", "ollama.request_id", model, base_url)
    }
}

#[async_trait]
impl ChatModel for Ollama {
    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.images = true;
        can.parallel_calls = self.config.tools;
        can.reasoning = true;
        can.streaming = true;
        can.structured_output = true;
        can.tools = self.config.tools;
        can
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        StateOwner {
            dialect: DIALECT.into(),
            endpoint: Arc::clone(self.config.base_url.endpoint()),
            model: model.into(),
        }
    }

    async fn models(&self) -> Result<Vec<ListedModel>, ModelError> {
        let url = self.config.base_url.join("/api/tags");
        let body = exchange::read(self, &self.transport, &url, self.headers.clone()).await?;
        let models = models::from_wire(&body);
        models.map_err(|error| exchange::unreadable("the list of models", &error).into())
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

impl fmt::Debug for Ollama {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ollama")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
