//! The port to where facts are kept: owned by one, appended by its owner, delivered to by anybody.

pub mod marks;
pub mod sessions;
pub mod summary;
pub mod waits;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody, WaitEndKind};
use thiserror::Error;

use self::marks::{FoundTurn, Mark};
use self::sessions::{DueSessions, SessionQuery, SessionRow, WaitQuery};
use self::waits::WaitRow;
use crate::chat_model::BoxError;

/// Keeps the facts and the inbox of every session.
///
/// # Contract
///
/// - `own` MUST give a higher epoch than every one before it for that session; the older ones are
///   stale from then on. Only one that ended with everybody who could have used it may come again.
/// - A session exists from the moment that it was first owned. `load`, `deliver` and `inbox` of one
///   that never was MUST be an [`UnknownSession`](JournalError::UnknownSession).
/// - `append` MUST be atomic: all of its steps or none. The steps MUST bear the numbers of their
///   places, from its position on. It MUST refuse a stale epoch, a position that is not the
///   journal's end, and an append that closes a wait which has an answer that the caller has not
///   seen, unless it closes it by that answer.
/// - An append that is repeated with the same epoch, position and steps MUST be recognised:
///   *committed* if it was, and never written twice. A stale owner MUST be refused even what it did
///   write: that is its successor's to act upon.
/// - `load` MUST give back what was committed, equal and in order, through the stored form.
/// - `deliver` MUST be possible without ownership, MUST deduplicate by id, and MUST compare a wait's
///   deadline with the journal's own clock: at the deadline is in time. An answer of a kind that the
///   wait does not take MUST be answered as if there were no such wait, and not be kept.
/// - A delivery MUST be in `load` and `inbox` from the moment it was accepted. Dropping `inbox` while
///   it waits MUST lose nothing. The same holds of a committed step and `follow`.
/// - What `sessions`, `due`, `open_waits` and `find` say MUST be what a fold of the facts by
///   [`summary`], [`waits`] and [`marks`] says, from the moment that an append was committed: it is written
///   in the same transaction.
/// - A delivery that [nobody has to take up](summary::is_for_owner) MUST be kept like any other, and MUST NOT
///   make a session due.
/// - `find` MUST find nothing of another principal, and MUST NOT read more for every session that there is.
/// - `release` MUST let others own the session at once, and MUST change nothing for a session that is
///   not owned under this epoch. One that failed may be asked for again, as often as it takes.
/// - What failed because the journal could not be reached or written MUST be possible again as soon as it
///   can be, without opening the journal anew.
/// - `delete` MUST leave nothing of a session, MUST be refused while a live process owns it, and MUST NOT
///   let an epoch come again: whoever owned what was deleted stays stale.
/// - A session that was marked as restored MUST say so in `load`, MUST list its open turn as parked, and MUST
///   NOT be due until something is delivered to it, all of that until the next append to it. A store that sees by
///   itself that it lost what it had committed marks every session with an open turn.
/// - While a [`Hold`] on a session lives, `delete` of it MUST be [`Held`](JournalError::Held), in every
///   process, and `sessions` MUST list it as held; everything else, `own` by other processes too, MUST go
///   on as without it. A hold MUST end when it is dropped, and with its process, however that ends.
/// - A session that holds what only a newer build knows MUST be listed, and MUST NOT be owned, loaded or
///   changed: that is [`Newer`](JournalError::Newer), and no epoch is given.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Takes the ownership of a session, which exists from then on; whoever owned it before can
    /// append no more.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be reached or another live process owns the session.
    async fn own(&self, session: &SessionId) -> Result<Epoch, JournalError>;

    /// Lets go of a session, which others may own from then on; of one that is not owned under this
    /// epoch, nothing.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be reached. The session may then count as owned until it is
    /// released again, which its caller has to do.
    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError>;

    /// Keeps a session from being deleted, by any process, until the hold is dropped. Any number may hold a
    /// session; who holds it does not own it, and others may own it meanwhile. A session that does not exist
    /// can be held, and does not exist by that.
    ///
    /// By default nothing is held: that is right only for a store that nobody deletes from.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be reached.
    async fn hold(&self, _session: &SessionId) -> Result<Hold, JournalError> {
        Ok(Hold::new(()))
    }

    /// Whether there is such a session, readable or not. By default it is loaded to see that.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be reached.
    async fn exists(&self, session: &SessionId) -> Result<bool, JournalError> {
        match self.load(session).await {
            Ok(_) | Err(JournalError::Corrupt { .. } | JournalError::Newer { .. }) => Ok(true),
            Err(JournalError::UnknownSession { .. }) => Ok(false),
            Err(
                error @ (JournalError::Held { .. }
                | JournalError::Owned { .. }
                | JournalError::Unreachable { .. }),
            ) => Err(error),
        }
    }

    /// Everything that was committed for a session, and its inbox.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if there is no such session, or it cannot be read.
    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError>;

    /// Appends whole steps as one. Never fails: it has three answers.
    async fn append(&self, append: &Append) -> Appended;

    /// Puts something into a session's inbox. The journal sets the time of the delivery.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if there is no such session, or the journal cannot be reached.
    async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: Arc<str>,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError>;

    /// The deliveries of a session from this place on, as soon as there is at least one.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if there is no such session, or it cannot be read.
    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError>;

    /// The steps of a session from this number on, as soon as there is at least one, whoever appends
    /// them.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if there is no such session, also because it is deleted meanwhile, or it cannot
    /// be read.
    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError>;

    /// The sessions, the one that was changed last first; of those changed at the same time, the one
    /// with the greater id.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be read.
    async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError>;

    /// Deletes a session with everything of it.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if there is no such session, a live process owns or holds it, this one included, or
    /// the journal cannot be reached.
    async fn delete(&self, session: &SessionId) -> Result<(), JournalError>;

    /// Marks a session as restored from an older state: its open turn may have gone on elsewhere since, so that
    /// only a person has it go on here. The mark ends with the next append.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if there is no such session, or the journal cannot be reached.
    async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError>;

    /// The sessions with an open turn that no live process owns and that have something to do at this
    /// instant, at most that many: the turn does not only wait, or the instant for which it waits has
    /// come, or there is a delivery that its last owner had not seen. One that is parked has nothing
    /// to do until something is delivered to it.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be read.
    async fn due(&self, now: WallTime, most: usize) -> Result<DueSessions, JournalError>;

    /// The questions that nobody has answered yet, of one session or of all: the newest ones, in the
    /// order in which they were opened.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be read. A session that does not exist has no questions.
    async fn open_waits(
        &self,
        query: &WaitQuery,
    ) -> Result<Vec<(SessionId, WaitRow)>, JournalError>;

    /// The turns of a principal that have these marks, in the order of the marks: of each mark the turns
    /// that got it last, those first, and at most that many.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be read.
    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        most: usize,
    ) -> Result<Vec<FoundTurn>, JournalError>;
}

