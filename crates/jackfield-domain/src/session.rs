//! A session: what all facts of its journal fold into.

use std::sync::Arc;

use crate::approval::Grants;
use crate::fact::Fact;
use crate::fork::ForkPlace;
use crate::ids::SessionId;
use crate::message::Message;
use crate::turn::Turn;

/// A conversation, as its facts tell it.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// What the turn stands on that began last.
    before: Arc<Vec<Arc<Message>>>,
    forked: Option<(SessionId, ForkPlace)>,
    grants: Grants,
    id: SessionId,
    turn: Option<Turn>,
    turns: u32,
}

impl Session {
    /// A session in which nothing has happened.
    #[must_use]
    pub fn new(id: SessionId) -> Self {
        Self {
            before: Arc::default(),
            forked: None,
            grants: Grants::default(),
            id,
            turn: None,
            turns: 0,
        }
    }

    /// The session that these facts tell.
    pub fn fold<'a>(id: SessionId, facts: impl IntoIterator<Item = &'a Fact>) -> Self {
        let mut session = Self::new(id);
        facts.into_iter().for_each(|fact| session.apply(fact));
        session
    }

    /// Folds a fact in.
    pub fn apply(&mut self, fact: &Fact) {
        if let Fact::TurnOpened {
            opening,
            ordinal,
            setup,
            turn,
        } = fact
        {
            self.before = self.take_messages();
            let turn = Turn::open(turn.clone(), *ordinal, &self.before, opening, setup);
            self.grants.end_changed(&setup.catalog);
            self.turns = *ordinal;
            self.turn = Some(turn);
        } else if let Fact::SessionForked { at, from, messages } = fact {
            // It is how a session begins: later, what was said stands.
            if self.turns == 0 {
                self.forked = Some((from.clone(), at.clone()));
                self.before = Arc::clone(messages);
            }
        } else if let Some(turn) = &mut self.turn {
            turn.apply(fact);
            if matches!(fact, Fact::WaitClosed { .. }) {
                self.grants.extend(turn.grants());
            }
        }
    }

    /// What somebody allowed for the whole session.
    #[must_use]
    pub const fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> &SessionId {
        &self.id
    }

    /// The session that it is a fork of, and where that was forked.
    #[must_use]
    pub fn forked(&self) -> Option<(&SessionId, &ForkPlace)> {
        self.forked.as_ref().map(|(from, at)| (from, at))
    }

    /// The messages that the next turn stands on: those of all turns that have ended.
    #[must_use]
    pub fn messages(&self) -> Arc<Vec<Arc<Message>>> {
        match self.ended_turn() {
            Some(turn) => turn.messages_for_model().join(),
            None => Arc::clone(&self.before),
        }
    }

    /// The same, for a turn that takes the place of the last one: what was said in that one is added to what
    /// it began with, and nothing is copied unless somebody else has that, too. So a fold costs no more for
    /// a turn that stands far behind in a session.
    fn take_messages(&mut self) -> Arc<Vec<Arc<Message>>> {
        let before = std::mem::take(&mut self.before);
        match self.turn.take() {
            Some(turn) if turn.end().is_some() => {
                drop(before);
                turn.messages.into_joined()
            }
            Some(_) | None => before,
        }
    }

    /// How many turns have begun.
    #[must_use]
    pub const fn turns(&self) -> u32 {
        self.turns
    }

    /// The turn that began last, if there is one.
    #[must_use]
    pub const fn last_turn(&self) -> Option<&Turn> {
        self.turn.as_ref()
    }

    fn ended_turn(&self) -> Option<&Turn> {
        self.turn.as_ref().filter(|turn| turn.end().is_some())
    }

    /// The turn that has not ended, if there is one.
    #[must_use]
    pub fn open_turn(&self) -> Option<&Turn> {
        self.turn.as_ref().filter(|turn| turn.end().is_none())
    }
}
