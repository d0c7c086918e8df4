//! The port to the store of facts: one owner per session appends, and any process can deliver.

pub mod admin;
pub mod copy;
pub mod directory;
pub mod fold;
mod lease;
pub mod logins;
pub mod marks;
pub mod meters;
mod outage;
pub mod secrets;
pub mod sessions;
pub mod spending;
pub mod summary;
pub mod upstream_responses;
pub mod waits;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody, WaitEndKind};
use thiserror::Error;

use self::admin::JournalAdmin;
use self::directory::Directory;
pub use self::lease::Lease;
use self::logins::Logins;
use self::marks::{FoundTurn, Mark};
use self::meters::Meters;
pub use self::outage::{Outage, OutageError};
use self::secrets::Secrets;
use self::sessions::{
    DueSessions, LabelChange, ListedWait, OpenWaitsMark, SessionQuery, SessionRow, WaitQuery,
};
use self::spending::SpendingLog;
use self::upstream_responses::UpstreamResponses;
use crate::chat_model::BoxError;

/// Stores the facts and the inbox of every session.
///
/// # Contract
///
/// - `own` MUST return a higher epoch than all earlier ones of that session; the older ones are stale from then
///   on. An epoch may occur again only if every process that could have used it has ended.
/// - A [lease](Lease) that can end MUST have passed for its owner before `own` gives the session to another
///   process: until then, that `own` MUST wait or return [`Owned`](JournalError::Owned). A lease ends only if the
///   journal no longer hears of its owner: the journal extends it by appends or heartbeats. From the moment that
///   another process owns the session, the appends of the former owner MUST be refused as stale. One that
///   [begins something](Append::begins) MUST be refused as stale from the moment that the lease has passed by the
///   journal's clock, whenever it arrives: its client may have asked another process. One that only records what was
///   done SHOULD be taken as long as nobody else owns the session.
/// - A session exists from the moment that it was first owned. `load`, `deliver` and `inbox` of one that was
///   never owned MUST return [`UnknownSession`](JournalError::UnknownSession).
/// - `append` MUST be atomic: all of its steps or none. The steps MUST be numbered consecutively from its
///   position. It MUST refuse a stale epoch, a position that is not the journal's end, and an append that
///   closes a wait which has an answer that the caller has not seen, unless it closes the wait by that answer.
/// - An append that is repeated with the same epoch, position and steps MUST be recognised: *committed* if it
///   was, and never written twice. A stale owner MUST be refused even for what it did write, because its
///   successor acts on that.
/// - `load` MUST return what was committed, equal and in order, through the stored form.
/// - `deliver` MUST be possible without ownership, MUST deduplicate by id, and MUST compare a wait's deadline
///   with the journal's own clock: at the deadline is in time. An answer of a kind that the wait does not
///   accept MUST be treated as if there were no such wait, and not be stored.
/// - A delivery MUST be in `load` and `inbox` from the moment it was accepted. Dropping `inbox` while it waits
///   MUST NOT lose anything. The same holds for a committed step and `follow`.
/// - The results of `sessions`, `due`, `waits` and `find` MUST be what a fold of the facts by [`summary`],
///   [`waits`] and [`marks`] gives, from the moment that an append is committed: they are written in the same
///   transaction. Only the title of a row is another one where `rename` gave one.
/// - A title that `rename` gave MUST be listed and found by its words, whichever process owns the session, until
///   another call replaces it or takes it away.
/// - A delivery that [needs no owner](summary::is_for_owner) MUST be stored like any other, and MUST NOT make a
///   session due.
/// - `find` MUST NOT find anything of another principal, and its cost MUST NOT grow with the number of
///   sessions.
/// - `release` MUST let others own the session at once, and MUST NOT change a session that is not owned under
///   this epoch. A failed release may be repeated, as often as needed.
/// - An operation that failed because the journal could not be reached or written MUST succeed again as soon as
///   the journal works, without reopening it.
/// - `delete` MUST remove everything of a session, MUST be refused while a live process owns it, and MUST NOT
///   let an epoch occur again: owners of a deleted session stay stale.
/// - A session that was marked as restored MUST be marked in `load`, MUST list its open turn as parked, and
///   MUST NOT be due before a delivery, all until the next append to it. A store that detects the loss of
///   committed data MUST mark every session with an open turn.
/// - While a [`Hold`] on a session lives, `delete` of it MUST return [`Held`](JournalError::Held), in every
///   process, and `sessions` MUST list it as held; everything else, including `own` by other processes, MUST
///   work as without it. A hold MUST end when it is dropped, and with its process, however that ends.
/// - After `close`, every session that was owned through this journal MUST be free for other processes, everything
///   acknowledged MUST be kept, and appends MUST NOT be committed.
/// - A session with content that only a newer build knows MUST be listed, and MUST NOT be owned, loaded or
///   changed: that is [`Newer`](JournalError::Newer), and no epoch is given.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Takes the ownership of a session, which exists from then on; its previous owner can no longer append.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be reached or another live process owns the session.
    async fn own(&self, session: &SessionId) -> Result<Lease, JournalError>;

    /// Releases a session, which others can then own. No effect if it is not owned under this epoch.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be reached. The session may then count as owned until its caller
    /// repeats the release.
    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError>;

    /// Prevents a session from being deleted, by any process, until the hold is dropped. A session can have any
    /// number of holds. A hold is not an ownership, and others may own the session meanwhile. A session that
    /// does not exist can be held, which does not create it.
    ///
    /// The default holds nothing, which is correct only for a store without deletion.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be reached.
    async fn hold(&self, _session: &SessionId) -> Result<Hold, JournalError> {
        Ok(Hold::new(()))
    }

    /// Whether the session exists, readable or not. The default loads it.
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

    /// All committed steps of a session, and its inbox.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the session does not exist or cannot be read.
    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError>;

    /// Appends whole steps atomically. Errors are part of the result.
    async fn append(&self, append: &Append) -> Appended;

    /// Puts a delivery into a session's inbox. The journal sets its time.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the session does not exist, or the journal cannot be reached.
    async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: Arc<str>,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError>;

    /// The deliveries of a session from this index on. Waits until there is at least one.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the session does not exist or cannot be read.
    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError>;

    /// The steps of a session from this number on, from any process. Waits until there is at least one.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the session does not exist, is deleted meanwhile, or cannot be read.
    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError>;

    /// The sessions, the most recently changed first; sessions that changed at the same time are in descending
    /// order of id.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be read.
    async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError>;

    /// Deletes a session with all of its data.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the session does not exist, a live process, including this one, owns or holds it, or
    /// the journal cannot be reached.
    async fn delete(&self, session: &SessionId) -> Result<(), JournalError>;

    /// Changes the labels of a session, which lists show and filter by. They belong to no step and to no fork, and
    /// change nothing else of the session.
    ///
    /// The default refuses: the store keeps no labels.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the session does not exist, the journal cannot be reached, or it keeps no labels.
    async fn label(&self, _session: &SessionId, _change: &LabelChange) -> Result<(), JournalError> {
        Err(JournalError::Unreachable {
            source: "this journal keeps no labels of sessions".into(),
        })
    }

    /// Marks a session as restored from an older state: its open turn may have continued elsewhere since, so
    /// only a person can resume it here. The mark ends with the next append.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the session does not exist, or the journal cannot be reached.
    async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError>;

    /// Up to `most` sessions that are due now: they have an open turn and no live owner, and the turn does not
    /// only wait, or the instant that it waits for has come, or there is a delivery that its last owner had not
    /// seen. A parked session is due only after a delivery.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be read.
    async fn due(&self, now: WallTime, limit: usize) -> Result<DueSessions, JournalError>;

    /// The time by the journal's clock, if it has one that its processes share: an engine takes it for the time of
    /// everything that others see or judge by, such as deadlines, meters and retention. It is asked often, and MUST NOT
    /// block. The default is `None`: all processes are on one machine.
    fn now(&self) -> Option<WallTime> {
        None
    }

    /// The open waits, in the order in which they were opened, or those of an id. Its cost SHOULD NOT grow with the
    /// number of closed waits, nor that of a query by id with the number of waits.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be read. A session that does not exist has no waits.
    async fn waits(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError>;

    /// Tells without a list whether waits were opened or ceased to be open since an earlier call. The default lists them.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be read.
    async fn open_waits_mark(&self) -> Result<OpenWaitsMark, JournalError> {
        let query = WaitQuery {
            limit: usize::MAX,
            ..WaitQuery::default()
        };
        let open = self.waits(&query).await?;
        Ok(OpenWaitsMark {
            count: open.len() as u64,
            newest: open.last().map_or(0, |listed| listed.number),
            sum: open.iter().map(|listed| listed.number).sum(),
        })
    }

    /// The turns of a principal with these marks, in the order of the marks: for each mark at most `most`
    /// turns, the newest first.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the journal cannot be read.
    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        limit: usize,
    ) -> Result<Vec<FoundTurn>, JournalError>;

    /// Writes what was requested so far, and releases every session. Later requests may fail. Closing again has no
    /// effect.
    ///
    /// The default does nothing, and leaves every session owned.
    async fn close(&self) {}

    /// Checks that the stored form is still that of this build: another process may have changed it since. The default
    /// checks nothing.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be reached, or has another form.
    async fn check_form(&self) -> Result<(), JournalError> {
        Ok(())
    }

    /// Whether sessions are kept beyond the end of the process.
    fn is_durable(&self) -> bool {
        true
    }

    /// The journal as a whole, for people who look after it. The default is `None`: there is nothing to look over.
    fn admin(&self) -> Option<&dyn JournalAdmin> {
        None
    }

    /// The log of spending records. The default is `None`: no spending record is stored.
    fn spending(&self) -> Option<&dyn SpendingLog> {
        None
    }

    /// The users, teams and keys of a gateway's clients. The default is `None`: the journal keeps none.
    fn directory(&self) -> Option<&dyn Directory> {
        None
    }

    /// The meters of keys, users and teams. The default is `None`: the journal keeps none.
    fn meters(&self) -> Option<&dyn Meters> {
        None
    }

    /// The logins of browsers. The default is `None`: the journal keeps none, and no browser can log in.
    fn logins(&self) -> Option<&dyn Logins> {
        None
    }

    /// The encrypted secrets of entries of the directory. The default is `None`: the journal keeps none.
    fn secrets(&self) -> Option<&dyn Secrets> {
        None
    }

    /// The responses that providers keep. The default is `None`: the journal does not know whose they are.
    fn upstream_responses(&self) -> Option<&dyn UpstreamResponses> {
        None
    }
}

