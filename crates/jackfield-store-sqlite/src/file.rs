//! The connection that writes: single and shared transactions, their syncs, and the write-ahead log.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::error::JobError;
use crate::jobs::{Durability, JobFailure, WriteJob};
use crate::options::Options;
use crate::owners::LocatedFile;

/// The connection that writes to the file.
pub(crate) struct WriteFile {
    connection: Connection,
    /// The number of pages in the log as of the last commit.
    log_pages: Arc<AtomicI32>,
    /// The size limit of the file in bytes.
    max_bytes: Option<u64>,
    pace: SyncPace,
    /// How long a write waits for another process's write.
    busy_timeout: Duration,
    location: LocatedFile,
    /// Whether commits are synced at present.
    synced: bool,
}

/// The result of a job, before its requester gets it.
pub(crate) struct JobResult {
    result: Result<(), JobFailure>,
    job: Box<dyn WriteJob>,
}

impl JobResult {
    /// Sends the result to the requester.
    pub(crate) fn complete(self) {
        self.job.complete(self.result);
    }
}

impl WriteFile {
    /// Wraps the connection, which must not be used otherwise from then on.
    pub(crate) fn new(
        mut connection: Connection,
        place: LocatedFile,
        options: &Options,
    ) -> rusqlite::Result<Self> {
        if let Some(most) = options.max_pages() {
            connection.pragma_update(None, "max_page_count", most)?;
        }
        let logged = Arc::new(AtomicI32::new(0));
        let seen = Arc::clone(&logged);
        // Otherwise SQLite checkpoints within the commit that made the log too long, and its requester has to wait.
        connection.wal_hook(Some(move |_: &mut _, pages| {
            seen.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        connection.busy_timeout(options.busy_timeout)?;
        Ok(Self {
            connection,
            log_pages: logged,
            max_bytes: options.max_bytes,
            pace: SyncPace(Duration::MAX),
            busy_timeout: options.busy_timeout,
            location: place,
            synced: true,
        })
    }

    /// Runs a batch of jobs as one transaction and returns the result of each.
    pub(crate) fn perform(&mut self, mut batch: Vec<Box<dyn WriteJob>>) -> Vec<JobResult> {
        // A sync of the log also makes earlier unsynced commits durable.
        let synced = batch.iter().any(|job| job.durability().is_synced());
        let done = self.transact(synced, &mut |connection| {
            batch.iter_mut().try_for_each(|job| job.perform(connection))
        });
        match &done {
            Ok(()) => {
                if batch
                    .iter()
                    .any(|job| job.durability() == Durability::Wiped)
                {
                    self.wipe();
                }
            }
            // One job failed: run each on its own, so that only that one fails.
            Err(failed) if batch.len() > 1 && failed.is_single_job => {
                let each = batch.into_iter().flat_map(|job| self.perform(vec![job]));
                return each.collect();
            }
            Err(failed) => {
                tracing::error!(fault = %failed.fault, jobs = batch.len(), "the journal was not written");
            }
        }
        let results = batch.into_iter().map(|job| JobResult {
            result: done.clone(),
            job,
        });
        results.collect()
    }

    /// Runs a transaction without waiting for other processes: `None` if another one is writing, and then nothing
    /// was done.
    pub(crate) fn try_execute<T>(
        &mut self,
        synced: bool,
        work: &mut dyn FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Option<Result<T, JobFailure>> {
        let mut answer = None;
        let done = self
            .connection
            .busy_timeout(Duration::ZERO)
            .map_err(|error| JobFailure {
                fault: JobError::from_sqlite(&error),
                ..JobFailure::CLOSED
            })
            .and_then(|()| {
                self.transact(synced, &mut |connection| {
                    answer = Some(work(connection)?);
                    Ok(())
                })
            });
        self.restore_busy_timeout();
        match done {
            Ok(()) => Some(answer.ok_or(JobFailure::CLOSED)),
            Err(failed) if matches!(failed.fault, JobError::Locked(_)) && !failed.may_be_done => {
                None
            }
            Err(failed) => {
                tracing::error!(fault = %failed.fault, "the journal was not written");
                Some(Err(failed))
            }
        }
    }

    /// Reads within one snapshot, without waiting for a writer.
    pub(crate) fn read_now<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JobError> {
        let fault = |error: rusqlite::Error| JobError::from_sqlite(&error);
        self.connection
            .busy_timeout(Duration::ZERO)
            .map_err(fault)?;
        let transaction = Transaction(&self.connection);
        let read = run(&self.connection, "BEGIN")
            .and_then(|()| read(&self.connection))
            .and_then(|read| run(&self.connection, "COMMIT").map(|()| read));
        drop(transaction);
        self.restore_busy_timeout();
        read.map_err(fault)
    }

    /// Whether recent synced commits took less than `limit`.
    pub(crate) fn is_quicker_than(&self, limit: Duration) -> bool {
        self.pace.0 < limit
    }

    /// Whether to checkpoint the log: it is long and the writers pause, or it is too long to wait for a pause.
    pub(crate) fn needs_checkpoint(&self, is_pause: bool) -> bool {
        let logged = self.log_pages.load(Ordering::Relaxed);
        logged >= if is_pause { LONG } else { TOO_LONG }
    }

    /// Checkpoints the log as far as no reader needs it.
    pub(crate) fn checkpoint(&self) {
        let taken = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
        if let Err(error) = taken {
            tracing::warn!(%error, "the log cannot be taken into the file");
        }
        // The next commit sets the number again, also if a reader kept pages in the log.
        self.log_pages.store(0, Ordering::Relaxed);
    }

    fn transact(
        &mut self,
        synced: bool,
        work: &mut dyn FnMut(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), JobFailure> {
        // Commits to an unlinked file are lost when this process ends.
        if !self.location.is_there() {
            return Err(JobFailure {
                fault: JobError::Gone,
                ..JobFailure::CLOSED
            });
        }
        let most = self.max_bytes;
        let failed = |error: &rusqlite::Error, of_one, perhaps_done| JobFailure {
            fault: JobError::from_sqlite(error).with_limit(most),
            is_single_job: of_one,
            may_be_done: perhaps_done,
        };
        // A failure here concerns all jobs of the transaction alike, such as a lock on the file.
        self.sync(synced)
            .map_err(|error| failed(&error, false, false))?;
        let transaction = Transaction(&self.connection);
        run(&self.connection, "BEGIN IMMEDIATE").map_err(|error| failed(&error, false, false))?;
        work(&self.connection).map_err(|error| failed(&error, true, false))?;
        let started = Instant::now();
        // A sync that failed may have written pages that a later recovery of the log finds.
        run(&self.connection, "COMMIT").map_err(|error| failed(&error, false, true))?;
        drop(transaction);
        if synced {
            self.pace.record(started.elapsed());
        }
        Ok(())
    }

    /// Sets whether the next commits are synced.
    fn sync(&mut self, synced: bool) -> rusqlite::Result<()> {
        if self.synced != synced {
            let mode = if synced { "full" } else { "normal" };
            self.connection.pragma_update(None, "synchronous", mode)?;
            self.synced = synced;
        }
        Ok(())
    }

    /// Checkpoints and empties the log. If a reader keeps it for too long, it is emptied when the log restarts, or
    /// by the last process that closes the file.
    fn wipe(&self) {
        let wiped = self
            .connection
            .busy_timeout(self.busy_timeout.min(WIPING))
            .and_then(|()| {
                let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
                self.connection
                    .query_row(checkpoint, (), |row| row.get::<_, bool>(0))
            });
        match wiped {
            Ok(false) => self.log_pages.store(0, Ordering::Relaxed),
            Ok(true) => {
                tracing::debug!("a reader still uses deleted rows; the log is emptied later");
            }
            Err(error) => tracing::warn!(%error, "the log cannot be emptied"),
        }
        self.restore_busy_timeout();
    }

    fn restore_busy_timeout(&self) {
        if let Err(error) = self.connection.busy_timeout(self.busy_timeout) {
            tracing::warn!(%error, "the next write may wait too short a time");
        }
    }
}

/// A decaying maximum of the time of synced commits: each commit lowers it by an eighth, but not below its own
/// time. Before the first commit nothing is known.
struct SyncPace(Duration);

impl SyncPace {
    fn record(&mut self, duration: Duration) {
        let before = if self.0 == Duration::MAX {
            Duration::ZERO
        } else {
            self.0 - self.0 / 8
        };
        self.0 = duration.max(before);
    }
}

/// A transaction that rolls back when dropped without a commit.
struct Transaction<'a>(&'a Connection);

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // Some errors have rolled it back already.
        if !self.0.is_autocommit()
            && let Err(error) = self.0.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a transaction cannot be rolled back");
        }
    }
}

fn run(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute(())?;
    Ok(())
}

/// The number of pages from which the log is checkpointed in a pause.
const LONG: i32 = 1000;
/// The number of pages from which the log is checkpointed without a pause.
const TOO_LONG: i32 = 4000;
/// How long emptying the log waits for readers.
const WIPING: Duration = Duration::from_millis(250);
