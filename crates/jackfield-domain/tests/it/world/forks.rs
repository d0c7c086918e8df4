//! Forks: wherever a turn can be forked, what comes of it is a conversation like any other.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackfield_domain::fact::Fact;
use jackfield_domain::fork;
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::rules;
use jackfield_domain::session::Session;
use jackfield_domain::tool_loop::Step;

use super::{Class, Property, World};

impl World {
    /// Forks at every place, once the turn has ended.
    pub(super) fn check_forks(&mut self, step: &Step) {
        if !step
            .facts
            .iter()
            .any(|fact| matches!(fact, Fact::TurnEnded { .. }))
        {
            return;
        }
        let facts: Vec<Fact> = self.committed.iter().chain(&step.facts).cloned().collect();
        let from = self.session().clone();
        let places = fork::places(from.clone(), &facts);
        let rounds = places.iter().filter_map(|place| place.round);
        let rounds: Vec<u32> = rounds.collect();
        let distinct: BTreeSet<u32> = rounds.iter().copied().collect();
        let ends = places.iter().filter(|place| place.round.is_none());
        if distinct.len() != rounds.len() || ends.count() != 1 {
            self.violate(Property::ForksAreValid, format!("{rounds:?}"));
        }
        for at in places {
            let history = fork::history_until(from.clone(), &facts, &at).expect("a place");
            let messages = history.messages;
            if messages.last().map(|last| last.role) == Some(Role::Tool) {
                self.classes.insert(Class::ForkAfterOutcomes);
            }
            let forked = Fact::SessionForked {
                at: at.clone(),
                from: from.clone(),
                messages: Arc::clone(&messages),
                revealed: history.revealed,
            };
            let fork = SessionId::parse("fork").expect("an id");
            let session = Session::fold(fork, [&forked]);
            let next = Arc::new(Message::user("And then?"));
            let said = session.messages();
            let request = said.iter().chain([&next]);
            if let Err(violation) = rules::check_request(request) {
                let detail = format!("{at:?}: {violation}");
                self.violate(Property::ForksAreValid, detail);
            }
            if said != messages || session.turns() != 0 {
                self.violate(Property::ForksAreValid, "another conversation".to_owned());
            }
        }
    }
}
