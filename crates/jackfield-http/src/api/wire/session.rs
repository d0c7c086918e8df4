//! Wire types of sessions.

use jackfield_domain::time::WallTime;
use jackfield_domain::turn_log::{ForkOrigin, ImportOrigin};
use jackfield_engine::SessionRow;
use serde::Serialize;
use utoipa::ToSchema;

use super::turn::TurnView;

/// A session: a conversation that is kept.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Session)]
pub(crate) struct SessionView {
    /// Its id.
    pub(crate) id: String,
    /// Its title, or else the beginning of the first message of the user, in one line.
    pub(crate) title: String,
    /// When it was made.
    pub(crate) created: String,
    /// When something last happened in it.
    pub(crate) changed: String,
    /// How many turns have begun.
    pub(crate) turns: u32,
    /// The turn that has not ended, if there is one.
    pub(crate) open: Option<OpenTurnView>,
    /// Whether it comes first in lists.
    pub(crate) pinned: bool,
    /// Whether it is put away.
    pub(crate) archived: bool,
    /// The size of everything that is kept of it.
    pub(crate) bytes: u64,
    /// Why it cannot be read, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<String>,
    /// What it is a fork of, where one session is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) forked_from: Option<ForkedView>,
    /// What it was brought along from, where one session is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) imported_from: Option<ImportedView>,
}

/// A turn that has not ended.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OpenTurn)]
pub(crate) struct OpenTurnView {
    /// Its id.
    pub(crate) turn: String,
    /// Its state: `running`, `waiting` (for an answer from outside), `left` (the process that drove it is
    /// gone; it is taken up by itself), or `parked` (it is not taken up by itself any more).
    pub(crate) status: String,
    /// How many questions of it are open.
    pub(crate) waits: u32,
}

/// Where a session was forked from.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ForkedFrom)]
pub(crate) struct ForkedView {
    /// The other session.
    pub(crate) session: String,
    /// The turn of it, by its number; 0 is the place before the first one.
    pub(crate) turn: u32,
    /// The round of the turn; null is its end.
    pub(crate) round: Option<u32>,
}

/// The forks of a session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ForkList)]
pub(crate) struct ForkList {
    /// The forks: those behind the last turn first, and of each turn the oldest first.
    pub(crate) forks: Vec<ForkView>,
}

/// A fork of a session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ForkEntry)]
pub(crate) struct ForkView {
    /// The turn that it follows, by its number; 0 is the place before the first one.
    pub(crate) turn: u32,
    /// The fork.
    pub(crate) session: SessionView,
}

/// A page of sessions, the one that was changed last first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionPage)]
pub(crate) struct SessionPage {
    /// The sessions.
    pub(crate) sessions: Vec<SessionView>,
    /// What to give as `page` for the next ones; null if there are none.
    pub(crate) next: Option<String>,
}

/// A page of turns, in order.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TurnPage)]
pub(crate) struct TurnPage {
    /// The turns.
    pub(crate) turns: Vec<TurnView>,
    /// What to give as `after` for the next ones; null if there are none.
    pub(crate) next: Option<u32>,
}

impl From<&SessionRow> for SessionView {
    fn from(row: &SessionRow) -> Self {
        let open = row.open.as_ref().map(|open| {
            let status = if open.parked {
                "parked"
            } else if open.only_waits {
                "waiting"
            } else if row.owned {
                "running"
            } else {
                "left"
            };
            OpenTurnView {
                turn: open.turn.to_string(),
                status: status.to_owned(),
                waits: open.waits,
            }
        });
        Self {
            id: row.session.to_string(),
            title: row.title.to_string(),
            created: row.created.to_rfc3339(),
            changed: row.changed.to_rfc3339(),
            turns: row.turns,
            open,
            pinned: row.pinned,
            archived: row.archived,
            bytes: row.bytes,
            unreadable: row.unreadable.as_deref().map(str::to_owned),
            forked_from: None,
            imported_from: None,
        }
    }
}

/// The program that a conversation was brought along from.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ImportedFrom)]
pub(crate) struct ImportedView {
    /// Its name, such as `ChatGPT`.
    pub(crate) source: String,
    /// When the conversation began there, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<String>,
}

impl From<&ImportOrigin> for ImportedView {
    fn from(imported: &ImportOrigin) -> Self {
        Self {
            source: imported.source.to_string(),
            created: imported.created.map(WallTime::to_rfc3339),
        }
    }
}

impl From<&ForkOrigin> for ForkedView {
    fn from(forked: &ForkOrigin) -> Self {
        Self {
            session: forked.from.to_string(),
            turn: forked.at.ordinal,
            round: forked.at.round,
        }
    }
}
