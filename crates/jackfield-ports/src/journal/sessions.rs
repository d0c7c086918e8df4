//! Lists of sessions, and the sessions that are due.

use std::sync::Arc;

use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::time::WallTime;

/// A query for sessions.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SessionQuery {
    /// Only sessions after this one in the list, for paging: the last row of the previous page.
    pub before: Option<(WallTime, SessionId)>,
    /// The maximum number of rows.
    pub limit: usize,
    /// Only this session, if it exists.
    pub session: Option<SessionId>,
    /// Only sessions with this in the text of a message or in a title that they were given, ignoring case and white
    /// space.
    pub text: Option<String>,
}

/// A session in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SessionRow {
    /// The stored size, in bytes, as if it were the only session: a large text that several sessions share
    /// counts in full.
    pub bytes: u64,
    /// The time of the last append or delivery, by the journal's clock.
    pub changed: WallTime,
    /// When it was first owned, by the journal's clock.
    pub created: WallTime,
    /// Whether a live process holds it.
    pub held: bool,
    /// The open turn, if there is one.
    pub open: Option<OpenTurn>,
    /// Whether a live process owns it.
    pub owned: bool,
    /// The owner: the principal of the first caller that began a turn in it, if any.
    pub principal: Option<Arc<str>>,
    /// Its id.
    pub session: SessionId,
    /// The number of steps.
    pub steps: u64,
    /// The title that it was given, or else the beginning of the first user message, in one line; empty if there is
    /// neither.
    pub title: Arc<str>,
    /// The number of turns that have begun.
    pub turns: u32,
    /// Why it is unreadable, as text: a newer build wrote it, or it is damaged. The other fields may be out of
    /// date then.
    pub unreadable: Option<Arc<str>>,
}

/// An open turn, in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OpenTurn {
    /// Whether it only waits for external answers.
    pub only_waits: bool,
    /// Whether it was resumed too often without progress, or was restored from an older state: it is not
    /// resumed automatically.
    pub parked: bool,
    /// The turn.
    pub turn: TurnId,
    /// The number of open waits.
    pub waits: u32,
}

/// The sessions that are due, and when the next one will be.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DueSessions {
    /// When to query again if there is no delivery before; the queried instant, if more sessions are due now.
    pub next: Option<WallTime>,
    /// The sessions, the longest due first.
    pub sessions: Vec<SessionId>,
}

/// A query for open waits.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WaitQuery {
    /// The maximum number of waits.
    pub limit: usize,
    /// Only those of this session.
    pub session: Option<SessionId>,
}
