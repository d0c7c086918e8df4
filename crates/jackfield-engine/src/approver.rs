//! Approvers: programs and tools that decide on a tool call before a person does. An approver that fails denies
//! the call.

mod once;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{IdempotencyKey, SessionId, ToolAttempt, ToolCallId, TurnId, WaitId};
use jackfield_domain::request::ToolRun;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::ToolOrigin;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::ToolEnd;
use jackfield_ports::toolbox_source::ToolboxSource;
use serde_json::{Map, Value, json};

use self::once::UniqueKeyValue;
use crate::error::chain;
use crate::toolboxes;

/// Decides whether a tool call may run. An approver can deny a call that needs approval, or approve it in place
/// of a person. It is not asked about calls that the policy denies.
#[async_trait]
pub trait Approver: Send + Sync {
    /// The approver's name, shown to people and recorded in audits.
    fn name(&self) -> &str;

    /// Decides about a call. Every failure is a [`Decision::Deny`] that names the reason. Dropping the future
    /// cancels the decision.
    async fn decide(&self, request: &ApprovalRequest) -> Decision;
}

/// A tool call that needs an approver's decision.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The call.
    pub call: ToolCallId,
    /// When the request expires.
    pub deadline: WallTime,
    /// The arguments that the tool would receive.
    pub input: ToolInput,
    /// The session.
    pub session: SessionId,
    /// The digest that an approval is bound to.
    pub subject: Option<Digest>,
    /// The tool.
    pub tool: ToolOrigin,
    /// The turn.
    pub turn: TurnId,
    /// The wait that the decision answers.
    pub wait: WaitId,
}

/// An approver's decision.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The call may run, with edited arguments if there are any.
    Allow(Option<Arc<Map<String, Value>>>),
    /// A person must decide.
    Ask,
    /// The call may not run, for this reason.
    Deny(Arc<str>),
}

impl ApprovalRequest {
    /// The request as the JSON that programs and tools receive.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        let arguments = match &self.input {
            ToolInput::Json(input) => match input.object() {
                Ok(fields) => Value::Object(fields.as_ref().clone()),
                Err(_) => Value::from(input.raw()),
            },
            ToolInput::Text(text) => Value::from(&**text),
        };
        let document = json!({
            "arguments": arguments,
            "call": self.call.as_str(),
            "deadline_ms": self.deadline.as_millis(),
            "server": self.tool.toolbox.as_str(),
            "session": self.session.as_str(),
            "subject": self.subject.map(Digest::to_hex),
            "tool": &*self.tool.tool,
            "turn": self.turn.as_str(),
            "wait": self.wait.as_str(),
        });
        match document {
            Value::Object(fields) => fields,
            Value::Array(_)
            | Value::Bool(_)
            | Value::Null
            | Value::Number(_)
            | Value::String(_) => Map::new(),
        }
    }
}

impl Decision {
    /// Parses the text that a program or tool returned. Duplicate keys at any depth make it invalid: they
    /// appear when a program pastes text from a model into its answer unescaped, and a quote in that text could
    /// otherwise override the decision.
    ///
    /// # Errors
    ///
    /// Why the answer is invalid, in a sentence.
    pub fn read(answer: &[u8]) -> Result<Self, String> {
        let read = serde_json::from_slice(answer);
        let UniqueKeyValue(answer) =
            read.map_err(|error| format!("its answer is no JSON: {error}"))?;
        Self::parse(&answer)
    }

