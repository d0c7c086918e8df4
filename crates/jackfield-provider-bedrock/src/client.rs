//! The chat model: sends requests to Bedrock and emits the replies.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use http::HeaderMap;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_provider_kit::base_url::encode_part;
use jackfield_provider_kit::chat_span;
use jackfield_provider_kit::exchange::{self, Adapter, ErrorAnswer, PreparedRequest};
use jackfield_provider_kit::frames::FrameDecoder;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::Transport;
use tracing::Span;

use crate::config::{BedrockConfig, InvalidConfig};
use crate::credentials::Credentials;
use crate::frames::{EventFrames, MEDIA_TYPE};
use crate::profile::ModelProfile;
use crate::reply::Decoder;
use crate::{DIALECT, error, request};

/// Bedrock in one region. Never retries; dropping a future cancels its request.
pub struct Bedrock {
    config: BedrockConfig,
    headers: HeaderMap,
    transport: Transport,
}

impl Bedrock {
    /// Creates the model; sends nothing.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if the key is not valid in a header.
    pub fn new(config: BedrockConfig, transport: Transport) -> Result<Self, InvalidConfig> {
        let secret = config.credentials.as_ref().map(Credentials::secret);
        exchange::warn_if_exposed(&config.base_url, secret);
        Ok(Self {
            headers: config.headers()?,
            config,
            transport,
        })
    }
}

impl Adapter for Bedrock {
    type Decoder = Decoder;

    const REQUEST_ID: (&'static str, &'static str) = ("x-amzn-requestid", "aws.request_id");

    fn prepare(&self, request: &ModelRequest) -> Result<PreparedRequest<Decoder>, ModelFailure> {
        let model = &request.model.model;
        let owner = self.state_owner(model);
        let profile = ModelProfile {
            cache: self.config.cache,
            ..self.config.profile.get(model)
        };
        let body = request::to_wire(request, &owner, &profile)
            .map_err(|refusal| exchange::unsupported(&refusal))?;
        // Some models take tools, but not where their reply is streamed.
        let is_whole = request.whole || !(profile.streams_tools || request.tools.is_empty());
        let method = if is_whole { WHOLE } else { STREAM };
        // An ARN has slashes and colons.
        let path = format!("/model/{}/{method}", encode_part(model));
        let url = self.config.base_url.join(&path);
        let decoder = Decoder::for_request(owner, request, &profile);
        let mut prepared = PreparedRequest::post(&url, self.headers.clone(), body, decoder)?;
        if let Some(Credentials::Signing(keys)) = &self.config.credentials {
            let signed = keys.sign(&mut prepared.request, SystemTime::now());
            signed.map_err(|why| {
                let message = format!("the request cannot be signed: {why}");
                ModelFailure::new(ModelFailureKind::InvalidRequest, Phase::BeforeSend, message)
            })?;
        }
        Ok(prepared)
    }

    fn classify(&self, answer: &ErrorAnswer<'_>) -> Option<ModelFailure> {
        let kind = answer.header("x-amzn-errortype");
        error::classify(answer.status.as_u16(), kind, answer.body)
    }

    fn frames(&self, media_type: &str) -> Option<Box<dyn FrameDecoder>> {
        (media_type == MEDIA_TYPE)
            .then(|| -> Box<dyn FrameDecoder> { Box::new(EventFrames::new()) })
    }

    fn key(&self) -> Option<&Secret> {
        self.config.credentials.as_ref().map(Credentials::secret)
    }

    fn missing_key(&self) -> Option<&str> {
        self.config.missing_key.as_deref()
    }

    fn span(&self, model: &str) -> Span {
        let base_url = &self.config.base_url;
        chat_span!("aws.bedrock", "aws.request_id", model, base_url)
    }
}

#[async_trait]
impl ChatModel for Bedrock {
    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
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

    async fn reply(
        &self,
        request: &ModelRequest,
        call: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        exchange::reply(self, &self.transport, request, call, sink).await
    }
}

impl fmt::Debug for Bedrock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bedrock")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

const STREAM: &str = "converse-stream";
const WHOLE: &str = "converse";
