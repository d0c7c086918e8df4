//! The steps of a session as a linked list: each row has the number of the step before it.
//!
//! The session's row has the number of its last step and is written with every append anyway. So no further index
//! is needed to find the steps, and every append, of any session, goes to the end of the table.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::damaged;
use crate::requests::AppendJob;

/// The end of a session's chain of steps.
#[derive(Clone, Copy)]
pub(crate) struct ChainEnd {
    /// The number of the last step.
    pub(crate) last: i64,
    pub(crate) session: i64,
    pub(crate) steps: u64,
}

/// Inserts the steps of an append after step `before` and returns the number of the last one. Their numbers are
/// consecutive, as the write transaction excludes other writers.
pub(crate) fn insert_steps(
    connection: &Connection,
    session: i64,
    before: i64,
    append: &AppendJob,
) -> rusqlite::Result<i64> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO steps (previous, session, position, epoch, record)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let mut last = before;
    for (position, record) in (append.position..).zip(&append.records) {
        last = insert.insert(params![last, session, position, append.epoch.0, record])?;
    }
    Ok(last)
}

/// Deletes the steps that an append has just written; `last` is the number of the last of them.
pub(crate) fn delete_steps(
    connection: &Connection,
    append: &AppendJob,
    last: i64,
) -> rusqlite::Result<()> {
    if append.records.is_empty() {
        return Ok(());
    }
    let mut delete =
        connection.prepare_cached("DELETE FROM steps WHERE number BETWEEN ?1 AND ?2")?;
    delete.execute([append.first_number(last), last])?;
    Ok(())
}

/// The numbers of a session's steps from position `from` on, in order.
pub(crate) fn numbers(
    connection: &Connection,
    end: &ChainEnd,
    from: u64,
) -> rusqlite::Result<Vec<i64>> {
    let mut query = connection.prepare_cached(
        "SELECT number, previous, session, position FROM steps
         WHERE number <= ?1 ORDER BY number DESC",
    )?;
    let (mut numbers, mut expected, mut left) = (Vec::new(), end.last, end.steps);
    // Each position is one less than that of the next step, so the loop ends even on a damaged file.
    while left > from {
        let (before, mut unrelated) = (left, 0);
        let mut found = query.query([expected])?;
        // The steps of a turn that ran alone are adjacent.
        while left > from
            && unrelated < MAX_UNRELATED_ROWS
            && let Some(step) = found.next()?
        {
            let number: i64 = step.get(0)?;
            if number > expected {
                unrelated += 1;
                continue;
            }
            let place = i64::try_from(left - 1).unwrap_or(i64::MAX);
            let is_expected =
                step.get::<_, i64>(2)? == end.session && step.get::<_, i64>(3)? == place;
            if number < expected || !is_expected {
                break;
            }
            numbers.push(number);
            expected = step.get(1)?;
            left -= 1;
        }
        if left == before {
            return Err(gap_error(left - 1));
        }
    }
    numbers.reverse();
    Ok(numbers)
}

/// Passes the records of a session's steps from position `from` on to `read`, in order, until it returns an error.
pub(crate) fn for_each_step<E>(
    connection: &Connection,
    end: &ChainEnd,
    from: u64,
    mut read: impl FnMut(i64, &[u8]) -> rusqlite::Result<Result<(), E>>,
) -> rusqlite::Result<Result<(), E>> {
    if end.steps <= from {
        return Ok(Ok(()));
    }
    let mut query = connection
        .prepare_cached("SELECT number, record FROM steps WHERE number >= ?1 ORDER BY number")?;
    let numbers = numbers(connection, end, from)?;
    let mut pending = numbers.iter().copied().zip(from..).peekable();
    while let Some((first, place)) = pending.peek().copied() {
        let mut unrelated = 0;
        let mut found = query.query([first])?;
        while unrelated < MAX_UNRELATED_ROWS
            && let Some((number, _)) = pending.peek().copied()
            && let Some(step) = found.next()?
        {
            let at: i64 = step.get(0)?;
            if at < number {
                unrelated += 1;
                continue;
            }
            if at > number {
                break;
            }
            let read = read(number, step.get_ref(1)?.as_blob()?)?;
            if read.is_err() {
                return Ok(read);
            }
            pending.next();
        }
        if pending.peek().is_some_and(|(next, _)| *next == first) {
            return Err(gap_error(place));
        }
    }
    Ok(Ok(()))
}

/// The epoch under which the step of this number was written, if the step exists.
pub(crate) fn epoch(connection: &Connection, number: i64) -> rusqlite::Result<Option<u64>> {
    let mut query = connection.prepare_cached("SELECT epoch FROM steps WHERE number = ?1")?;
    query.query_row([number], |row| row.get(0)).optional()
}

/// Deletes the steps of a session and their search text.
pub(crate) fn delete(connection: &Connection, end: &ChainEnd) -> rusqlite::Result<()> {
    let numbers = match split_gap(numbers(connection, end, 0))? {
        Ok(numbers) => numbers,
        // A damaged session can be deleted, too, with a scan of the whole table.
        Err(ChainGap { .. }) => all_step_numbers(connection, end.session)?,
    };
    let mut step = connection.prepare_cached("DELETE FROM steps WHERE number = ?1")?;
    let mut text = connection.prepare_cached("DELETE FROM texts WHERE number = ?1")?;
    for number in numbers {
        step.execute([number])?;
        text.execute([number])?;
    }
    Ok(())
}

/// All steps whose row names this session.
fn all_step_numbers(connection: &Connection, session: i64) -> rusqlite::Result<Vec<i64>> {
    let mut query = connection.prepare("SELECT number FROM steps WHERE session = ?1")?;
    let found = query.query_map([session], |row| row.get(0))?;
    found.collect()
}

/// Separates a session with a missing step from a file that cannot be read.
pub(crate) fn split_gap<T>(read: rusqlite::Result<T>) -> rusqlite::Result<Result<T, ChainGap>> {
    match read {
        Ok(read) => Ok(Ok(read)),
        Err(rusqlite::Error::FromSqlConversionFailure(column, kind, why)) => {
            let why = why.downcast::<ChainGap>();
            why.map(|missing| Err(*missing))
                .map_err(|why| rusqlite::Error::FromSqlConversionFailure(column, kind, why))
        }
        Err(error) => Err(error),
    }
}

fn gap_error(position: u64) -> rusqlite::Error {
    damaged(0, Type::Integer, ChainGap { position })
}

/// A step of the session is missing.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("step {position} of the session is missing")]
pub(crate) struct ChainGap {
    position: u64,
}

/// How many steps of other sessions are skipped before the next step is looked up by its number.
const MAX_UNRELATED_ROWS: u32 = 8;
