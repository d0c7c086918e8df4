//! What a session's row says of its steps, kept with each append and made anew from old steps.

use jackfield_domain::ids::{ToolCallId, TurnId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::marks::of;
use jackfield_ports::journal::summary::{self, AT_ONCE, CallPlace, Open, Summary};
use jackfield_record::{DecodeError, VOCABULARY};
use rusqlite::types::Type;
use rusqlite::{Connection, params};

use crate::marks;
use crate::parts;
use crate::requests::Appending;
use crate::rows::{SessionRow, damaged};

/// What the row of a session says.
pub(crate) fn summary(row: &SessionRow) -> rusqlite::Result<Summary> {
    let open = match &row.open {
        Some(text) => Some(read(text).ok_or_else(|| damaged(0, Type::Text, Unknown))?),
        None => None,
    };
    Ok(Summary {
        open,
        principal: row.principal.as_deref().map(Into::into),
        title: row.title.as_str().into(),
        turns: row.turns,
    })
}

/// Keeps what an append says, beside its steps.
pub(crate) fn keep(
    connection: &Connection,
    row: &SessionRow,
    append: &Appending,
    now: WallTime,
) -> rusqlite::Result<()> {
    let mut summary = summary(row)?;
    for step in &append.steps {
        marks::keep(connection, row.number, &of(&summary, step))?;
        summary.apply(step);
    }
    let steps = append.position.saturating_add(append.records.len() as u64);
    for text in &append.words {
        add_text(connection, row.number, text)?;
    }
    let kept = Kept {
        bytes: append.bytes,
        changed: Some(now),
        seen: row.seen.max(append.seen),
        steps,
    };
    put(connection, row, &summary, &kept)
}

/// Derives what the row does not say yet, if it can be read: steps that were written without it.
pub(crate) fn catch_up(
    connection: &Connection,
    row: &SessionRow,
) -> rusqlite::Result<Result<(), DecodeError>> {
    if let Some(newer) = newer(row) {
        return Ok(Err(newer));
    }
    if row.known >= row.steps {
        return Ok(Ok(()));
    }
    let mut summary = summary(row)?;
    let mut bytes = 0;
    let mut query = connection.prepare_cached(
        "SELECT record FROM steps WHERE session = ?1 AND position >= ?2 ORDER BY position",
    )?;
    let mut found = query.query(params![row.number, row.known])?;
    let (mut marked, mut texts) = (Vec::new(), Vec::new());
    while let Some(step) = found.next()? {
        let record = step.get_ref(0)?.as_blob()?;
        let (step, length) = match parts::step_and_length(connection, row.number, record)? {
            Ok(step) => step,
            Err(error) => return Ok(Err(error)),
        };
        bytes += length;
        marked.extend(of(&summary, &step));
        summary.apply(&step);
        texts.extend(summary::words(&step));
    }
    marks::keep(connection, row.number, &marked)?;
    for text in &texts {
        add_text(connection, row.number, text)?;
    }
    let kept = Kept {
        bytes,
        changed: None,
        seen: row.seen,
        steps: row.steps,
    };
    put(connection, row, &summary, &kept)?;
    Ok(Ok(()))
}

/// Derives what all rows say, from the steps of a file that did not keep it. What cannot be read is
/// left for later.
pub(crate) fn derive_all(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "UPDATE sessions SET bytes = coalesce(
             (SELECT sum(length(record)) FROM deliveries WHERE session = sessions.number), 0);",
    )?;
    let mut ids = connection.prepare("SELECT id FROM sessions ORDER BY number")?;
    let mut ids = ids.query(())?;
    while let Some(id) = ids.next()? {
        let id: String = id.get(0)?;
        if let Some(row) = crate::rows::session_of(connection, &id)?
            && let Err(error) = catch_up(connection, &row)?
        {
            tracing::warn!(session = id, %error, "a session cannot be read");
        }
    }
    Ok(())
}

/// Why a session is left alone that a newer build has written, if one has.
pub(crate) fn newer(row: &SessionRow) -> Option<DecodeError> {
    row.is_newer().then(|| DecodeError::Newer {
        version: row.vocabulary.into(),
    })
}

