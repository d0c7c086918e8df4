//! Days: what a process forbids that takes a turn over, and how often one was taken over in vain.

use jackfield_domain::fact::{AfterLoss, Fact, ModelCallEnd};
use jackfield_domain::ids::ToolName;
use jackfield_domain::tool_loop::{Action, Restriction, Step};
use jackfield_domain::turn::Turn;

use super::checks::Property;
use super::oracle::Oracle;
use super::scenario::TOOLS;
use super::{Class, World};

impl World {
    /// Forbids a tool to whoever takes over next, or nothing any more.
    pub(crate) fn forbid(&mut self, pick: u16) {
        let Some(name) = TOOLS.get(usize::from(pick) % (TOOLS.len() + 1)) else {
            self.today.tools.clear();
            return;
        };
        let why = match pick % 3 {
            0 => Restriction::Changed,
            1 => Restriction::Denied("not today".into()),
            _ => Restriction::Gone,
        };
        let name = ToolName::parse(name).expect("a valid name");
        self.today.tools.insert(name, why);
    }

    /// What the last process that took over forbade is not started, by whatever way.
    pub(crate) fn check_today(&mut self, step: &Step) {
        let facts = self.committed.iter().chain(&step.facts);
        let mut resumed = facts.filter_map(|fact| match fact {
            Fact::TurnResumed { restrictions, .. } => Some(restrictions.clone()),
            _ => None,
        });
        let Some(Some(forbidden)) = resumed.next_back() else {
            return;
        };
        let started = step.actions.iter().filter_map(|action| match action {
            Action::RunTool(run) => Some(run.tool.tool.to_string()),
            _ => None,
        });
        let wrong: Vec<String> = started
            .filter(|tool| forbidden.tools.keys().any(|name| name.as_str() == tool))
            .collect();
        if !wrong.is_empty() {
            let detail = format!("{wrong:?} may not start: {forbidden:?}");
            self.violate(Property::ForbiddenIsNotStarted, detail);
        }
    }

    /// By an account of its own: a turn that is taken over while something was under way was tried, and
    /// was tried in vain unless more came of it than that the same was started again.
    pub(crate) fn check_tries(&mut self, step: &Step) {
        let (mut least, mut most) = (0, 0);
        let mut oracle = Oracle::default();
        for fact in self.committed.iter().chain(&step.facts) {
            if matches!(fact, Fact::TurnResumed { .. }) {
                least += u32::from(oracle.open_reply.is_some() || oracle.is_at_work());
                most += 1;
            } else if !is_in_vain(fact) {
                (least, most) = (0, 0);
            }
            oracle.apply(fact);
        }
        let turn = self.machine.turn();
        let counted = turn.resumes_without_progress();
        let is_right = (least..=most).contains(&counted);
        let is_parked = turn.is_parked() == (counted >= Turn::MAX_RESUMES_WITHOUT_PROGRESS);
        if !is_right || !is_parked {
            let detail = format!("{least} to {most} tries were in vain, not {counted}");
            self.violate(Property::TriesInVainAreCounted, detail);
        }
        if self.machine.turn().is_parked() {
            self.classes.insert(Class::Parked);
        }
    }
}

/// Whether a process that takes a turn over may write this and have come no further.
const fn is_in_vain(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::CallLost {
            then: AfterLoss::Repeat,
            ..
        } | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded {
                why: ModelCallEnd::Lost,
                ..
            }
            | Fact::ModelCallStarted { .. }
    )
}
