//! The thread that writes: whatever waits while it syncs is committed with the next sync.

use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::error::Fault;
use crate::owners::Located;

/// The way to the thread.
pub(crate) struct Writer {
    jobs: Mutex<Option<mpsc::Sender<Box<dyn Job>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Why something was not done.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) fault: Fault,
    /// Whether it may have been done all the same.
    pub(crate) perhaps_done: bool,
    /// Whether what was to be done failed, and not what it shares with others.
    of_one: bool,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(
        connection: Connection,
        file: Located,
        patience: Duration,
    ) -> std::io::Result<Self> {
        let file = File {
            connection,
            patience,
            place: file,
            synced: true,
        };
        let (sender, jobs) = mpsc::channel(WAITING);
        let thread = std::thread::Builder::new()
            .name("jackfield-journal".to_owned())
            .spawn(move || run(file, jobs))?;
        Ok(Self {
            jobs: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Does this within a transaction, and answers when it has been committed. Dropping the future
    /// takes nothing back.
    pub(crate) async fn ask<T, F>(&self, work: F) -> Result<T, Failed>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.ask_for(work, Lasting::Synced).await
    }

    /// The same for what a loss of power may take, as long as nothing that was asked for later is there: it
    /// is not synced by itself.
    pub(crate) async fn ask_lightly<T, F>(&self, work: F) -> Result<T, Failed>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.ask_for(work, Lasting::Unsynced).await
    }

    /// The same for what overwrites something: then nothing of that is left in the log, either.
    pub(crate) async fn ask_to_wipe<T, F>(&self, work: F) -> Result<T, Failed>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.ask_for(work, Lasting::Wiped).await
    }

    async fn ask_for<T, F>(&self, work: F, lasting: Lasting) -> Result<T, Failed>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let closed = Failed {
            fault: Fault::Closed,
            of_one: false,
            perhaps_done: false,
        };
        let jobs = self
            .jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let jobs = jobs.ok_or_else(|| closed.clone())?;
        let (reply, answer) = oneshot::channel();
        let task = Task {
            answer: None,
            lasting,
            reply,
            work,
        };
        jobs.send(Box::new(task))
            .await
            .map_err(|_| closed.clone())?;
        drop(jobs);
        // Without an answer the thread has ended in the middle.
        answer.await.unwrap_or(Err(Failed {
            perhaps_done: true,
            ..closed
        }))
    }

    /// Takes nothing more; the handle of the thread that does the rest, the first time.
    pub(crate) fn close(&self) -> Option<JoinHandle<()>> {
        drop(
            self.jobs
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        self.thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// What has to have become of a transaction when those who asked for it are answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Lasting {
    /// It is synced.
    Synced,
    /// It is written.
    Unsynced,
    /// It is synced, the log was taken into the file, and nothing is left in it.
    Wiped,
}

/// Something to do within a transaction.
trait Job: Send {
    /// Does it. If the transaction comes to nothing, it is done again from the beginning.
    fn perform(&mut self, connection: &Connection) -> rusqlite::Result<()>;

    /// What has to have become of it when it is answered.
    fn lasting(&self) -> Lasting;

    /// Tells whoever asked.
    fn tell(self: Box<Self>, ended: Result<(), Failed>);
}

struct Task<T, F> {
    answer: Option<T>,
    lasting: Lasting,
    reply: oneshot::Sender<Result<T, Failed>>,
    work: F,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> rusqlite::Result<T> + Send,
{
    fn perform(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.answer = Some((self.work)(connection)?);
        Ok(())
    }

    fn lasting(&self) -> Lasting {
        self.lasting
    }

    fn tell(self: Box<Self>, ended: Result<(), Failed>) {
        let Self { answer, reply, .. } = *self;
        let answer = ended.and_then(|()| {
            answer.ok_or(Failed {
                fault: Fault::Closed,
                of_one: true,
                perhaps_done: false,
            })
        });
        // Whoever asked may have gone away.
        let _gone = reply.send(answer);
    }
}

fn run(mut file: File, mut jobs: mpsc::Receiver<Box<dyn Job>>) {
    let mut batch = Vec::new();
    // As many as wait, and at least one.
    while jobs.blocking_recv_many(&mut batch, AT_ONCE) > 0 {
        perform(&mut file, std::mem::take(&mut batch));
    }
}

/// Does these as one transaction.
fn perform(file: &mut File, mut batch: Vec<Box<dyn Job>>) {
    let done = transact(file, &mut batch);
    match done {
        Ok(()) => {
            if batch.iter().any(|job| job.lasting() == Lasting::Wiped) {
                file.wipe();
            }
            tell(batch, &Ok(()));
        }
        // One of them is at fault: each for itself, and only that one fails.
        Err(failed) if batch.len() > 1 && failed.of_one => {
            for job in batch {
                perform(file, vec![job]);
            }
        }
        Err(failed) => {
            tracing::error!(fault = %failed.fault, jobs = batch.len(), "the journal was not written");
            tell(batch, &Err(failed));
        }
    }
}

fn tell(batch: Vec<Box<dyn Job>>, ended: &Result<(), Failed>) {
    for job in batch {
        job.tell(ended.clone());
    }
}

fn transact(file: &mut File, batch: &mut [Box<dyn Job>]) -> Result<(), Failed> {
    // What is written to a file that has no name any more is lost with this process.
    if !file.place.is_there() {
        return Err(Failed {
            fault: Fault::Gone,
            of_one: false,
            perhaps_done: false,
        });
    }
    // A sync of the log takes with it what was written there before without one.
    let synced = batch.iter().any(|job| job.lasting() != Lasting::Unsynced);
    let begun = file
        .sync(synced)
        .and_then(|()| file.perform("BEGIN IMMEDIATE"));
    let connection = &file.connection;
    let failed = |error: &rusqlite::Error, of_one, perhaps_done| {
        roll_back(connection);
        Failed {
            fault: Fault::of(error),
            of_one,
            perhaps_done,
        }
    };
    // Whoever holds the file holds it for all of them.
    begun.map_err(|error| failed(&error, false, false))?;
    for job in batch {
        let performed = job.perform(connection);
        performed.map_err(|error| failed(&error, true, false))?;
    }
    // A sync that failed may have written what a recovery finds.
    let committed = file.perform("COMMIT");
    committed.map_err(|error| failed(&error, false, true))
}

/// Ends a transaction that some errors have ended already.
fn roll_back(connection: &Connection) {
    if !connection.is_autocommit()
        && let Err(error) = connection.execute_batch("ROLLBACK")
    {
        tracing::error!(%error, "a transaction cannot be rolled back");
    }
}

/// The file that is written to.
struct File {
    connection: Connection,
    /// How long a write waits while another process writes.
    patience: Duration,
    place: Located,
    /// Whether a commit is synced now.
    synced: bool,
}

impl File {
    fn perform(&self, statement: &str) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare_cached(statement)?;
        statement.execute(())?;
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
            Ok(false) => {}
            Ok(true) => {
                tracing::debug!("somebody reads what was deleted; the log is emptied later");
            }
            Err(error) => tracing::warn!(%error, "the log cannot be emptied"),
        }
        if let Err(error) = self.connection.busy_timeout(self.patience) {
            tracing::warn!(%error, "the next write may wait too short a time");
        }
    }
}

/// How long others' reads are waited for before the log is emptied.
const WIPING: Duration = Duration::from_millis(250);
/// How many may wait before whoever asks has to wait, too.
const WAITING: usize = 1024;
/// The most that share a transaction.
const AT_ONCE: usize = 256;
