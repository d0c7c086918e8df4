//! The tool `approve` of `/mcp`: answers the permission questions of other agents.
//!
//! Its arguments and its answer are those of Claude Code's option `--permission-prompt-tool`
//! (<https://code.claude.com/docs/en/cli-reference>, seen with version 2.1.331 on 2026-11-26).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::caller::tags::Tag;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{ToolName, ToolboxId};
use jackfield_domain::limits::Allowance;
use jackfield_domain::message::Message;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::own_tool::{self, Verdict};
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Opening;
use jackfield_domain::turn_log::TurnLog;
use jackfield_engine::{DirectCall, Disconnect, SendMessage, ServerTools, TurnOptions};
use jackfield_gateway::{AGENTS, AgentQuestion, Gateway, Principal};
use jackfield_mcp_server::{OwnTool, OwnToolEntry};
use serde_json::{Value, json};

use super::answer::wait_until_over;
use super::problem::ProblemDetails;
use super::session_events::SessionEvents;
use super::{owner, turns};

/// Answers questions of the agents of a client.
pub(crate) struct ApproveTool {
    client: Principal,
    entry: OwnToolEntry,
    gateway: Gateway,
    tags: Vec<Tag>,
}

impl fmt::Debug for ApproveTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApproveTool").finish_non_exhaustive()
    }
}

impl ApproveTool {
    /// The tool for a request of this client with these tags; `None` if its name is none, which does not happen.
    pub(crate) fn new(gateway: &Gateway, client: &Principal, tags: &[Tag]) -> Option<Self> {
        let input = json!({
            "type": "object",
            "properties": {
                "tool_name": { "type": "string", "description": "The tool that is to be used." },
                "input": { "type": "object", "description": "Its arguments." },
                "tool_use_id": { "type": "string" },
            },
            "required": ["tool_name", "input"],
        });
        let output = json!({
            "type": "object",
            "properties": {
                "behavior": { "enum": ["allow", "deny"] },
                "updatedInput": { "type": "object" },
                "message": { "type": "string" },
            },
            "required": ["behavior"],
        });
        let description = "Says whether a tool may be used with these arguments: by a policy, or by a person, who \
            may change the arguments. For the option --permission-prompt-tool of agents.";
        let name = ToolName::parse("approve").ok()?;
        let toolbox = ToolboxId::parse("jackfield").ok()?;
        Some(Self {
            client: client.clone(),
            entry: OwnToolEntry::new(name, toolbox, "Approve", description, input, output),
            gateway: gateway.clone(),
            tags: tags.to_vec(),
        })
    }

    /// Runs the turn of a question to its end.
    async fn decide(&self, call: DirectCall) -> Result<Verdict, ProblemDetails> {
        let gateway = &self.gateway;
        let question: AgentQuestion = serde_json::from_value(Value::Object(call.arguments))
            .map_err(|error| ProblemDetails::parameter("arguments", error.to_string()))?;
        let admitted = gateway.admit_turn_of_mcp(&self.client).await;
        let _hold = admitted.map_err(|refusal| refusal.error)?;
        let held = gateway.hold_turn(&self.client.principal)?;
        let text = serde_json::to_string(&question)
            .map_err(|error| ProblemDetails::parameter("arguments", error.to_string()))?;
        let mut options = self.options(&question);
        // A person is asked where the policy does not decide: the tool is there for that.
        options.policy.can_ask = true;
        options.held = Some(held);
        options.tags.clone_from(&self.tags);
        options.trace = call.trace.map(Arc::new);
        let principal = owner::principal(&self.client, None);
        let body = Digest::of(text.as_bytes());
        options.caller = Some(turns::caller(&options, principal, body, None));
        let message = SendMessage {
            opening: Opening::UserMessage(Arc::new(Message::user(text))),
            options,
            session: owner::new_session(&self.client)?,
        };
        let mut started = gateway
            .engine()
            .begin_with_guard(message, None::<()>)
            .await?;
        let mut events = SessionEvents::for_turn(started.session.clone());
        // Dropping this, as when the agent is gone, drops the connection, which cancels the turn. A crash of the gateway
        // cancels nothing: the turn is recovered, and its question stays open.
        wait_until_over(&mut started.watcher, &mut events, &started.turn).await?;
        started.connection.mark_written();
        Ok(verdict(events.turn(), &question))
    }

    fn options(&self, question: &AgentQuestion) -> TurnOptions {
        let default = self.gateway.config().default_options.clone();
        TurnOptions {
            allowance: Allowance::default(),
            askable: self.client.tools.clone(),
            assistant: None,
            compaction: None,
            disconnect: Disconnect::Cancel(GRACE),
            fallbacks: Vec::new(),
            model: ModelRef {
                model: MODEL.into(),
                provider: AGENTS.into(),
            },
            own_tools: vec![own_tool::spec(&question.tool_name)],
            route: None,
            server_tools: ServerTools::None,
            ..default
        }
    }
}

/// What the turn of a question came to.
fn verdict(turn: Option<&TurnLog>, question: &AgentQuestion) -> Verdict {
    let mut calls = turn.into_iter().flat_map(|turn| &turn.calls);
    let closed = calls.next().and_then(|call| call.closed.as_ref());
    match closed {
        Some(outcome) => Verdict::read(&outcome.result, &question.input),
        None => Verdict::Denied("nobody has answered the question".to_owned()),
    }
}

#[async_trait]
impl OwnTool for ApproveTool {
    fn entry(&self) -> &OwnToolEntry {
        &self.entry
    }

    async fn call(&self, call: DirectCall) -> ToolResult {
        let verdict = match self.decide(call).await {
            Ok(verdict) => verdict,
            Err(problem) => Verdict::Denied(problem.detail().to_owned()),
        };
        let said = match verdict {
            Verdict::Allowed(input) => json!({ "behavior": "allow", "updatedInput": input }),
            Verdict::Denied(why) => json!({ "behavior": "deny", "message": why }),
        };
        ToolResult {
            structured: Some(Arc::new(said.clone())),
            ..ToolResult::text(said.to_string())
        }
    }
}

/// The model that such turns name.
const MODEL: &str = "question";
/// How long a question stays open after its agent is gone, while the gateway runs.
const GRACE: Duration = Duration::ZERO;
