//! The summary in a session's row: written with each append, and rebuilt from steps that have none.

use jackfield_domain::time::WallTime;
use jackfield_ports::journal::marks::{StepMarks, step_marks};
use jackfield_ports::journal::summary::{self, AT_ONCE, OpenTurnSummary, Summary};
use jackfield_record::{DecodeError, VOCABULARY};
use rusqlite::types::Type;
use rusqlite::{Connection, params};

use crate::chain;
use crate::error::damaged;
use crate::marks;
use crate::owned::OwnerRow;
use crate::parts;
use crate::requests::AppendJob;
use crate::rows::StoredSession;

pub(crate) fn summary(row: &StoredSession) -> rusqlite::Result<Summary> {
    let open = match &row.open {
        Some(text) => {
            Some(OpenTurnSummary::parse(text).ok_or_else(|| damaged(0, Type::Text, UnknownCalls))?)
        }
        None => None,
    };
    Ok(Summary {
        open,
        principal: row.principal.as_deref().map(Into::into),
        title: row.title.as_str().into(),
        turns: row.turns,
    })
}

/// Writes the summary of an append with its steps, and returns the new contents of the row.
pub(crate) fn update_row(
    connection: &Connection,
    row: &StoredSession,
    append: &AppendJob,
    last: i64,
    now: WallTime,
) -> rusqlite::Result<OwnerRow> {
    let appended = AppendSummary::new(summary(row)?, append);
    let extras = RowExtras {
        bytes: append.bytes,
        changed: Some(now),
        last,
        seen: row.seen.max(append.seen),
        steps: appended.steps,
    };
    let due = write_row(connection, row, &appended.summary, &extras)?;
    appended.insert_marks_and_texts(connection, row.number, append, last)?;
    Ok(OwnerRow {
        due,
        epoch: row.epoch,
        last,
        number: row.number,
        seen: extras.seen,
        steps: appended.steps,
        summary: appended.summary,
    })
}

/// Like `keep`, but without a read of the row, whose contents are known. `None` if the row has changed; then
/// nothing was written.
pub(crate) fn update_known_row(
    connection: &Connection,
    before: &OwnerRow,
    append: &AppendJob,
    last: i64,
    now: WallTime,
) -> rusqlite::Result<Option<OwnerRow>> {
    let appended = AppendSummary::new(before.summary.clone(), append);
    let seen = before.seen.max(append.seen);
    let due = appended.summary.due().map(WallTime::as_millis);
    // This column is indexed and seldom changes.
    let update = if due == before.due {
        UPDATE_KNOWN_ROW
    } else {
        UPDATE_KNOWN_ROW_AND_DUE
    };
    let mut update = connection.prepare_cached(update)?;
    let updated = update.execute(params![
        before.number,
        appended.summary.open.as_ref().map(OpenTurnSummary::to_text),
        seen,
        &*appended.summary.title,
        appended.summary.turns,
        VOCABULARY,
        appended.steps,
        append.bytes,
        now.as_millis(),
        appended.summary.principal.as_deref(),
        due,
        before.due,
        before.epoch,
        before.steps,
        last,
    ])?;
    if updated == 0 {
        return Ok(None);
    }
    appended.insert_marks_and_texts(connection, before.number, append, last)?;
    Ok(Some(OwnerRow {
        due,
        epoch: before.epoch,
        last,
        number: before.number,
        seen,
        steps: appended.steps,
        summary: appended.summary,
    }))
}

/// The changes that an append makes to the summary of its session.
struct AppendSummary {
    marked: Vec<StepMarks>,
    /// The number of steps, including the append.
    steps: u64,
    /// The summary, including the append.
    summary: Summary,
}

impl AppendSummary {
    fn new(mut summary: Summary, append: &AppendJob) -> Self {
        let mut marked = Vec::new();
        for step in &append.steps {
            marked.extend(step_marks(&summary, step));
            summary.apply(step);
        }
        Self {
            marked,
            steps: append.position.saturating_add(append.records.len() as u64),
            summary,
        }
    }

    /// Writes the parts of the summary that are not in the session's row.
    fn insert_marks_and_texts(
        &self,
        connection: &Connection,
        session: i64,
        append: &AppendJob,
        last: i64,
    ) -> rusqlite::Result<()> {
        marks::insert(connection, session, &self.marked)?;
        for (number, text) in (append.first_number(last)..).zip(&append.words) {
            if let Some(text) = text {
                add_text(connection, number, session, text)?;
            }
        }
        Ok(())
    }
}

