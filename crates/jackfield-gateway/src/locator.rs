//! Finds the session that a request continues: this module reads the journal, the domain decides.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackfield_domain::fact::Fact;
use jackfield_domain::fork;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::locate::{self, HistoryKeys, Located, SessionIndex};
use jackfield_domain::message::Message;
use jackfield_domain::session::Session;
use jackfield_domain::setup::Setup;
use jackfield_engine::{Durability, Engine, EngineError, JournalError, Loaded, Mark};

/// The session that a request continues, with its state.
#[derive(Clone, Debug)]
pub struct Destination {
    /// The messages that precede the request: those of the session, or those up to the fork place.
    pub before: Arc<Vec<Arc<Message>>>,
    /// The location that the domain decided on.
    pub located: Located,
    /// The setup of the last turn there: a request that does not mention tools uses its tools.
    pub setup: Option<Arc<Setup>>,
    /// The number of turns of the session.
    pub turns: u32,
}

/// Finds the session that a request continues.
#[derive(Clone, Copy, Debug)]
pub struct SessionLocator<'a> {
    engine: &'a Engine,
}

impl<'a> SessionLocator<'a> {
    /// A locator among the sessions of this engine.
    #[must_use]
    pub const fn new(engine: &'a Engine) -> Self {
        Self { engine }
    }

    /// Locates a request of this principal with this history, among durable or ephemeral sessions, or all of them if
    /// `None`.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read. Unreadable sessions are skipped.
    pub async fn locate(
        &self,
        durability: Option<Durability>,
        principal: &str,
        history: &HistoryKeys,
    ) -> Result<Destination, EngineError> {
        let calls: Vec<Mark> = history.calls().cloned().map(Mark::Call).collect();
        // The longest known prefix of the history wins.
        let views: Vec<Mark> = history.views().map(Mark::View).collect();
        for marks in [calls, views] {
            if marks.is_empty() {
                continue;
            }
            let found = self
                .engine
                .find(durability, principal, &marks, MAX_PER_MARK)
                .await?;
            let first = found.first().map(|found| found.mark.clone());
            let found = found.into_iter();
            let found = found.filter(|found| {
                matches!(found.mark, Mark::Call(_)) || Some(&found.mark) == first.as_ref()
            });
            let sessions: BTreeSet<SessionId> = found.map(|found| found.session).collect();
            let loaded = self.load_readable(sessions).await?;
            let indexes: Vec<SessionIndex> = loaded
                .iter()
                .map(|(session, loaded)| SessionIndex::from_steps(session.clone(), &loaded.steps))
                .collect();
            let located = locate::locate(principal, history, &indexes);
            let Some(session) = located_session(&located) else {
                if matches!(located, Located::Refused(_)) {
                    return Ok(Destination::without_session(located));
                }
                continue;
            };
            let loaded = loaded.iter().find(|(known, _)| known == session);
            if let Some((session, loaded)) = loaded {
                return Ok(resolve_destination(session.clone(), loaded, located));
            }
        }
        Ok(Destination::without_session(Located::New))
    }

    /// Locates a request in a session that it names and that belongs to its principal.
    ///
    /// A session without a caller, such as one from the command line, has no principal. `may_adopt` allows this
    /// principal to continue such a session and own it from then on.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the session does not exist, belongs to another principal, or cannot be read.
    pub async fn locate_in(
        &self,
        principal: &str,
        session: &SessionId,
        history: &[Message],
        may_adopt: bool,
    ) -> Result<Destination, EngineError> {
        let loaded = self.engine.load(session).await?;
        let index = SessionIndex::from_steps(session.clone(), &loaded.steps);
        let is_owner = index
            .principal()
            .map_or(may_adopt, |whose| whose == principal);
        // Do not reveal the sessions of other principals.
        if !is_owner {
            let session = session.clone();
            return Err(JournalError::UnknownSession { session }.into());
        }
        let located = locate::locate_in(history, &index);
        Ok(resolve_destination(session.clone(), &loaded, located))
    }

