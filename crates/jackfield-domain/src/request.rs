//! Requests to models and to tools.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::block::UpstreamId;
use crate::digest::Digest;
use crate::ids::{IdempotencyKey, ModelAttempt, ToolAttempt, ToolCallId};
use crate::message::Messages;
use crate::note::NoteEffect;
use crate::opaque::StateOwner;
use crate::settings::Settings;
use crate::system_prompt::SystemPrompt;
use crate::tool::{ToolChoice, ToolDefinition, ToolOrigin};
use crate::tool_input::ToolInput;

/// A model of a provider.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ModelRef {
    /// The provider's name of the model.
    pub model: Arc<str>,
    /// The configured name of the provider.
    pub provider: Arc<str>,
}

/// A request to a model. Clones share all large parts.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// Which tools may or must be called.
    pub choice: ToolChoice,
    /// The conversation.
    pub messages: Messages,
    /// The model.
    pub model: ModelRef,
    /// The tools that a search of the turn finds, by name. Those that it has found are among the tools, too.
    pub searchable: Arc<Vec<Arc<ToolDefinition>>>,
    /// Settings.
    pub settings: Arc<Settings>,
    /// The least effect of a [`Note`](crate::note::Note) at which the request is refused as `Unsupported`
    /// before it is sent; `None` records the notes and sends it.
    pub strict: Option<NoteEffect>,
    /// The system prompt.
    pub system: Arc<SystemPrompt>,
    /// The tools. Includes stubs for tools that occur only in the history.
    pub tools: Arc<Vec<Arc<ToolDefinition>>>,
    /// Whether the model takes its tools as text only, as its provider said in this turn. An adapter that does not
    /// know this form sends them in its own.
    pub tools_as_text: bool,
    /// Its turn; `None` if it is no call of a round.
    pub turn: Option<InTurn>,
    /// Whether the reply may come in one piece, because it is not streamed to a client.
    pub whole: bool,
}

impl ModelRequest {
    /// The call ids of the conversation for this owner.
    ///
    /// The provider's own id is used, unless it is empty or not unique. In that case, and for calls of other
    /// providers, Jackfield's id is used.
    #[must_use]
    pub fn upstream_ids(&self, owner: &StateOwner) -> HashMap<ToolCallId, Arc<str>> {
        let mut seen = HashSet::new();
        let mut ids = HashMap::new();
        for call in self.messages.iter().flat_map(|message| message.calls()) {
            let Some(UpstreamId { id, owner: whose }) = &call.upstream else {
                continue;
            };
            let known = whose.dialect == owner.dialect && whose.endpoint == owner.endpoint;
            if known && !id.is_empty() && seen.insert(Arc::clone(id)) {
                ids.insert(call.id.clone(), Arc::clone(id));
            }
        }
        ids
    }
}

/// The turn of a request to a model, as far as it is not in its conversation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InTurn {
    /// Equal for all requests of a session, without its id in clear; `None` if the session is not kept, as each request
    /// of its client begins another.
    pub conversation: Option<Digest>,
    /// Whether the cache point at the end of the conversation is the loop's own, and not the client's.
    pub own_point: bool,
    /// The most rounds of the turn, for providers that make rounds of their own.
    pub rounds: u32,
}

/// A request to a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolRun {
    /// The attempt.
    pub attempt: ToolAttempt,
    /// Whether a new server process is required, because the old one may still be running the call.
    pub fresh: bool,
    /// The arguments; never malformed here.
    pub input: ToolInput,
    /// The idempotency key, the same for every attempt.
    pub key: IdempotencyKey,
    /// The maximum useful size of the outcome, in bytes.
    pub max_bytes: usize,
    /// The time limit; the loop enforces it.
    pub time_limit: Duration,
    /// The tool.
    pub tool: ToolOrigin,
}

impl ToolRun {
    /// The JSON arguments; `None` if the tool takes text.
    #[must_use]
    pub fn arguments(&self) -> Option<&Map<String, Value>> {
        match &self.input {
            ToolInput::Json(input) => input.object().ok().map(|fields| &**fields),
            ToolInput::Text(_) => None,
        }
    }
}

/// The attempt that an action belongs to; the inputs that answer it repeat it.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Attempt {
    /// An attempt at a model call.
    Model(ModelAttempt),
    /// An attempt at a tool call.
    Tool(ToolAttempt),
}
