//! The rules that conversations must follow for all providers; `messages_for_model()` guarantees them.

use std::collections::HashSet;
use std::sync::Arc;

use thiserror::Error;

use crate::block::{Content, RanBy};
use crate::ids::ToolCallId;
use crate::message::{Message, Role};

/// A violated rule.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum RuleViolation {
    /// Pairing: a call has no outcome in the message right after it.
    #[error("the call {call} has no outcome right after it")]
    CallWithoutOutcome {
        /// The call.
        call: ToolCallId,
    },
    /// Non-empty: a message has no content.
    #[error("message {place} is empty")]
    EmptyMessage {
        /// Its place, from 0.
        place: usize,
    },
    /// Last role: a model answers a user or tools, or continues words of its own.
    #[error("the last message is the model's own, and does not end with words")]
    EndsWithAssistant,
    /// The conversation is empty.
    #[error("there is no message")]
    NoMessage,
    /// Order: outcomes are not in the order of their calls.
    #[error("the outcomes in message {place} are not in the order of their calls")]
    OutcomesOutOfOrder {
        /// Its place, from 0.
        place: usize,
    },
    /// Pairing: an outcome has no call right before it.
    #[error("the outcome of {call} has no call right before it")]
    OutcomeWithoutCall {
        /// The call that it claims to answer.
        call: ToolCallId,
    },
    /// Pairing: two calls have one id.
    #[error("two calls have the id {call}")]
    RepeatedCall {
        /// The id.
        call: ToolCallId,
    },
    /// Pairing: a call has two outcomes.
    #[error("the call {call} has two outcomes")]
    RepeatedOutcome {
        /// The call.
        call: ToolCallId,
    },
    /// Results first: a message contains a block that its role cannot have.
    #[error("message {place} holds a block that its role cannot have")]
    WrongRole {
        /// Its place, from 0.
        place: usize,
    },
}

/// Checks a conversation that may be continued: all rules except the last role.
///
/// # Errors
///
/// The first violated rule.
pub fn check_history<'a>(
    messages: impl Iterator<Item = &'a Arc<Message>>,
) -> Result<(), RuleViolation> {
    let mut open: Vec<&ToolCallId> = Vec::new();
    let mut seen = HashSet::new();
    for (place, message) in messages.enumerate() {
        if message.blocks.is_empty() || message.blocks.iter().all(super::block::Block::is_blank) {
            return Err(RuleViolation::EmptyMessage { place });
        }
        if message.role != Role::Tool
            && let Some(call) = open.first()
        {
            return Err(RuleViolation::CallWithoutOutcome {
                call: (*call).clone(),
            });
        }
        let mut answered = Vec::new();
        for block in &message.blocks {
            match &block.content {
                Content::ToolOutcome(outcome) => match message.role {
                    Role::Tool => answered.push(&outcome.call),
                    // The outcome of a provider tool is in the reply of its call.
                    Role::Assistant => {}
                    Role::System | Role::User => return Err(RuleViolation::WrongRole { place }),
                },
                Content::ToolCall(call) => {
                    if message.role != Role::Assistant {
                        return Err(RuleViolation::WrongRole { place });
                    }
                    if call.ran_by != RanBy::Provider {
                        if !seen.insert(&call.id) {
                            return Err(RuleViolation::RepeatedCall {
                                call: call.id.clone(),
                            });
                        }
                        open.push(&call.id);
                    }
                }
                Content::Audio(_)
                | Content::Document(_)
                | Content::Image(_)
                | Content::Opaque(_)
                | Content::Refusal(_)
                | Content::Text(_)
                | Content::Thinking(_) => {
                    if message.role == Role::Tool {
                        return Err(RuleViolation::WrongRole { place });
                    }
                }
            }
        }
        if message.role == Role::Tool {
            check_outcomes(&open, &answered, place)?;
            open.clear();
        }
    }
    match open.first() {
        Some(call) => Err(RuleViolation::CallWithoutOutcome {
            call: (*call).clone(),
        }),
        None => Ok(()),
    }
}

/// Checks a conversation that a model should answer or continue: all rules.
///
/// # Errors
///
/// The first violated rule.
pub fn check_request<'a>(
    messages: impl DoubleEndedIterator<Item = &'a Arc<Message>> + Clone,
) -> Result<(), RuleViolation> {
    check_history(messages.clone())?;
    match messages.into_iter().next_back() {
        None => Err(RuleViolation::NoMessage),
        Some(last) if last.role == Role::Assistant && !can_continue(last) => {
            Err(RuleViolation::EndsWithAssistant)
        }
        Some(_) => Ok(()),
    }
}

/// Whether a model can go on after this message of its own: it ends with words, or was paused in a call that its
/// provider runs.
fn can_continue(message: &Message) -> bool {
    let last = message.blocks.last().map(|block| &block.content);
    let is_paused = message.calls().any(|call| call.ran_by == RanBy::Provider);
    is_paused || matches!(last, Some(Content::Text(_)))
}

fn check_outcomes(
    open: &[&ToolCallId],
    answered: &[&ToolCallId],
    place: usize,
) -> Result<(), RuleViolation> {
    if open == answered {
        return Ok(());
    }
    let expected: HashSet<&ToolCallId> = open.iter().copied().collect();
    if let Some(call) = answered.iter().find(|call| !expected.contains(*call)) {
        return Err(RuleViolation::OutcomeWithoutCall {
            call: (**call).clone(),
        });
    }
    let mut known = HashSet::new();
    if let Some(call) = answered.iter().find(|call| !known.insert(**call)) {
        return Err(RuleViolation::RepeatedOutcome {
            call: (**call).clone(),
        });
    }
    if let Some(call) = open.iter().find(|call| !known.contains(*call)) {
        return Err(RuleViolation::CallWithoutOutcome {
            call: (**call).clone(),
        });
    }
    Err(RuleViolation::OutcomesOutOfOrder { place })
}
