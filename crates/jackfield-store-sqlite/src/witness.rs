//! The witness: a small file beside the database that says what was committed last.
//!
//! SQLite drops the end of a log that was cut or overwritten without a word, and an older copy of the file
//! looks as whole as the newer one. What is lost either way is the end of what was committed, with all tables
//! alike; so one line outside of the database is enough to see it: if the last append is there, everything is.
//!
//! It is written after each append was synced and before it is answered, and is not synced itself. A killed
//! process loses nothing of it. A loss of power may leave it older than the database, never newer: then it
//! sees less, and never what is not so.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jackfield_domain::ids::SessionId;

use crate::owners::{beside, private};

/// The append that was committed last.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct LastAppend {
    pub(crate) session: SessionId,
    /// How many steps the session had then.
    pub(crate) steps: u64,
}

/// The file, which every process that appends writes to.
pub(crate) struct Witness {
    /// Opened by the first append.
    file: Mutex<Option<File>>,
    path: PathBuf,
}

impl Witness {
    pub(crate) fn of(database: &Path) -> Self {
        Self {
            file: Mutex::new(None),
            path: beside(database, "-witness"),
        }
    }

    /// What it says now, if it says anything.
    pub(crate) fn last(&self) -> Option<LastAppend> {
        read(&std::fs::read_to_string(&self.path).ok()?)
    }

    /// Says that a session has so many steps.
    pub(crate) fn saw(&self, session: &SessionId, steps: u64) {
        self.write(&format!("{HEAD} {session} {steps} {END}"));
    }

    /// Says nothing any more of a session that is about to be deleted.
    pub(crate) fn forget(&self, session: &SessionId) {
        if self.last().is_some_and(|last| last.session == *session) {
            self.clear();
        }
    }

    /// Says nothing any more.
    pub(crate) fn clear(&self) {
        if self.path.exists() {
            self.write("");
        }
    }

    fn write(&self, text: &str) {
        // As long as any other, so that nothing is left of the one before.
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
            // What was committed is committed.
            Err(error) => {
                tracing::warn!(%error, file = %self.path.display(), "the last append is not noted");
            }
        }
    }

    fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        private(&mut options);
        options.open(&self.path)
    }
}

fn read(text: &str) -> Option<LastAppend> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [head, session, steps, end] = words.try_into().ok()?;
    // What was cut off says nothing.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_was_cut_off_says_nothing() {
        let last = LastAppend {
            session: SessionId::parse("one").expect("a valid id"),
            steps: 120,
        };
        assert_eq!(read("jackfield-1 one 120 .   \n"), Some(last));
        for text in ["", " \n", "jackfield-1 one 12", "jackfield-2 one 120 .\n"] {
            assert_eq!(read(text), None, "{text}");
        }
        const { assert!(SessionId::MAX + 40 < WIDTH) };
    }
}
