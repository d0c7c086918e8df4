//! The list of sessions restored from an older state, in a file beside the database.
//!
//! It is written when the [witness](crate::witness) knows of an append that the database lacks, and when a person
//! marks sessions by hand. It is kept outside of the database, so that replacing the database by another copy does
//! not undo it. It is a text file: an operator can read why it exists, and remove it.
//!
//! A line names a session and its number of steps. The next append changes that number and so ends the mark.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::admin::RestoredState;
use rusqlite::{Connection, params};

use crate::error::OpenError;
use crate::owners::{open_private, sibling_path};
use crate::rows;
use crate::witness::Witness;

#[derive(Debug, Default)]
pub(crate) struct RestoredMarks {
    /// Whether the file exists but cannot be read: then every session counts as marked.
    all: bool,
    sessions: HashSet<(String, u64)>,
    why: Vec<String>,
}

impl RestoredMarks {
    /// Reads the file, which seldom exists.
    pub(crate) fn read(database: &Path) -> Self {
        let text = match std::fs::read_to_string(path(database)) {
            Ok(text) => text,
            Err(error) => {
                let all = error.kind() != io::ErrorKind::NotFound;
                return Self {
                    all,
                    why: all
                        .then(|| format!("{}: {error}", path(database).display()))
                        .into_iter()
                        .collect(),
                    ..Self::default()
                };
            }
        };
        let mut marked = Self::default();
        for line in text.lines() {
            if let Some(why) = line.strip_prefix(WHY) {
                marked.why.push(why.to_owned());
            } else if let Some((session, steps)) = line.split_once(' ')
                && let Ok(steps) = steps.parse()
            {
                marked.sessions.insert((session.to_owned(), steps));
            }
        }
        marked
    }

    /// Whether a session with this number of steps is marked.
    pub(crate) fn contains(&self, session: &SessionId, steps: u64) -> bool {
        self.all
            || (!self.sessions.is_empty()
                && self
                    .sessions
                    .contains(&(session.as_str().to_owned(), steps)))
    }

    /// The state to report; `None` if the file does not exist.
    pub(crate) fn into_state(
        self,
        connection: &Connection,
        database: &Path,
    ) -> rusqlite::Result<Option<RestoredState>> {
        if self.why.is_empty() && self.sessions.is_empty() {
            return Ok(None);
        }
        let mut query = connection.prepare(
            "SELECT count(*) FROM sessions WHERE id = ?1 AND steps = ?2 AND open IS NOT NULL",
        )?;
        let mut parked = 0;
        for (session, steps) in &self.sessions {
            parked += query.query_row(params![session, steps], |row| row.get::<_, u64>(0))?;
        }
        Ok(Some(RestoredState {
            marks: path(database).display().to_string(),
            parked,
            why: self.why,
        }))
    }
}

/// Marks the sessions with an open turn if the witness knows of an append that the database lacks.
pub(crate) fn compare(
    connection: &Connection,
    database: &Path,
    witness: &Witness,
) -> Result<(), OpenError> {
    let store = |error: rusqlite::Error| OpenError::store(database, &error);
    for _ in 0..MAX_ATTEMPTS {
        let Some(last) = witness.last() else {
            return Ok(());
        };
        let steps = match rows::session(connection, &last.session) {
            Ok(row) => row.map_or(0, |row| row.steps),
            Err(error) => {
                tracing::warn!(%error, "it is unknown whether the journal is the newest one");
                return Ok(());
            }
        };
        if steps >= last.steps {
            return Ok(());
        }
        // Another process may have deleted the session just now; it updates the witness before that.
        if witness.last().as_ref() != Some(&last) {
            continue;
        }
        let session = &last.session;
        let had = last.steps;
        let why = format!(
            "{} is older than what was written to it: session {session} had {had} steps, and has {steps}",
            database.display()
        );
        mark(database, &why, &open(connection).map_err(store)?)
            .map_err(|error| OpenError::io(&path(database), error))?;
        witness.clear();
        return Ok(());
    }
    Ok(())
}

/// Adds sessions, each with its number of steps, to the marked ones, with the reason.
pub(crate) fn mark(database: &Path, why: &str, sessions: &[(String, u64)]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    let mut file = open_private(&mut options, &path(database))?;
    let known = RestoredMarks::read(database);
    // An earlier writer may have been killed within a line.
    let mut text = "\n".to_owned();
    if known.why.is_empty() && known.sessions.is_empty() {
        EXPLAINED.clone_into(&mut text);
    }
    if !known.why.iter().any(|known| known == why) {
        text.push_str(&format!("{WHY}{why}\n"));
    }
    for (session, steps) in sessions {
        if !known.sessions.contains(&(session.clone(), *steps)) {
            text.push_str(&format!("{session} {steps}\n"));
        }
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The sessions with an open turn.
fn open(connection: &Connection) -> rusqlite::Result<Vec<(String, u64)>> {
    let mut query = connection
        .prepare("SELECT id, steps FROM sessions WHERE open IS NOT NULL ORDER BY number")?;
    let found = query.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    found.collect()
}

fn path(database: &Path) -> PathBuf {
    sibling_path(database, "-restored")
}

/// How often a witness that keeps changing is read.
const MAX_ATTEMPTS: usize = 5;
/// The prefix of a line that says what happened.
const WHY: &str = "! ";
const EXPLAINED: &str = "\
# The journal beside this file may be older than what was done. The turns of the sessions below were open in it:
# their calls may have been made since, so each waits until a person goes on with it, by
# `jackfield sessions resume ID --again`, or cancels it. Remove this file once everything was seen to.
";
