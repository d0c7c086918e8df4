//! What the world's provider charged, apart from what the journal says of it.

use std::collections::{BTreeMap, BTreeSet};

use jackfield_domain::fact::{Fact, ModelCallEnd};
use jackfield_domain::failure::Phase;
use jackfield_domain::ids::ModelAttempt;
use jackfield_domain::price::Money;
use jackfield_domain::session::Session;
use jackfield_domain::tool_loop::{Input, Step};
use jackfield_domain::usage::Usage;

use super::answers::SO_FAR;
use super::{Class, Property, World};

/// What the provider charged.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Counts that were told, and whose telling was committed.
    counted: BTreeMap<ModelAttempt, Usage>,
    /// A count that was told in the step that is not committed yet.
    telling: Option<(ModelAttempt, Usage)>,
}

impl Ledger {
    /// Somebody tells the loop something.
    pub(crate) fn tell(&mut self, input: &Input) {
        self.telling = match input {
            Input::ReplyEnded { attempt, end } => end
                .usage
                .filter(|usage| usage.total() > 0)
                .map(|usage| (*attempt, usage)),
            _ => None,
        };
    }

    /// What was told is committed, or needs no commit.
    pub(crate) fn commit(&mut self) {
        if let Some((attempt, usage)) = self.telling.take() {
            self.counted.entry(attempt).or_insert(usage);
        }
    }

    /// What was told is lost.
    pub(crate) fn lose(&mut self) {
        self.telling = None;
    }
}

impl World {
    /// The journal's sum is what the world charged: every count once, and an estimate, marked as
    /// one, for every try that the provider may have worked on and that nobody counted.
    pub(crate) fn check_spending(&mut self) {
        let mut uncounted: BTreeMap<ModelAttempt, Usage> = BTreeMap::new();
        let mut owed: BTreeSet<ModelAttempt> = BTreeSet::new();
        let counted = &self.ledger.counted;
        for fact in &self.committed {
            let may_have_used = match fact {
                Fact::ReplyReceived { attempt, .. } => Some(attempt),
                Fact::Compacted(compaction) => match &compaction.failure {
                    Some(ModelCallEnd::Failed(failure)) => {
                        (failure.phase == Phase::MidReply).then_some(&compaction.attempt)
                    }
                    Some(ModelCallEnd::Cancelled | ModelCallEnd::Lost) | None => {
                        Some(&compaction.attempt)
                    }
                },
                Fact::ModelCallEnded { attempt, why, .. } => match why {
                    ModelCallEnd::Cancelled | ModelCallEnd::Lost => Some(attempt),
                    ModelCallEnd::Failed(failure) => {
                        (failure.phase == Phase::MidReply).then_some(attempt)
                    }
                },
                _ => None,
            };
            owed.extend(may_have_used.filter(|attempt| !counted.contains_key(attempt)));
            if let Some((attempt, usage)) = fact.usage()
                && !counted.contains_key(&attempt)
            {
                uncounted.insert(attempt, usage);
            }
        }
        let mut all = Usage::default();
        counted.values().for_each(|usage| all += *usage);
        uncounted.values().for_each(|usage| all += *usage);
        let marked = uncounted
            .values()
            .all(|usage| match usage.without_estimates() {
                SO_FAR => usage.estimated_input == 0 && usage.estimated_output > 0,
                counted => counted == Usage::default() && usage.total() > 0,
            });
        let complete = owed.iter().all(|attempt| uncounted.contains_key(attempt));
        // What an open turn tells is told by its fold; of one that is over the machine is left.
        let folded = Session::fold(self.session().clone(), &self.committed);
        let told = folded.open_turn().map_or_else(
            || self.machine.turn().usage(),
            jackfield_domain::turn::Turn::usage,
        );
        if told != all || !marked || !complete {
            let detail = format!(
                "{told:?} is told, {all:?} was charged: counted {counted:?}, not {uncounted:?}, owed {owed:?}"
            );
            self.violate(Property::SpendingAddsUp, detail);
        }
        if !uncounted.is_empty() {
            self.classes.insert(Class::EstimatedUsage);
        }
        if uncounted
            .values()
            .any(|usage| usage.without_estimates() == SO_FAR)
        {
            self.classes.insert(Class::CountedInPart);
        }
        let settled = |fact: &Fact| {
            fact.usage().is_some_and(|(attempt, usage)| {
                usage.estimated() > 0 && self.ledger.counted.contains_key(&attempt)
            })
        };
        if self.committed.iter().any(settled) {
            self.classes.insert(Class::EstimateSettled);
        }
    }

    /// No model call begins that the rest of the allowance does not pay for.
    pub(crate) fn check_paid(&mut self, step: &Step) {
        let allowance = self.setup.allowance;
        let output = 4096;
        let mut used: BTreeMap<ModelAttempt, Usage> = BTreeMap::new();
        let mut targets: BTreeMap<ModelAttempt, u32> = BTreeMap::new();
        let mut unpaid = None;
        for fact in self.committed.iter().chain(&step.facts) {
            if let Fact::Compacted(compaction) = fact {
                let last = targets.values().last().copied().unwrap_or(0);
                targets.insert(compaction.attempt, last);
            }
            if let Some((attempt, usage)) = fact.usage() {
                let known = used.entry(attempt).or_insert(usage);
                if known.estimated() > 0 {
                    *known = usage;
                }
            }
            if let Fact::ModelCallStarted {
                attempt, target, ..
            } = fact
            {
                targets.insert(*attempt, *target);
                let next = Usage::estimate(0, output);
                let mut all = next;
                used.values().for_each(|usage| all += *usage);
                let priced = |target, usage: &Usage| {
                    let price = self.setup.price_of(target)?;
                    price.cost(usage)
                };
                let spent = used.iter().map(|(attempt, usage)| {
                    let target = targets.get(attempt).copied().unwrap_or(0);
                    priced(target, usage)
                });
                let cost = spent.chain([priced(*target, &next)]).sum::<Option<Money>>();
                let dear = allowance
                    .cost
                    .is_some_and(|most| cost.is_none_or(|cost| cost > most));
                if dear || allowance.tokens.is_some_and(|most| all.total() > most) {
                    unpaid = Some(format!(
                        "{attempt:?} with {all:?}, {cost:?} of {allowance:?}"
                    ));
                }
            }
        }
        if let Some(detail) = unpaid {
            self.violate(Property::PaysForWhatItBegins, detail);
        }
    }
}
