//! Finds sessions by name: an id, a prefix of one, or `last`.

use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_engine::{Engine, JournalError, SessionRow};

use super::{PAGE, page};
use crate::args::LAST_SESSION;
use crate::exit::Exit;
use crate::fault::{CommandError, session_busy_message};
use crate::render::words;

/// The session of a name.
///
/// # Errors
///
/// [`CommandError`] if there is none, or more than one.
pub(crate) async fn session(engine: &Engine, name: &str) -> Result<SessionId, CommandError> {
    if name.is_empty() {
        // An empty prefix, as from an unset variable, would match the only session.
        let fault = CommandError::new(Exit::Usage, "an empty name names no session");
        return Err(fault.with_help(LISTED));
    }
    let mut found: Vec<SessionRow> = Vec::new();
    let is_last = name == LAST;
    let mut last: Option<SessionRow> = None;
    loop {
        let rows = engine.sessions(&page(last.as_ref(), None)).await?;
        let whole = rows.len() < PAGE;
        last = rows.last().cloned();
        for row in rows {
            if row.session.as_str() == name {
                return Ok(row.session);
            }
            if is_last && !is_empty(&row) {
                return Ok(row.session);
            }
            if row.session.as_str().starts_with(name) && !is_empty(&row) {
                found.push(row);
            }
        }
        if whole {
            break;
        }
    }
    match found.as_slice() {
        [row] => Ok(row.session.clone()),
        [] => Err(not_found(name)),
        many => Err(ambiguous("sessions", name, many.iter().map(shown))),
    }
}

/// The turn of an id or its prefix, and its session; `None` if no turn matches.
///
/// # Errors
///
/// [`CommandError`] if the journal cannot be read, or several turns match.
pub(crate) async fn turn(
    engine: &Engine,
    name: &str,
) -> Result<Option<(SessionId, TurnId)>, CommandError> {
    if !name.starts_with(TURN) {
        return Ok(None);
    }
    let mut found: Vec<(SessionRow, TurnId)> = Vec::new();
    let mut last: Option<SessionRow> = None;
    loop {
        let rows = engine.sessions(&page(last.as_ref(), None)).await?;
        let whole = rows.len() < PAGE;
        last = rows.last().cloned();
        for row in rows {
            // The id of a turn is derived from the session's and its ordinal.
            let turns = (1..=row.turns).map(|nth| TurnId::derive(&row.session, nth));
            for turn in turns.filter(|turn| turn.as_str().starts_with(name)) {
                if turn.as_str() == name {
                    return Ok(Some((row.session, turn)));
                }
                found.push((row.clone(), turn));
            }
        }
        if whole {
            break;
        }
    }
    match found.as_slice() {
        [] => Ok(None),
        [(row, turn)] => Ok(Some((row.session.clone(), turn.clone()))),
        many => {
            let shown = many
                .iter()
                .map(|(row, turn)| format!("{turn}  {}", shown(row)));
            Err(ambiguous("turns", name, shown))
        }
    }
}

/// Sessions with messages, the last changed first.
///
/// # Errors
///
/// [`CommandError`] if the journal cannot be read.
pub(crate) async fn listed(
    engine: &Engine,
    text: Option<String>,
    most: usize,
) -> Result<Vec<SessionRow>, CommandError> {
    let mut found = Vec::new();
    let mut last: Option<SessionRow> = None;
    loop {
        let rows = engine.sessions(&page(last.as_ref(), text.clone())).await?;
        let whole = rows.len() < PAGE;
        last = rows.last().cloned();
        found.extend(rows.into_iter().filter(|row| !is_empty(row)));
        if whole || found.len() >= most {
            found.truncate(most);
            return Ok(found);
        }
    }
}

/// The row of a session.
///
/// # Errors
///
/// [`CommandError`] if the journal cannot be read.
pub(crate) async fn row(
    engine: &Engine,
    session: &SessionId,
) -> Result<Option<SessionRow>, CommandError> {
    Ok(engine.session(session).await?)
}

/// Whether it has no steps: it was created for a turn that was abandoned before it began.
fn is_empty(row: &SessionRow) -> bool {
    row.steps == 0 && row.unreadable.is_none()
}

/// A matching session, in one line.
fn shown(row: &SessionRow) -> String {
    let title = words::shortened(&row.title, TITLE_WIDTH);
    format!("{}  {title}", row.session)
}

fn ambiguous(what: &str, name: &str, all: impl ExactSizeIterator<Item = String>) -> CommandError {
    let message = format!("{} {what} begin with `{name}`", all.len());
    let mut fault = CommandError::new(Exit::Usage, message);
    fault.causes.extend(all.take(MAX_SHOWN));
    fault.with_help("say more of the id")
}

/// The error for an unknown name.
fn not_found(name: &str) -> CommandError {
    let message = if name == LAST {
        "there are no sessions yet".to_owned()
    } else {
        format!("there is no session `{name}`")
    };
    CommandError::new(Exit::Usage, message).with_help(LISTED)
}

/// The command error for a session that is in use by another process.
pub(crate) fn in_use(error: jackfield_engine::EngineError, session: &SessionId) -> CommandError {
    if let jackfield_engine::EngineError::Journal(JournalError::Owned { .. }) = &error {
        let message = format!("a process is at work on session {session}");
        return CommandError::new(Exit::Unfinished, message)
            .with_help(session_busy_message(session));
    }
    error.into()
}

/// The name of the last changed session.
pub(crate) const LAST: &str = LAST_SESSION;

/// Help for an unknown name.
const LISTED: &str = "`jackfield sessions list` shows those that there are";

/// The prefix of turn ids.
const TURN: &str = "turn_";

/// How many matching sessions are named.
const MAX_SHOWN: usize = 5;

/// How much of their titles is shown.
const TITLE_WIDTH: usize = 40;
