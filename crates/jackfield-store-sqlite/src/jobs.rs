//! What the thread that writes is asked for, and what becomes of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::Fault;

/// Why something was not done.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) fault: Fault,
    /// Whether it may have been done all the same.
    pub(crate) perhaps_done: bool,
    /// Whether what was to be done failed, and not what it shares with others.
    pub(crate) of_one: bool,
}

impl Failed {
    /// The journal was closed, or its thread has ended.
    pub(crate) const CLOSED: Self = Self {
        fault: Fault::Closed,
        of_one: false,
        perhaps_done: false,
    };
}

/// What has to have become of a transaction when those who asked for it are answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Lasting {
    /// It is synced.
    Synced,
    /// It is written.
    Unsynced,
    /// It is synced, the log was taken into the file, and nothing is left in it.
    Wiped,
}

impl Lasting {
    /// Whether it is synced.
    pub(crate) const fn is_synced(self) -> bool {
        match self {
            Self::Synced | Self::Wiped => true,
            Self::Unsynced => false,
        }
    }
}

/// Something to do within a transaction.
pub(crate) trait Job: Send {
    /// Does it. If the transaction comes to nothing, it is done again from the beginning.
    fn perform(&mut self, connection: &Connection) -> rusqlite::Result<()>;

    /// What has to have become of it when it is answered.
    fn lasting(&self) -> Lasting;

    /// Tells whoever asked.
    fn tell(self: Box<Self>, ended: Result<(), Failed>);
}

/// What somebody asked for, and where the answer goes.
pub(crate) struct Task<T, F> {
    pub(crate) answer: Option<T>,
    pub(crate) lasting: Lasting,
    pub(crate) reply: oneshot::Sender<Result<T, Failed>>,
    pub(crate) waits: Waits,
    pub(crate) work: F,
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
        let Self {
            answer,
            reply,
            waits,
            ..
        } = *self;
        let answer = ended.and_then(|()| {
            answer.ok_or(Failed {
                of_one: true,
                ..Failed::CLOSED
            })
        });
        // Whoever is told may ask for the next thing at once, and is to find nothing of this one.
        drop(waits);
        // Whoever asked may have gone away.
        let _gone = reply.send(answer);
    }
}

/// Counts one who waits for the thread, as long as it is there.
pub(crate) struct Waits(Arc<AtomicUsize>);

impl Waits {
    /// Counts one more.
    pub(crate) fn among(waiting: &Arc<AtomicUsize>) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(waiting))
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
