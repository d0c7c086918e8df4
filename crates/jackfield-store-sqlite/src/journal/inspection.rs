//! Inspection of the file as a whole: its integrity, its readable sessions, and whether an older state was
//! restored; and its end.

use std::sync::PoisonError;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_ports::journal::admin::{
    CheckProgress, CheckReport, JournalAdmin, QuickChecked, RestoredState,
};
use jackfield_ports::journal::copy::{Imported, SessionCopy};
use jackfield_ports::journal::{Journal as _, JournalError, sessions};
use rusqlite::Connection;

use super::SqliteJournal;
use crate::check;
use crate::import::ImportJob;
use crate::jobs::ConcurrentWriters;
use crate::listing;
use crate::restored::RestoredMarks;

impl SqliteJournal {
    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Ends the threads, once everything requested so far is written, the reads under way, and the lock that proves
    /// the process alive.
    pub(super) async fn end(&self) {
        self.arrivals.close();
        let threads = [
            self.writer.close(),
            self.watcher
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        ];
        let ended = tokio::task::spawn_blocking(|| {
            for thread in threads.into_iter().flatten() {
                let _panicked = thread.join();
            }
        });
        let _ended = ended.await;
        self.readers.close().await;
        drop(
            self.incarnation
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
    }

    /// Reads from the file as a whole.
    pub(super) async fn inspect<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        let reading = self.readers.read(read);
        reading.await.map_err(|fault| self.unreachable(fault))
    }
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        // The threads end by themselves.
        self.arrivals.close();
        drop(self.writer.close());
    }
}

/// A check goes on to its end if its future is dropped.
#[async_trait]
impl JournalAdmin for SqliteJournal {
    fn location(&self) -> String {
        self.path.display().to_string()
    }

    fn repair_help(&self) -> &str {
        "end what has the file open, move it away with its `-wal` and `-shm`, and put a copy in its place, or what \
         `sqlite3 FILE .recover` finds in it"
    }

    async fn check(
        &self,
        limit: Duration,
        progress: Box<dyn FnMut(CheckProgress) + Send>,
    ) -> Result<CheckReport, JournalError> {
        self.inspect(move |connection| Ok(check::check(connection, limit, progress)))
            .await
    }

    async fn quick_check(&self, limit: Duration) -> Result<QuickChecked, JournalError> {
        self.inspect(move |connection| Ok(check::quick(connection, limit)))
            .await
    }

    async fn restored(&self) -> Result<Option<RestoredState>, JournalError> {
        let path = self.path.clone();
        self.inspect(move |connection| RestoredMarks::read(&path).into_state(connection, &path))
            .await
    }

    async fn readable_sessions(
        &self,
        limit: usize,
    ) -> Result<Vec<sessions::SessionRow>, JournalError> {
        let (incarnation, holds) = (self.incarnation()?, self.holds.clone());
        let path = self.path.clone();
        self.inspect(move |connection| {
            Ok(listing::readable(
                connection,
                limit,
                &incarnation,
                &holds,
                &RestoredMarks::read(&path),
            ))
        })
        .await
    }

    async fn import(&self, copy: &SessionCopy) -> Result<Imported, JournalError> {
        let job = ImportJob::new(copy).map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })?;
        let incarnation = self.incarnation()?;
        let work = move |connection: &Connection| job.write(connection, &incarnation);
        let imported = self.writer.execute(ConcurrentWriters::Others, work).await;
        let imported = imported.map_err(|failed| self.unreachable(failed.fault))?;
        if imported == Imported::Written && copy.loaded.restored {
            self.mark_restored(&copy.session).await?;
        }
        Ok(imported)
    }

    /// The pages of the file, without its log.
    async fn size(&self) -> Result<u64, JournalError> {
        self.inspect(|connection| {
            let pages: u64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
            let page: u64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
            Ok(pages.saturating_mul(page))
        })
        .await
    }
}
