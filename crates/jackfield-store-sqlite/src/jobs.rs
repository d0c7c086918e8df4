//! Jobs for the thread that writes, and their results.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::JobError;

#[derive(Clone, Debug)]
pub(crate) struct JobFailure {
    pub(crate) fault: JobError,
    /// Whether it may have been committed all the same.
    pub(crate) may_be_done: bool,
    /// Whether this job failed, and not the transaction that it shares with others.
    pub(crate) is_single_job: bool,
}

impl JobFailure {
    /// The journal was closed, or its thread has ended.
    pub(crate) const CLOSED: Self = Self {
        fault: JobError::Closed,
        is_single_job: false,
        may_be_done: false,
    };
}

/// The durability that a transaction needs before its requesters are answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Durability {
    Synced,
    /// Written, not synced.
    Unsynced,
    /// Synced, and the log checkpointed and emptied.
    Wiped,
}

impl Durability {
    pub(crate) const fn is_synced(self) -> bool {
        match self {
            Self::Synced | Self::Wiped => true,
            Self::Unsynced => false,
        }
    }
}

/// Whether other sessions may write at the same time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ConcurrentWriters {
    /// No other session is at work here.
    Alone,
    Others,
}

/// Work to do within a transaction.
pub(crate) trait WriteJob: Send {
    /// Performs the work. If the transaction fails, this may be called again from the beginning.
    fn perform(&mut self, connection: &Connection) -> rusqlite::Result<()>;

    /// The durability that it needs before the answer.
    fn durability(&self) -> Durability;

    /// Sends the result to the requester.
    fn complete(self: Box<Self>, result: Result<(), JobFailure>);
}

/// A request and the channel for its answer.
pub(crate) struct QueuedJob<T, F> {
    pub(crate) answer: Option<T>,
    pub(crate) durability: Durability,
    pub(crate) reply: oneshot::Sender<Result<T, JobFailure>>,
    pub(crate) waits: WaitingCount,
    pub(crate) work: F,
}

impl<T, F> WriteJob for QueuedJob<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> rusqlite::Result<T> + Send,
{
    fn perform(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.answer = Some((self.work)(connection)?);
        Ok(())
    }

    fn durability(&self) -> Durability {
        self.durability
    }

    fn complete(self: Box<Self>, result: Result<(), JobFailure>) {
        let Self {
            answer,
            reply,
            waits,
            ..
        } = *self;
        let answer = result.and_then(|()| {
            answer.ok_or(JobFailure {
                is_single_job: true,
                ..JobFailure::CLOSED
            })
        });
        // Once answered, the requester may send its next request, which must not count this one as waiting.
        drop(waits);
        // The requester may be gone.
        let _gone = reply.send(answer);
    }
}

/// Counts one request that waits for the thread, until it is dropped.
pub(crate) struct WaitingCount(Arc<AtomicUsize>);

impl WaitingCount {
    /// Adds one to the count.
    pub(crate) fn new(waiting: &Arc<AtomicUsize>) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(waiting))
    }
}

impl Drop for WaitingCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
