//! The port to a model: ask it, and get its reply in pieces.

use std::fmt;

use async_trait::async_trait;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::listing::ListedModel;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;

use crate::delta_sink::DeltaSink;

/// A model behind some server.
///
/// # Contract
///
/// - One call MUST make at most one request, and MUST NOT retry: the loop decides about that.
/// - The pieces MUST reach the sink in order and before the call returns; a server that does not
///   stream is told in the same pieces.
/// - What the server counts before the end SHOULD reach the sink when it comes: a call that is given up costs
///   that much, and the rest of it can only be estimated.
/// - The reply's end MUST be returned, never pushed. A stream that ends without its ending MUST be
///   an error (`Interrupted`), with the phase telling whether any piece was pushed.
/// - A failure MUST be classified with kind, phase and advice; `BeforeSend` only where it is proved.
/// - What the model cannot be asked MUST be refused as `Unsupported`, or noted; never dropped silently.
/// - A request that is strict about the effect of a note MUST be refused as `Unsupported` before anything
///   is sent.
/// - Models MUST be listed in the server's order and all of them, or not at all: as `Unsupported`, without
///   asking anybody. Asking MUST cost nothing and fail as a reply does.
/// - Dropping the call MUST close the connection.
/// - It MUST NOT keep its thread to itself: the turn is in the same task, and hears of nothing meanwhile. What
///   computes or blocks belongs on a thread of its own.
/// - Secrets MUST NOT reach `Debug`, errors, logs or URLs.
/// - Unknown events and fields MUST be ignored; broken ones MUST be a `ProtocolViolation`.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// What this model can do.
    fn capabilities(&self) -> Capabilities;

    /// Whose opaque state this model writes and reads, when it is asked as `model`.
    fn state_owner(&self, model: &str) -> StateOwner;

    /// The models that the server says it has; costs nothing. Cancelled by dropping the future.
    ///
    /// # Errors
    ///
    /// [`ModelError`], classified; `Unsupported` where there is no such list.
    async fn models(&self) -> Result<Vec<ListedModel>, ModelError> {
        let kind = ModelFailureKind::Unsupported;
        let message = "this provider does not list its models";
        Err(ModelFailure::new(kind, Phase::BeforeSend, message).into())
    }

    /// Asks the model. Cancelled by dropping the future.
    ///
    /// # Errors
    ///
    /// [`ModelError`], classified; never retried here.
    async fn reply(
        &self,
        request: &ModelRequest,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError>;
}

/// What a model can do. What it cannot is refused, not simulated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Takes sound.
    pub audio: bool,
    /// Takes documents.
    pub documents: bool,
    /// Can be made to call a tool.
    pub forced_tools: bool,
    /// Takes pictures.
    pub images: bool,
    /// May call several tools in one reply.
    pub parallel_calls: bool,
    /// Shows or carries reasoning.
    pub reasoning: bool,
    /// Sends the reply in pieces as it is made.
    pub streaming: bool,
    /// Can be held to a schema of the answer.
    pub structured_output: bool,
    /// Calls tools.
    pub tools: bool,
}

impl Capabilities {
    /// Nothing but text.
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

/// A model call that failed: the classification, which the loop decides about, and the cause.
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
