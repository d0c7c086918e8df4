//! A model that returns scripted replies, and accepts only valid requests.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jackfield_domain::block::RanBy;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::rules;
use jackfield_domain::tool::ToolChoice;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;

use super::refusal;
use super::reply::{FakeReplyAct, ScriptedReply};
use super::rulebook::{Rulebook, locked};

/// A [`ChatModel`] that returns a queue of replies, one per request.
///
/// A request that breaks a rule of [`check_request`](rules::check_request), that contains calls but no tools, that
/// has a duplicate tool or chooses a missing one, gets `InvalidRequest`; so does one for which there is no reply.
/// Both fail the test when this handle is dropped, unless [`take_violations`](Self::take_violations) took them.
///
/// A request beyond its [capabilities](Self::with_capabilities) gets `Unsupported` before the first delta, and so
/// does a request that is strict about a note of its reply, as with every adapter. The reply is consumed by that.
#[derive(Debug)]
pub struct ScriptedModel {
    shared: Arc<FakeModelHandle>,
}

#[derive(Debug)]
struct FakeModelHandle {
    capabilities: Capabilities,
    rulebook: Rulebook,
    state: Mutex<FakeModelState>,
}

#[derive(Debug, Default)]
struct FakeModelState {
    dropped: usize,
    replies: VecDeque<ScriptedReply>,
    requests: Vec<ModelRequest>,
}

impl ScriptedModel {
    /// A model with all capabilities and without replies.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capabilities(EVERYTHING)
    }

    /// A model with these capabilities.
    #[must_use]
    pub fn with_capabilities(capabilities: Capabilities) -> Self {
        Self {
            shared: Arc::new(FakeModelHandle {
                capabilities,
                rulebook: Rulebook::default(),
                state: Mutex::default(),
            }),
        }
    }

    /// Adds a reply to the end of the queue.
    pub fn push_reply(&self, reply: ScriptedReply) -> &Self {
        locked(&self.shared.state).replies.push_back(reply);
        self
    }

    /// The model's port. It stays valid without this handle.
    #[must_use]
    pub fn port(&self) -> Arc<dyn ChatModel> {
        Arc::clone(&self.shared) as _
    }

    /// The requests to the model, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        locked(&self.shared.state).requests.clone()
    }

    /// The number of replies left in the queue.
    #[must_use]
    pub fn remaining_replies(&self) -> usize {
        locked(&self.shared.state).replies.len()
    }

    /// How many calls were dropped before their reply ended.
    #[must_use]
    pub fn dropped(&self) -> usize {
        locked(&self.shared.state).dropped
    }

    /// Takes the violations, for a test that expects them.
    #[must_use]
    pub fn take_violations(&self) -> Vec<String> {
        self.shared.rulebook.take()
    }
}

impl Default for ScriptedModel {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.shared.rulebook.assert_empty("the scripted model");
    }
}

#[async_trait]
impl ChatModel for FakeModelHandle {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        StateOwner {
            dialect: "scripted".into(),
            endpoint: "https://scripted.invalid".into(),
            model: model.into(),
        }
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        call: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        call.begin()?;
        let (nth, reply) = {
            let mut state = locked(&self.state);
            state.requests.push(request.clone());
            (state.requests.len(), state.replies.pop_front())
        };
        if let Err(fault) = check(request) {
            return Err(self.refuse(format!("request {nth}: {fault}")));
        }
        refusal::check_capabilities(request, self.capabilities)?;
        let Some(reply) = reply else {
            return Err(self.refuse(format!("request {nth} has no reply in the script")));
        };
        if let Ok(end) = &reply.end {
            refusal::check_strict(request, &end.notes)?;
        }
        let mut under_way = OpenReply(Some(self));
        for act in reply.acts {
            match act {
                FakeReplyAct::Push(delta) => sink.push(delta).await,
                FakeReplyAct::Wait(gate) => gate.pass().await,
            }
        }
        under_way.0 = None;
        Ok(reply.end?)
    }
}

impl FakeModelHandle {
    fn refuse(&self, fault: String) -> ModelError {
        self.rulebook.record(fault.as_str());
        let kind = ModelFailureKind::InvalidRequest;
        ModelFailure::new(kind, Phase::BeforeFirstDelta, fault).into()
    }
}

/// A reply in progress, counted as dropped if it does not end.
struct OpenReply<'a>(Option<&'a FakeModelHandle>);

impl Drop for OpenReply<'_> {
    fn drop(&mut self) {
        if let Some(model) = self.0 {
            locked(&model.state).dropped += 1;
        }
    }
}

/// Checks the rules that every provider enforces, or should.
fn check(request: &ModelRequest) -> Result<(), String> {
    rules::check_request(request.messages.iter()).map_err(|broken| broken.to_string())?;
    let mut names = BTreeSet::new();
    if let Some(twice) = request.tools.iter().find(|tool| !names.insert(&tool.name)) {
        return Err(format!("two tools are called `{}`", twice.name));
    }
    let mut calls = request.messages.iter().flat_map(|message| message.calls());
    if names.is_empty() && calls.any(|call| call.ran_by != RanBy::Provider) {
        return Err("there are calls in the history, and no tools".to_owned());
    }
    let unknown = match &request.choice {
        ToolChoice::Auto | ToolChoice::Forbidden => None,
        ToolChoice::Named(name) => (!names.contains(name)).then(|| name.to_string()),
        ToolChoice::Only { tools, .. } => tools
            .iter()
            .find(|name| !names.contains(name))
            .map(ToString::to_string),
        ToolChoice::Required => names.is_empty().then(|| "any".to_owned()),
    };
    match unknown {
        Some(name) => Err(format!("the choice is `{name}`, and there is no such tool")),
        None => Ok(()),
    }
}

/// All capabilities.
const EVERYTHING: Capabilities = {
    let mut all = Capabilities::NONE;
    all.audio = true;
    all.documents = true;
    all.forced_tools = true;
    all.images = true;
    all.parallel_calls = true;
    all.reasoning = true;
    all.streaming = true;
    all.structured_output = true;
    all.tools = true;
    all
};
