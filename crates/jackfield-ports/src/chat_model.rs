//! The port to a model: sends a request, and receives the reply in pieces.

use std::fmt;

use async_trait::async_trait;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::listing::ListedModel;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::ToolSpec;

use crate::call_context::{CallContext, LeasePassed};
use crate::delta_sink::DeltaSink;

/// A model behind a server.
///
/// # Contract
///
/// - One call MUST make at most one request, and MUST NOT retry: the loop decides about retries. Only a request that is
///   refused, before anything was done, for a field that the adapter had added by itself MAY be sent once more without
///   that field.
/// - The deltas MUST reach the sink in order and before the call returns; the reply of a server that does not
///   stream is converted to the same deltas.
/// - Usage that the server reports before the end SHOULD reach the sink at once: an aborted call costs that
///   much, and the rest can only be estimated.
/// - Bytes of the server that are no delta yet MUST reach the sink as a sign of [life](DeltaSink::alive): a model that
///   thinks for long would count as silent.
/// - The reply's end MUST be returned, never pushed. A stream that ends without its end marker MUST be an error
///   (`Interrupted`), whose phase tells whether any delta was pushed.
/// - A failure MUST be classified with kind, phase and advice; `BeforeSend` only where it is proved.
/// - Content that the model does not support MUST be refused as `Unsupported`, or noted; never dropped
///   silently.
/// - A request that is strict about the effect of a note MUST be refused as `Unsupported` before it is sent.
/// - Models MUST be listed in the server's order and all of them, or not at all: as `Unsupported`, without a
///   request. Listing MUST be free of charge, and its failures MUST be classified like those of a reply.
/// - Dropping the call MUST close the connection.
/// - The call MUST NOT block its thread: it runs in the task of the turn, which cannot react meanwhile. Work
///   that computes or blocks belongs on another thread.
/// - The call MUST be made only if its [context](CallContext::begin) lets it, which MUST be asked right before the
///   first byte, after every wait; otherwise it MUST fail as `BeforeSend`.
/// - A credential of the sink MUST be used in place of the adapter's own key and account, or the request MUST be
///   refused as `Unsupported` before it is sent.
/// - Secrets MUST NOT reach `Debug`, errors, logs or URLs.
/// - Unknown events and fields MUST be ignored; malformed ones MUST be a `ProtocolViolation`.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// The capabilities of this model.
    fn capabilities(&self) -> Capabilities;

    /// The owner of the opaque state that this adapter reads and writes when it calls `model`.
    fn state_owner(&self, model: &str) -> StateOwner;

    /// Its own tools that need a permission: it runs them itself, and asks by a [call] of the tool in a reply, whose
    /// outcome is the permission. None by default.
    ///
    /// [call]: jackfield_domain::own_tool
    fn own_tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    /// Whether a [credential of the sink](DeltaSink::credential) is used; without it, the caller passes none.
    fn takes_credentials(&self) -> bool {
        false
    }

    /// The models that the server lists; free of charge. Dropping the future cancels it.
    ///
    /// # Errors
    ///
    /// [`ModelError`], classified; `Unsupported` if the server has no such list.
    async fn models(&self) -> Result<Vec<ListedModel>, ModelError> {
        let kind = ModelFailureKind::Unsupported;
        let message = "this provider does not list its models";
        Err(ModelFailure::new(kind, Phase::BeforeSend, message).into())
    }

    /// Calls the model. Dropping the future cancels it.
    ///
    /// # Errors
    ///
    /// [`ModelError`], classified; never retried here.
    async fn reply(
        &self,
        request: &ModelRequest,
        call: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError>;
}

/// The capabilities of a model. Unsupported content is refused, not simulated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Accepts audio.
    pub audio: bool,
    /// Accepts documents.
    pub documents: bool,
    /// Can be forced to call a tool.
    pub forced_tools: bool,
    /// Accepts images.
    pub images: bool,
    /// May call several tools in one reply.
    pub parallel_calls: bool,
    /// Returns reasoning, or opaque state of it.
    pub reasoning: bool,
    /// Streams the reply while it is generated.
    pub streaming: bool,
    /// Can be held to a response schema.
    pub structured_output: bool,
    /// Calls tools.
    pub tools: bool,
}

impl Capabilities {
    /// Text only.
    pub const NONE: Self = Self {
        audio: false,
        documents: false,
        forced_tools: false,
        images: false,
        parallel_calls: false,
        reasoning: false,
        streaming: false,
        structured_output: false,
        tools: false,
    };
}

/// A failed model call: the classification, which the loop decides about, and the cause.
#[derive(Debug)]
pub struct ModelError {
    /// The classification.
    pub failure: ModelFailure,
    source: Option<BoxError>,
}

/// Any error, as a cause.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl ModelError {
    /// A failure with its cause.
    #[must_use]
    pub fn with_source(failure: ModelFailure, source: impl Into<BoxError>) -> Self {
        Self {
            failure,
            source: Some(source.into()),
        }
    }
}

impl From<ModelFailure> for ModelError {
    fn from(failure: ModelFailure) -> Self {
        Self {
            failure,
            source: None,
        }
    }
}

impl From<LeasePassed> for ModelError {
    fn from(passed: LeasePassed) -> Self {
        ModelFailure::from(passed).into()
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.failure.message)
    }
}

impl std::error::Error for ModelError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}