/// Derives the summary from steps that were written without one, if they can be read.
pub(crate) fn catch_up(
    connection: &Connection,
    row: &StoredSession,
) -> rusqlite::Result<Result<(), DecodeError>> {
    if let Some(newer) = newer(row) {
        return Ok(Err(newer));
    }
    if row.summarized_steps >= row.steps {
        return Ok(Ok(()));
    }
    let mut summary = summary(row)?;
    let mut bytes = 0;
    let (mut marked, mut texts) = (Vec::new(), Vec::new());
    let read = chain::for_each_step(
        connection,
        &row.end(),
        row.summarized_steps,
        |number, record| {
            let read = parts::read_step_and_length(connection, row.number, record)?;
            Ok(read.map(|(step, length)| {
                bytes += length;
                marked.extend(step_marks(&summary, &step));
                summary.apply(&step);
                texts.extend(summary::searchable_text(&step).map(|text| (number, text)));
            }))
        },
    )?;
    if let Err(error) = read {
        return Ok(Err(error));
    }
    marks::insert(connection, row.number, &marked)?;
    for (number, text) in &texts {
        add_text(connection, *number, row.number, text)?;
    }
    let extras = RowExtras {
        bytes,
        changed: None,
        last: row.last,
        seen: row.seen,
        steps: row.steps,
    };
    write_row(connection, row, &summary, &extras)?;
    Ok(Ok(()))
}

/// Derives all summaries, for a file whose form had none. Sessions that cannot be read are left for later.
pub(crate) fn derive_all(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "UPDATE sessions SET bytes = coalesce(
             (SELECT sum(length(record)) FROM deliveries WHERE session = sessions.number), 0);",
    )?;
    let mut ids = connection.prepare("SELECT id FROM sessions ORDER BY number")?;
    let mut ids = ids.query(())?;
    while let Some(id) = ids.next()? {
        let id: String = id.get(0)?;
        if let Some(row) = crate::rows::session_by_id(connection, &id)?
            && let Err(error) = catch_up(connection, &row)?
        {
            tracing::warn!(session = id, %error, "a session cannot be read");
        }
    }
    Ok(())
}

/// The error for a session that a newer build has written, if one has.
pub(crate) fn newer(row: &StoredSession) -> Option<DecodeError> {
    row.is_newer().then(|| DecodeError::Newer {
        version: row.vocabulary.into(),
    })
}

/// The columns of a row beside the summary.
struct RowExtras {
    /// The number of bytes added.
    bytes: usize,
    /// The time of the change, if there was one.
    changed: Option<WallTime>,
    /// The number of the last step.
    last: i64,
    seen: u64,
    /// The number of steps, all of which the summary covers.
    steps: u64,
}

/// Writes a row with one statement, as columns of the same row cost one write. Returns when the session is due.
fn write_row(
    connection: &Connection,
    row: &StoredSession,
    summary: &Summary,
    extras: &RowExtras,
) -> rusqlite::Result<Option<i64>> {
    let open = summary.open.as_ref().map(OpenTurnSummary::to_text);
    let due = if summary.open.is_some() && extras.seen < row.owner_inbox_end {
        Some(AT_ONCE)
    } else {
        summary.due()
    };
    let due = due.map(WallTime::as_millis);
    let mut update = connection.prepare_cached(
        "UPDATE sessions SET open = ?2, seen = ?3, title = ?4, turns = ?5,
             vocabulary = max(vocabulary, ?6), steps = ?7, known = ?7, bytes = bytes + ?8,
             changed = coalesce(?9, changed), principal = ?10, last = ?11
         WHERE number = ?1",
    )?;
    update.execute(params![
        row.number,
        open,
        extras.seen,
        &*summary.title,
        summary.turns,
        VOCABULARY,
        extras.steps,
        extras.bytes,
        extras.changed.map(WallTime::as_millis),
        summary.principal.as_deref(),
        extras.last,
    ])?;
    // This column is indexed and seldom changes.
    if due != row.due {
        let mut update =
            connection.prepare_cached("UPDATE sessions SET due = ?2 WHERE number = ?1")?;
        update.execute(params![row.number, due])?;
    }
    Ok(due)
}

/// Stores the search text of the step with this number.
fn add_text(
    connection: &Connection,
    number: i64,
    session: i64,
    text: &str,
) -> rusqlite::Result<()> {
    let mut insert = connection
        .prepare_cached("INSERT INTO texts (number, session, text) VALUES (?1, ?2, ?3)")?;
    insert.execute(params![number, session, text])?;
    Ok(())
}

#[derive(Debug, thiserror::Error)]
#[error("what a session's row says of its open turn cannot be read")]
struct UnknownCalls;

/// Updates a row that has not changed and has no delivery left to handle.
const UPDATE_KNOWN_ROW: &str = "UPDATE sessions SET open = ?2, seen = ?3, title = ?4, turns = ?5,
         vocabulary = max(vocabulary, ?6), steps = ?7, known = ?7, bytes = bytes + ?8,
         changed = ?9, principal = ?10, last = ?15
     WHERE number = ?1 AND epoch = ?13 AND steps = ?14 AND known = ?14 AND owner IS NOT NULL
         AND loud <= ?3 AND due IS ?12 AND ?11 IS ?12";
/// The same, where the time at which the session is due changes.
const UPDATE_KNOWN_ROW_AND_DUE: &str =
    "UPDATE sessions SET open = ?2, seen = ?3, title = ?4, turns = ?5,
         vocabulary = max(vocabulary, ?6), steps = ?7, known = ?7, bytes = bytes + ?8,
         changed = ?9, principal = ?10, due = ?11, last = ?15
     WHERE number = ?1 AND epoch = ?13 AND steps = ?14 AND known = ?14 AND owner IS NOT NULL
         AND loud <= ?3 AND due IS ?12";