    /// Locates a request that continues a segment of a turn, which it names; its whole history is new. `None`
    /// if this principal has no such segment.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn locate_after(
        &self,
        principal: &str,
        turn: &TurnId,
        segment: u32,
        history: &[Message],
    ) -> Result<Option<Destination>, EngineError> {
        let marks = [Mark::Turn(turn.clone())];
        let found = self
            .engine
            .find(Some(Durability::Durable), principal, &marks, 1);
        let found = found.await?;
        let sessions: BTreeSet<SessionId> = found.into_iter().map(|found| found.session).collect();
        for (session, loaded) in self.load_readable(sessions).await? {
            let index = SessionIndex::from_steps(session.clone(), &loaded.steps);
            let located = locate::locate_after(principal, turn, segment, history, &index);
            if let Some(located) = located {
                return Ok(Some(resolve_destination(session, &loaded, located)));
            }
        }
        Ok(None)
    }

    /// The sessions among these that exist and can be read.
    async fn load_readable(
        &self,
        sessions: BTreeSet<SessionId>,
    ) -> Result<Vec<(SessionId, Loaded)>, EngineError> {
        let mut readable = Vec::new();
        for session in sessions {
            if let Some(loaded) = load_if_readable(self.engine, &session).await? {
                readable.push((session, loaded));
            }
        }
        Ok(readable)
    }
}

/// The content of a session; `None` if it does not exist or cannot be read.
pub(crate) async fn load_if_readable(
    engine: &Engine,
    session: &SessionId,
) -> Result<Option<Loaded>, EngineError> {
    match engine.load(session).await {
        Ok(loaded) => Ok(Some(loaded)),
        Err(EngineError::Journal(
            JournalError::Corrupt { .. }
            | JournalError::Newer { .. }
            | JournalError::UnknownSession { .. },
        )) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Destination {
    fn without_session(located: Located) -> Self {
        Self {
            before: Arc::default(),
            located,
            setup: None,
            turns: 0,
        }
    }
}

const fn located_session(located: &Located) -> Option<&SessionId> {
    match located {
        Located::Answer { session, .. }
        | Located::Collect { session, .. }
        | Located::Continue { session, .. }
        | Located::Fork { session, .. }
        | Located::Late { session, .. }
        | Located::More { session, .. } => Some(session),
        Located::New | Located::Refused(_) => None,
    }
}

fn resolve_destination(session: SessionId, loaded: &Loaded, located: Located) -> Destination {
    let facts = || loaded.steps.iter().flat_map(|step| &step.facts);
    let folded = Session::fold(session.clone(), facts());
    let at = match &located {
        Located::Fork { at, .. }
        | Located::Late { at: Some(at), .. }
        | Located::More { at: Some(at), .. } => Some(at),
        Located::Answer { .. }
        | Located::Collect { .. }
        | Located::Continue { .. }
        | Located::Late { at: None, .. }
        | Located::More { at: None, .. }
        | Located::New
        | Located::Refused(_) => None,
    };
    let (before, setup) = match at {
        Some(at) => {
            let history = fork::history_until(session, facts(), at);
            let messages = history.map(|history| history.messages);
            let opened = facts().find_map(|fact| {
                if let Fact::TurnOpened { setup, turn, .. } = fact
                    && *turn == at.turn
                {
                    Some(Arc::clone(setup))
                } else {
                    None
                }
            });
            (messages, opened)
        }
        None => {
            let last = folded.last_turn();
            (None, last.map(|turn| Arc::clone(turn.setup())))
        }
    };
    Destination {
        before: before.unwrap_or_else(|| folded.messages()),
        located,
        setup,
        turns: folded.turns(),
    }
}

/// The maximum number of turns per mark: a mark that more turns share identifies none of them.
const MAX_PER_MARK: usize = 4;
