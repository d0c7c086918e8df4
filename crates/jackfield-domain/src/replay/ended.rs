//! Rebuilds the inputs that ended a reply: one that broke off, or the summary of a compaction.

use crate::compaction::summary_in;
use crate::delta::Delta;
use crate::fact::{Compaction, Fact};
use crate::ids::ModelAttempt;
use crate::message::{Message, Role};
use crate::reply::{FinishReason, ReplyEnd};
use crate::tool_loop::Input;
use crate::usage::Usage;

use super::pieces;
use super::rebuild::RebuiltInput;

/// What is known of an interrupted reply.
pub(super) struct PartialReply<'a> {
    pub(super) attempt: ModelAttempt,
    partial: Option<&'a Message>,
    pub(super) usage: Option<Usage>,
}

impl<'a> PartialReply<'a> {
    pub(super) fn from_fact(fact: &'a Fact) -> Option<Self> {
        if let Fact::ModelCallEnded {
            attempt,
            partial,
            usage,
            ..
        } = fact
        {
            return Some(Self {
                attempt: *attempt,
                partial: partial.as_deref(),
                usage: *usage,
            });
        }
        let Fact::Compacted(compaction) = fact else {
            return None;
        };
        compaction.failure.as_ref().map(|_| Self {
            attempt: compaction.attempt,
            partial: None,
            usage: compaction.usage,
        })
    }

    /// The input, after the known part of the reply. A reply without text may have had other visible content,
    /// such as the beginning of a call, so both cases are possible.
    pub(super) fn after_partial_reply(&self, input: &Input, then: &[Delta]) -> Vec<RebuiltInput> {
        let visibility: &[bool] = match self.partial {
            Some(_) => &[true],
            None => &[false, true],
        };
        let possible = visibility.iter().map(|seen| RebuiltInput::Handled {
            input: Box::new(input.clone()),
            pieces: pieces::partial_reply(self.partial, self.usage, *seen, then),
            used: self.usage,
        });
        possible.collect()
    }
}

/// The end of the summary that a compaction used.
pub(super) fn summary_ended(compaction: &Compaction) -> RebuiltInput {
    let summary = summary_in(&compaction.messages).cloned();
    let summary = Message::new(Role::Assistant, summary.into_iter().collect());
    let attempt = compaction.attempt;
    RebuiltInput::Handled {
        input: Box::new(Input::ReplyEnded {
            attempt,
            end: reply_end(compaction.usage),
        }),
        pieces: pieces::complete_reply(&summary),
        used: None,
    }
}

pub(super) fn without_reply(input: Input) -> RebuiltInput {
    RebuiltInput::Handled {
        input: Box::new(input),
        pieces: Vec::new(),
        used: None,
    }
}

pub(super) fn reply_end(usage: Option<Usage>) -> Box<ReplyEnd> {
    Box::new(ReplyEnd {
        usage,
        ..ReplyEnd::new(FinishReason::Stop)
    })
}
