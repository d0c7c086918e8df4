//! What the thread that writes is asked for, and what becomes of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::JobError;

/// Why something was not done.
#[derive(Clone, Debug)]
pub(crate) struct JobFailure {
    pub(crate) fault: JobError,
    /// Whether it may have been done all the same.
    pub(crate) perhaps_done: bool,
    /// Whether what was to be done failed, and not what it shares with others.
    pub(crate) of_one: bool,
}

impl JobFailure {
    /// The journal was closed, or its thread has ended.
    pub(crate) const CLOSED: Self = Self {
        fault: JobError::Closed,
        of_one: false,
        perhaps_done: false,
    };
}

/// What has to have become of a transaction when those who asked for it are answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Durability {
    /// It is synced.
    Synced,
    /// It is written.
    Unsynced,
    /// It is synced, the log was taken into the file, and nothing is left in it.
    Wiped,
}

impl Durability {
    /// Whether it is synced.
    pub(crate) const fn is_synced(self) -> bool {
        match self {
            Self::Synced | Self::Wiped => true,
            Self::Unsynced => false,
        }
    }
}

/// Something to do within a transaction.
pub(crate) trait WriteJob: Send {
    /// Does it. If the transaction comes to nothing, it is done again from the beginning.
    fn perform(&mut self, connection: &Connection) -> rusqlite::Result<()>;

    /// What has to have become of it when it is answered.
    fn lasting(&self) -> Durability;

    /// Tells whoever asked.
    fn tell(self: Box<Self>, ended: Result<(), JobFailure>);
}

/// What somebody asked for, and where the answer goes.
pub(crate) struct QueuedJob<T, F> {
    pub(crate) answer: Option<T>,
    pub(crate) lasting: Durability,
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

    fn lasting(&self) -> Durability {
        self.lasting
    }

    fn tell(self: Box<Self>, ended: Result<(), JobFailure>) {
        let Self {
            answer,
            reply,
            waits,
            ..
        } = *self;
        let answer = ended.and_then(|()| {
            answer.ok_or(JobFailure {
                of_one: true,
                ..JobFailure::CLOSED
            })
        });
        // Whoever is told may ask for the next thing at once, and is to find nothing of this one.
        drop(waits);
        // Whoever asked may have gone away.
        let _gone = reply.send(answer);
    }
}

/// Counts one who waits for the thread, as long as it is there.
pub(crate) struct WaitingCount(Arc<AtomicUsize>);

impl WaitingCount {
    /// Counts one more.
    pub(crate) fn among(waiting: &Arc<AtomicUsize>) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(waiting))
    }
}

impl Drop for WaitingCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