/// What a row says beside the summary.
struct Kept {
    /// How many bytes came.
    bytes: usize,
    /// When it was changed, if it was.
    changed: Option<WallTime>,
    seen: u64,
    /// How many steps there are, all of them in the summary.
    steps: u64,
}

/// Writes a row, at once: what is in the same row costs one write.
fn put(
    connection: &Connection,
    row: &SessionRow,
    summary: &Summary,
    kept: &Kept,
) -> rusqlite::Result<()> {
    let open = summary.open.as_ref().map(write);
    let due = if summary.open.is_some() && kept.seen < row.loud {
        Some(AT_ONCE)
    } else {
        summary.due()
    };
    let due = due.map(WallTime::as_millis);
    let mut update = connection.prepare_cached(
        "UPDATE sessions SET open = ?2, seen = ?3, title = ?4, turns = ?5,
             vocabulary = max(vocabulary, ?6), steps = ?7, known = ?7, bytes = bytes + ?8,
             changed = coalesce(?9, changed), principal = ?10
         WHERE number = ?1",
    )?;
    update.execute(params![
        row.number,
        open,
        kept.seen,
        &*summary.title,
        summary.turns,
        VOCABULARY,
        kept.steps,
        kept.bytes,
        kept.changed.map(WallTime::as_millis),
        summary.principal.as_deref()
    ])?;
    // It is in an index, and seldom another one.
    if due != row.due {
        let mut update =
            connection.prepare_cached("UPDATE sessions SET due = ?2 WHERE number = ?1")?;
        update.execute(params![row.number, due])?;
    }
    Ok(())
}

fn add_text(connection: &Connection, session: i64, text: &str) -> rusqlite::Result<()> {
    let mut insert =
        connection.prepare_cached("INSERT INTO texts (session, text) VALUES (?1, ?2)")?;
    insert.execute(params![session, text])?;
    Ok(())
}

#[derive(Debug, thiserror::Error)]
#[error("what a session's row says of its open turn cannot be read")]
struct Unknown;

/// An open turn as the words of its row: the turn, how many calls may run at once, how often it was taken
/// up, when the model is asked again or `-`, and for each call its id with what it is at.
fn write(open: &Open) -> String {
    let retry_at = open
        .retry_at
        .map_or_else(|| "-".to_owned(), |at| at.as_millis().to_string());
    let mut text = format!(
        "{} {} {} {retry_at}",
        open.turn.as_str(),
        open.parallel,
        open.tries
    );
    for (call, place) in &open.calls {
        text.push(' ');
        text.push_str(call.as_str());
        match place {
            CallPlace::Going => text.push_str(":g"),
            CallPlace::Queued => text.push_str(":q"),
            CallPlace::Waiting {
                deadline,
                holds_slot,
                wait,
            } => {
                let how = if *holds_slot { 'h' } else { 'w' };
                text.push_str(&format!(":{how}:{}:{wait}", deadline.as_millis()));
            }
        }
    }
    text
}

/// The same back.
fn read(text: &str) -> Option<Open> {
    let mut words = text.split(' ');
    let turn = TurnId::parse(words.next()?).ok()?;
    let parallel = words.next()?.parse().ok()?;
    let tries = words.next()?.parse().ok()?;
    let retry_at = match words.next()? {
        "-" => None,
        millis => Some(WallTime::from_millis(millis.parse().ok()?)),
    };
    let calls = words.map(read_call).collect::<Option<Vec<_>>>()?;
    Some(Open {
        calls,
        parallel,
        retry_at,
        tries,
        turn,
    })
}

fn read_call(word: &str) -> Option<(ToolCallId, CallPlace)> {
    let mut parts = word.split(':');
    let call = ToolCallId::parse(parts.next()?).ok()?;
    let place = match parts.next()? {
        "g" => CallPlace::Going,
        "q" => CallPlace::Queued,
        how @ ("h" | "w") => CallPlace::Waiting {
            deadline: WallTime::from_millis(parts.next()?.parse().ok()?),
            holds_slot: how == "h",
            wait: WaitId::parse(parts.next()?).ok()?,
        },
        _ => return None,
    };
    Some((call, place))
}

/// An open turn as its row has it.
pub(crate) fn open(text: &str) -> Option<Open> {
    read(text)
}
