//! The chat model: sends requests to OpenAI, or a compatible server, and emits the replies.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderMap, StatusCode};
use jackfield_dialect_openai::error::{self, ErrorBody, ErrorDetail};
use jackfield_dialect_openai::profile::{
    Profile, ReasoningEcho, StructuredOutput, ToolChoiceForms,
};
use jackfield_dialect_openai::{added, chat, models, responses};
use jackfield_domain::failure::{ModelFailure, Phase};
use jackfield_domain::listing::ListedModel;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_provider_kit::chat_span;
use jackfield_provider_kit::exchange::{self, Adapter, ErrorAnswer, PreparedRequest};
use jackfield_provider_kit::key_header::KeyHeader;
use jackfield_provider_kit::refused_fields::RefusedFields;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::Transport;
use tracing::Span;

use crate::config::{Api, InvalidConfig, OpenAiConfig};
use crate::decoder::Decoder;

/// OpenAI, or a compatible server. Never retries, but asks once more without a field of ours that the server refuses by
/// name; dropping a future cancels its request.
pub struct OpenAi {
    config: OpenAiConfig,
    dialect: Arc<str>,
    headers: HeaderMap,
    transport: Transport,
    /// The URL of its resource.
    url: String,
}

impl OpenAi {
    /// Creates the model; sends nothing.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if the key, the organization or the project is not valid in a header.
    pub fn new(config: OpenAiConfig, transport: Transport) -> Result<Self, InvalidConfig> {
        exchange::warn_if_exposed(&config.base_url, config.key.as_ref());
        let dialect = match config.api {
            Api::ChatCompletions => chat::DIALECT,
            Api::Responses => responses::DIALECT,
        };
        Ok(Self {
            dialect: dialect.into(),
            headers: config.headers()?,
            url: config.base_url.join(config.api.path()),
            config,
            transport,
        })
    }
}

impl Adapter for OpenAi {
    type Decoder = Decoder;

    const REQUEST_ID: (&'static str, &'static str) = ("x-request-id", "openai.request_id");

    fn prepare(&self, request: &ModelRequest) -> Result<PreparedRequest<Decoder>, ModelFailure> {
        self.prepare_without(request, &[])
    }

    fn prepare_without(
        &self,
        request: &ModelRequest,
        refused: &[&'static str],
    ) -> Result<PreparedRequest<Decoder>, ModelFailure> {
        let owner = self.state_owner(&request.model.model);
        let profile = Profile {
            cache: self.config.cache,
            ..self.config.profile.get(&request.model.model)
        };
        let refused = refused.iter();
        let profile = refused.fold(profile, |profile, field| profile.without(field));
        let headers = self.headers.clone();
        let (added, prepared) = match self.config.api {
            Api::ChatCompletions => {
                let body = chat::request::to_wire(request, &owner, &profile, !request.whole)
                    .map_err(|refusal| exchange::unsupported(&refusal))?;
                let added = added::to_chat(&body.0, request, &profile);
                let decoder = chat::stream::Decoder::for_request(owner, request)
                    .with_cost(profile.usage_cost)
                    .with_inline_thinking(profile.inline_thinking)
                    .with_prefill(&body.0, profile.prefill);
                let decoder = Decoder::ChatCompletions(decoder);
                let prepared = PreparedRequest::post(&self.url, headers, body, decoder);
                (added, prepared)
            }
            Api::Responses => {
                let body = responses::request::to_wire(request, &owner, &profile, !request.whole)
                    .map_err(|refusal| exchange::unsupported(&refusal))?;
                let added = added::to_responses(&body.0, request);
                let decoder = responses::stream::Decoder::for_request(owner, request)
                    .with_cost(profile.usage_cost);
                let decoder = Decoder::Responses(decoder);
                let prepared = PreparedRequest::post(&self.url, headers, body, decoder);
                (added, prepared)
            }
        };
        Ok(prepared?.with_added(added))
    }

    fn refused_fields(&self) -> Option<&RefusedFields> {
        Some(&self.config.refused_fields)
    }

    fn classify(&self, answer: &ErrorAnswer<'_>) -> Option<ModelFailure> {
        let ErrorBody { error } = serde_json::from_slice(answer.body).ok()?;
        if error.is_empty() || is_router_error(answer.status, &error) {
            return None;
        }
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
        chat_span!(provider, "openai.request_id", model, config.base_url)
    }
}

#[async_trait]
impl ChatModel for OpenAi {
    fn capabilities(&self) -> Capabilities {
        let profile = self.config.profile.default_value();
        let mut can = Capabilities::NONE;
        can.documents = profile.files;
        can.forced_tools = self.config.tools && profile.tool_choice > ToolChoiceForms::Ignored;
        can.images = profile.images;
        can.parallel_calls = self.config.tools;
        can.streaming = true;
        can.structured_output = profile.structured_output == StructuredOutput::Schema;
        can.tools = self.config.tools;
        (can.audio, can.reasoning) = match self.config.api {
            Api::ChatCompletions => (
                profile.audio,
                // OpenAI's own models send no reasoning here.
                profile.reasoning_echo != ReasoningEcho::Never,
            ),
            Api::Responses => (false, !profile.efforts.is_empty()),
        };
        can
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        StateOwner {
            dialect: Arc::clone(&self.dialect),
            endpoint: Arc::clone(self.config.base_url.endpoint()),
            model: model.into(),
        }
    }

    fn takes_credentials(&self) -> bool {
        true
    }

    async fn models(&self) -> Result<Vec<ListedModel>, ModelError> {
        let url = self.config.base_url.join(MODELS);
        let headers = self.headers.clone();
        let body = exchange::read(self, &self.transport, &url, headers).await?;
        let models = models::from_wire(&body);
        Ok(models.map_err(|error| exchange::unreadable("the list of models", &error))?)
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

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

const MODELS: &str = "/models";

/// Whether an error comes from the server's router and not from its API, and so is not about models: those of
/// FastAPI (vLLM, SGLang) and of llama.cpp (2026-11).
fn is_router_error(status: StatusCode, error: &ErrorDetail) -> bool {
    status == StatusCode::NOT_FOUND
        && ["Not Found", "File Not Found"].contains(&error.message.as_str())
}
