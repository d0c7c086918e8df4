//! Routes: which target of one is called, by an account of its own.

use std::collections::BTreeSet;

use jackfield_domain::fact::{Fact, ModelCallEnd, TurnEnd};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, RetryAdvice};
use jackfield_domain::setup::Setup;
use jackfield_domain::target::{BreakerSnapshot, TargetChoice, TargetReason};
use jackfield_domain::tool_loop::{Input, Step};

use super::checks::Property;
use super::{Class, World};

/// What was found in a step.
#[derive(Default)]
struct Found {
    classes: Vec<Class>,
    wrong: Vec<String>,
}

/// What is known of the targets while the facts are gone through.
#[derive(Default)]
struct Account {
    /// Whether an answer of the model, or nothing, came last, so that a round begins.
    begins: bool,
    /// Those that failed since the last pause.
    failed: BTreeSet<u32>,
    /// Those that will not be called again in this round.
    for_good: BTreeSet<u32>,
    is_filtered: bool,
    /// Whether the last one was called as the last that was left.
    is_last_left: bool,
    /// The failure that the next attempt follows.
    last: Option<ModelFailure>,
    /// Those that were passed over since the last pause, as their breakers were not closed.
    passed_over: BTreeSet<u32>,
    pauses: u32,
    target: Option<u32>,
    /// Those that wrote an unusable reply in this round.
    unusable: BTreeSet<u32>,
    /// Those whose window is too small.
    too_small: BTreeSet<u32>,
}

impl World {
    /// The breakers of the setup's targets that are not closed, as an engine sees them.
    pub(super) fn snapshots(&self) -> Vec<BreakerSnapshot> {
        let targets = self.setup.targets();
        let own = self
            .breakers
            .iter()
            .filter(|(target, _)| **target < targets);
        own.map(|(target, retry_at)| BreakerSnapshot {
            retry_at: *retry_at,
            target: *target,
        })
        .collect()
    }

    /// Shows the breakers to the loop, which must decide nothing by that.
    pub(super) fn show_breakers(&mut self) {
        if self.setup.route.is_none() {
            return;
        }
        let before = self.machine.turn().clone();
        let seen = Input::BreakersSeen(self.snapshots());
        let step = self.machine.handle(seen, self.now);
        let is_idle = step.facts.is_empty() && step.actions.is_empty();
        if !is_idle || before != *self.machine.turn() {
            let detail = format!("looking at breakers did something: {step:?}");
            self.violate(Property::TargetsFollowTheSetup, detail);
        }
    }

    /// Which target each attempt calls, and that no turn ends while one is left.
    pub(super) fn check_route(&mut self, step: &Step) {
        let shown = self.snapshots();
        let mut account = Account {
            begins: true,
            ..Account::default()
        };
        let mut found = Found::default();
        for fact in &self.committed {
            account.apply(fact, &self.setup);
        }
        for fact in &step.facts {
            if let Fact::ModelCallStarted { choice, target, .. } = fact {
                let choice = choice.as_deref();
                if choice.is_some_and(|choice| choice.breakers != shown) {
                    let detail = format!("{choice:?} does not say what was seen: {shown:?}");
                    found.wrong.push(detail);
                }
                self.check_choice(&account, *target, choice, &mut found);
            }
            if let Fact::TurnEnded { end, .. } = fact {
                self.check_route_end(&account, end, &mut found.wrong);
            }
            let pauses = account.pauses;
            account.apply(fact, &self.setup);
            if account.pauses > pauses {
                found.classes.push(Class::RoutePaused);
            }
        }
        self.classes.extend(found.classes);
        for detail in found.wrong {
            self.violate(Property::TargetsFollowTheSetup, detail);
        }
    }

    fn check_choice(
        &self,
        account: &Account,
        target: u32,
        choice: Option<&TargetChoice>,
        Found { classes, wrong }: &mut Found,
    ) {
        let is_same = account.target == Some(target);
        let Some(choice) = choice else {
            if is_same {
                classes.push(Class::RouteStayed);
            } else {
                wrong.push(format!(
                    "from {:?} to {target} without a reason",
                    account.target
                ));
            }
            // It stayed where breakers spoke against it, unless it was not asked where to go.
            let breakers = self.snapshots();
            let is_asked = account.begins || !account.repeats();
            if is_asked
                && !breakers.is_empty()
                && account.left(&self.setup).len() > 1
                && !account.is_last_left
            {
                wrong.push(format!("{target} again, whatever {breakers:?} say"));
            }
            return;
        };
        let is_blocked = |target: u32| {
            let mut breakers = choice.breakers.iter();
            breakers
                .any(|one| one.target == target && one.retry_at.is_none_or(|at| at > self.now.wall))
        };
        let left = account.left(&self.setup);
        if !left.contains(&target) {
            wrong.push(format!("{target} is not left among {left:?}"));
        }
        let free: Vec<u32> = left
            .iter()
            .copied()
            .filter(|one| !is_blocked(*one))
            .collect();
        let preferred = if account.begins && account.target.is_none() {
            self.setup.affinity
        } else if account.begins || account.last.is_none() {
            account.target
        } else {
            None
        };
        let expected = match preferred.filter(|preferred| free.contains(preferred)) {
            Some(preferred) => Some(preferred),
            None => free.first().copied(),
        };
        // What is too dear is left out, too, which other properties are about.
        let has_budget = self.setup.allowance.cost.is_some();
        match (expected, choice.reason) {
            _ if has_budget => {}
            (Some(expected), reason) if expected == target && reason != TargetReason::LastLeft => {}
            (None, TargetReason::LastLeft) => {
                classes.push(Class::RouteLastLeft);
            }
            _ => wrong.push(format!(
                "{target} for {:?}, where {expected:?} is due of {left:?}",
                choice.reason
            )),
        }
        if account.last.is_some() && !is_same {
            classes.push(Class::RouteHopped);
        }
        if self.setup.is_for_content_filter(target) {
            classes.push(Class::FilteredElsewhere);
        }
        if left
            .first()
            .is_some_and(|first| is_blocked(*first) && *first != target)
        {
            classes.push(Class::RouteKeptOut);
        }
    }

