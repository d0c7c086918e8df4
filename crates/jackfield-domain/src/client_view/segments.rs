//! Segments: the parts of a turn, each of which is one reply to a client.

use std::sync::Arc;

use crate::caller::Repeats;
use crate::fact::{Envelope, Fact};
use crate::ids::TurnId;
use crate::session_events::FactEvent;
use crate::turn::Turn;
use crate::wait::{Answer, ClientResult, WaitEnd};

/// Finds the boundaries of a turn's segments from its facts.
///
/// A segment ends where the turn only waits and at least one client tool result is missing, at most once per
/// round. Everything after it belongs to the reply to the request that brings the results. The last segment
/// ends with the turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Segments {
    /// The round in which a segment last ended; 0 if none has.
    last_ended_round: u32,
    current: u32,
    turn: Turn,
}

impl Segments {
    /// The turn that this fact opens; `None` if it opens none.
    ///
    /// Earlier messages of the session are not needed.
    #[must_use]
    pub fn open(fact: &Fact) -> Option<Self> {
        let Fact::TurnOpened {
            opening,
            ordinal,
            setup,
            turn,
        } = fact
        else {
            return None;
        };
        let before = Arc::default();
        Some(Self {
            last_ended_round: 0,
            current: 0,
            turn: Turn::open(turn.clone(), *ordinal, &before, opening, setup),
        })
    }

    /// Applies the next fact. Returns whether a segment ends after it, other than by the turn's end. `is_last`
    /// is whether it is the last event of its step: within a step, the turn does not wait.
    pub fn apply(&mut self, fact: &Fact, is_last: bool) -> bool {
        self.turn.apply(fact);
        let turn = &self.turn;
        let ends = is_last && turn.rounds() != self.last_ended_round && turn.waits_for_client();
        if ends {
            self.last_ended_round = turn.rounds();
            self.current += 1;
        }
        ends
    }

    /// The current segment, from 0.
    #[must_use]
    pub const fn current(&self) -> u32 {
        self.current
    }

    /// The turn, as far as its own facts determine it.
    #[must_use]
    pub const fn turn(&self) -> &Turn {
        &self.turn
    }
}

/// The number of facts of the session before this turn: the place from which its events start. `None` if there
/// is no such turn.
#[must_use]
pub fn facts_before(steps: &[Envelope], turn: &TurnId) -> Option<u64> {
    let facts = steps.iter().flat_map(|step| &step.facts);
    let opens = |fact: &Fact| matches!(fact, Fact::TurnOpened { turn: of, .. } if of == turn);
    let place = facts.into_iter().position(opens)?;
    u64::try_from(place).ok()
}

/// The parts of the request that a segment's reply repeats: of the request that began the turn, or of the one
/// that brought the client tool results before the segment. `None` if there is no such segment, or the parts
/// were not recorded.
#[must_use]
pub fn repeats(steps: &[Envelope], turn: &TurnId, segment: u32) -> Option<Arc<Repeats>> {
    let opens = |fact: &Fact| matches!(fact, Fact::TurnOpened { turn: of, .. } if of == turn);
    let facts = steps.iter().flat_map(event_facts);
    let mut facts = facts.skip_while(|(fact, _)| !opens(fact));
    let mut segments = Segments::open(facts.next()?.0)?;
    if segment == 0 {
        let caller = segments.turn().setup().caller.as_ref()?;
        return Some(Arc::new(Repeats {
            echo: Arc::clone(caller.echo.as_ref()?),
            model: Arc::clone(&caller.model),
        }));
    }
    for (fact, is_last) in facts {
        if matches!(fact, Fact::TurnOpened { .. }) || segments.current() > segment {
            break;
        }
        if segments.current() == segment
            && let Fact::WaitClosed { end, .. } = fact
            && let WaitEnd::Answered { answer, .. } = end
            && let Answer::ClientResult(ClientResult {
                repeats: Some(repeats),
                ..
            }) = answer
        {
            return Some(Arc::clone(repeats));
        }
        segments.apply(fact, is_last);
    }
    None
}

/// The facts of a step that are events, each with whether it is the last one.
pub(crate) fn event_facts(step: &Envelope) -> impl Iterator<Item = (&Fact, bool)> {
    let is_event = |fact: &&Fact| FactEvent::from_fact(fact) != FactEvent::Nothing;
    let last = step.facts.iter().rposition(|fact| is_event(&fact));
    let facts = step.facts.iter().enumerate();
    facts
        .filter(move |(_, fact)| is_event(fact))
        .map(move |(place, fact)| (fact, last == Some(place)))
}