/// The epoch of a session's ownership; each change of owner increments it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Epoch(pub u64);

/// A hold on a session, which is not deleted until this is dropped.
#[must_use = "dropping a hold ends it"]
pub struct Hold {
    _guard: Box<dyn Send + Sync>,
}

impl Hold {
    /// A hold that ends when `guard` is dropped with it.
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

/// The stored content of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The committed steps, in order.
    pub steps: Vec<Envelope>,
    /// All deliveries, in order of arrival.
    pub deliveries: Vec<Delivery>,
    /// Whether the content may be older than what was already done: the journal lost committed data, or a
    /// person declared it restored from a copy, and there was no append since.
    pub restored: bool,
}

/// Whole steps, to be committed atomically.
#[derive(Clone, Debug, PartialEq)]
pub struct Append {
    /// The epoch of the ownership.
    pub epoch: Epoch,
    /// The number of steps before these, which is the number of the first of them.
    pub position: u64,
    /// The number of deliveries that the owner has seen.
    pub seen: u64,
    /// The session.
    pub session: SessionId,
    /// The steps, numbered from `position` on.
    pub steps: Vec<Envelope>,
}

impl Append {
    /// Whether it begins a turn, a resumption or a call, and does not only record what was done.
    #[must_use]
    pub fn begins(&self) -> bool {
        let mut facts = self.steps.iter().flat_map(|step| &step.facts);
        facts.any(|fact| {
            matches!(
                fact,
                Fact::CallStarted { .. } | Fact::TurnOpened { .. } | Fact::TurnResumed { .. }
            )
        })
    }
}

