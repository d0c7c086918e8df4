//! A batch: the tool calls of one reply, and their states.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::block::{Block, Content, ToolCall};
use crate::digest::{Digest, canonical_json};
use crate::ids::{ToolAttempt, ToolCallId, WaitId};
use crate::message::{Message, Role};
use crate::outcome::{ToolOutcome, ToolResult};
use crate::reply::FinishReason;
use crate::time::WallTime;
use crate::tool_input::ToolInput;
use crate::wait::{ElicitationAnswer, JobHandle, Wait, WaitKind};

/// The tool calls of one reply, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Batch {
    pub(crate) calls: Vec<BatchCall>,
    pub(crate) finish: FinishReason,
    pub(crate) message: Arc<Message>,
}

/// A call of a batch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BatchCall {
    pub(crate) attempts: u32,
    pub(crate) call: Arc<ToolCall>,
    /// The arguments that replaced the model's, if an approver edited them.
    pub(crate) edited: Option<Arc<ToolInput>>,
    /// Until when it may run again by itself, if there is an end of that.
    pub(crate) repeat_until: Option<WallTime>,
    pub(crate) state: CallState,
    pub(crate) waits: u32,
}

/// The state of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallState {
    /// It has an outcome, in the form that models see.
    Closed(Arc<ToolOutcome>),
    /// It was approved; its start consumes the approval.
    Granted(CallGrant),
    /// An attempt ended without an outcome; the same step decides what happens next.
    Lost,
    /// It runs, or runs again, when a slot is free.
    Queued,
    /// It is running.
    Running(RunningCall),
    /// It waits for an external answer.
    Waiting(Wait),
}

/// A permission to run a call once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CallGrant {
    /// The subject that may run; the oldest records have none.
    pub(crate) subject: Option<Digest>,
    /// The wait that was answered.
    pub(crate) wait: WaitId,
}

/// A running call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunningCall {
    /// The answer that is passed back with the handle.
    pub(crate) answer: Option<ElicitationAnswer>,
    pub(crate) attempt: ToolAttempt,
    pub(crate) handle: Option<JobHandle>,
    pub(crate) may_repeat: bool,
    pub(crate) time_limit: Duration,
}

impl BatchCall {
    /// Whether it occupies one of the parallel slots. A call whose tool asked a question does: the tool is
    /// still running, and continues as soon as there is an answer.
    pub(crate) const fn holds_slot(&self) -> bool {
        match &self.state {
            CallState::Running(_) => true,
            CallState::Waiting(wait) => matches!(wait.kind, WaitKind::Elicitation { .. }),
            CallState::Closed(_) | CallState::Granted(_) | CallState::Lost | CallState::Queued => {
                false
            }
        }
    }
}

impl Batch {
    pub(crate) fn call(&mut self, id: &ToolCallId) -> Option<&mut BatchCall> {
        self.calls.iter_mut().find(|call| call.call.id == *id)
    }

    /// The message with all outcomes, in call order; `None` until every call has one.
    pub(crate) fn outcomes(&self) -> Option<Message> {
        let mut outcomes = Vec::with_capacity(self.calls.len());
        for call in &self.calls {
            let CallState::Closed(outcome) = &call.state else {
                return None;
            };
            outcomes.push(Block::from(Content::ToolOutcome(Arc::clone(outcome))));
        }
        Some(Message::new(Role::Tool, outcomes))
    }
}

/// A digest that is equal for equal calls with equal outcomes.
pub(crate) fn call_fingerprint(call: &ToolCall, shown: &ToolResult) -> Digest {
    let input = match &call.input {
        ToolInput::Json(input) => match input.object() {
            Ok(fields) => canonical_json(&Value::Object(Map::clone(fields))),
            Err(_) => input.raw().to_owned(),
        },
        ToolInput::Text(text) => text.to_string(),
    };
    let structured = shown
        .structured
        .as_deref()
        .map(canonical_json)
        .unwrap_or_default();
    let error = if shown.is_error { "error" } else { "" };
    let content = shown.content.iter().map(|part| match part.as_text() {
        Some(text) => text.to_owned(),
        None => format!("{part:?}"),
    });
    let parts: Vec<String> = [
        call.name.as_str().to_owned(),
        input,
        error.to_owned(),
        structured,
    ]
    .into_iter()
    .chain(content)
    .collect();
    Digest::of_parts(parts.iter().map(String::as_str))
}

/// The message without calls that repeat the id of an earlier call. Returns the same message if there are none:
/// the loop gives every call a unique id. In a tampered journal, such a call would block the turn forever, as
/// its outcome would be attributed to the first call.
pub(super) fn dedup_calls(message: &Arc<Message>) -> Arc<Message> {
    let mut known = BTreeSet::new();
    if message.calls().all(|call| known.insert(&call.id)) {
        return Arc::clone(message);
    }
    let mut known = BTreeSet::new();
    let mut message = Message::clone(message);
    message.blocks.retain(|block| match &block.content {
        Content::ToolCall(call) => known.insert(call.id.clone()),
        Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolOutcome(_) => true,
    });
    Arc::new(message)
}

/// The message without blank blocks. Returns the same message if there are none.
pub(super) fn drop_blank_blocks(message: &Arc<Message>) -> Arc<Message> {
    if message.blocks.iter().any(Block::is_blank) {
        let mut message = Message::clone(message);
        message.blocks.retain(|block| !block.is_blank());
        Arc::new(message)
    } else {
        Arc::clone(message)
    }
}
