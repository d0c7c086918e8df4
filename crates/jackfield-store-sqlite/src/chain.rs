//! The steps of a session, each with the number of the one before it.
//!
//! A session's row has the number of its last step, and is written with every append anyway: so nothing else
//! has to be kept to find them by, and whatever is appended goes to the end of the table, whoever appends it.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::requests::AppendJob;
use crate::rows::damaged;

/// Where the steps of a session end.
#[derive(Clone, Copy)]
pub(crate) struct ChainEnd {
    /// The number of the last one.
    pub(crate) last: i64,
    /// The session's number.
    pub(crate) session: i64,
    /// How many there are.
    pub(crate) steps: u64,
}

/// Writes the steps of an append after the last one before them: the number of the last one now. They have
/// numbers one after the other, as nobody else writes meanwhile.
pub(crate) fn put(
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

/// Takes the steps of an append back that were written just now, the last of them under this number.
pub(crate) fn take_back(
    connection: &Connection,
    append: &AppendJob,
    last: i64,
) -> rusqlite::Result<()> {
    if append.records.is_empty() {
        return Ok(());
    }
    let mut delete =
        connection.prepare_cached("DELETE FROM steps WHERE number BETWEEN ?1 AND ?2")?;
    delete.execute([append.first(last), last])?;
    Ok(())
}

/// The numbers of a session's steps from this place on, in their order.
pub(crate) fn numbers(
    connection: &Connection,
    end: &ChainEnd,
    from: u64,
) -> rusqlite::Result<Vec<i64>> {
    let mut query = connection.prepare_cached(
        "SELECT number, previous, session, position FROM steps
         WHERE number <= ?1 ORDER BY number DESC",
    )?;
    let (mut numbers, mut wanted, mut left) = (Vec::new(), end.last, end.steps);
    // Each has one place less than the one after it, so that this ends, whatever the file says.
    while left > from {
        let (before, mut strangers) = (left, 0);
        let mut found = query.query([wanted])?;
        // The steps of a turn that was alone stand together.
        while left > from
            && strangers < NEAR
            && let Some(step) = found.next()?
        {
            let number: i64 = step.get(0)?;
            if number > wanted {
                strangers += 1;
                continue;
            }
            let place = i64::try_from(left - 1).unwrap_or(i64::MAX);
            let is_it = step.get::<_, i64>(2)? == end.session && step.get::<_, i64>(3)? == place;
            if number < wanted || !is_it {
                break;
            }
            numbers.push(number);
            wanted = step.get(1)?;
            left -= 1;
        }
        if left == before {
            return Err(missing(left - 1));
        }
    }
    numbers.reverse();
    Ok(numbers)
}

/// Reads the records of a session's steps from this place on, in their order, until one is not liked.
pub(crate) fn each<E>(
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
    let mut wanted = numbers.iter().copied().zip(from..).peekable();
    while let Some((first, place)) = wanted.peek().copied() {
        let mut strangers = 0;
        let mut found = query.query([first])?;
        while strangers < NEAR
            && let Some((number, _)) = wanted.peek().copied()
            && let Some(step) = found.next()?
        {
            let at: i64 = step.get(0)?;
            if at < number {
                strangers += 1;
                continue;
            }
            if at > number {
                break;
            }
            let read = read(number, step.get_ref(1)?.as_blob()?)?;
            if read.is_err() {
                return Ok(read);
            }
            wanted.next();
        }
        if wanted.peek().is_some_and(|(next, _)| *next == first) {
            return Err(missing(place));
        }
    }
    Ok(Ok(()))
}

/// Under which epoch the step of this number was written, if there is one.
pub(crate) fn epoch(connection: &Connection, number: i64) -> rusqlite::Result<Option<u64>> {
    let mut query = connection.prepare_cached("SELECT epoch FROM steps WHERE number = ?1")?;
    query.query_row([number], |row| row.get(0)).optional()
}

/// Deletes the steps of a session, and what is searched of them.
pub(crate) fn delete(connection: &Connection, end: &ChainEnd) -> rusqlite::Result<()> {
    let numbers = match told_missing(numbers(connection, end, 0))? {
        Ok(numbers) => numbers,
        // What is damaged can be deleted, too, by a look at everything.
        Err(ChainGap { .. }) => all(connection, end.session)?,
    };
    let mut step = connection.prepare_cached("DELETE FROM steps WHERE number = ?1")?;
    let mut text = connection.prepare_cached("DELETE FROM texts WHERE number = ?1")?;
    for number in numbers {
        step.execute([number])?;
        text.execute([number])?;
    }
    Ok(())
}

/// Every step that says that it is this session's.
fn all(connection: &Connection, session: i64) -> rusqlite::Result<Vec<i64>> {
    let mut query = connection.prepare("SELECT number FROM steps WHERE session = ?1")?;
    let found = query.query_map([session], |row| row.get(0))?;
    found.collect()
}

/// Tells a session that has lost a step from a file that cannot be read.
pub(crate) fn told_missing<T>(read: rusqlite::Result<T>) -> rusqlite::Result<Result<T, ChainGap>> {
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

fn missing(position: u64) -> rusqlite::Error {
    damaged(0, Type::Integer, ChainGap { position })
}

/// Why not all steps of a session are found.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("step {position} of the session is missing")]
pub(crate) struct ChainGap {
    position: u64,
}

/// How many steps of other sessions are read over before the next one is looked up.
const NEAR: u32 = 8;
