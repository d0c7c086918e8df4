//! The row of a session.

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::summary::{OpenTurnSummary, Summary};
use jackfield_record::{DecodeError, VOCABULARY};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::pool::{column, count};
use crate::requests::utf8;

pub(crate) struct StoredSession {
    pub(crate) deliveries: u64,
    pub(crate) epoch: u64,
    /// The position after the last delivery that an owner has to handle.
    pub(crate) loud: u64,
    /// The time of the database, or of a test.
    pub(crate) now: i64,
    pub(crate) number: i64,
    open: Option<String>,
    pub(crate) owner: Option<String>,
    principal: Option<Vec<u8>>,
    pub(crate) restored: bool,
    pub(crate) seen: u64,
    pub(crate) steps: u64,
    title: String,
    turns: u64,
    /// The vocabulary of the newest build that has written it.
    vocabulary: u64,
}

impl StoredSession {
    /// Reads a row of [`SELECT`].
    pub(crate) fn from_row(row: &Row) -> Result<Self, Fault> {
        Ok(Self {
            number: column(row, 0)?,
            epoch: count(row, 1)?,
            owner: column(row, 2)?,
            steps: count(row, 3)?,
            deliveries: count(row, 4)?,
            loud: count(row, 5)?,
            seen: count(row, 6)?,
            vocabulary: count(row, 7)?,
            restored: column(row, 8)?,
            title: column(row, 9)?,
            turns: count(row, 10)?,
            open: column(row, 11)?,
            principal: column(row, 12)?,
            now: column(row, 13)?,
        })
    }

    /// The summary in the row.
    pub(crate) fn summary(&self) -> Result<Summary, Fault> {
        let open = self.open.as_deref().map(|text| {
            let parsed = OpenTurnSummary::parse(text);
            parsed.ok_or_else(|| Fault::row("what it says of the open turn cannot be read"))
        });
        Ok(Summary {
            open: open.transpose()?,
            principal: self.principal.as_deref().map(utf8).transpose()?,
            title: self.title.as_str().into(),
            turns: u32::try_from(self.turns).map_err(Fault::row)?,
        })
    }

    /// The error for a session that a newer build has written, if one has.
    pub(crate) fn newer(&self) -> Option<DecodeError> {
        (self.vocabulary > u64::from(VOCABULARY)).then_some(DecodeError::Newer {
            version: self.vocabulary,
        })
    }
}

/// The statement for the row of a session. With the clock of a test, `$2` is its time.
pub(crate) const SELECT: &str = "SELECT number, epoch, owner, steps, deliveries, loud, seen, vocabulary, restored, title, \
     turns, open, principal, coalesce($2, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) \
     FROM jackfield.sessions WHERE id = $1";

/// The same, locked against other changes.
pub(crate) const SELECT_LOCKED: &str = "SELECT number, epoch, owner, steps, deliveries, loud, seen, vocabulary, restored, \
     title, turns, open, principal, coalesce($2, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) \
     FROM jackfield.sessions WHERE id = $1 FOR UPDATE";

/// A valid id in a column.
pub(crate) fn session_id(row: &Row, number: usize) -> Result<SessionId, Fault> {
    SessionId::parse(column(row, number)?).map_err(Fault::row)
}
