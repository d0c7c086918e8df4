//! What is seen of the file as a whole: its pages, what can be read of it, whether it went back.

use std::time::Duration;

use jackfield_ports::journal::{JournalError, sessions};
use rusqlite::Connection;

use super::SqliteJournal;
use crate::check::{self, CheckProgress, CheckReport, QuickChecked};
use crate::listing;
use crate::restored::{RestoredMarks, RestoredState};

impl SqliteJournal {
    /// Looks over the whole file, for at most that long: whether it is sound, and everything in it can
    /// be read. Others go on with it meanwhile. Dropped, it comes to its end all the same.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the file cannot be opened. What is wrong in it is no error.
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

    /// The file.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// The sessions that can be read although the list of them is damaged, in no order that means anything,
    /// and at most that many.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the file cannot be opened.
    pub async fn readable_sessions(
        &self,
        most: usize,
    ) -> Result<Vec<sessions::SessionRow>, JournalError> {
        let (us, holds) = (self.us()?, self.holds.clone());
        let path = self.path.clone();
        let read = move |connection: &Connection| {
            Ok(listing::readable(
                connection,
                most,
                &us,
                &holds,
                &RestoredMarks::read(&path),
            ))
        };
        self.readers
            .read(read)
            .await
            .map_err(|fault| self.unreachable(fault))
    }

    /// Looks whether the pages of the file hang together, whatever they say, for at most that long.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the file cannot be opened. What is wrong in it is no error.
    pub async fn quick_check(&self, limit: Duration) -> Result<QuickChecked, JournalError> {
        let read = move |connection: &Connection| Ok(check::quick(connection, limit));
        self.readers
            .read(read)
            .await
            .map_err(|fault| self.unreachable(fault))
    }

    /// What is known of the file having gone back to an older state, which was seen when it was opened, or
    /// before; nothing where it did not.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the file cannot be read.
    pub async fn restored(&self) -> Result<Option<RestoredState>, JournalError> {
        let path = self.path.clone();
        let read =
            move |connection: &Connection| RestoredMarks::read(&path).told(connection, &path);
        self.readers
            .read(read)
            .await
            .map_err(|fault| self.unreachable(fault))
    }
}
