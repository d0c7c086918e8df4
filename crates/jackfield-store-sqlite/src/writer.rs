//! How the file is written to: by whoever asks, where that is quick and nobody else is at work, and by a
//! thread otherwise, which commits with its next sync whatever waits while it syncs.
//!
//! To wake the thread and to be woken by it takes about as long as a commit on a quick disk, and a commit
//! that is shorter than [`Options::at_once`](crate::Options::at_once) holds up a runtime no longer than
//! other work does. Turns side by side would each have a sync of their own that way: they go to the thread,
//! and share them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::error::JobError;
use crate::file::WriteFile;
use crate::jobs::{Durability, JobFailure, QueuedJob, WaitingCount, WriteJob};

/// The way to the file.
pub(crate) struct FileWriter {
    /// What a commit may take that is not left to the thread.
    at_once: Duration,
    /// Gone when the thread has ended.
    file: Arc<Mutex<Option<WriteFile>>>,
    jobs: Mutex<Option<mpsc::Sender<WriterRequest>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// How many wait for the thread.
    waiting: Arc<AtomicUsize>,
}

/// Who else may write at the same time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ConcurrentWriters {
    /// Nobody is at work on anything else here.
    Alone,
    /// Others are.
    Others,
}

/// What the thread is asked for.
enum WriterRequest {
    Job(Box<dyn WriteJob>),
    /// To take the log into the file.
    TakeIn,
}

impl FileWriter {
    /// Starts the thread.
    pub(crate) fn start(file: WriteFile, at_once: Duration) -> std::io::Result<Self> {
        let file = Arc::new(Mutex::new(Some(file)));
        let (sender, jobs) = mpsc::channel(WAITING);
        let its = Arc::clone(&file);
        let thread = std::thread::Builder::new()
            .name("jackfield-journal".to_owned())
            .spawn(move || run(&its, jobs))?;
        Ok(Self {
            at_once,
            file,
            jobs: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
            waiting: Arc::default(),
        })
    }

    /// Does this within a transaction, and answers when it has been committed. Dropping the future
    /// takes nothing back.
    pub(crate) async fn ask<T, F>(
        &self,
        company: ConcurrentWriters,
        work: F,
    ) -> Result<T, JobFailure>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.ask_for(Durability::Synced, company, work).await
    }

    /// The same for what a loss of power may take, as long as nothing that was asked for later is there: it
    /// is not synced by itself.
    pub(crate) async fn ask_lightly<T, F>(
        &self,
        company: ConcurrentWriters,
        work: F,
    ) -> Result<T, JobFailure>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.ask_for(Durability::Unsynced, company, work).await
    }

    /// The same for what overwrites something: then nothing of that is left in the log, either.
    pub(crate) async fn ask_to_wipe<T, F>(&self, work: F) -> Result<T, JobFailure>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        // That takes its time.
        self.ask_for(Durability::Wiped, ConcurrentWriters::Others, work)
            .await
    }

    async fn ask_for<T, F>(
        &self,
        lasting: Durability,
        company: ConcurrentWriters,
        mut work: F,
    ) -> Result<T, JobFailure>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let jobs = self
            .jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let jobs = jobs.ok_or(JobFailure::CLOSED)?;
        if company == ConcurrentWriters::Alone
            && let Some(done) = self.at_once(&jobs, lasting, &mut work)
        {
            return done;
        }
        let (reply, answer) = oneshot::channel();
        let task = QueuedJob {
            answer: None,
            lasting,
            reply,
            waits: WaitingCount::among(&self.waiting),
            work,
        };
        jobs.send(WriterRequest::Job(Box::new(task)))
            .await
            .map_err(|_| JobFailure::CLOSED)?;
        drop(jobs);
        // Without an answer the thread has ended in the middle.
        answer.await.unwrap_or(Err(JobFailure {
            perhaps_done: true,
            ..JobFailure::CLOSED
        }))
    }

    /// Does this here and now, unless it would have to wait for somebody or for the disk: `None` if it was
    /// not done.
    fn at_once<T>(
        &self,
        jobs: &mpsc::Sender<WriterRequest>,
        lasting: Durability,
        work: &mut dyn FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Option<Result<T, JobFailure>> {
        // What somebody asked for before is done before, even if nobody waits for it any more.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return None;
        }
        let mut file = self.try_file()?;
        let file = file.as_mut()?;
        if !file.is_quicker_than(self.at_once) {
            return None;
        }
        let done = file.try_now(lasting.is_synced(), work);
        if file.has_much_in_its_log(false) {
            // Where so much waits, it is asked for again.
            let _full = jobs.try_send(WriterRequest::TakeIn);
        }
        done
    }

    /// Reads on the spot what is short, which whoever reads has to see to: `None` if it is not, or if anybody
    /// would have to be waited for.
    pub(crate) fn read_now<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<Option<T>>,
    ) -> Option<Result<T, JobError>> {
        let file = self.try_file()?;
        let file = file.as_ref()?;
        if !file.is_quicker_than(self.at_once) {
            return None;
        }
        match file.read_now(read) {
            Ok(read) => read.map(Ok),
            Err(JobError::Locked(_)) => None,
            Err(fault) => Some(Err(fault)),
        }
    }

    /// Whether what is done on the spot holds up nobody for long.
    pub(crate) fn is_quick(&self) -> bool {
        let file = self.try_file();
        file.is_some_and(|file| {
            file.as_ref()
                .is_some_and(|file| file.is_quicker_than(self.at_once))
        })
    }

    /// Has the log taken into the file if there is much in it, as nobody is about to write.
    pub(crate) fn pause(&self) {
        let is_time = self
            .try_file()
            .and_then(|file| Some(file.as_ref()?.has_much_in_its_log(true)));
        if is_time != Some(true) {
            return;
        }
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(jobs) = &*jobs {
            let _full = jobs.try_send(WriterRequest::TakeIn);
        }
    }

    fn try_file(&self) -> Option<MutexGuard<'_, Option<WriteFile>>> {
        match self.file.try_lock() {
            Ok(file) => Some(file),
            // What somebody did who panicked was rolled back.
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
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

fn run(file: &Mutex<Option<WriteFile>>, mut jobs: mpsc::Receiver<WriterRequest>) {
    let lock = || file.lock().unwrap_or_else(PoisonError::into_inner);
    let mut asked = Vec::new();
    // As many as wait, and at least one.
    while jobs.blocking_recv_many(&mut asked, AT_ONCE) > 0 {
        let mut takes_in = false;
        let mut batch = Vec::with_capacity(asked.len());
        for ask in asked.drain(..) {
            match ask {
                WriterRequest::Job(job) => batch.push(job),
                WriterRequest::TakeIn => takes_in = true,
            }
        }
        if !batch.is_empty() {
            let mut file = lock();
            let Some(its) = file.as_mut() else {
                return;
            };
            let told = its.perform(batch);
            takes_in |= its.has_much_in_its_log(false);
            // Whoever is told may write at once.
            drop(file);
            for told in told {
                told.tell();
            }
        }
        if takes_in && let Some(its) = lock().as_ref() {
            its.take_in();
        }
    }
    drop(lock().take());
}

/// How many may wait before whoever asks has to wait, too.
const WAITING: usize = 1024;
/// The most that share a transaction.
const AT_ONCE: usize = 256;
