//! The marks by which turns are found again, one row each.

use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_ports::journal::marks::{FoundTurn, Mark, StepMarks};
use rusqlite::types::Type;
use rusqlite::{Connection, params};

use crate::error::damaged;

/// Stores the marks of a session.
pub(crate) fn insert(
    connection: &Connection,
    session: i64,
    marked: &[StepMarks],
) -> rusqlite::Result<()> {
    if marked.is_empty() {
        return Ok(());
    }
    let mut insert = connection
        .prepare_cached("INSERT INTO marks (session, place, turn) VALUES (?1, ?2, ?3)")?;
    for mark in marked {
        insert.execute(params![session, mark.place.as_bytes(), mark.turn.as_str()])?;
    }
    Ok(())
}

/// The turns with these marks; of each mark, the newest first.
pub(crate) fn find(
    connection: &Connection,
    principal: &str,
    marks: &[Mark],
    most: usize,
) -> rusqlite::Result<Vec<FoundTurn>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut query = connection.prepare_cached(FIND)?;
    let mut found = Vec::new();
    for mark in marks {
        let place = mark.place(principal);
        let mut rows = query.query(params![place.as_bytes(), most])?;
        while let Some(row) = rows.next()? {
            let session = SessionId::parse(row.get_ref(0)?.as_str()?);
            let turn = TurnId::parse(row.get_ref(1)?.as_str()?);
            found.push(FoundTurn {
                mark: mark.clone(),
                session: session.map_err(|error| damaged(0, Type::Text, error))?,
                turn: turn.map_err(|error| damaged(1, Type::Text, error))?,
            });
        }
    }
    Ok(found)
}

/// The marks of a session, in the order in which they were written.
pub(crate) fn of_session(
    connection: &Connection,
    session: i64,
) -> rusqlite::Result<Vec<StepMarks>> {
    let mut query = connection
        .prepare_cached("SELECT place, turn FROM marks WHERE session = ?1 ORDER BY number")?;
    let found = query.query_map([session], |row| {
        let turn = TurnId::parse(row.get_ref(1)?.as_str()?);
        Ok(StepMarks {
            place: jackfield_domain::digest::Digest::from_bytes(row.get(0)?),
            turn: turn.map_err(|error| damaged(1, Type::Text, error))?,
        })
    })?;
    found.collect()
}

/// One index lookup: an index entry ends with the number of its row, so rows come in order.
const FIND: &str = "SELECT sessions.id, marks.turn FROM marks
     JOIN sessions ON sessions.number = marks.session
     WHERE marks.place = ?1 ORDER BY marks.number DESC LIMIT ?2";
