//! Targets: which model is called, and how often one is called again at once.

use jackfield_domain::fact::{Fact, ModelCallEnd};
use jackfield_domain::failure::{ModelFailureKind, RetryAdvice};
use jackfield_domain::tool_loop::Step;
use jackfield_domain::wait::WaitKind;

use super::checks::Property;
use super::{Class, World};

impl World {
    /// By an account of its own: a turn goes from one target to the next, in order, and only after a failure that
    /// is not the request's. An attempt that follows at once is in the step of the failure, and the same target is
    /// called at once at most twice in a round.
    pub(crate) fn check_targets(&mut self, step: &Step) {
        let pauses = |fact: &Fact| matches!(fact, Fact::WaitOpened { wait } if matches!(wait.kind, WaitKind::Budget { .. }));
        if step.facts.iter().any(pauses) {
            self.classes.insert(Class::WaitingBudget);
        }
        if self.setup.route.is_some() {
            return self.check_route(step);
        }
        let last = self.setup.fallbacks.len();
        let (mut target, mut round, mut at_once) = (0, 0, 0);
        let mut failed: Option<(bool, ModelFailureKind, RetryAdvice)> = None;
        let mut wrong = Vec::new();
        for fact in self.committed.iter().chain(&step.facts) {
            match fact {
                Fact::ModelCallEnded { at_once, why, .. } => {
                    failed = match why {
                        ModelCallEnd::Failed(failure) => {
                            Some((*at_once, failure.kind, failure.advice))
                        }
                        ModelCallEnd::Cancelled | ModelCallEnd::Lost => None,
                    };
                }
                Fact::ModelCallStarted {
                    attempt,
                    choice,
                    target: to,
                    ..
                } => {
                    let failure = failed.take();
                    let follows = failure.is_some_and(|(at_once, ..)| at_once);
                    if attempt.round != round || *to != target {
                        at_once = 0;
                    }
                    if *to != target {
                        self.classes.insert(Class::Fallback);
                        let is_next = *to == target + 1 && *to as usize <= last;
                        let may = failure.is_some_and(|(at_once, kind, _)| {
                            at_once
                                && !matches!(
                                    kind,
                                    ModelFailureKind::InvalidRequest | ModelFailureKind::TooLarge
                                )
                        });
                        if !is_next || !may || choice.is_none() {
                            wrong.push(format!("from {target} to {to} after {failure:?}"));
                        }
                    } else if follows {
                        at_once += 1;
                        self.classes.insert(Class::RepeatedAtOnce);
                        let advised =
                            failure.is_some_and(|(_, _, advice)| advice == RetryAdvice::AtOnce);
                        if at_once > 2 || !advised {
                            wrong.push(format!("{at_once} at once after {failure:?}"));
                        }
                    }
                    (target, round) = (*to, attempt.round);
                }
                _ => {}
            }
        }
        let follows = |fact: &Fact| matches!(fact, Fact::ModelCallEnded { at_once: true, .. });
        let begins =
            |fact: &Fact| matches!(fact, Fact::ModelCallStarted { .. } | Fact::TurnEnded { .. });
        if let Some(place) = step.facts.iter().position(follows)
            && !step.facts.iter().skip(place).any(begins)
        {
            wrong.push("nothing follows at once".to_owned());
        }
        for detail in wrong {
            self.violate(Property::TargetsFollowTheSetup, detail);
        }
    }
}
