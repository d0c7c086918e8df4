//! Approvers: programs and tools that are asked before a person is, and whose failure is a no.

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
use jackfield_ports::toolbox::{ToolEnd, Toolbox};
use serde_json::{Map, Value, json};

use self::once::UniqueKeyValue;
use crate::perform::chain;

/// Is asked whether a call may run. It may deny what a person would be asked about, and answer for them;
/// what the policy denies it is not asked.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Who this is, for people and for audits.
    fn name(&self) -> &str;

    /// Decides about a call. Whatever goes wrong is a no that says so; dropping the future ends it.
    async fn decide(&self, asked: &ApprovalRequest) -> Decision;
}

/// A call that an approver is asked about.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The call.
    pub call: ToolCallId,
    /// Until when there is time.
    pub deadline: WallTime,
    /// What would be sent.
    pub input: ToolInput,
    /// The session.
    pub session: SessionId,
    /// What an answer is bound to.
    pub subject: Option<Digest>,
    /// The tool.
    pub tool: ToolOrigin,
    /// The turn.
    pub turn: TurnId,
    /// The question.
    pub wait: WaitId,
}

/// What an approver decides.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It may run, with other arguments if there are any.
    Allow(Option<Arc<Map<String, Value>>>),
    /// A person is to decide.
    Ask,
    /// It may not, for this reason.
    Deny(Arc<str>),
}

impl ApprovalRequest {
    /// The same as the JSON that programs and tools are given.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        let arguments = match &self.input {
            ToolInput::Json(input) => match input.object() {
                Ok(fields) => Value::Object(fields.as_ref().clone()),
                Err(_) => Value::from(input.raw()),
            },
            ToolInput::Text(text) => Value::from(&**text),
        };
        let told = json!({
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
        match told {
            Value::Object(told) => told,
            Value::Array(_)
            | Value::Bool(_)
            | Value::Null
            | Value::Number(_)
            | Value::String(_) => Map::new(),
        }
    }
}

impl Decision {
    /// Reads what a program or a tool answered as a text. One that says something twice, wherever in it, is no
    /// answer: whoever wrote it put a text of a model into it as it was, and one with a quote in it would
    /// otherwise have the last word.
    ///
    /// # Errors
    ///
    /// Why it is no answer, in a sentence.
    pub fn read(answer: &[u8]) -> Result<Self, String> {
        let read = serde_json::from_slice(answer);
        let UniqueKeyValue(answer) =
            read.map_err(|error| format!("its answer is no JSON: {error}"))?;
        Self::parse(&answer)
    }

    /// Reads what a program or a tool answered; of a long reason only its first 4,000 characters.
    ///
    /// # Errors
    ///
    /// Why it is no answer, in a sentence.
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

    /// The no of an approver that failed.
    #[must_use]
    pub fn failed(approver: &str, why: &str) -> Self {
        tracing::warn!(approver, why, "an approver failed, which is a no");
        Self::Deny(format!("the approver {approver} gave no answer that counts: {why}").into())
    }
}

/// As much of a reason as is kept: it stands in facts for ever, and every later round has it again.
fn cut(reason: &str) -> &str {
    match reason.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => reason.get(..end).unwrap_or_default().trim_end(),
        None => reason,
    }
}

/// A tool that is asked.
pub(crate) struct ToolApprover {
    pub(crate) limit: Duration,
    pub(crate) name: Arc<str>,
    pub(crate) tool: ToolOrigin,
    /// None if there is no such toolbox.
    pub(crate) toolbox: Option<Arc<dyn Toolbox>>,
}

#[async_trait]
impl Approver for ToolApprover {
    fn name(&self) -> &str {
        &self.name
    }

    async fn decide(&self, asked: &ApprovalRequest) -> Decision {
        let decided = tokio::time::timeout(self.limit, self.ask(asked)).await;
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
    async fn ask(&self, asked: &ApprovalRequest) -> Result<Decision, String> {
        let Some(toolbox) = &self.toolbox else {
            return Err(format!("there is no server `{}`", self.tool.toolbox));
        };
        // A question of its own, and so a call of its own; the same if it has to be put again.
        let call = ToolCallId::parse(asked.wait.as_str()).map_err(|error| error.to_string())?;
        let run = ToolRun {
            fresh: false,
            input: ToolInput::Json(JsonInput::from(asked.to_json())),
            key: IdempotencyKey::derive(&call),
            max_bytes: MOST_BYTES,
            time_limit: self.limit,
            tool: self.tool.clone(),
            attempt: ToolAttempt { call, attempt: 1 },
        };
        let result = match toolbox.call(&run, &mut ()).await {
            Ok(ToolEnd::Finished(result)) => result,
            Ok(ToolEnd::Asked { .. }) => return Err("it asks something itself".to_owned()),
            Err(error) => return Err(chain(&error)),
        };
        if result.is_error {
            return Err("it says that it failed".to_owned());
        }
        if result.size() > MOST_BYTES {
            return Err("its answer is longer than 1 MiB".to_owned());
        }
        if let Some(structured) = &result.structured {
            return Decision::parse(structured);
        }
        Decision::read(result.to_text().as_bytes())
    }
}

/// The most characters of a reason.
const LONGEST_REASON: usize = 4_000;
/// No answer is longer.
const MOST_BYTES: usize = 1 << 20;