/// The result of an append.
#[derive(Debug)]
pub enum Appended {
    /// It is committed.
    Committed,
    /// Nothing was written.
    Refused(AppendRefusal),
    /// It is unknown whether it is committed. Repeating the same append gives a definite result.
    Unknown(BoxError),
}

/// Why an append was refused.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum AppendRefusal {
    /// It closes a wait with an answer that the owner has not seen.
    #[error("a wait that this closes has been answered")]
    Answered,
    /// Its position is not the journal's end.
    #[error("the journal does not end there")]
    Position,
    /// Another owner has taken the session, or may have.
    #[error("another process owns the session, or may own it by now")]
    StaleEpoch,
    /// The journal is full, or cannot be written for another permanent reason.
    #[error("the journal cannot be written: {why}")]
    Unwritable {
        /// The reason, and what to do.
        why: Arc<str>,
    },
}

/// The result of a delivery.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DeliveryOutcome {
    /// It is in the inbox.
    Accepted,
    /// It was in the inbox before.
    AlreadyThere,
    /// The wait is closed.
    Closed {
        /// When.
        at: WallTime,
        /// The person or program that answered, if it was answered.
        by: Option<Arc<str>>,
        /// How it was closed.
        how: WaitEndKind,
    },
    /// There is no such wait, or it does not accept this kind of answer.
    NoSuchWait,
}

/// The journal, or a session of it, cannot be read or reached.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The stored data of the session cannot be read.
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
    /// A newer build wrote content that this build does not know and must not continue from.
    #[error("session {session} was written by a newer version: use that one")]
    Newer {
        /// The session.
        session: SessionId,
        /// The unknown content.
        #[source]
        source: BoxError,
    },
    /// A live process owns the session.
    #[error("another process is at work on session {session}")]
    Owned {
        /// The session.
        session: SessionId,
    },
    /// The session does not exist: it was never owned.
    #[error("there is no session {session}")]
    UnknownSession {
        /// The session.
        session: SessionId,
    },
    /// The journal cannot be reached.
    #[error("the journal cannot be reached")]
    Unreachable {
        /// Why.
        #[source]
        source: BoxError,
    },
}
