//! Segments: the parts of a turn that one reply to a client tells each.

use std::sync::Arc;

use crate::caller::Repeats;
use crate::fact::{Envelope, Fact};
use crate::ids::TurnId;
use crate::session_events::FactEvent;
use crate::turn::Turn;
use crate::wait::{Answer, ClientResult, WaitEnd};

/// Where one reply to a client ends and the next one begins, from the facts of a turn.
///
/// A reply ends where the turn only waits and at least one result of its client is missing, once in each
/// round: whatever happens then belongs to the reply to the request that brings the results. The last one
/// ends with the turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Segments {
    /// The round within which a reply has ended last; 0 if none has.
    ended_in: u32,
    now: u32,
    turn: Turn,
}

impl Segments {
    /// The turn that this fact opens; `None` if it opens none.
    ///
    /// What was said before is not needed here, and not known.
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
            ended_in: 0,
            now: 0,
            turn: Turn::open(turn.clone(), *ordinal, &before, opening, setup),
        })
    }

    /// Takes the next fact, and says whether a reply ends behind it, but for the turn's end. `is_last` is
    /// whether nothing more is told of its step: within a step, nobody waits for anything.
    pub fn apply(&mut self, fact: &Fact, is_last: bool) -> bool {
        self.turn.apply(fact);
        let turn = &self.turn;
        let ends = is_last && turn.rounds() != self.ended_in && turn.waits_for_client();
        if ends {
            self.ended_in = turn.rounds();
            self.now += 1;
        }
        ends
    }

    /// Which reply is being told, from 0.
    #[must_use]
    pub const fn now(&self) -> u32 {
        self.now
    }

    /// The turn, as far as its own facts tell it.
    #[must_use]
    pub const fn turn(&self) -> &Turn {
        &self.turn
    }
}

/// How many facts of a session come before this turn: where telling it begins. `None` if there is no such
/// turn.
#[must_use]
pub fn facts_before(steps: &[Envelope], turn: &TurnId) -> Option<u64> {
    let facts = steps.iter().flat_map(|step| &step.facts);
    let opens = |fact: &Fact| matches!(fact, Fact::TurnOpened { turn: of, .. } if of == turn);
    let place = facts.into_iter().position(opens)?;
    u64::try_from(place).ok()
}

/// What a reply repeats of its request: of the one that began the turn, or of the one that brought the results
/// behind which the reply begins. `None` if there is no such reply, or if that was not kept.
#[must_use]
pub fn repeats(steps: &[Envelope], turn: &TurnId, segment: u32) -> Option<Arc<Repeats>> {
    let opens = |fact: &Fact| matches!(fact, Fact::TurnOpened { turn: of, .. } if of == turn);
    let facts = steps.iter().flat_map(told);
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
        if matches!(fact, Fact::TurnOpened { .. }) || segments.now() > segment {
            break;
        }
        if segments.now() == segment
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

/// The facts of a step of which something is told, each with whether it is the last one.
pub(crate) fn told(step: &Envelope) -> impl Iterator<Item = (&Fact, bool)> {
    let is_told = |fact: &&Fact| FactEvent::of(fact) != FactEvent::Nothing;
    let last = step.facts.iter().rposition(|fact| is_told(&fact));
    let facts = step.facts.iter().enumerate();
    facts
        .filter(move |(_, fact)| is_told(fact))
        .map(move |(place, fact)| (fact, last == Some(place)))
}
