//! Offers: which tools a model is offered, and that it can call no others.

use jackfield_domain::fact::Fact;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool_loop::{Action, Step};

use super::checks::Property;
use super::scenario::HIDDEN;
use super::{Class, World};

impl World {
    /// What a request offers begins with what the one before it offered, so that a provider's cache stays valid; and
    /// what runs was offered by the last one.
    pub(crate) fn check_offers(&mut self, step: &Step) {
        let mut offered: Vec<Vec<String>> = self.asked.iter().filter_map(offer).collect();
        let (mut appended, mut unoffered) = (Vec::new(), Vec::new());
        for action in &step.actions {
            if let Some(now) = offer(action) {
                if let Some(before) = offered.last()
                    && !now.starts_with(before)
                {
                    appended.push(format!("{before:?}, then {now:?}"));
                }
                offered.push(now);
            }
            if let Action::RunTool(run) = action {
                let name = run.tool.tool.to_string();
                if name == HIDDEN {
                    self.classes.insert(Class::RevealedRan);
                }
                if !offered.last().is_some_and(|offer| offer.contains(&name)) {
                    unoffered.push(format!("{name} is not among {:?}", offered.last()));
                }
            }
        }
        let reveals = |fact: &Fact| {
            matches!(
                fact,
                Fact::CallClosed {
                    revealed: Some(_),
                    ..
                }
            )
        };
        if step.facts.iter().any(reveals) {
            self.classes.insert(Class::RevealedTool);
        }
        for detail in appended {
            self.violate(Property::OffersAreAppended, detail);
        }
        for detail in unoffered {
            self.violate(Property::OnlyOfferedToolsRun, detail);
        }
    }
}

/// The names of the tools that a model call offers, if it is one of a round.
fn offer(action: &Action) -> Option<Vec<String>> {
    let Action::CallModel { attempt, request } = action else {
        return None;
    };
    let ModelRequest { tools, .. } = &**request;
    let names = tools.iter().map(|tool| tool.name.to_string());
    (!attempt.is_compaction()).then(|| names.collect())
}
