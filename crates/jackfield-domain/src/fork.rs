//! Forks: sessions that begin with the history of another session, up to a closed round.

use std::sync::Arc;

use crate::fact::Fact;
use crate::ids::{ForkPlace, SessionId, ToolName};
use crate::message::{Message, Messages};
use crate::session::Session;

/// All places at which the session of these facts can be forked, in order.
///
/// A round with calls that have no outcomes yet is not one of them.
pub fn places<'a>(session: SessionId, facts: impl IntoIterator<Item = &'a Fact>) -> Vec<ForkPlace> {
    ForkPlaces::new(session, facts.into_iter())
        .map(|(place, _)| place)
        .collect()
}

/// The place before the first turn of the session of these facts, if a turn has begun: its number is 0, and it is named
/// by that turn.
pub fn beginning<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Option<ForkPlace> {
    facts.into_iter().find_map(|fact| {
        let Fact::TurnOpened { turn, .. } = fact else {
            return None;
        };
        Some(ForkPlace {
            ordinal: 0,
            round: None,
            turn: turn.clone(),
        })
    })
}

/// What a fork at a place begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkedHistory {
    /// The messages until then.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The tools that searches had revealed until then, in their order.
    pub revealed: Vec<ToolName>,
}

/// What the session of these facts has up to a place; a new message can follow its messages with every provider.
/// `None` if the session cannot be forked there.
pub fn history_until<'a>(
    session: SessionId,
    facts: impl IntoIterator<Item = &'a Fact>,
    at: &ForkPlace,
) -> Option<ForkedHistory> {
    if at.ordinal == 0 {
        let is_before = |fact: &&Fact| !matches!(fact, Fact::TurnOpened { .. });
        let before = Session::fold(session, facts.into_iter().take_while(is_before));
        return Some(ForkedHistory {
            messages: before.messages(),
            revealed: before.revealed().to_vec(),
        });
    }
    let mut places = ForkPlaces::new(session, facts.into_iter());
    let (_, messages) = places.find(|(place, _)| place == at)?;
    Some(ForkedHistory {
        messages: messages.join(),
        revealed: places.session.revealed().to_vec(),
    })
}

/// Iterates over the fork places of a session.
struct ForkPlaces<I> {
    facts: I,
    session: Session,
}

impl<I> ForkPlaces<I> {
    fn new(session: SessionId, facts: I) -> Self {
        let session = Session::new(session);
        Self { facts, session }
    }
}

impl<'a, I: Iterator<Item = &'a Fact>> Iterator for ForkPlaces<I> {
    /// The place, and the messages up to it.
    type Item = (ForkPlace, Messages);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let fact = self.facts.next()?;
            self.session.apply(fact);
            let round = if matches!(fact, Fact::CallClosed { .. } | Fact::ReplyReceived { .. }) {
                let turn = self.session.open_turn();
                turn.filter(|turn| turn.is_between_rounds())
                    .map(|turn| Some(turn.rounds()))
            } else {
                matches!(fact, Fact::TurnEnded { .. }).then_some(None)
            };
            if let (Some(round), Some(turn)) = (round, self.session.last_turn()) {
                let place = ForkPlace {
                    ordinal: turn.ordinal(),
                    round,
                    turn: turn.id().clone(),
                };
                return Some((place, turn.messages_for_model().clone()));
            }
        }
    }
}
