//! Reading and writing single rows.

use jackfield_domain::ids::{DeliveryId, SessionId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::WaitEndKind;
use jackfield_ports::journal::waits::{TakenDelivery, WaitRow, WaitState};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::chain::ChainEnd;
use crate::error::damaged;

pub(crate) struct StoredSession {
    pub(crate) bytes: u64,
    pub(crate) deliveries: u64,
    pub(crate) due: Option<i64>,
    pub(crate) epoch: u64,
    /// The number of steps that the summary covers.
    pub(crate) summarized_steps: u64,
    /// The number of its last step.
    pub(crate) last: i64,
    /// The position after the last delivery that an owner has to handle.
    pub(crate) owner_inbox_end: u64,
    pub(crate) number: i64,
    pub(crate) open: Option<String>,
    pub(crate) owner: Option<String>,
    pub(crate) principal: Option<String>,
    pub(crate) seen: u64,
    pub(crate) steps: u64,
    pub(crate) title: String,
    pub(crate) turns: u32,
    /// The vocabulary of the newest build that has written it.
    pub(crate) vocabulary: u32,
}

impl StoredSession {
    /// The end of its chain of steps.
    pub(crate) const fn end(&self) -> ChainEnd {
        ChainEnd {
            last: self.last,
            session: self.number,
            steps: self.steps,
        }
    }

    /// Whether it is short enough to be read inline.
    pub(crate) const fn is_short(&self) -> bool {
        self.bytes <= SHORT
    }

    /// Whether a newer build has written it.
    pub(crate) const fn is_newer(&self) -> bool {
        self.vocabulary > jackfield_record::VOCABULARY
    }
}

/// The row of a session, if there is one.
pub(crate) fn session(
    connection: &Connection,
    session: &SessionId,
) -> rusqlite::Result<Option<StoredSession>> {
    session_by_id(connection, session.as_str())
}

/// The row of a session with this id, without checking the id.
pub(crate) fn session_by_id(
    connection: &Connection,
    session: &str,
) -> rusqlite::Result<Option<StoredSession>> {
    let mut query = connection.prepare_cached(
        "SELECT number, epoch, owner, steps, deliveries, due, known, open, seen, title, turns, vocabulary,
             principal, loud, bytes, last
         FROM sessions WHERE id = ?1",
    )?;
    let found = query.query_row([session], |row| {
        Ok(StoredSession {
            number: row.get(0)?,
            epoch: row.get(1)?,
            owner: row.get(2)?,
            steps: row.get(3)?,
            deliveries: row.get(4)?,
            due: row.get(5)?,
            summarized_steps: row.get(6)?,
            open: row.get(7)?,
            seen: row.get(8)?,
            title: row.get(9)?,
            turns: row.get(10)?,
            vocabulary: row.get(11)?,
            principal: row.get(12)?,
            owner_inbox_end: row.get(13)?,
            bytes: row.get(14)?,
            last: row.get(15)?,
        })
    });
    found.optional()
}

/// The row of a wait, if there is one.
pub(crate) fn wait(
    connection: &Connection,
    session: i64,
    wait: &WaitId,
) -> rusqlite::Result<Option<WaitRow>> {
    let mut query = connection.prepare_cached(
        "SELECT wait, state, at, by, how, delivery, place FROM waits WHERE session = ?1 AND id = ?2",
    )?;
    let found = query.query_row(params![session, wait.as_str()], wait_row);
    found.optional()
}

/// Decodes the row of a wait whose first columns are `wait, state, at, by, how, delivery, place`.
pub(crate) fn wait_row(row: &Row<'_>) -> rusqlite::Result<WaitRow> {
    let record = row.get_ref(0)?.as_blob()?;
    let wait =
        jackfield_record::decode_wait(record).map_err(|error| damaged(0, Type::Blob, error))?;
    Ok(WaitRow {
        state: state(row)?,
        wait,
    })
}

fn state(row: &Row<'_>) -> rusqlite::Result<WaitState> {
    let at = |row: &Row<'_>| row.get(2).map(WallTime::from_millis);
    match row.get_ref(1)?.as_str()? {
        "answered" => {
            let delivery: String = row.get(5)?;
            Ok(WaitState::Answered(TakenDelivery {
                at: at(row)?,
                by: row.get::<_, String>(3)?.into(),
                delivery: DeliveryId::parse(&delivery)
                    .map_err(|error| damaged(5, Type::Text, error))?,
                index: row.get(6)?,
            }))
        }
        "closed" => Ok(WaitState::Closed {
            at: at(row)?,
            by: row.get::<_, Option<String>>(3)?.map(Into::into),
            how: match row.get_ref(4)?.as_str()? {
                "answered" => WaitEndKind::Answered,
                "cancelled" => WaitEndKind::Cancelled,
                "expired" => WaitEndKind::Expired,
                _ => WaitEndKind::Superseded,
            },
        }),
        _ => Ok(WaitState::Open),
    }
}

/// Inserts the row of a new wait; an existing row stays.
pub(crate) fn open_wait(
    connection: &Connection,
    session: i64,
    wait: &WaitId,
    record: &[u8],
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO waits (session, id, wait, state) VALUES (?1, ?2, ?3, 'open')
         ON CONFLICT DO NOTHING",
    )?;
    insert.execute(params![session, wait.as_str(), record])?;
    Ok(())
}

/// Updates the state of a wait.
pub(crate) fn set_wait(
    connection: &Connection,
    session: i64,
    row: &WaitRow,
) -> rusqlite::Result<()> {
    let (state, at, by, how, delivery, place) = match &row.state {
        WaitState::Answered(taken) => (
            "answered",
            Some(taken.at),
            Some(&taken.by),
            None,
            Some(taken.delivery.as_str()),
            Some(taken.index),
        ),
        WaitState::Closed { at, by, how } => (
            "closed",
            Some(*at),
            by.as_ref(),
            Some(end_kind_name(*how)),
            None,
            None,
        ),
        WaitState::Open => ("open", None, None, None, None, None),
    };
    let mut update = connection.prepare_cached(
        "UPDATE waits SET state = ?3, at = ?4, by = ?5, how = ?6, delivery = ?7, place = ?8
         WHERE session = ?1 AND id = ?2",
    )?;
    let at = at.map(WallTime::as_millis);
    let by = by.map(|by| &**by);
    let id = row.wait.id.as_str();
    update.execute(params![session, id, state, at, by, how, delivery, place])?;
    Ok(())
}

const fn end_kind_name(how: WaitEndKind) -> &'static str {
    match how {
        WaitEndKind::Answered => "answered",
        WaitEndKind::Cancelled => "cancelled",
        WaitEndKind::Expired => "expired",
        WaitEndKind::Superseded => "superseded",
    }
}

/// The most bytes that are decoded inline.
const SHORT: u64 = 32 * 1024;