/// A session's ownership, counted up at every change of owner.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Epoch(pub u64);

/// A session that is held: it is not deleted until this is dropped.
#[must_use = "dropping a hold ends it"]
pub struct Hold {
    _guard: Box<dyn Send + Sync>,
}

impl Hold {
    /// A hold that ends when this is dropped.
    pub fn new(guard: impl Send + Sync + 'static) -> Self {
        Self {
            _guard: Box::new(guard),
        }
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold").finish_non_exhaustive()
    }
}

/// What a journal knows of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The committed steps, in order.
    pub steps: Vec<Envelope>,
    /// All deliveries, in the order in which they came.
    pub deliveries: Vec<Delivery>,
    /// Whether this may be older than what was done: the journal lost what it had committed, or a person
    /// said that it was restored from a copy, and nothing was appended since.
    pub restored: bool,
}

/// Whole steps, to be committed as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Append {
    /// Under which ownership.
    pub epoch: Epoch,
    /// How many steps the journal has before these: the number of the first of them.
    pub position: u64,
    /// How many deliveries the owner has seen.
    pub seen: u64,
    /// The session.
    pub session: SessionId,
    /// The steps, numbered on from the position.
    pub steps: Vec<Envelope>,
}

/// What became of an append.
#[derive(Debug)]
pub enum Appended {
    /// It is committed.
    Committed,
    /// Nothing was written.
    Refused(AppendRefusal),
    /// It may have been committed. The same append again tells.
    Unknown(BoxError),
}

/// Why an append was refused.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum AppendRefusal {
    /// It closes a wait that has an answer which the owner has not seen.
    #[error("a wait that this closes has been answered")]
    Answered,
    /// It does not begin where the journal ends.
    #[error("the journal does not end there")]
    Position,
    /// Somebody else owns the session by now.
    #[error("somebody else owns the session")]
    StaleEpoch,
    /// The journal is full, or cannot be written for another reason that will last.
    #[error("the journal cannot be written: {why}")]
    Unwritable {
        /// Why, in words, and what to do.
        why: Arc<str>,
    },
}

/// What became of a delivery.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DeliveryOutcome {
    /// It is in the inbox.
    Accepted,
    /// It was there already.
    AlreadyThere,
    /// The wait is closed.
    Closed {
        /// When.
        at: WallTime,
        /// By whom, if somebody answered.
        by: Option<Arc<str>>,
        /// How.
        how: WaitEndKind,
    },
    /// There is no such wait, or it takes no answer of this kind.
    NoSuchWait,
}

/// A journal that cannot be read or reached.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JournalError {
    /// What it holds cannot be read.
    #[error("the journal of session {session} cannot be read")]
    Corrupt {
        /// The session.
        session: SessionId,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// A live process holds the session.
    #[error("session {session} is open elsewhere, as in a `jackfield chat`")]
    Held {
        /// The session.
        session: SessionId,
    },
    /// A newer build wrote of it what this one does not know, and must not go on from.
    #[error("session {session} was written by a newer version: use that one")]
    Newer {
        /// The session.
        session: SessionId,
        /// What is not known.
        #[source]
        source: BoxError,
    },
    /// A live process owns the session.
    #[error("another process is at work on session {session}")]
    Owned {
        /// The session.
        session: SessionId,
    },
    /// There is no such session: nobody has ever owned it.
    #[error("there is no session {session}")]
    UnknownSession {
        /// The session.
        session: SessionId,
    },
    /// It cannot be reached.
    #[error("the journal cannot be reached")]
    Unreachable {
        /// Why.
        #[source]
        source: BoxError,
    },
}
