//! Writes to the file: inline in the requester where that is fast and no other session is at work, and otherwise on
//! a thread, which commits all requests that wait during a sync with the next one.
//!
//! Waking the thread and being woken by it takes about as long as a commit on a fast disk, and a commit shorter
//! than [`Options::inline_limit`](crate::Options::inline_limit) blocks a runtime no longer than other work does. Concurrent
//! turns would each need a sync of their own that way: they go to the thread and share them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::error::JobError;
use crate::file::WriteFile;
use crate::jobs::{ConcurrentWriters, Durability, JobFailure, QueuedJob, WaitingCount, WriteJob};

/// The handle for writes to the file.
pub(crate) struct FileWriter {
    /// The longest expected time of a commit that runs inline.
    inline_limit: Duration,
    /// `None` when the thread has ended.
    file: Arc<Mutex<Option<WriteFile>>>,
    jobs: Mutex<Option<mpsc::Sender<WriterRequest>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// How many requests wait for the thread.
    waiting: Arc<AtomicUsize>,
}

/// A request to the thread.
enum WriterRequest {
    Job(Box<dyn WriteJob>),
    Checkpoint,
}

impl FileWriter {
    pub(crate) fn start(file: WriteFile, inline_limit: Duration) -> std::io::Result<Self> {
        let file = Arc::new(Mutex::new(Some(file)));
        let (sender, jobs) = mpsc::channel(WAITING);
        let shared_file = Arc::clone(&file);
        let thread = std::thread::Builder::new()
            .name("jackfield-journal".to_owned())
            .spawn(move || run(&shared_file, jobs))?;
        Ok(Self {
            inline_limit,
            file,
            jobs: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
            waiting: Arc::default(),
        })
    }

    /// Runs `work` within a transaction and answers after its commit. Dropping the future does not cancel it.
    pub(crate) async fn execute<T, F>(
        &self,
        concurrency: ConcurrentWriters,
        work: F,
    ) -> Result<T, JobFailure>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.submit(Durability::Synced, concurrency, work).await
    }

    /// Like `ask`, for work that a loss of power may undo, unless later synced work is durable: it is not synced by
    /// itself.
    pub(crate) async fn execute_unsynced<T, F>(
        &self,
        concurrency: ConcurrentWriters,
        work: F,
    ) -> Result<T, JobFailure>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.submit(Durability::Unsynced, concurrency, work).await
    }

    /// Like `ask`, for work that overwrites data: the answer comes after nothing of the old data is left in the
    /// log.
    pub(crate) async fn execute_and_wipe<T, F>(&self, work: F) -> Result<T, JobFailure>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        // This is slow, so it always goes to the thread.
        self.submit(Durability::Wiped, ConcurrentWriters::Others, work)
            .await
    }

    async fn submit<T, F>(
        &self,
        durability: Durability,
        concurrency: ConcurrentWriters,
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
        if concurrency == ConcurrentWriters::Alone
            && let Some(done) = self.try_inline(&jobs, durability, &mut work)
        {
            return done;
        }
        let (reply, answer) = oneshot::channel();
        let task = QueuedJob {
            answer: None,
            durability,
            reply,
            waits: WaitingCount::new(&self.waiting),
            work,
        };
        jobs.send(WriterRequest::Job(Box::new(task)))
            .await
            .map_err(|_| JobFailure::CLOSED)?;
        drop(jobs);
        // Without an answer the thread has ended midway.
        answer.await.unwrap_or(Err(JobFailure {
            may_be_done: true,
            ..JobFailure::CLOSED
        }))
    }

    /// Runs `work` inline, unless it would have to wait for another writer or for the disk: `None` if it was not
    /// run.
    fn try_inline<T>(
        &self,
        jobs: &mpsc::Sender<WriterRequest>,
        durability: Durability,
        work: &mut dyn FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Option<Result<T, JobFailure>> {
        // Earlier requests come first, even if their futures were dropped.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return None;
        }
        let mut file = self.try_file()?;
        let file = file.as_mut()?;
        if !file.is_quicker_than(self.inline_limit) {
            return None;
        }
        let done = file.try_execute(durability.is_synced(), work);
        if file.needs_checkpoint(false) {
            // With a full queue, a later commit sends this request again.
            let _full = jobs.try_send(WriterRequest::Checkpoint);
        }
        done
    }

    /// Reads inline, which the caller must keep short: `None` if the read turns out to be long, or would have to
    /// wait.
    pub(crate) fn read_now<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<Option<T>>,
    ) -> Option<Result<T, JobError>> {
        let file = self.try_file()?;
        let file = file.as_ref()?;
        if !file.is_quicker_than(self.inline_limit) {
            return None;
        }
        match file.read_now(read) {
            Ok(read) => read.map(Ok),
            Err(JobError::Locked(_)) => None,
            Err(fault) => Some(Err(fault)),
        }
    }

    /// Whether work done inline is short enough not to block the runtime.
    pub(crate) fn is_quick(&self) -> bool {
        let file = self.try_file();
        file.is_some_and(|file| {
            file.as_ref()
                .is_some_and(|file| file.is_quicker_than(self.inline_limit))
        })
    }

    /// Requests a checkpoint if the log is long, as no write is expected now.
    pub(crate) fn pause(&self) {
        let is_time = self
            .try_file()
            .and_then(|file| Some(file.as_ref()?.needs_checkpoint(true)));
        if is_time != Some(true) {
            return;
        }
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(jobs) = &*jobs {
            let _full = jobs.try_send(WriterRequest::Checkpoint);
        }
    }

    fn try_file(&self) -> Option<MutexGuard<'_, Option<WriteFile>>> {
        match self.file.try_lock() {
            Ok(file) => Some(file),
            // The transaction of a thread that panicked was rolled back.
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Accepts no more requests; the first call returns the handle of the thread, which finishes the queued ones.
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
    let mut requests = Vec::new();
    // As many as wait, and at least one.
    while jobs.blocking_recv_many(&mut requests, AT_ONCE) > 0 {
        let mut needs_checkpoint = false;
        let mut batch = Vec::with_capacity(requests.len());
        for request in requests.drain(..) {
            match request {
                WriterRequest::Job(job) => batch.push(job),
                WriterRequest::Checkpoint => needs_checkpoint = true,
            }
        }
        if !batch.is_empty() {
            let mut file = lock();
            let Some(writer) = file.as_mut() else {
                return;
            };
            let results = writer.perform(batch);
            needs_checkpoint |= writer.needs_checkpoint(false);
            // A requester may write as soon as it gets its answer.
            drop(file);
            for result in results {
                result.complete();
            }
        }
        if needs_checkpoint && let Some(writer) = lock().as_ref() {
            writer.checkpoint();
        }
    }
    drop(lock().take());
}

/// The length of the queue; beyond it, requesters wait.
const WAITING: usize = 1024;
/// The most requests that share a transaction.
const AT_ONCE: usize = 256;
