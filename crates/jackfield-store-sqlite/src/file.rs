//! The file that is written to: transactions, each by one or shared by many, and the log that they are in.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::error::JobError;
use crate::jobs::{Durability, JobFailure, WriteJob};
use crate::options::Options;
use crate::owners::LocatedFile;

/// The file that is written to.
pub(crate) struct WriteFile {
    connection: Connection,
    /// How many pages are in the log, as of the last commit.
    logged: Arc<AtomicI32>,
    /// How many bytes it may have.
    most: Option<u64>,
    pace: SyncPace,
    /// How long a write waits while another process writes.
    patience: Duration,
    place: LocatedFile,
    /// Whether a commit is synced now.
    synced: bool,
}

/// What became of a job, to be told.
pub(crate) struct JobResult {
    ended: Result<(), JobFailure>,
    job: Box<dyn WriteJob>,
}

impl JobResult {
    /// Tells whoever asked.
    pub(crate) fn tell(self) {
        self.job.tell(self.ended);
    }
}

impl WriteFile {
    /// Takes the connection, on which nothing else is done any more.
    pub(crate) fn of(
        mut connection: Connection,
        place: LocatedFile,
        options: &Options,
    ) -> rusqlite::Result<Self> {
        if let Some(most) = options.most_pages() {
            connection.pragma_update(None, "max_page_count", most)?;
        }
        let logged = Arc::new(AtomicI32::new(0));
        let seen = Arc::clone(&logged);
        // Otherwise SQLite takes the log into the file within the commit that has made it too long, and
        // somebody waits for that.
        connection.wal_hook(Some(move |_: &mut _, pages| {
            seen.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        connection.busy_timeout(options.patience)?;
        Ok(Self {
            connection,
            logged,
            most: options.most_bytes,
            pace: SyncPace(Duration::MAX),
            patience: options.patience,
            place,
            synced: true,
        })
    }

    /// Does these as one transaction, and says what each of them is to be told.
    pub(crate) fn perform(&mut self, mut batch: Vec<Box<dyn WriteJob>>) -> Vec<JobResult> {
        // A sync of the log takes with it what was written there before without one.
        let synced = batch.iter().any(|job| job.lasting().is_synced());
        let done = self.transact(synced, &mut |connection| {
            batch.iter_mut().try_for_each(|job| job.perform(connection))
        });
        match &done {
            Ok(()) => {
                if batch.iter().any(|job| job.lasting() == Durability::Wiped) {
                    self.wipe();
                }
            }
            // One of them is at fault: each for itself, and only that one fails.
            Err(failed) if batch.len() > 1 && failed.of_one => {
                let each = batch.into_iter().flat_map(|job| self.perform(vec![job]));
                return each.collect();
            }
            Err(failed) => {
                tracing::error!(fault = %failed.fault, jobs = batch.len(), "the journal was not written");
            }
        }
        let told = batch.into_iter().map(|job| JobResult {
            ended: done.clone(),
            job,
        });
        told.collect()
    }

    /// Does this as a transaction without waiting for another process: `None` if one is writing, and then
    /// nothing was done.
    pub(crate) fn try_now<T>(
        &mut self,
        synced: bool,
        work: &mut dyn FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Option<Result<T, JobFailure>> {
        let mut answer = None;
        let done = self
            .connection
            .busy_timeout(Duration::ZERO)
            .map_err(|error| JobFailure {
                fault: JobError::of(&error),
                ..JobFailure::CLOSED
            })
            .and_then(|()| {
                self.transact(synced, &mut |connection| {
                    answer = Some(work(connection)?);
                    Ok(())
                })
            });
        self.be_patient();
        match done {
            Ok(()) => Some(answer.ok_or(JobFailure::CLOSED)),
            Err(failed) if matches!(failed.fault, JobError::Locked(_)) && !failed.perhaps_done => {
                None
            }
            Err(failed) => {
                tracing::error!(fault = %failed.fault, "the journal was not written");
                Some(Err(failed))
            }
        }
    }

    /// Reads within one snapshot, which waits for nobody.
    pub(crate) fn read_now<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JobError> {
        let fault = |error: rusqlite::Error| JobError::of(&error);
        self.connection
            .busy_timeout(Duration::ZERO)
            .map_err(fault)?;
        let transaction = Transaction(&self.connection);
        let read = run(&self.connection, "BEGIN")
            .and_then(|()| read(&self.connection))
            .and_then(|read| run(&self.connection, "COMMIT").map(|()| read));
        drop(transaction);
        self.be_patient();
        read.map_err(fault)
    }

    /// Whether synced commits took less than this lately.
    pub(crate) fn is_quicker_than(&self, limit: Duration) -> bool {
        self.pace.0 < limit
    }

    /// Whether the log is to be taken into the file: it is long, and whoever writes has a pause, or it is
    /// so long that nobody's pause is waited for.
    pub(crate) fn has_much_in_its_log(&self, is_pause: bool) -> bool {
        let logged = self.logged.load(Ordering::Relaxed);
        logged >= if is_pause { LONG } else { TOO_LONG }
    }

    /// Takes the log into the file as far as nobody reads it.
    pub(crate) fn take_in(&self) {
        let taken = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
        if let Err(error) = taken {
            tracing::warn!(%error, "the log cannot be taken into the file");
        }
        // Asked for again when there is more, also if somebody reads.
        self.logged.store(0, Ordering::Relaxed);
    }

    fn transact(
        &mut self,
        synced: bool,
        work: &mut dyn FnMut(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), JobFailure> {
        // What is written to a file that has no name any more is lost with this process.
        if !self.place.is_there() {
            return Err(JobFailure {
                fault: JobError::Gone,
                ..JobFailure::CLOSED
            });
        }
        let most = self.most;
        let failed = |error: &rusqlite::Error, of_one, perhaps_done| JobFailure {
            fault: JobError::of(error).within(most),
            of_one,
            perhaps_done,
        };
        // Whoever holds the file holds it for all of them.
        self.sync(synced)
            .map_err(|error| failed(&error, false, false))?;
        let transaction = Transaction(&self.connection);
        run(&self.connection, "BEGIN IMMEDIATE").map_err(|error| failed(&error, false, false))?;
        work(&self.connection).map_err(|error| failed(&error, true, false))?;
        let started = Instant::now();
        // A sync that failed may have written what a recovery finds.
        run(&self.connection, "COMMIT").map_err(|error| failed(&error, false, true))?;
        drop(transaction);
        if synced {
            self.pace.saw(started.elapsed());
        }
        Ok(())
    }

    /// Says whether the next commits are synced.
    fn sync(&mut self, synced: bool) -> rusqlite::Result<()> {
        if self.synced != synced {
            let mode = if synced { "full" } else { "normal" };
            self.connection.pragma_update(None, "synchronous", mode)?;
            self.synced = synced;
        }
        Ok(())
    }

    /// Takes the log into the file and empties it, unless somebody reads for longer: then it is done when
    /// the log is begun anew, or by the last one that has the file open.
    fn wipe(&self) {
        let wiped = self
            .connection
            .busy_timeout(self.patience.min(WIPING))
            .and_then(|()| {
                let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
                self.connection
                    .query_row(checkpoint, (), |row| row.get::<_, bool>(0))
            });
        match wiped {
            Ok(false) => self.logged.store(0, Ordering::Relaxed),
            Ok(true) => {
                tracing::debug!("somebody reads what was deleted; the log is emptied later");
            }
            Err(error) => tracing::warn!(%error, "the log cannot be emptied"),
        }
        self.be_patient();
    }

    fn be_patient(&self) {
        if let Err(error) = self.connection.busy_timeout(self.patience) {
            tracing::warn!(%error, "the next write may wait too short a time");
        }
    }
}

/// The longest that a synced commit took lately: each one takes an eighth off it, and none makes it less
/// than it took itself. Nothing is known before the first.
struct SyncPace(Duration);

impl SyncPace {
    fn saw(&mut self, took: Duration) {
        let before = if self.0 == Duration::MAX {
            Duration::ZERO
        } else {
            self.0 - self.0 / 8
        };
        self.0 = took.max(before);
    }
}

/// A transaction, which is rolled back where it was not committed.
struct Transaction<'a>(&'a Connection);

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // Some errors have ended it already.
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

/// How many pages the log has before it is taken into the file in a pause.
const LONG: i32 = 1000;
/// How many it may have before that is done in any case.
const TOO_LONG: i32 = 4000;
/// How long others' reads are waited for before the log is emptied.
const WIPING: Duration = Duration::from_millis(250);
