//! What is in the journal, read by the next process.

use std::collections::BTreeSet;

use jackfield_domain::fact::{CallEnd, Fact, TurnEnd};
use jackfield_domain::ids::{IdempotencyKey, ToolCallId};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::sessions::SessionQuery;
use serde_json::Value;

use crate::world::{World, session};

/// The facts of the session.
pub(crate) struct Kept {
    pub(crate) facts: Vec<Fact>,
}

impl Kept {
    /// Reads them.
    pub(crate) async fn read(world: &World) -> Self {
        let mut kept = Self { facts: Vec::new() };
        let Some(journal) = world.journal() else {
            return kept;
        };
        match journal.load(&session()).await {
            Ok(loaded) => {
                let steps = loaded.steps.into_iter();
                kept.facts = steps.flat_map(|step| step.facts).collect();
            }
            Err(JournalError::UnknownSession { .. }) => {}
            Err(error) => panic!("the journal cannot be read: {error:?}"),
        }
        journal.close().await;
        kept
    }

    /// Reads those of all sessions, one after another.
    pub(crate) async fn read_all(world: &World) -> Self {
        let mut kept = Self { facts: Vec::new() };
        let Some(journal) = world.journal() else {
            return kept;
        };
        let all = SessionQuery {
            limit: 100,
            ..SessionQuery::default()
        };
        let rows = journal.sessions(&all).await.expect("a list");
        for row in rows {
            let loaded = journal.load(&row.session).await.expect("a session");
            let steps = loaded.steps.into_iter();
            kept.facts.extend(steps.flat_map(|step| step.facts));
        }
        journal.close().await;
        kept
    }

    /// How many turns have begun.
    pub(crate) fn turns(&self) -> usize {
        let opened = |fact: &&Fact| matches!(fact, Fact::TurnOpened { .. });
        self.facts.iter().filter(opened).count()
    }

    /// Whether there is a turn.
    pub(crate) fn has_begun(&self) -> bool {
        !self.facts.is_empty()
    }

    /// How the turn ended.
    pub(crate) fn end(&self) -> Option<&TurnEnd> {
        self.facts.iter().find_map(|fact| match_end(fact))
    }

    /// Whether there is a turn that has not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.has_begun() && self.end().is_none()
    }

    /// Where the turn is, in words.
    pub(crate) fn state(&self) -> String {
        let mut state = "nothing".to_owned();
        let mut round = 0;
        for fact in &self.facts {
            if let Fact::ModelCallStarted { attempt, .. } = fact {
                round = attempt.round;
                state = format!("round {round}, model");
            } else if let Fact::CallStarted { .. } = fact {
                state = format!("round {round}, calls");
            } else if let Fact::WaitOpened { .. } = fact {
                state = format!("round {round}, waiting");
            } else if let Fact::TurnEnded { .. } = fact {
                "ended".clone_into(&mut state);
            }
        }
        state
    }

    /// The calls that have run and have an outcome.
    pub(crate) fn finished(&self) -> BTreeSet<String> {
        let finished = self
            .facts
            .iter()
            .filter_map(|fact| match fact_closed(fact) {
                Some((call, CallEnd::Ran)) => {
                    Some(IdempotencyKey::derive(call).as_str().to_owned())
                }
                _ => None,
            });
        finished.collect()
    }

    /// Whether what was told is there.
    pub(crate) fn holds(&self, told: &Value) -> bool {
        self.facts.iter().any(|fact| is_told(fact, told)) || !is_durable(told)
    }
}

/// Whether an event is one of those that a fact is told by.
fn is_durable(told: &Value) -> bool {
    let event = told["event"].as_str().unwrap_or_default();
    DURABLE.contains(&event)
}

/// Whether this is the fact that was told.
fn is_told(fact: &Fact, told: &Value) -> bool {
    let event = told["event"].as_str().unwrap_or_default();
    if let Fact::TurnOpened { turn, .. } = fact {
        return event == "turn_started" && told["turn"] == turn.as_str();
    }
    if let Fact::ModelCallStarted { attempt, .. } = fact {
        return event == "round_started"
            && told["round"] == attempt.round
            && told["attempt"] == attempt.attempt;
    }
    if let Fact::CallStarted { attempt, .. } = fact {
        return event == "tool_started"
            && told["id"] == attempt.call.as_str()
            && told["attempt"] == attempt.attempt;
    }
    if let Some((call, _)) = fact_closed(fact) {
        return event == "tool_finished" && told["id"] == call.as_str();
    }
    if let Fact::WaitOpened { wait } = fact {
        return event == "wait" && told["id"] == wait.id.as_str();
    }
    match_end(fact).is_some() && event == "turn_ended"
}

const fn match_end(fact: &Fact) -> Option<&TurnEnd> {
    if let Fact::TurnEnded { end, .. } = fact {
        return Some(end);
    }
    None
}

const fn fact_closed(fact: &Fact) -> Option<(&ToolCallId, CallEnd)> {
    if let Fact::CallClosed { call, end, .. } = fact {
        return Some((call, *end));
    }
    None
}

/// Events that are told of facts.
const DURABLE: &[&str] = &[
    "round_started",
    "tool_finished",
    "tool_started",
    "turn_ended",
    "turn_started",
    "wait",
];
