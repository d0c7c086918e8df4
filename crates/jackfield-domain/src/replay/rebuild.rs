//! Rebuilds the input of a step from the facts that it led to.

use std::sync::Arc;

use thiserror::Error;

use crate::delta::Delta;
use crate::fact::{CallEnd, Compaction, Envelope, Fact, InputKind, Late, ModelCallEnd, TurnEnd};
use crate::failure::{ModelFailure, ModelFailureKind, ToolFailure};
use crate::ids::{DeliveryId, ToolAttempt, ToolCallId};
use crate::session::Session;
use crate::setup::{Opening, Setup};
use crate::tool::{CatalogEntry, Permission};
use crate::tool_loop::{Input, Restrictions};
use crate::usage::Usage;
use crate::wait::{Delivery, DeliveryBody, WaitEnd, WaitKind};

use super::ended::{PartialReply, reply_end, summary_ended, without_reply};
use super::{outcome, pieces};

/// The input of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum RebuiltInput {
    /// A turn began.
    Began {
        /// Its opening.
        opening: Opening,
        /// Its setup, before grants were applied.
        setup: Arc<Setup>,
    },
    /// The session began as a fork or an import, as recorded by these facts. The loop makes no decision about it.
    Forked(Vec<Fact>),
    /// A process resumed a turn that another process had left.
    Recovered {
        /// The deliveries in the inbox that had an effect.
        deliveries: Vec<Delivery>,
        /// The restrictions at the time.
        restrictions: Restrictions,
    },
    /// The loop got an input.
    Handled {
        /// The input.
        input: Box<Input>,
        /// The deltas of the reply so far, as far as facts determine them.
        pieces: Vec<Delta>,
        /// The usage of the reply so far; its part that is not an estimate had been counted.
        used: Option<Usage>,
    },
}

/// Information that is missing from a record to rebuild a step's input.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum MissingRecord {
    /// The cancel that ended the turn.
    #[error("the cancel that ended the turn is not among the deliveries")]
    Cancel,
    /// A delivery.
    #[error("the delivery {id} is not in the record")]
    Delivery {
        /// Its id.
        id: DeliveryId,
    },
    /// A fact that determines the step's input.
    #[error("none of its facts says what it answered")]
    Fact,
    /// The content of an outcome that was too long to be stored.
    #[error("an outcome of {size} bytes was not kept, and is too long to stand in for")]
    Outcome {
        /// Its size.
        size: usize,
    },
    /// A turn.
    #[error("no turn is open that could have been told")]
    Turn,
}

/// All possible inputs of a step, the likeliest first; never empty.
pub(super) fn inputs(
    session: &Session,
    deliveries: &[Delivery],
    recorded: &Envelope,
) -> Result<Vec<RebuiltInput>, MissingRecord> {
    let facts = &recorded.facts;
    let rebuilder = Rebuilder {
        deliveries,
        facts,
        session,
    };
    match recorded.input {
        InputKind::Began => rebuilder.began(),
        InputKind::Delivered => rebuilder.delivered(),
        InputKind::Forked => rebuilder.forked(),
        InputKind::Imported => rebuilder.imported(),
        InputKind::Recovered => rebuilder.recovered(),
        InputKind::ReplyDelta => rebuilder.reply_delta(),
        InputKind::ReplyEnded => rebuilder.reply_ended(),
        InputKind::ReplyFailed => rebuilder.reply_failed(),
        InputKind::ToolAccepted => rebuilder.tool_accepted(),
        InputKind::ToolAsked => rebuilder.tool_asked(),
        InputKind::ToolFailed => rebuilder.tool_failed(),
        InputKind::ToolFinished => rebuilder.tool_finished(),
        InputKind::Woke => Ok(rebuilder.woke()),
    }
}

/// The facts of one step, and the state before it.
struct Rebuilder<'a> {
    deliveries: &'a [Delivery],
    facts: &'a [Fact],
    session: &'a Session,
}