    /// A turn fails only when no target is left that could have been called.
    fn check_route_end(&self, account: &Account, end: &TurnEnd, wrong: &mut Vec<String>) {
        let (TurnEnd::Failed(_), Some(last)) = (end, &account.last) else {
            return;
        };
        let is_clients = matches!(
            last.kind,
            ModelFailureKind::BudgetExhausted
                | ModelFailureKind::InvalidRequest
                | ModelFailureKind::TooLarge
        );
        let mut left = account.left(&self.setup);
        left.retain(|target| !account.passed_over.contains(target));
        if !is_clients && !left.is_empty() {
            wrong.push(format!("{left:?} were left after {last:?}"));
        }
        let may_pass = last.advice == RetryAdvice::Backoff && is_transient(last.kind);
        let has_later = !account.left_after_pause(&self.setup).is_empty();
        if may_pass && has_later && account.pauses < self.setup.limits.model_retries {
            wrong.push(format!("no pause after {last:?}"));
        }
    }
}

impl Account {
    /// Whether the last failure is followed by the same call.
    fn repeats(&self) -> bool {
        let mut last = self.last.iter();
        last.any(|last| last.advice == RetryAdvice::AtOnce)
    }

    fn left(&self, setup: &Setup) -> BTreeSet<u32> {
        let mut left = self.left_after_pause(setup);
        left.retain(|target| !self.failed.contains(target));
        left
    }

    fn left_after_pause(&self, setup: &Setup) -> BTreeSet<u32> {
        (0..setup.targets())
            .filter(|target| setup.is_for_content_filter(*target) == self.is_filtered)
            .filter(|target| !self.for_good.contains(target))
            .filter(|target| !self.too_small.contains(target))
            .collect()
    }

    fn apply(&mut self, fact: &Fact, setup: &Setup) {
        match fact {
            Fact::ModelCallStarted { choice, target, .. } => {
                self.begins = false;
                self.last = None;
                self.failed.remove(target);
                self.for_good.remove(target);
                self.target = Some(*target);
                if let Some(choice) = choice {
                    self.is_last_left = choice.reason == TargetReason::LastLeft;
                }
                if self.is_last_left {
                    self.passed_over = self.left(setup);
                    self.passed_over.remove(target);
                }
            }
            // The same target is called when there is room in the budget.
            Fact::ModelCallEnded {
                retry_at: Some(_),
                why: ModelCallEnd::Failed(failure),
                ..
            } if failure.is_of_budget() => self.last = None,
            Fact::ModelCallEnded {
                at_once,
                retry_at,
                why: ModelCallEnd::Failed(failure),
                ..
            } => {
                self.last = Some(failure.clone());
                let Some(target) = self.target else {
                    return;
                };
                self.failed.insert(target);
                let again = failure.kind == ModelFailureKind::UnusableReply
                    && failure.advice != RetryAdvice::Never
                    && self.unusable.insert(target);
                if !again && (failure.advice == RetryAdvice::Never || !is_transient(failure.kind)) {
                    self.for_good.insert(target);
                }
                if failure.kind == ModelFailureKind::ContentFilter {
                    self.is_filtered = true;
                    self.is_last_left = false;
                    self.passed_over.clear();
                }
                if matches!(failure.kind, ModelFailureKind::ContextTooLong { .. }) {
                    self.is_last_left = false;
                    self.passed_over.clear();
                }
                if let ModelFailureKind::ContextTooLong { limit, .. } = failure.kind
                    && let Some(window) = limit.or_else(|| setup.window_of(target))
                {
                    for other in 0..setup.targets() {
                        if setup.window_of(other).is_some_and(|one| one <= window) {
                            self.too_small.insert(other);
                        }
                    }
                }
                if !at_once && retry_at.is_some() {
                    self.failed.clear();
                    self.passed_over.clear();
                    self.is_last_left = false;
                    self.pauses += 1;
                }
            }
            Fact::ReplyReceived { .. } => {
                self.begins = true;
                self.last = None;
                self.failed.clear();
                self.for_good.clear();
                self.passed_over.clear();
                self.is_last_left = false;
                self.unusable.clear();
                self.pauses = 0;
            }
            Fact::Compacted(compaction) if compaction.failure.is_some() => self.last = None,
            Fact::Compacted(_) => {
                self.last = None;
                self.failed.clear();
                self.for_good.clear();
                self.passed_over.clear();
                self.is_last_left = false;
                self.too_small.clear();
            }
            _ => {}
        }
    }
}

/// Whether the same request may be answered by the same target later.
const fn is_transient(kind: ModelFailureKind) -> bool {
    matches!(
        kind,
        ModelFailureKind::Interrupted
            | ModelFailureKind::Overloaded
            | ModelFailureKind::ProtocolViolation
            | ModelFailureKind::RateLimited
            | ModelFailureKind::ServerError
            | ModelFailureKind::Timeout
            | ModelFailureKind::Transport
    )
}
