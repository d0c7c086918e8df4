//! What a model is asked, and what a tool is asked.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::block::UpstreamId;
use crate::ids::{IdempotencyKey, ModelAttempt, ToolAttempt, ToolCallId};
use crate::message::Messages;
use crate::note::NoteEffect;
use crate::opaque::StateOwner;
use crate::settings::Settings;
use crate::system_prompt::SystemPrompt;
use crate::tool::{ToolChoice, ToolDefinition, ToolOrigin};
use crate::tool_input::ToolInput;

/// Which model of which provider.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ModelRef {
    /// The model, by the provider's name for it.
    pub model: Arc<str>,
    /// The provider, by its name in the configuration.
    pub provider: Arc<str>,
}

/// What a model is asked. Cloning shares everything that is large.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// Which tools may or have to be called.
    pub choice: ToolChoice,
    /// The conversation.
    pub messages: Messages,
    /// The model.
    pub model: ModelRef,
    /// Settings.
    pub settings: Arc<Settings>,
    /// The least effect of a [`Note`](crate::note::Note) for which the request is refused as
    /// `Unsupported` before anything is sent; `None` notes and sends.
    pub strict: Option<NoteEffect>,
    /// The system prompt.
    pub system: Arc<SystemPrompt>,
    /// The tools, those of the history that are no longer there included, as stubs.
    pub tools: Arc<Vec<Arc<ToolDefinition>>>,
    /// Whether nobody reads along, so that the reply may come in one piece.
    pub whole: bool,
}

impl ModelRequest {
    /// The ids under which this owner knows the calls of the conversation.
    ///
    /// The provider's own id where it gave one, unless it gave the same one twice or an empty one:
    /// then, as for calls that other providers made, ours.
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

/// What a tool is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolRun {
    /// Which try at which call.
    pub attempt: ToolAttempt,
    /// Whether the server has to be a fresh one, because the last one may still be at the call.
    pub fresh: bool,
    /// The arguments: never malformed here.
    pub input: ToolInput,
    /// What the tool may recognise the call by: the same for every try.
    pub key: IdempotencyKey,
    /// The most bytes of outcome that are of use.
    pub max_bytes: usize,
    /// How long it may take; the loop keeps the time.
    pub time_limit: Duration,
    /// The tool.
    pub tool: ToolOrigin,
}

impl ToolRun {
    /// The JSON arguments; none if the tool takes text.
    #[must_use]
    pub fn arguments(&self) -> Option<&Map<String, Value>> {
        match &self.input {
            ToolInput::Json(input) => input.object().ok().map(|fields| &**fields),
            ToolInput::Text(_) => None,
        }
    }
}

/// The try that an action belongs to, and that the answering input repeats.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Attempt {
    /// At a model call.
    Model(ModelAttempt),
    /// At a tool call.
    Tool(ToolAttempt),
}
