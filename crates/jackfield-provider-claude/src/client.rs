//! The chat model: sends requests to Claude and emits the replies.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderMap, HeaderValue};
use jackfield_dialect_claude::stream::Decoder;
use jackfield_dialect_claude::{DIALECT, error, models, request, wire};
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
use jackfield_provider_kit::transport::Transport;
use tracing::Span;

use crate::config::{BETA, ClaudeConfig, InvalidConfig, Profile, VERSION};

/// Claude, or a compatible server. Never retries; dropping a future cancels its request.
pub struct Claude {
    config: ClaudeConfig,
    headers: HeaderMap,
    transport: Transport,
}

impl Claude {
    /// Creates the model; sends nothing.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if the key, a beta or the version is not valid in a header.
    pub fn new(config: ClaudeConfig, transport: Transport) -> Result<Self, InvalidConfig> {
        exchange::warn_if_exposed(&config.base_url, config.key.as_ref());
        Ok(Self {
            headers: config.headers()?,
            config,
            transport,
        })
    }
}

impl Adapter for Claude {
    type Decoder = Decoder;

    const REQUEST_ID: (&'static str, &'static str) = ("request-id", "anthropic.request_id");

    fn prepare(&self, request: &ModelRequest) -> Result<PreparedRequest<Decoder>, ModelFailure> {
        let owner = self.state_owner(&request.model.model);
        let profile = Profile {
            cache: self.config.cache,
            ..self.config.profile.get(&request.model.model)
        };
        let body = request::to_wire(request, &owner, &profile, !request.whole)
            .map_err(|refusal| exchange::unsupported(&refusal))?;
        let mut headers = self.headers.clone();
        headers
            .entry(VERSION)
            .or_insert(HeaderValue::from_static(profile.api_version));
        add_betas(&mut headers, &request::betas(request));
        let decoder = Decoder::for_request(owner, request, &body.0);
        PreparedRequest::post(&self.config.base_url.join(PATH), headers, body, decoder)
    }

    fn classify(&self, answer: &ErrorAnswer<'_>) -> Option<ModelFailure> {
        // A response in another form is not the provider's.
        let _ours: wire::ErrorBody = serde_json::from_slice(answer.body).ok()?;
        let status = answer.status.as_u16();
        let header = |name: &str| answer.header(name);
        let phase = Phase::BeforeFirstDelta;
        Some(error::classify(status, header, answer.body, phase))
    }

    fn key(&self) -> Option<&Secret> {
        self.config.key.as_ref()
    }

    fn key_header(&self) -> Option<KeyHeader> {
        Some(self.config.own_key_header())
    }

    fn missing_key(&self) -> Option<&str> {
        self.config.missing_key.as_deref()
    }

    fn span(&self, model: &str) -> Span {
        let config = &self.config;
        let provider = &*config.provider;
        chat_span!(provider, "anthropic.request_id", model, config.base_url)
    }
}

#[async_trait]
impl ChatModel for Claude {
    fn capabilities(&self) -> Capabilities {
        let profile = self.config.profile.default_value();
        let mut can = Capabilities::NONE;
        can.documents = true;
        can.forced_tools = profile.forced_tools && self.config.tools;
        can.images = true;
        can.parallel_calls = self.config.tools;
        can.reasoning = true;
        can.streaming = true;
        can.structured_output = profile.structured_output;
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
        true
    }

    async fn models(&self) -> Result<Vec<ListedModel>, ModelError> {
        let mut headers = self.headers.clone();
        let version = self.config.profile.default_value().api_version;
        headers
            .entry(VERSION)
            .or_insert(HeaderValue::from_static(version));
        let first = format!("{}?limit={PAGE}", self.config.base_url.join(MODELS));
        let mut url = first.clone();
        let mut all = Vec::new();
        for _ in 0..PAGES {
            let body = exchange::read(self, &self.transport, &url, headers.clone()).await?;
            let (page, more) = models::from_wire(&body)
                .map_err(|error| exchange::unreadable("the list of models", &error))?;
            let is_empty = page.is_empty();
            all.extend(page);
            match more {
                Some(last) if !is_empty => {
                    url = format!("{first}&after_id={}", encode_part(&last));
                }
                Some(_) | None => return Ok(all),
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

impl fmt::Debug for Claude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claude")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Adds a client's betas to those of the configuration, without duplicates.
fn add_betas(headers: &mut HeaderMap, requested: &[&str]) {
    let configured = headers.get(BETA).and_then(|betas| betas.to_str().ok());
    let mut betas: Vec<&str> = configured
        .into_iter()
        .flat_map(|betas| betas.split(','))
        .collect();
    for beta in requested {
        if !betas.contains(beta) {
            betas.push(beta);
        }
    }
    // A name that is not valid in a header is not a beta.
    if !requested.is_empty()
        && let Ok(betas) = HeaderValue::from_str(&betas.join(","))
    {
        headers.insert(BETA, betas);
    }
}

const MODELS: &str = "/v1/models";
/// The vendor's largest page of models.
const PAGE: usize = 1000;
/// The most pages of models that are requested.
const PAGES: usize = 20;
const PATH: &str = "/v1/messages";
