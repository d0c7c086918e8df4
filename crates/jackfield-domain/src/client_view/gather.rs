//! Builds a reply to a client from its pieces.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::accumulator::{ProtocolViolation, ReplyAccumulator};
use crate::block::{Content, ToolCall};
use crate::delta::Delta;
use crate::ids::{ModelAttempt, ToolCallId, TurnId};
use crate::message::Message;
use crate::reply::{Reply, ReplyEnd};
use crate::tool::Catalog;

/// Builds a reply to a client from its pieces.
#[derive(Clone, Debug)]
pub struct Gather {
    accumulator: ReplyAccumulator,
    /// The ids of the calls, in the order in which they began.
    calls: VecDeque<Option<ToolCallId>>,
    /// The first piece that did not match.
    violation: Option<ProtocolViolation>,
}

impl Gather {
    /// An empty reply of this turn.
    #[must_use]
    pub const fn new(turn: TurnId) -> Self {
        let attempt = ModelAttempt {
            round: 0,
            attempt: 0,
        };
        Self {
            accumulator: ReplyAccumulator::new(turn, attempt),
            calls: VecDeque::new(),
            violation: None,
        }
    }

    /// Adds a piece; `call` is the id of the call that begins with it.
    pub fn push(&mut self, call: Option<&ToolCallId>, delta: &Delta) {
        let pushed = self.accumulator.push(delta);
        if let Err(violation) = pushed {
            self.violation.get_or_insert(violation);
        } else if let Delta::BlockStarted { index, .. } = delta
            && self.accumulator.call_id(*index).is_some()
        {
            self.calls.push_back(call.cloned());
        }
    }

    /// The whole reply.
    ///
    /// # Errors
    ///
    /// [`ProtocolViolation`] if the pieces do not fit together, or are more than
    /// [`ReplyAccumulator::MAX_UNITS`].
    pub fn finish(mut self, end: ReplyEnd) -> Result<Reply, ProtocolViolation> {
        if let Some(violation) = self.violation {
            return Err(violation);
        }
        let Reply { end, message } = self.accumulator.finish(end, &Catalog::default())?;
        let mut message = Message::clone(&message);
        for block in &mut message.blocks {
            if let Content::ToolCall(call) = &block.content
                && let Some(Some(id)) = self.calls.pop_front()
            {
                block.content = Content::ToolCall(Arc::new(ToolCall {
                    id,
                    ..ToolCall::clone(call)
                }));
            }
        }
        let message = Arc::new(message);
        Ok(Reply { end, message })
    }
}
