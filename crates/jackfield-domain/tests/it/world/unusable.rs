//! Replies that a provider cannot read: how often one is asked for again.

use jackfield_domain::fact::{Fact, ModelCallEnd};
use jackfield_domain::failure::{ModelFailureKind, RetryAdvice};
use jackfield_domain::tool_loop::Step;

use super::checks::Property;
use super::{Class, World};

impl World {
    /// By an account of its own: the first unusable reply of a round is asked for again like any other failure, and
    /// the second one ends the turn.
    pub(crate) fn check_unusable(&mut self, step: &Step) {
        let (mut round, mut failures, mut unusable, mut target) = (0, 0, 0, 0);
        let mut wrong = None;
        for fact in self.committed.iter().chain(&step.facts) {
            if let Fact::ModelCallStarted { target: to, .. } = fact
                && *to != target
            {
                (target, failures, unusable) = (*to, 0, 0);
            }
            let Fact::ModelCallEnded {
                at_once: false,
                attempt,
                partial,
                retry_at,
                why: ModelCallEnd::Failed(failure),
                ..
            } = fact
            else {
                continue;
            };
            if attempt.round != round {
                (round, failures, unusable) = (attempt.round, 0, 0);
            }
            if failure.kind == ModelFailureKind::UnusableReply {
                unusable += 1;
                let may = failure.advice == RetryAdvice::Backoff
                    && partial.is_none()
                    && failures < self.setup.limits.model_retries;
                let is_wrong = unusable > 1 && retry_at.is_some()
                    || unusable == 1 && may && retry_at.is_none();
                // A route asks its other targets first, which has an account of its own.
                if is_wrong && self.setup.route.is_none() {
                    wrong = Some(format!(
                        "unusable reply {unusable} of round {round}: {retry_at:?}"
                    ));
                }
                if unusable > 1 {
                    self.classes.insert(Class::UnusableReplyAgain);
                }
            }
            failures += 1;
        }
        if let Some(detail) = wrong {
            self.violate(Property::UnusableRepliesAreAskedForOnceMore, detail);
        }
    }
}
