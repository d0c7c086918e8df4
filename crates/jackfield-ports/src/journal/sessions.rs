//! Lists of sessions and of waits, and the sessions that are due.

use std::sync::Arc;

use jackfield_domain::ids::{SessionId, TurnId, WaitId};
use jackfield_domain::time::WallTime;

use super::waits::{WaitRow, WaitState};

/// A query for sessions.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SessionQuery {
    /// Only sessions that are archived, or only those that are not.
    pub archived: Option<bool>,
    /// Only sessions after this one in the list, for paging: the last row of the previous page.
    pub before: Option<(WallTime, SessionId)>,
    /// The maximum number of rows.
    pub limit: usize,
    /// Only sessions that are pinned, or only those that are not.
    pub pinned: Option<bool>,
    /// Only this session, if it exists.
    pub session: Option<SessionId>,
    /// Only sessions with this in the text of a message or in a title that they were given, ignoring case and white
    /// space.
    pub text: Option<String>,
}

impl SessionQuery {
    /// Whether a session with these labels is one of those that are asked for.
    #[must_use]
    pub fn accepts_labels(&self, is_pinned: bool, is_archived: bool) -> bool {
        let is = |wanted: Option<bool>, given| wanted.is_none_or(|wanted| wanted == given);
        is(self.pinned, is_pinned) && is(self.archived, is_archived)
    }
}

/// A session in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SessionRow {
    /// Whether a person has put it away.
    pub archived: bool,
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
    /// Whether a person wants it first in lists.
    pub pinned: bool,
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

/// A change to what a person says of a session in lists; `None` stays as it is.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LabelChange {
    /// Whether it is put away.
    pub archived: Option<bool>,
    /// Whether it comes first.
    pub pinned: Option<bool>,
    /// The title in place of the one that follows from its messages; an empty one takes it away.
    pub title: Option<Arc<str>>,
}

impl LabelChange {
    /// Another title alone.
    #[must_use]
    pub fn of_title(title: impl Into<Arc<str>>) -> Self {
        Self {
            title: Some(title.into()),
            ..Self::default()
        }
    }
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

/// A query for waits.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WaitQuery {
    /// Only those after the one with this number, for paging. It does not apply to a query by `id`.
    pub after: u64,
    /// Those whose id begins with this, open or not: the open ones first.
    pub id: Option<Arc<str>>,
    /// The maximum number of waits.
    pub limit: usize,
    /// Only those in sessions of this principal, of an end user of it (`principal/user`), or of nobody.
    pub principal: Option<Arc<str>>,
    /// Only those of this session.
    pub session: Option<SessionId>,
}

/// A wait in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedWait {
    /// Its place in the list, from 1 on: a wait that is opened later has a greater one, unless another process opened it
    /// at the same time.
    pub number: u64,
    /// The owner of its session, as in [`SessionRow::principal`].
    pub principal: Option<Arc<str>>,
    /// The wait and its state.
    pub row: WaitRow,
    /// Its session.
    pub session: SessionId,
}

/// What is another value when the open waits are others than before, as no number comes again.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct OpenWaitsMark {
    /// How many are open.
    pub count: u64,
    /// The greatest number; 0 if none is open.
    pub newest: u64,
    /// The sum of the numbers.
    pub sum: u64,
}

impl WaitQuery {
    /// Whether a wait is among those that the query names, whatever its state and its place.
    #[must_use]
    pub fn selects(&self, session: &SessionId, principal: Option<&str>, wait: &WaitId) -> bool {
        let id = self.id.as_deref();
        self.session.as_ref().is_none_or(|asked| asked == session)
            && id.is_none_or(|id| wait.as_str().starts_with(id))
            && self
                .principal
                .as_deref()
                .is_none_or(|asked| principal.is_none_or(|owner| is_of_principal(owner, asked)))
    }

    /// The waits of a list of all, in the order of their numbers, that the query asks for: what a journal returns that
    /// keeps its waits in memory.
    #[must_use]
    pub fn select(&self, all: impl IntoIterator<Item = ListedWait>) -> Vec<ListedWait> {
        let is_open = |listed: &ListedWait| listed.row.state == WaitState::Open;
        let named = all.into_iter().filter(|listed| {
            let wait = &listed.row.wait.id;
            self.selects(&listed.session, listed.principal.as_deref(), wait)
        });
        let mut found: Vec<ListedWait> = if self.id.is_some() {
            named.collect()
        } else {
            let open = named.filter(|listed| is_open(listed) && listed.number > self.after);
            open.collect()
        };
        found.sort_by_key(|listed| (!is_open(listed), listed.number));
        found.truncate(self.limit);
        found
    }
}

/// Whether an owner is this principal or an end user of it.
#[must_use]
pub fn is_of_principal(owner: &str, principal: &str) -> bool {
    let behind = owner.strip_prefix(principal);
    behind.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
