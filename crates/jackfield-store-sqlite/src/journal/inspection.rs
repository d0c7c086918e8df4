//! Inspection of the file as a whole: its integrity, its readable sessions, and whether an older state was
//! restored.

use std::time::Duration;

use jackfield_ports::journal::{JournalError, sessions};
use rusqlite::Connection;

use super::SqliteJournal;
use crate::check::{self, CheckProgress, CheckReport, QuickChecked};
use crate::listing;
use crate::restored::{RestoredMarks, RestoredState};

impl SqliteJournal {
    /// Checks the whole file, for at most `limit`: its structure, and whether every record can be read. Other
    /// requests go on meanwhile. The check goes on to its end if the future is dropped.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the file cannot be opened. Damage in it is part of the report, not an error.
    pub async fn check(
        &self,
        limit: Duration,
        progress: impl FnMut(CheckProgress) + Send + 'static,
    ) -> Result<CheckReport, JournalError> {
        let read = move |connection: &Connection| Ok(check::check(connection, limit, progress));
        self.readers
            .read(read)
            .await
            .map_err(|fault| self.unreachable(fault))
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// At most `most` sessions that can be read although the list of sessions is damaged, in no particular order.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the file cannot be opened.
    pub async fn readable_sessions(
        &self,
        most: usize,
    ) -> Result<Vec<sessions::SessionRow>, JournalError> {
        let (incarnation, holds) = (self.incarnation()?, self.holds.clone());
        let path = self.path.clone();
        let read = move |connection: &Connection| {
            Ok(listing::readable(
                connection,
                most,
                &incarnation,
                &holds,
                &RestoredMarks::read(&path),
            ))
        };
        self.readers
            .read(read)
            .await
            .map_err(|fault| self.unreachable(fault))
    }

    /// Checks the structure of the pages, without reading the sessions in them, for at most `limit`.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the file cannot be opened. Damage in it is part of the report, not an error.
    pub async fn quick_check(&self, limit: Duration) -> Result<QuickChecked, JournalError> {
        let read = move |connection: &Connection| Ok(check::quick(connection, limit));
        self.readers
            .read(read)
            .await
            .map_err(|fault| self.unreachable(fault))
    }

    /// The details if the file went back to an older state, as found at this or an earlier opening; `None` if it
    /// did not.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the file cannot be read.
    pub async fn restored(&self) -> Result<Option<RestoredState>, JournalError> {
        let path = self.path.clone();
        let read =
            move |connection: &Connection| RestoredMarks::read(&path).into_state(connection, &path);
        self.readers
            .read(read)
            .await
            .map_err(|fault| self.unreachable(fault))
    }
}
