//! A session: the fold of all facts of its journal.

use std::sync::Arc;

use crate::approval::Grants;
use crate::fact::{Compaction, Fact};
use crate::ids::{ForkPlace, SessionId, ToolName};
use crate::message::Message;
use crate::setup::{InputCount, TurnBase};
use crate::tool::Catalog;
use crate::turn::Turn;

/// A conversation, computed from its facts.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// The messages before the last turn.
    before: Arc<Vec<Arc<Message>>>,
    forked: Option<(SessionId, ForkPlace)>,
    grants: Grants,
    id: SessionId,
    /// The tools that searches have revealed, in their order.
    revealed: Vec<ToolName>,
    turn: Option<Turn>,
    turns: u32,
}

impl Session {
    /// An empty session.
    #[must_use]
    pub fn new(id: SessionId) -> Self {
        Self {
            before: Arc::default(),
            forked: None,
            grants: Grants::default(),
            id,
            revealed: Vec::new(),
            turn: None,
            turns: 0,
        }
    }

    /// The basis of the next turn, once the last one has ended; no breaker is known.
    #[must_use]
    pub fn next_turn(&self) -> TurnBase {
        TurnBase {
            breakers: Vec::new(),
            counted: self.counted(),
            grants: self.grants.clone(),
            messages: self.messages(),
            ordinal: self.turns + 1,
            session: self.id.clone(),
        }
    }

    /// The session of these facts.
    pub fn fold<'a>(id: SessionId, facts: impl IntoIterator<Item = &'a Fact>) -> Self {
        let mut session = Self::new(id);
        facts.into_iter().for_each(|fact| session.apply(fact));
        session
    }

    /// Applies a fact.
    pub fn apply(&mut self, fact: &Fact) {
        if let Fact::TurnOpened {
            opening,
            ordinal,
            setup,
            turn,
        } = fact
        {
            let counted = self.counted();
            self.before = self.take_messages();
            let mut opened = Turn::open(turn.clone(), *ordinal, &self.before, opening, setup);
            opened.count_before(opening, counted);
            self.grants.revoke_changed(&setup.catalog);
            self.turns = *ordinal;
            self.turn = Some(opened);
        } else if let Fact::SessionForked {
            at,
            from,
            messages,
            revealed,
        } = fact
        {
            // A fork is the beginning of a session; later ones are ignored.
            if self.turns == 0 {
                self.forked = Some((from.clone(), at.clone()));
                self.before = Arc::clone(messages);
                self.revealed.clone_from(revealed);
            }
        } else if let Fact::SessionImported { messages, .. } = fact {
            if self.turns == 0 {
                self.before = Arc::clone(messages);
            }
        } else if let (Fact::Compacted(compaction), None) = (fact, &self.turn) {
            self.apply_compaction(compaction);
        } else if let Some(turn) = &mut self.turn {
            turn.apply(fact);
            if matches!(fact, Fact::WaitClosed { .. }) {
                self.grants.extend(turn.grants());
            }
            if let Fact::CallClosed {
                revealed: Some(revealed),
                ..
            } = fact
            {
                self.reveal(revealed);
            }
        }
    }

    fn reveal(&mut self, revealed: &Catalog) {
        for tool in revealed.revealed() {
            let name = &tool.definition.name;
            if !self.revealed.contains(name) {
                self.revealed.push(name.clone());
            }
        }
    }

    /// Replaces the beginning of the history of a fork before its first turn.
    fn apply_compaction(&mut self, compaction: &Compaction) {
        if compaction.failure.is_none()
            && let Some(kept) = self.before.get(compaction.replaced..)
        {
            let messages = compaction.messages.iter().chain(kept);
            self.before = Arc::new(messages.cloned().collect());
        }
    }

    /// The grants of the session.
    #[must_use]
    pub const fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The tools that searches have revealed, in their order. The next turn offers those of them that are still there.
    #[must_use]
    pub fn revealed(&self) -> &[ToolName] {
        &self.revealed
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> &SessionId {
        &self.id
    }

    /// The session that it was forked from, and the place.
    #[must_use]
    pub fn forked(&self) -> Option<(&SessionId, &ForkPlace)> {
        self.forked.as_ref().map(|(from, at)| (from, at))
    }

    /// The messages before the next turn: those of all turns that have ended.
    #[must_use]
    pub fn messages(&self) -> Arc<Vec<Arc<Message>>> {
        match self.ended_turn() {
            Some(turn) => turn.messages_for_model().join(),
            None => Arc::clone(&self.before),
        }
    }

    /// What the provider counted for the messages before the next turn, if it did.
    #[must_use]
    pub fn counted(&self) -> Option<InputCount> {
        self.ended_turn().and_then(Turn::counted)
    }

    /// Takes the messages for a turn that replaces the last one. Appends the last turn's messages to those
    /// before it, without copying them unless they are shared, so that folding a turn costs the same at any
    /// position in a session.
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

    /// The number of turns that have begun.
    #[must_use]
    pub const fn turns(&self) -> u32 {
        self.turns
    }

    /// The last turn, if there is one.
    #[must_use]
    pub const fn last_turn(&self) -> Option<&Turn> {
        self.turn.as_ref()
    }

    fn ended_turn(&self) -> Option<&Turn> {
        self.turn.as_ref().filter(|turn| turn.end().is_some())
    }

    /// The open turn, if there is one.
    #[must_use]
    pub fn open_turn(&self) -> Option<&Turn> {
        self.turn.as_ref().filter(|turn| turn.end().is_none())
    }
}
