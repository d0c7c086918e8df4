//! Sessions as a list of them shows them, and those that have something to do.

use std::sync::Arc;

use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::time::WallTime;

/// Which sessions are asked for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SessionQuery {
    /// Only those that come after this one in the list: what the last row of the page before says.
    pub before: Option<(WallTime, SessionId)>,
    /// At most this many.
    pub most: usize,
    /// This one alone, if there is such a session.
    pub session: Option<SessionId>,
    /// Only those with this in the text of a message, in whatever case and however the words are
    /// spaced.
    pub text: Option<String>,
}

/// A session in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SessionRow {
    /// The size of everything that is kept of it, in bytes: as if it were the only session, where a large
    /// text is kept once for several.
    pub bytes: u64,
    /// When something was last appended or delivered, by the journal's clock.
    pub changed: WallTime,
    /// When it was first owned, by the journal's clock.
    pub created: WallTime,
    /// Whether a live process holds it.
    pub held: bool,
    /// The turn that has not ended, if there is one.
    pub open: Option<OpenTurn>,
    /// Whether a live process owns it.
    pub owned: bool,
    /// Whose it is: the principal of the first caller that began a turn in it, if one has.
    pub principal: Option<Arc<str>>,
    /// Its id.
    pub session: SessionId,
    /// How many steps it has.
    pub steps: u64,
    /// The beginning of the first message of the user, in one line; empty where there is none.
    pub title: Arc<str>,
    /// How many turns have begun.
    pub turns: u32,
    /// Why it is left alone, in words: a newer build knows more of it, or it is damaged. What the
    /// other fields say then may be out of date.
    pub unreadable: Option<Arc<str>>,
}

/// A turn that has not ended, in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OpenTurn {
    /// Whether nothing can be done for it but wait.
    pub only_waits: bool,
    /// Whether it was taken up too often in vain, or is restored from an older state: nobody takes it up
    /// again by itself.
    pub parked: bool,
    /// The turn.
    pub turn: TurnId,
    /// How many questions of it are open.
    pub waits: u32,
}

/// Sessions that have something to do, and when the next one has.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DueSessions {
    /// When to ask again, if nothing is delivered before; the instant that was asked for, where there
    /// are more sessions now.
    pub next: Option<WallTime>,
    /// The sessions, the one that has been due for the longest time first.
    pub sessions: Vec<SessionId>,
}

/// Which open questions are asked for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WaitQuery {
    /// At most this many.
    pub most: usize,
    /// Of this session alone.
    pub session: Option<SessionId>,
}
