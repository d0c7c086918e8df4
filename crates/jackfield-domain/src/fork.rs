//! Forks: a session that begins with what was said in another one, up to a closed round.

use std::sync::Arc;

use crate::fact::Fact;
use crate::ids::{SessionId, TurnId};
use crate::message::Message;
use crate::session::Session;

/// A place at which a session can be forked.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ForkPlace {
    /// The turn's place in its session, from 1.
    pub ordinal: u32,
    /// The round whose end it is, from 1; `None` is the end of the turn, with everything that it left.
    pub round: Option<u32>,
    /// The turn.
    pub turn: TurnId,
}

/// A place at which a session can be forked, and what was said until then.
#[derive(Clone, Debug, PartialEq)]
pub struct Forkable {
    /// The messages, which a next message can follow for every provider.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The place.
    pub place: ForkPlace,
}

/// Every place at which the session of these facts can be forked, in order.
///
/// A round that is not closed is none: its calls have no outcomes yet.
pub fn places<'a>(session: SessionId, facts: impl IntoIterator<Item = &'a Fact>) -> Vec<Forkable> {
    let mut places = Vec::new();
    let mut session = Session::new(session);
    for fact in facts {
        session.apply(fact);
        let round = match fact {
            Fact::CallClosed { .. } | Fact::ReplyReceived { .. } => session
                .open_turn()
                .filter(|turn| turn.is_between_rounds())
                .map(|turn| Some(turn.rounds())),
            Fact::TurnEnded { .. } => Some(None),
            Fact::CallAccepted { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded { .. }
            | Fact::ModelCallStarted { .. }
            | Fact::SessionForked { .. }
            | Fact::TurnOpened { .. }
            | Fact::TurnResumed { .. }
            | Fact::WaitClosed { .. }
            | Fact::WaitOpened { .. } => None,
        };
        let (Some(round), Some(turn)) = (round, session.last_turn()) else {
            continue;
        };
        places.push(Forkable {
            messages: turn.messages_for_model().join(),
            place: ForkPlace {
                ordinal: turn.ordinal(),
                round,
                turn: turn.id().clone(),
            },
        });
    }
    places
}
