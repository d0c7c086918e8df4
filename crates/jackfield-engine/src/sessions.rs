//! Stored sessions: reading, forking, bringing along and deleting.

use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::fork;
use jackfield_domain::ids::{ForkPlace, SessionId, TurnId};
use jackfield_domain::message::Message;
use jackfield_domain::rules;
use jackfield_domain::session::Session;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool_loop::LOOP_VERSION;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::sessions::{LabelChange, SessionQuery, SessionRow};
use jackfield_ports::journal::{Append, Appended, Hold, Journal as _, JournalError, Loaded};

use crate::error::EngineError;
use crate::options::Durability;
use crate::ownership::SessionOwnership;
use crate::state::Engine;

impl Engine {
    /// The stored steps and deliveries of a session.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if there is no such session, or it cannot be read.
    pub async fn load(&self, session: &SessionId) -> Result<Loaded, EngineError> {
        Ok(self.shared.journal.load(session).await?)
    }

    /// The stored sessions, the most recently changed first.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, EngineError> {
        Ok(self.shared.journal.sessions(query).await?)
    }

    /// The list row of this session; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn session(&self, session: &SessionId) -> Result<Option<SessionRow>, EngineError> {
        let query = SessionQuery {
            limit: 1,
            session: Some(session.clone()),
            ..SessionQuery::default()
        };
        Ok(self.shared.journal.sessions(&query).await?.pop())
    }

    /// The turns of a principal with one of these marks, in durable or in ephemeral sessions, or in all of them if
    /// `None`: for each mark the newest, at most `limit` of each durability.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn find(
        &self,
        durability: Option<Durability>,
        principal: &str,
        marks: &[Mark],
        limit: usize,
    ) -> Result<Vec<FoundTurn>, EngineError> {
        let journals = &self.shared.journal;
        Ok(journals
            .find_in(durability, principal, marks, limit)
            .await?)
    }

    /// Creates an empty session.
    ///
    /// # Errors
    ///
    /// [`EngineError::Exists`] if the session exists, and [`EngineError::Journal`] if the journal cannot be
    /// reached.
    pub async fn create(&self, session: &SessionId) -> Result<(), EngineError> {
        let journal = &self.shared.journal;
        // Checked first, because taking the ownership would disturb the session's owner.
        if journal.exists(session).await? {
            return Err(EngineError::Exists {
                session: session.clone(),
            });
        }
        SessionOwnership::take(&self.shared, session)
            .await?
            .release()
            .await;
        Ok(())
    }

    /// Begins an ephemeral session with its first turn: it is in memory, and is deleted when its answer was delivered
    /// or has expired. The id must be new; an ephemeral session hides a durable one of the same id. Forks of an
    /// ephemeral session are ephemeral.
    ///
    /// # Errors
    ///
    /// [`EngineError::NoEphemeralJournal`] if the engine has no journal for such sessions.
    pub fn create_ephemeral(&self, session: &SessionId) -> Result<(), EngineError> {
        let journals = &self.shared.journal;
        if !journals.has_memory() {
            return Err(EngineError::NoEphemeralJournal);
        }
        journals.add_ephemeral(session);
        Ok(())
    }

    /// How long this session is kept, if it exists.
    #[must_use]
    pub fn durability(&self, session: &SessionId) -> Durability {
        self.shared.journal.durability(session)
    }

    /// Whether the last write to the journal failed, for any session. Does not try a write.
    #[must_use]
    pub fn is_journal_failing(&self) -> bool {
        self.shared.write_health.is_failing()
    }

    /// Prevents a session from being deleted, by this and other processes, until the hold is dropped. Turns can
    /// run in it as usual.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be reached.
    pub async fn hold(&self, session: &SessionId) -> Result<Hold, EngineError> {
        Ok(self.shared.journal.hold(session).await?)
    }

    /// Waits until a session has more than this many steps, regardless of which process appends them.
    /// Cancel-safe: the future can be dropped at any time.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if there is no such session, or it cannot be read.
    pub async fn wait_for_steps(&self, session: &SessionId, steps: u64) -> Result<(), EngineError> {
        self.shared.journal.follow(session, steps).await?;
        Ok(())
    }

    /// Deletes a session with all of its data.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the session does not exist, or a process owns or holds it.
    pub async fn delete(&self, session: &SessionId) -> Result<(), EngineError> {
        Ok(self.shared.journal.delete(session).await?)
    }

    /// Gives a session a title, in one line, in place of the one that follows from its messages; an empty one takes it
    /// away. A turn may be at work meanwhile, in any process.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the session does not exist, or the journal cannot be reached.
    pub async fn rename(&self, session: &SessionId, title: &str) -> Result<(), EngineError> {
        self.label(session, &LabelChange::of_title(title)).await
    }

    /// Changes the labels of a session at once, its title to one line. A turn may be at work meanwhile, in any process.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the session does not exist, or the journal cannot be reached.
    pub async fn label(
        &self,
        session: &SessionId,
        change: &LabelChange,
    ) -> Result<(), EngineError> {
        let title = change.title.as_deref().map(|title| one_line(title).into());
        let change = LabelChange {
            title,
            ..change.clone()
        };
        Ok(self.shared.journal.label(session, &change).await?)
    }

    /// Marks a session as restored from an older state: its open turn is parked until a person resumes it.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the session does not exist, or the journal cannot be reached.
    pub async fn mark_restored(&self, session: &SessionId) -> Result<(), EngineError> {
        Ok(self.shared.journal.mark_restored(session).await?)
    }

    /// The session's open turn, once all earlier appends have committed or can no longer commit. Use it to find
    /// a turn that a dropped [`send`](Engine::send) may have begun.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the session cannot be read.
    pub async fn fenced_open_turn(
        &self,
        session: &SessionId,
    ) -> Result<Option<TurnId>, EngineError> {
        let journal = &self.shared.journal;
        // Taking the ownership creates the session. A session that does not exist has no appends, in flight or
        // later, as only an owner appends.
        match journal.load(session).await {
            Ok(_) => {}
            Err(JournalError::UnknownSession { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let mut fence = match SessionOwnership::take(&self.shared, session).await {
            Ok(owned) => owned,
            // The session was never owned by this process.
            Err(JournalError::Owned { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let loaded = journal.load(session).await?;
        fence.release().await;
        let folded = Session::fold(session.clone(), facts(&loaded));
        Ok(folded.open_turn().map(|turn| turn.id().clone()))
    }

    /// The places at which a session can be forked, in order.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the session does not exist, or cannot be read.
    pub async fn fork_places(&self, session: &SessionId) -> Result<Vec<ForkPlace>, EngineError> {
        let loaded = self.load(session).await?;
        Ok(fork::places(session.clone(), facts(&loaded)))
    }

    /// The place before the first turn of a session, if one has begun.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the session does not exist, or cannot be read.
    pub async fn fork_beginning(
        &self,
        session: &SessionId,
    ) -> Result<Option<ForkPlace>, EngineError> {
        let loaded = self.load(session).await?;
        Ok(fork::beginning(facts(&loaded)))
    }

    /// The forks of a session before its first turn (0) and behind each turn up to this one, those of the last turn
    /// first, and of each turn the oldest first. At most a hundred of each of the last thousand turns.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn forks(
        &self,
        session: &SessionId,
        last: u32,
    ) -> Result<Vec<(u32, SessionId)>, EngineError> {
        let turns = last.saturating_sub(MAX_FORKED_TURNS)..=last;
        let marks: Vec<Mark> = turns
            .map(|turn| Mark::Fork(session.clone(), turn))
            .collect();
        let mut found = self.shared.journal.find("", &marks, MAX_FORKS).await?;
        found.reverse();
        let forks = found.into_iter().filter_map(|found| match found.mark {
            Mark::Fork(_, turn) => Some((turn, found.session)),
            Mark::Body(_) | Mark::Call(_) | Mark::Key(_) | Mark::Turn(_) | Mark::View(_) => None,
        });
        let mut forks: Vec<_> = forks.collect();
        forks.sort_by_key(|(turn, _)| std::cmp::Reverse(*turn));
        Ok(forks)
    }

    /// Begins a new session with the history of another one up to a place. The other session is not changed.
    ///
    /// # Errors
    ///
    /// [`EngineError::NoSuchPlace`] if the other session cannot be forked there, [`EngineError::Exists`] if the
    /// new session is not empty, [`EngineError::Journal`] if either cannot be read, and
    /// [`EngineError::NotCommitted`] if the fork could not be stored.
    pub async fn fork(
        &self,
        from: &SessionId,
        at: &ForkPlace,
        to: &SessionId,
    ) -> Result<(), EngineError> {
        let loaded = self.load(from).await?;
        let Some(history) = fork::history_until(from.clone(), facts(&loaded), at) else {
            return Err(EngineError::NoSuchPlace {
                session: from.clone(),
            });
        };
        drop(loaded);
        let forked = Fact::SessionForked {
            at: at.clone(),
            from: from.clone(),
            messages: history.messages,
            revealed: history.revealed,
        };
        self.begin_fork(from, to, vec![forked]).await
    }

    /// Begins a fork of a session with these facts.
    pub(crate) async fn begin_fork(
        &self,
        from: &SessionId,
        to: &SessionId,
        facts: Vec<Fact>,
    ) -> Result<(), EngineError> {
        if self.durability(from) == Durability::Ephemeral {
            self.create_ephemeral(to)?;
        }
        self.begin_session(to, facts, InputKind::Forked).await
    }

    /// Begins a new session with a conversation of another program. A new message can follow its messages with every
    /// provider.
    ///
    /// # Errors
    ///
    /// [`EngineError::InvalidConversation`] if a model could not be sent the messages, [`EngineError::Exists`] if the
    /// session is not empty, [`EngineError::Journal`] if it cannot be read, and [`EngineError::NotCommitted`] if the
    /// conversation could not be stored.
    pub async fn import(
        &self,
        to: &SessionId,
        conversation: ImportedConversation,
    ) -> Result<(), EngineError> {
        let ImportedConversation {
            created,
            messages,
            source,
            title,
        } = conversation;
        let messages: Vec<_> = messages.into_iter().map(Arc::new).collect();
        rules::check_history(messages.iter())?;
        let title = title.map(|title| one_line(&title));
        let imported = Fact::SessionImported {
            created,
            messages: Arc::new(messages),
            source,
            title: title.filter(|title| !title.is_empty()).map(Arc::from),
        };
        self.begin_session(to, vec![imported], InputKind::Imported)
            .await
    }

    /// Begins a session with these facts.
    async fn begin_session(
        &self,
        to: &SessionId,
        facts: Vec<Fact>,
        input: InputKind,
    ) -> Result<(), EngineError> {
        let journal = &self.shared.journal;
        let exists = || EngineError::Exists {
            session: to.clone(),
        };
        // Checked first, because taking the ownership would disturb the session's owner.
        if journal.exists(to).await? && !journal.load(to).await?.steps.is_empty() {
            return Err(exists());
        }
        let mut owned = SessionOwnership::take(&self.shared, to).await?;
        let loaded = journal.load(to).await?;
        if !loaded.steps.is_empty() {
            owned.release().await;
            return Err(exists());
        }
        let append = Append {
            epoch: owned.epoch(),
            position: 0,
            seen: loaded.deliveries.len() as u64,
            session: to.clone(),
            steps: vec![Envelope {
                facts,
                input,
                now: self.shared.clock.now(),
                step: 0,
                version: LOOP_VERSION,
            }],
        };
        let mut appended = journal.append(&append).await;
        if let Appended::Unknown(_) = appended {
            // A repeated append has a definite result.
            appended = journal.append(&append).await;
        }
        owned.release().await;
        match appended {
            Appended::Committed => Ok(()),
            Appended::Refused(refusal) => Err(EngineError::NotCommitted {
                why: refusal.to_string().into(),
            }),
            Appended::Unknown(error) => Err(EngineError::NotCommitted {
                why: error.to_string().into(),
            }),
        }
    }
}

/// A conversation of another program.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedConversation {
    /// When it began there, if that is known.
    pub created: Option<WallTime>,
    /// Its messages.
    pub messages: Vec<Message>,
    /// The other program.
    pub source: Arc<str>,
    /// Its title there, if it had one.
    pub title: Option<String>,
}

/// A title in one line.
fn one_line(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    let title: String = words.join(" ");
    let letters = title.chars().filter(|letter| !letter.is_control());
    let title: String = letters.take(MAX_TITLE).collect();
    title.trim().to_owned()
}

/// The facts of a loaded session.
fn facts(loaded: &Loaded) -> impl Iterator<Item = &Fact> {
    loaded.steps.iter().flat_map(|step| &step.facts)
}

/// Forks of so many turns are found, the last ones.
const MAX_FORKED_TURNS: u32 = 1_000;
/// So many forks are found of one place.
const MAX_FORKS: usize = 100;
/// The maximum length of a title that a session is given, in characters.
const MAX_TITLE: usize = 200;
