//! Logs: the log of a turn agrees with its durable state.

use jackfield_domain::ids::WaitId;
use jackfield_domain::time::Now;
use jackfield_domain::tool_loop::Step;
use jackfield_domain::turn_log::TurnLog;

use super::World;
use super::checks::Property;

impl World {
    /// Both are folds of the same facts, by rules of their own.
    pub(crate) fn check_log(&mut self, step: &Step) {
        let mut log: Option<TurnLog> = None;
        for fact in self.committed.iter().chain(&step.facts) {
            TurnLog::track(&mut log, fact, Now::default());
        }
        let turn = self.machine.turn();
        let waits: Vec<&WaitId> = turn.waits().map(|wait| &wait.id).collect();
        let same = log.as_ref().is_some_and(|log| {
            log.turn == *turn.id()
                && log.end().map(|(_, end)| end) == turn.end()
                && (log.rounds, log.resumed) == (turn.rounds(), turn.resume_count())
                && (log.usage(), log.cost()) == (turn.usage(), turn.cost())
                && log.open_waits().count() == waits.len()
                && log.open_waits().all(|open| waits.contains(&&open.wait.id))
        });
        if !same {
            let detail = format!("{log:?}\nis not the log of\n{turn:?}");
            self.violate(Property::LogsAgreeWithTurns, detail);
        }
    }
}
