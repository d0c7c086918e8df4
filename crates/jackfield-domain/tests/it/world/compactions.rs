//! Compactions: what they replace, what stays, and when there is none.

use std::sync::Arc;

use jackfield_domain::fact::{Fact, ModelCallEnd};
use jackfield_domain::ids::ModelAttempt;
use jackfield_domain::message::Message;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::rules;
use jackfield_domain::tool_loop::{Action, Step, ToolLoop};

use super::checks::Property;
use super::oracle::is_too_long;
use super::{Class, World};

impl World {
    /// A compaction replaces a beginning and nothing else: the message of the turn stays, and what follows is
    /// unchanged.
    pub(super) fn check_compaction(&mut self, before: &ToolLoop, step: &Step) {
        let Some(compaction) = step.facts.iter().find_map(|fact| match fact {
            Fact::Compacted(compaction) if compaction.failure.is_none() => Some(compaction),
            _ => None,
        }) else {
            return;
        };
        let old: Vec<&Arc<Message>> = before.turn().messages_for_model().iter().collect();
        let new: Vec<&Arc<Message>> = self.machine.turn().messages_for_model().iter().collect();
        let kept = old.get(compaction.replaced..).unwrap_or_default();
        let put = compaction.messages.len();
        let has_request = new.iter().any(|message| message.to_text() == "do it");
        let is_summary = compaction
            .messages
            .first()
            .is_some_and(|message| message.to_text().contains("That is it."));
        let same = compaction.replaced > put
            && new.iter().take(put).copied().eq(&compaction.messages)
            && new.get(put..) == Some(kept);
        if !same || !has_request || !is_summary {
            let detail = format!("{old:?}\nby {compaction:?} became\n{new:?}");
            self.violate(Property::CompactionsKeepTheRest, detail);
        }
    }

    /// The request for a summary is one message of the user, to the model of the turn, without tools.
    pub(super) fn check_summary_request(&mut self, attempt: ModelAttempt, request: &ModelRequest) {
        let valid = rules::check_request(request.messages.iter()).is_ok();
        let is_its = request.model == *self.machine.turn().model();
        if !valid || !is_its || !request.tools.is_empty() || request.messages.len() != 1 {
            let detail = format!("{attempt:?}: {request:?}");
            self.violate(Property::CompactionsKeepTheRest, detail);
        }
    }

    /// By an account of its own: only a setup with a policy compacts, at most once in a round, and not again after
    /// a failure. The attempt follows in its round: a request that was too long is made again.
    pub(super) fn check_compactions(&mut self, step: &Step) {
        let (mut rounds, mut has_failed, mut too_long) = (Vec::new(), false, None);
        let mut wrong = Vec::new();
        for fact in self.committed.iter().chain(&step.facts) {
            match fact {
                Fact::Compacted(compaction) => {
                    let round = compaction.attempt.round;
                    let allowed = self.setup.compaction.is_some()
                        && !has_failed
                        && !rounds.contains(&round)
                        && too_long.is_none_or(|at| at == round);
                    if !allowed || !compaction.attempt.is_compaction() {
                        wrong.push(format!("{compaction:?} after {rounds:?}"));
                    }
                    rounds.push(round);
                    has_failed = compaction.failure.is_some();
                    self.classes.insert(match (&compaction.failure, too_long) {
                        (Some(ModelCallEnd::Cancelled), _) => Class::CancelDuringACompaction,
                        (Some(_), _) => Class::CompactionFailed,
                        (None, Some(_)) => Class::CompactedTooLong,
                        (None, None) => Class::CompactedAtTheShare,
                    });
                }
                Fact::ModelCallEnded {
                    at_once: false,
                    attempt,
                    retry_at: Some(_),
                    why,
                    ..
                } if is_too_long(why) => too_long = Some(attempt.round),
                Fact::ModelCallStarted { .. } => too_long = None,
                _ => {}
            }
        }
        for detail in wrong {
            self.violate(Property::CompactionsKeepTheRest, detail);
        }
        let asks = |action: &Action| matches!(action, Action::CallModel { attempt, .. } if attempt.is_compaction());
        let is_asked = step.actions.iter().any(asks);
        if self.is_recovering() && is_asked {
            self.classes.insert(Class::CompactionLost);
        }
    }
}

/// Whether this fact replaces the beginning of a conversation.
pub(super) fn is_compaction(fact: &Fact) -> bool {
    matches!(fact, Fact::Compacted(compaction) if compaction.failure.is_none())
}
