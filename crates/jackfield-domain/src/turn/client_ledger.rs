//! What the client of a turn has received and sent.

use std::collections::BTreeMap;

use super::BatchCall;
use crate::block::Content;
use crate::conversation_key::{ConversationKey, result_digest};
use crate::digest::Digest;
use crate::fact::{CallEnd, Fact};
use crate::failure::ToolFailureKind;
use crate::ids::ToolCallId;
use crate::message::{Messages, Role};
use crate::outcome::ToolResult;
use crate::wait::WaitEnd;

/// What the client of a turn has received and sent in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClientLedger {
    /// The calls that it received, with the digest of the result that it sent for each after the reply that
    /// contained the call.
    delivered_calls: BTreeMap<ToolCallId, Option<Digest>>,
    /// Whether a cancel is closing the calls of this round.
    is_cancelling: bool,
    /// The round in which a reply to it last ended; 0 if none has.
    last_delivered_round: u32,
}

impl ClientLedger {
    /// Adds a call that it receives.
    pub(super) fn add_call(&mut self, call: &ToolCallId) {
        self.delivered_calls.insert(call.clone(), None);
    }

    /// Adds the result that it sent for a call.
    pub(super) fn add_result(&mut self, call: &ToolCallId, result: &ToolResult) {
        let digest = Some(result_digest(result));
        self.delivered_calls.insert(call.clone(), digest);
    }

    /// Closes a round, whose calls all have outcomes.
    pub(super) fn close_round(&mut self, round: u32, calls: &[BatchCall]) {
        if self.last_delivered_round != round {
            // The results came from elsewhere before the client's reply had ended: the client has the calls,
            // but not their results.
            for call in calls {
                if let Some(result) = self.delivered_calls.get_mut(&call.call.id) {
                    *result = None;
                }
            }
        }
    }

    /// Records whether the reply to the client ends after this fact: the client has received its calls, and
    /// will send their results. `waits_for_client` is whether the turn only waits after this fact, and a result of
    /// the client is missing.
    pub(super) fn update_delivered_round(
        &mut self,
        fact: &Fact,
        round: u32,
        waits_for_client: bool,
    ) {
        // A cancel closes everything in one step, so the turn does not wait in between.
        let is_cancelled = matches!(
            fact,
            Fact::CallClosed {
                end: CallEnd::Cancelled,
                ..
            } | Fact::CallLost {
                kind: ToolFailureKind::Cancelled,
                ..
            } | Fact::WaitClosed {
                end: WaitEnd::Cancelled | WaitEnd::Superseded,
                ..
            }
        );
        if is_cancelled {
            self.is_cancelling = true;
        } else if matches!(
            fact,
            Fact::ModelCallStarted { .. } | Fact::ReplyReceived { .. }
        ) {
            self.is_cancelling = false;
        }
        if !self.is_cancelling && waits_for_client {
            self.last_delivered_round = round;
        }
    }

    /// The key of its conversation after the messages of the turn; `before` is the key before them.
    pub(super) fn key(&self, before: Digest, messages: &Messages) -> Digest {
        let mut key = ConversationKey::after(before);
        for message in messages.turn_messages() {
            for block in &message.blocks {
                match (&block.content, message.role) {
                    (Content::Refusal(text), Role::Assistant) => _ = key.push_text(text),
                    (Content::Text(text), Role::Assistant) => _ = key.push_text(&text.text),
                    (Content::ToolCall(call), Role::Assistant) => {
                        if self.delivered_calls.contains_key(&call.id) {
                            key.push_call(call);
                        }
                    }
                    (Content::ToolOutcome(outcome), Role::Tool) => {
                        if let Some(Some(result)) = self.delivered_calls.get(&outcome.call) {
                            key.push_result(&outcome.call, *result);
                        }
                    }
                    (
                        Content::Audio(_)
                        | Content::Document(_)
                        | Content::Image(_)
                        | Content::Opaque(_)
                        | Content::Refusal(_)
                        | Content::Text(_)
                        | Content::Thinking(_)
                        | Content::ToolCall(_)
                        | Content::ToolOutcome(_),
                        Role::Assistant | Role::System | Role::Tool | Role::User,
                    ) => {}
                }
            }
        }
        key.digest()
    }
}
