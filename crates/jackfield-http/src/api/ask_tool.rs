//! The tool `ask` of `/mcp`: a whole turn, for MCP clients.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::caller::tags::Tag;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{ToolName, ToolboxId};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::setup::Opening;
use jackfield_engine::{CallProgress, DirectCall, SendMessage};
use jackfield_gateway::{Gateway, Principal};
use jackfield_mcp_server::{OwnTool, OwnToolEntry};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::wait_until_idle;
use super::problem::ProblemDetails;
use super::session_events::SessionEvents;
use super::turns;
use super::wire::events::EventView;
use super::wire::request::{Mode, PostTurn};
use super::wire::turn::TurnView;
use super::{context, owner, story};

/// Runs turns for a client.
pub(crate) struct AskTool {
    client: Principal,
    entry: OwnToolEntry,
    gateway: Gateway,
    tags: Vec<Tag>,
}

/// The arguments of a call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskArguments {
    message: String,
    model: Option<String>,
    session: Option<String>,
}

impl fmt::Debug for AskTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskTool").finish_non_exhaustive()
    }
}

impl AskTool {
    /// The tool for a request of this client with these tags; `None` if its name is none, which does not happen.
    pub(crate) fn new(gateway: &Gateway, client: &Principal, tags: &[Tag]) -> Option<Self> {
        let text = |description: &str| json!({ "type": "string", "description": description });
        let input = json!({
            "type": "object",
            "properties": {
                "message": text("The question or task, with everything that it needs."),
                "model": text("A model or an assistant; the default one if it is left out."),
                "session": text("The session of an earlier answer, to go on with that conversation."),
            },
            "required": ["message"],
            "additionalProperties": false,
        });
        let output = json!({
            "type": "object",
            "properties": {
                "answer": { "type": "string" },
                "calls": { "type": "array", "items": { "type": "object" } },
                "model": { "type": "string" },
                "session": { "type": "string" },
                "status": { "type": "string" },
                "turn": { "type": "string" },
            },
            "required": ["answer", "calls", "model", "session", "status", "turn"],
        });
        let description = "Asks a model that has tools of its own here, and returns its answer. \
            Name the session of an answer to ask further in the same conversation.";
        let name = ToolName::parse("ask").ok()?;
        let toolbox = ToolboxId::parse("jackfield").ok()?;
        Some(Self {
            client: client.clone(),
            entry: OwnToolEntry::new(name, toolbox, "Ask Jackfield", description, input, output),
            gateway: gateway.clone(),
            tags: tags.to_vec(),
        })
    }

    /// Runs a turn to its end, or until it waits for a person.
    async fn run(&self, mut call: DirectCall) -> Result<TurnView, ProblemDetails> {
        let gateway = &self.gateway;
        let arguments = Value::Object(call.arguments);
        let body = Digest::of_json(&arguments);
        let arguments: AskArguments = serde_json::from_value(arguments)
            .map_err(|error| ProblemDetails::parameter("arguments", error.to_string()))?;
        let session = match arguments.session.as_deref() {
            Some(id) => owner::session(&self.gateway, &self.client, id).await?,
            None => owner::new_session(&self.client)?,
        };
        let mut request = PostTurn::of_message(arguments.message, arguments.model);
        let parts = request.take_message()?;
        let admitted = gateway.admit_turn_of_mcp(&self.client).await;
        let _hold = admitted.map_err(|refusal| refusal.error)?;
        let held = gateway.hold_turn(&self.client.principal)?;
        let mut options = turns::options(gateway, &self.client, request, Mode::Wait).await?;
        options.held = Some(held);
        options.tags.clone_from(&self.tags);
        options.trace = call.trace.take().map(Arc::new);
        let principal = owner::principal(&self.client, None);
        options.caller = Some(turns::caller(&options, principal, body, None));
        let message = context::message(gateway, &self.client, parts).await?;
        let message = SendMessage {
            opening: Opening::UserMessage(Arc::new(message)),
            options,
            session,
        };
        let mut started = gateway
            .engine()
            .begin_with_guard(message, None::<()>)
            .await?;
        let (session, turn) = (started.session.clone(), started.turn.clone());
        let mut events = SessionEvents::for_turn(session.clone());
        let mut steps = 0.0;
        let report = |event: &EventView| {
            if let Some(message) = progress_of(event) {
                steps += 1.0;
                (call.progress)(CallProgress {
                    done: steps,
                    message: Some(message),
                    total: None,
                });
            }
        };
        wait_until_idle(gateway, &mut started.watcher, &mut events, &turn, report).await?;
        let view = events.turn().map(|turn| story::view(turn, &session));
        started.connection.mark_written();
        view.ok_or_else(|| super::extract::no_turn(turn.as_str()))
    }
}

#[async_trait]
impl OwnTool for AskTool {
    fn entry(&self) -> &OwnToolEntry {
        &self.entry
    }

    async fn call(&self, call: DirectCall) -> ToolResult {
        match self.run(call).await {
            Ok(turn) => result(&turn),
            Err(problem) => ToolResult::error(problem.detail()),
        }
    }
}

/// The progress that an event is, as a message.
fn progress_of(event: &EventView) -> Option<String> {
    if let EventView::CallEnded(ended) = event {
        let call = &ended.call;
        Some(format!("{}: {}", call.name, call.status))
    } else if let EventView::RoundStarted(round) = event {
        Some(format!("round {}", round.round))
    } else {
        None
    }
}

/// A turn as the result of a call. One that failed, or that waits, is an error that says so.
fn result(turn: &TurnView) -> ToolResult {
    let calls = turn.calls.iter().map(|call| {
        json!({
            "arguments": call.arguments, "name": call.name, "status": call.status,
            "duration_ms": call.duration_ms,
        })
    });
    let structured = json!({
        "answer": turn.answer,
        "calls": calls.collect::<Vec<Value>>(),
        "model": turn.model,
        "session": turn.session,
        "status": turn.status,
        "turn": turn.id,
    });
    let end = turn.end.as_ref();
    let problem = match end {
        None => Some(format!(
            "The turn waits for a person: `jackfield approvals list`, or the page, has the question. \
             It goes on in session {} then.",
            turn.session
        )),
        Some(end) if end.kind == "answered" => None,
        Some(end) => {
            let failure = end.failure.as_ref();
            let why = failure.map(|failure| format!(": {}", failure.message));
            Some(format!(
                "The turn ended: {}{}",
                end.kind,
                why.unwrap_or_default()
            ))
        }
    };
    let mut content = Vec::new();
    if !turn.answer.is_empty() || problem.is_none() {
        content.push(OutcomePart::Text(turn.answer.as_str().into()));
    }
    let is_error = problem.is_some();
    content.extend(problem.map(|problem| OutcomePart::Text(problem.into())));
    ToolResult {
        content,
        is_error,
        structured: Some(Arc::new(structured)),
    }
}
