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
    forked: Option<(SessionId, ForkPlace)>,
    grants: Grants,
    id: SessionId,
    messages: Arc<Vec<Arc<Message>>>,
    turn: Option<Turn>,
    turns: u32,
}

impl Session {
    /// A session in which nothing has happened.
    #[must_use]
    pub fn new(id: SessionId) -> Self {
        Self {
            forked: None,
            grants: Grants::default(),
            id,
            messages: Arc::default(),
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
            let turn = Turn::open(turn.clone(), *ordinal, &self.messages, opening, setup);
            self.grants.end_changed(&setup.catalog);
            self.turns = *ordinal;
            self.turn = Some(turn);
        } else if let Fact::SessionForked { at, from, messages } = fact {
            // It is how a session begins: later, what was said stands.
            if self.turns == 0 {
                self.forked = Some((from.clone(), at.clone()));
                self.messages = Arc::clone(messages);
            }
        } else if let Some(turn) = &mut self.turn {
            turn.apply(fact);
            if matches!(fact, Fact::WaitClosed { .. }) {
                self.grants.extend(turn.grants());
            }
            if matches!(fact, Fact::TurnEnded { .. }) {
                self.messages = turn.messages_for_model().join();
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
    pub const fn messages(&self) -> &Arc<Vec<Arc<Message>>> {
        &self.messages
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

    /// The turn that has not ended, if there is one.
    #[must_use]
    pub fn open_turn(&self) -> Option<&Turn> {
        self.turn.as_ref().filter(|turn| turn.end().is_none())
    }
}