    /// Parses the JSON that a program or tool returned. A reason is cut to its first 4,000 characters.
    ///
    /// # Errors
    ///
    /// Why the answer is invalid, in a sentence.
    pub fn parse(answer: &Value) -> Result<Self, String> {
        let Value::Object(answer) = answer else {
            return Err("its answer is not a JSON object".to_owned());
        };
        let reason = match answer.get("reason") {
            None | Some(Value::Null) => "",
            Some(Value::String(reason)) => cut(reason.trim()),
            Some(_) => return Err("its `reason` is no text".to_owned()),
        };
        let edited = match answer.get("arguments") {
            None | Some(Value::Null) => None,
            Some(Value::Object(fields)) => Some(Arc::new(fields.clone())),
            Some(_) => return Err("its `arguments` are not a JSON object".to_owned()),
        };
        match answer.get("decision").and_then(Value::as_str) {
            Some("allow") => Ok(Self::Allow(edited)),
            Some("ask") => Ok(Self::Ask),
            Some("deny") => Ok(Self::Deny(reason.into())),
            Some(_) | None => {
                Err("its `decision` is none of \"allow\", \"deny\" and \"ask\"".to_owned())
            }
        }
    }

    /// The denial that stands for a failed approver.
    #[must_use]
    pub fn failed(approver: &str, why: &str) -> Self {
        tracing::warn!(approver, why, "an approver failed, which is a no");
        Self::Deny(format!("the approver {approver} gave no answer that counts: {why}").into())
    }
}

/// Cuts a reason to the length that is stored: it stays in the facts, and every later round sends it to the
/// model again.
fn cut(reason: &str) -> &str {
    match reason.char_indices().nth(MAX_REASON) {
        Some((end, _)) => reason.get(..end).unwrap_or_default().trim_end(),
        None => reason,
    }
}

/// An approver that is a tool.
pub(crate) struct ToolApprover {
    pub(crate) limit: Duration,
    pub(crate) name: Arc<str>,
    /// The sources of its toolbox, which may be another one at each decision.
    pub(crate) sources: Arc<Vec<Arc<dyn ToolboxSource>>>,
    pub(crate) tool: ToolOrigin,
}

#[async_trait]
impl Approver for ToolApprover {
    fn name(&self) -> &str {
        &self.name
    }

    async fn decide(&self, request: &ApprovalRequest) -> Decision {
        let decided = tokio::time::timeout(self.limit, self.request_decision(request)).await;
        let decided = decided.unwrap_or_else(|_| {
            Err(format!(
                "it did not answer within {} s",
                self.limit.as_secs_f64()
            ))
        });
        decided.unwrap_or_else(|why| Decision::failed(&self.name, &why))
    }
}

impl ToolApprover {
    async fn request_decision(&self, request: &ApprovalRequest) -> Result<Decision, String> {
        let toolboxes = toolboxes::of_client(&self.sources, None).await;
        let Some(toolbox) = toolboxes::find(&toolboxes.toolboxes, &self.tool.toolbox) else {
            return Err(format!("there is no server `{}`", self.tool.toolbox));
        };
        // The request is a tool call of its own, with an id derived from the wait, so a retry is recognised as
        // the same call.
        let call = ToolCallId::parse(request.wait.as_str()).map_err(|error| error.to_string())?;
        let run = ToolRun {
            fresh: false,
            input: ToolInput::Json(JsonInput::from(request.to_json())),
            key: IdempotencyKey::derive(&call),
            max_bytes: MAX_BYTES,
            time_limit: self.limit,
            tool: self.tool.clone(),
            attempt: ToolAttempt { call, attempt: 1 },
        };
        let result = match toolbox.call(&run, &CallContext::default(), &mut ()).await {
            Ok(ToolEnd::Finished(result)) => result,
            Ok(ToolEnd::Asked { .. }) => return Err("it asks something itself".to_owned()),
            Err(error) => return Err(chain(&error)),
        };
        if result.is_error {
            return Err("it says that it failed".to_owned());
        }
        if result.size() > MAX_BYTES {
            return Err("its answer is longer than 1 MiB".to_owned());
        }
        if let Some(structured) = &result.structured {
            return Decision::parse(structured);
        }
        Decision::read(result.to_text().as_bytes())
    }
}

/// The maximum length of a reason, in characters.
const MAX_REASON: usize = 4_000;
/// The maximum length of an answer, in bytes.
const MAX_BYTES: usize = 1 << 20;
