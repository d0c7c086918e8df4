//! Permission questions of other agents: a turn without a real model, whose only call is the question.
//!
//! So the question has policy, approval, journal and audit like every other call. After a crash of the gateway it stays
//! open until a person answers or cancels it, although the answer reaches no agent.

use async_trait::async_trait;
use jackfield_domain::block::RanBy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::message::Role;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::own_tool;
use jackfield_domain::price::Money;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::usage::Usage;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A question: the message of its turn, as JSON.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AgentQuestion {
    /// The tool that the agent wants to use, by its own name.
    pub tool_name: String,
    /// The arguments.
    pub input: Map<String, Value>,
}

/// The model of such turns: it calls the tool of the question, and ends when there is an outcome.
pub(crate) struct AgentQuestions;

#[async_trait]
impl ChatModel for AgentQuestions {
    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.tools = true;
        can
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        StateOwner {
            dialect: AGENTS.into(),
            endpoint: "".into(),
            model: model.into(),
        }
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        _call: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        let messages = || request.messages.iter();
        let is_answered = messages().any(|message| message.role == Role::Tool);
        let (start, text) = if is_answered {
            (BlockStart::Text, "The agent has its answer.".to_owned())
        } else {
            let user = messages().find(|message| message.role == Role::User);
            let text = user.map(|user| user.to_text()).unwrap_or_default();
            let question: AgentQuestion = serde_json::from_str(&text).map_err(|_| unreadable())?;
            let origin = own_tool::origin(AGENTS, &question.tool_name).ok_or_else(unreadable)?;
            let start = BlockStart::ToolCall {
                json: true,
                name: own_tool::name(&origin).as_str().into(),
                ran_by: RanBy::Engine,
                upstream: None,
            };
            (start, Value::Object(question.input).to_string())
        };
        sink.push(Delta::BlockStarted { index: 0, start }).await;
        let text = text.into();
        sink.push(if is_answered {
            Delta::TextAppended { index: 0, text }
        } else {
            Delta::ArgumentsAppended { index: 0, text }
        })
        .await;
        sink.push(Delta::BlockEnded { index: 0 }).await;
        let mut end = ReplyEnd::new(if is_answered {
            FinishReason::Stop
        } else {
            FinishReason::ToolCalls
        });
        // Nothing was asked of a model, so nothing is to be estimated.
        end.usage = Some(Usage {
            billed: Some(Money::ZERO),
            ..Usage::default()
        });
        Ok(end)
    }
}

fn unreadable() -> ModelFailure {
    let kind = ModelFailureKind::InvalidRequest;
    ModelFailure::new(kind, Phase::BeforeSend, "this is no question of an agent")
}

/// The name that policy rules have in the place of a server, and turns in that of a provider.
pub const AGENTS: &str = "agents";
