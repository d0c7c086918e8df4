//! The witness: a small file beside the database that notes the last append.
//!
//! SQLite silently drops the end of a log that was truncated or overwritten, and an older copy of the file looks as
//! complete as the newer one. Either way the newest commits are lost, in all tables alike. So one line outside of
//! the database is enough to detect it: if the last append is there, everything before it is. Spending records that
//! were written after it may be lost unnoticed: a sum is too low then, but no call is made again.
//!
//! The line is written after the sync of each append and before its answer, and is not synced itself. A killed
//! process loses nothing of it. A loss of power may leave it older than the database, never newer: then it may miss
//! a loss, but never reports one that did not happen.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jackfield_domain::ids::SessionId;

use crate::owners::{open_private, sibling_path};

/// The append that was committed last.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct LastAppend {
    pub(crate) session: SessionId,
    /// The number of steps that the session had after it.
    pub(crate) steps: u64,
}

/// The file, which every appending process writes.
pub(crate) struct Witness {
    /// Opened by the first append.
    file: Mutex<Option<File>>,
    path: PathBuf,
}

impl Witness {
    pub(crate) fn new(database: &Path) -> Self {
        Self {
            file: Mutex::new(None),
            path: sibling_path(database, "-witness"),
        }
    }

    /// The append noted now, if any.
    pub(crate) fn last(&self) -> Option<LastAppend> {
        read(&std::fs::read_to_string(&self.path).ok()?)
    }

    /// Notes the number of steps of a session.
    pub(crate) fn record(&self, session: &SessionId, steps: u64) {
        self.write(&format!("{HEAD} {session} {steps} {END}"));
    }

    /// Clears the note if it names a session that is about to be deleted.
    pub(crate) fn clear_session(&self, session: &SessionId) {
        if self.last().is_some_and(|last| last.session == *session) {
            self.clear();
        }
    }

    pub(crate) fn clear(&self) {
        if self.path.exists() {
            self.write("");
        }
    }

    fn write(&self, text: &str) {
        // Padded to a fixed width, so that it overwrites the earlier line completely.
        let line = format!("{text:<WIDTH$}\n");
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match file.take() {
            Some(opened) => Ok(opened),
            None => self.open(),
        }
        .and_then(|mut opened| {
            opened.seek(SeekFrom::Start(0))?;
            opened.write_all(line.as_bytes())?;
            Ok(opened)
        });
        match written {
            Ok(opened) => *file = Some(opened),
            // The append is committed regardless.
            Err(error) => {
                tracing::warn!(%error, file = %self.path.display(), "the last append is not noted");
            }
        }
    }

    fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        open_private(&mut options, &self.path)
    }
}

fn read(text: &str) -> Option<LastAppend> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [head, session, steps, end] = words.try_into().ok()?;
    // A truncated line is ignored.
    if head != HEAD || end != END {
        return None;
    }
    Some(LastAppend {
        session: SessionId::parse(session).ok()?,
        steps: steps.parse().ok()?,
    })
}

const HEAD: &str = "jackfield-1";
const END: &str = ".";
/// More than the longest session id and the largest number need.
const WIDTH: usize = 255;
const _: () = assert!(SessionId::MAX + 40 < WIDTH);