impl Rebuilder<'_> {
    fn began(&self) -> Result<Vec<RebuiltInput>, MissingRecord> {
        self.find(|fact| {
            let Fact::TurnOpened { opening, setup, .. } = fact else {
                return None;
            };
            Some(RebuiltInput::Began {
                opening: opening.clone(),
                setup: before_grants(setup),
            })
        })
    }

    fn delivered(&self) -> Result<Vec<RebuiltInput>, MissingRecord> {
        let delivery = self.consumed()?.into_iter().next();
        // The step is recorded as delivered, even if its facts do not show the delivery.
        let delivery = delivery.or_else(|| self.cancel());
        let Some(delivery) = delivery else {
            let cancelled = self.facts.iter().any(is_cancel);
            return Err(if cancelled {
                MissingRecord::Cancel
            } else {
                MissingRecord::Fact
            });
        };
        let input = Input::Delivered(delivery);
        Ok(match self.ended_reply() {
            Some(reply) => reply.after_partial_reply(&input, &[]),
            None => vec![without_reply(input)],
        })
    }

    fn forked(&self) -> Result<Vec<RebuiltInput>, MissingRecord> {
        self.find(|fact| {
            let Fact::SessionForked { .. } = fact else {
                return None;
            };
            let compacted = self
                .facts
                .iter()
                .filter(|fact| matches!(fact, Fact::Compacted(_)));
            Some(RebuiltInput::Forked(
                std::iter::once(fact).chain(compacted).cloned().collect(),
            ))
        })
    }

    fn imported(&self) -> Result<Vec<RebuiltInput>, MissingRecord> {
        self.find(|fact| {
            let is_beginning = matches!(fact, Fact::SessionImported { .. });
            is_beginning.then(|| RebuiltInput::Forked(vec![fact.clone()]))
        })
    }

    /// Deliveries without an effect leave no facts, and are not needed.
    fn recovered(&self) -> Result<Vec<RebuiltInput>, MissingRecord> {
        let deliveries = self.consumed()?;
        self.find(|fact| {
            let Fact::TurnResumed { restrictions, .. } = fact else {
                return None;
            };
            Some(RebuiltInput::Recovered {
                deliveries: deliveries.clone(),
                restrictions: restrictions.as_deref().cloned().unwrap_or_default(),
            })
        })
    }

    /// Only a delta that violates the rules leads to facts.
    fn reply_delta(&self) -> Result<Vec<RebuiltInput>, MissingRecord> {
        let (reply, failure) = self.failed_reply().ok_or(MissingRecord::Fact)?;
        let attempt = reply.attempt;
        let (before, delta) = pieces::violating_deltas(&failure.message);
        Ok(reply.after_partial_reply(&Input::ReplyDelta { attempt, delta }, &before))
    }

    fn reply_ended(&self) -> Result<Vec<RebuiltInput>, MissingRecord> {
        let whole = self.find(|fact| {
            let Fact::ReplyReceived { attempt, reply, .. } = fact else {
                return None;
            };
            let (attempt, mut end) = (*attempt, Box::new(reply.end.clone()));
            // A usage that was not counted is estimated again.
            let used = end.usage;
            end.usage = end.usage.filter(|usage| usage.estimated() == 0);
            let input = Box::new(Input::ReplyEnded { attempt, end });
            let pieces = pieces::complete_reply(&reply.message);
            Some(RebuiltInput::Handled {
                input,
                pieces,
                used,
            })
        });
        if whole.is_ok() {
            return whole;
        }
        if let Some(compaction) = self.compaction() {
            return Ok(vec![summary_ended(compaction)]);
        }
        if let Some((reply, failure)) = self.failed_reply() {
            let (attempt, end) = (reply.attempt, reply_end(reply.usage));
            // A summary that cannot be used is as good as an empty one.
            let open = if failure.kind == ModelFailureKind::UnusableReply {
                Vec::new()
            } else {
                pieces::unended_block(&failure.message)
            };
            return Ok(reply.after_partial_reply(&Input::ReplyEnded { attempt, end }, &open));
        }
        self.find(|fact| {
            let Fact::Late(Late::Usage { attempt, usage }) = fact else {
                return None;
            };
            let (attempt, end) = (*attempt, reply_end(Some(*usage)));
            Some(without_reply(Input::ReplyEnded { attempt, end }))
        })
    }

    fn reply_failed(&self) -> Result<Vec<RebuiltInput>, MissingRecord> {
        let (reply, failure) = self.failed_reply().ok_or(MissingRecord::Fact)?;
        let (attempt, failure) = (reply.attempt, failure.clone());
        Ok(reply.after_partial_reply(&Input::ReplyFailed { attempt, failure }, &[]))
    }

    fn tool_accepted(&self) -> Result<Vec<RebuiltInput>, MissingRecord> {
        self.find(|fact| {
            let Fact::CallAccepted { attempt, handle } = fact else {
                return None;
            };
            let (attempt, handle) = (attempt.clone(), handle.clone());
            Some(without_reply(Input::ToolAccepted { attempt, handle }))
        })
    }

    fn tool_asked(&self) -> Result<Vec<RebuiltInput>, MissingRecord> {
        self.find(|fact| {
            let Fact::WaitOpened { wait } = fact else {
                return None;
            };
            let WaitKind::Elicitation { handle, question } = &wait.kind else {
                return None;
            };
            Some(without_reply(Input::ToolAsked {
                attempt: self.attempt_at(&wait.call),
                handle: handle.clone(),
                question: question.clone(),
            }))
        })
    }

    fn tool_failed(&self) -> Result<Vec<RebuiltInput>, MissingRecord> {
        self.find(|fact| {
            let Fact::CallLost {
                attempt,
                disposition,
                kind,
                message,
                ..
            } = fact
            else {
                return None;
            };
            Some(without_reply(Input::ToolFailed {
                attempt: attempt.clone(),
                failure: ToolFailure {
                    disposition: *disposition,
                    kind: *kind,
                    message: message.to_string(),
                },
            }))
        })
    }

    fn tool_finished(&self) -> Result<Vec<RebuiltInput>, MissingRecord> {
        for fact in self.facts {
            if let Fact::CallClosed {
                cached,
                call,
                result,
                ..
            } = fact
            {
                let attempt = self.attempt_at(call);
                let results = outcome::possible_results(self.session, call, result)?;
                let input = |result| {
                    let attempt = attempt.clone();
                    without_reply(match cached.clone() {
                        None => Input::ToolFinished { attempt, result },
                        Some(from) => Input::ToolCached {
                            attempt,
                            from,
                            result,
                        },
                    })
                };
                return Ok(results.into_iter().map(input).collect());
            }
            if let Fact::Late(Late::Outcome {
                attempt,
                is_error,
                size,
            }) = fact
            {
                let result = outcome::filler_result(*size, *is_error)?;
                let attempt = attempt.clone();
                return Ok(vec![without_reply(Input::ToolFinished { attempt, result })]);
            }
        }
        Err(MissingRecord::Fact)
    }

    fn woke(&self) -> Vec<RebuiltInput> {
        match self.ended_reply() {
            Some(reply) => reply.after_partial_reply(&Input::Woke, &[]),
            None => vec![without_reply(Input::Woke)],
        }
    }

    /// The deliveries that led to the facts of this step, in inbox order.
    fn consumed(&self) -> Result<Vec<Delivery>, MissingRecord> {
        let mut ids = Vec::new();
        let mut cancelled = false;
        for fact in self.facts {
            if let Fact::WaitClosed {
                end: WaitEnd::Answered { delivery, .. },
                ..
            } = fact
                // A session grant answers several waits at once.
                && !ids.contains(&delivery)
            {
                ids.push(delivery);
            }
            cancelled |= is_cancel(fact);
        }
        let mut consumed = Vec::with_capacity(ids.len());
        let cancel = if cancelled { self.cancel() } else { None };
        for delivery in self.deliveries {
            if let Some(place) = ids.iter().position(|id| **id == delivery.id) {
                ids.swap_remove(place);
                consumed.push(delivery.clone());
            } else if cancel
                .as_ref()
                .is_some_and(|cancel| cancel.id == delivery.id)
            {
                consumed.push(delivery.clone());
            }
        }
        match ids.first() {
            Some(id) => Err(MissingRecord::Delivery { id: (*id).clone() }),
            None => Ok(consumed),
        }
    }

    /// The first cancel of the open turn, which ends it.
    fn cancel(&self) -> Option<Delivery> {
        let open = self.session.open_turn()?.id();
        let cancels = |delivery: &&Delivery| matches!(&delivery.body, DeliveryBody::Cancel { turn, .. } if turn == open);
        self.deliveries.iter().find(cancels).cloned()
    }

    /// The model call that this step ended without a reply, if any.
    fn ended_reply(&self) -> Option<PartialReply<'_>> {
        self.facts.iter().find_map(PartialReply::from_fact)
    }

    /// The model call that failed in this step, and the failure.
    fn failed_reply(&self) -> Option<(PartialReply<'_>, &ModelFailure)> {
        self.facts.iter().find_map(|fact| {
            let why = if let Fact::Compacted(compaction) = fact {
                compaction.failure.as_ref()
            } else if let Fact::ModelCallEnded { why, .. } = fact {
                Some(why)
            } else {
                None
            };
            let Some(ModelCallEnd::Failed(failure)) = why else {
                return None;
            };
            Some((PartialReply::from_fact(fact)?, failure))
        })
    }

    /// The current attempt at a call.
    fn attempt_at(&self, call: &ToolCallId) -> ToolAttempt {
        let calls = self
            .session
            .last_turn()
            .map_or(&[][..], |turn| turn.calls());
        let open = calls.iter().find(|open| open.call.id == *call);
        ToolAttempt {
            call: call.clone(),
            attempt: open.map_or(0, |open| open.attempts),
        }
    }

    /// The compaction of this step for which a summary was written, if any.
    fn compaction(&self) -> Option<&Compaction> {
        self.facts.iter().find_map(|fact| {
            let Fact::Compacted(compaction) = fact else {
                return None;
            };
            compaction.failure.is_none().then_some(&**compaction)
        })
    }

    fn find(
        &self,
        rebuilt: impl Fn(&Fact) -> Option<RebuiltInput>,
    ) -> Result<Vec<RebuiltInput>, MissingRecord> {
        let found = self.facts.iter().find_map(rebuilt);
        found
            .map(|rebuilt| vec![rebuilt])
            .ok_or(MissingRecord::Fact)
    }
}

/// The setup before session grants were applied; they must follow from the session.
fn before_grants(setup: &Arc<Setup>) -> Arc<Setup> {
    let is_granted = |tool: &CatalogEntry| matches!(tool.permission, Permission::Granted { .. });
    if !setup.catalog.iter().any(is_granted) {
        return Arc::clone(setup);
    }
    let catalog = setup.catalog.iter().map(|tool| {
        let mut tool = tool.clone();
        if is_granted(&tool) {
            tool.permission = Permission::Ask;
        }
        tool
    });
    Arc::new(Setup {
        catalog: Arc::new(catalog.collect()),
        ..Setup::clone(setup)
    })
}

/// Whether only a cancel leads to this fact.
const fn is_cancel(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::CallClosed {
            end: CallEnd::Cancelled,
            ..
        } | Fact::ModelCallEnded {
            why: ModelCallEnd::Cancelled,
            ..
        } | Fact::TurnEnded {
            end: TurnEnd::Cancelled(_),
            ..
        } | Fact::WaitClosed {
            end: WaitEnd::Cancelled | WaitEnd::Superseded,
            ..
        }
    )
}
