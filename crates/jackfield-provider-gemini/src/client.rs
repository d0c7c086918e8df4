//! The chat model: sends requests to Gemini and emits the replies.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderMap;
use jackfield_dialect_gemini::error::Service;
use jackfield_dialect_gemini::stream::Decoder;
use jackfield_dialect_gemini::{DIALECT, error, models, request};
use jackfield_domain::failure::{ModelFailure, Phase};
use jackfield_domain::listing::ListedModel;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_provider_kit::base_url::encode_part;
use jackfield_provider_kit::chat_span;
use jackfield_provider_kit::exchange::{self, Adapter, ErrorAnswer, PreparedRequest};
use jackfield_provider_kit::key_header::KeyHeader;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::tokens::Tokens;
use jackfield_provider_kit::transport::Transport;
use tracing::Span;

use crate::config::{GeminiConfig, InvalidConfig, own_key_header};

/// Gemini, or a compatible server. Never retries; dropping a future cancels its request.
pub struct Gemini {
    config: GeminiConfig,
    headers: HeaderMap,
    transport: Transport,
}

impl Gemini {
    /// Creates the model; sends nothing.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if the key is not valid in a header.
    pub fn new(config: GeminiConfig, transport: Transport) -> Result<Self, InvalidConfig> {
        exchange::warn_if_exposed(&config.base_url, config.key.as_ref());
        Ok(Self {
            headers: config.headers()?,
            config,
            transport,
        })
    }
}

impl Adapter for Gemini {
    type Decoder = Decoder;

    /// The vendor names a request in no header; the id of a reply is in its body. A gateway in front may have one.
    const REQUEST_ID: (&'static str, &'static str) = ("x-request-id", "gemini.request_id");

    fn prepare(&self, request: &ModelRequest) -> Result<PreparedRequest<Decoder>, ModelFailure> {
        let model = &request.model.model;
        let owner = self.state_owner(model);
        let profile = self.config.profile.get(model);
        let body = request::to_wire(request, &owner, &profile)
            .map_err(|refusal| exchange::unsupported(&refusal))?;
        let method = if request.whole { WHOLE } else { STREAM };
        let model = encode_part(model.strip_prefix("models/").unwrap_or(model));
        let url = self
            .config
            .base_url
            .join(&format!("{}/{model}{method}", self.config.models()));
        let decoder = Decoder::for_request(owner, request);
        PreparedRequest::post(&url, self.headers.clone(), body, decoder)
    }

    fn classify(&self, answer: &ErrorAnswer<'_>) -> Option<ModelFailure> {
        // A response in another form is not the provider's.
        let _ours = error::parse(answer.body)?;
        let status = answer.status.as_u16();
        let header = |name: &str| answer.header(name);
        let phase = Phase::BeforeFirstDelta;
        let service = match self.config.vertex {
            None => Service::GeminiApi,
            Some(_) => Service::VertexAi,
        };
        Some(error::classify_at(
            service,
            status,
            header,
            answer.body,
            phase,
        ))
    }

    fn tokens(&self) -> Option<&Tokens> {
        self.config.tokens.as_deref()
    }

    fn key(&self) -> Option<&Secret> {
        self.config.key.as_ref()
    }

    fn key_header(&self) -> Option<KeyHeader> {
        // At Vertex a key is of a project, and tokens are of the gateway.
        self.config.vertex.is_none().then(own_key_header)
    }

    fn missing_key(&self) -> Option<&str> {
        self.config.missing_key.as_deref()
    }

    fn span(&self, model: &str) -> Span {
        let base_url = &self.config.base_url;
        match self.config.vertex {
            None => chat_span!("gcp.gemini", "gemini.request_id", model, base_url),
            Some(_) => chat_span!("gcp.vertex_ai", "gemini.request_id", model, base_url),
        }
    }
}

#[async_trait]
impl ChatModel for Gemini {
    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.audio = true;
        can.documents = true;
        can.forced_tools = self.config.tools;
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

    fn takes_credentials(&self) -> bool {
        self.config.vertex.is_none()
    }

    async fn models(&self) -> Result<Vec<ListedModel>, ModelError> {
        let (path, page) = match self.config.vertex {
            None => (self.config.models(), PAGE),
            // The list is the same for all projects.
            Some(_) => (PUBLISHED.to_owned(), VERTEX_PAGE),
        };
        let first = format!("{}?pageSize={page}", self.config.base_url.join(&path));
        let mut url = first.clone();
        let mut all = Vec::new();
        for _ in 0..PAGES {
            let headers = self.headers.clone();
            let body = exchange::read(self, &self.transport, &url, headers).await?;
            let (page, next) = models::from_wire(&body)
                .map_err(|error| exchange::unreadable("the list of models", &error))?;
            all.extend(page);
            match next {
                Some(token) => url = format!("{first}&pageToken={}", encode_part(&token)),
                None => return Ok(all),
            }
        }
        let why = format!("there are more than {PAGES} pages of it");
        Err(exchange::unreadable("the list of models", &why).into())
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

impl fmt::Debug for Gemini {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gemini")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The vendor's largest page of models.
const PAGE: usize = 1000;
/// The most pages of models that are requested.
const PAGES: usize = 20;
/// The models that Google publishes at Vertex AI.
const PUBLISHED: &str = "/v1beta1/publishers/google/models";
const STREAM: &str = ":streamGenerateContent?alt=sse";
/// A page of models at Vertex AI.
const VERTEX_PAGE: usize = 100;
const WHOLE: &str = ":generateContent";
