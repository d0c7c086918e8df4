//! A small pool of connections that read, beside the one that writes.

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::error::JobError;
use crate::options::BUSY_TIMEOUT;

pub(crate) type ReaderFactory = fn(&Path) -> rusqlite::Result<Connection>;

/// A few connections, opened on demand.
pub(crate) struct Readers {
    at_once: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
    open: ReaderFactory,
    path: PathBuf,
}

impl Readers {
    pub(crate) fn new(path: PathBuf, open: ReaderFactory) -> Arc<Self> {
        Arc::new(Self {
            at_once: Arc::new(Semaphore::new(AT_ONCE as usize)),
            idle: Mutex::default(),
            open,
            path,
        })
    }

    /// Reads within one snapshot, away from the threads of the runtime.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, JobError> {
        let permit = Arc::clone(&self.at_once).acquire_owned();
        let permit = permit.await.map_err(|_| JobError::Closed)?;
        let readers = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || {
            // The permit belongs to the read and not to the future, which may be dropped before the read ends.
            let _permit = permit;
            let connection = match readers.idle() {
                Some(connection) => connection.busy_timeout(BUSY_TIMEOUT).map(|()| connection),
                None => (readers.open)(&readers.path),
            };
            readers.in_snapshot(
                connection.map_err(|error| JobError::from_sqlite(&error))?,
                read,
            )
        });
        // A panic in a read is a bug here, and must not end the turn of the requester.
        reading.await.unwrap_or(Err(JobError::Closed))
    }

    /// Reads inline, which the caller must keep short: `None` if the read turns out to be long, or would have to
    /// wait.
    pub(crate) fn read_now<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<Option<T>>,
    ) -> Option<Result<T, JobError>> {
        let _permit = self.at_once.try_acquire().ok()?;
        let connection = self.idle()?;
        let read = connection
            .busy_timeout(Duration::ZERO)
            .map_err(|error| JobError::from_sqlite(&error))
            .and_then(|()| self.in_snapshot(connection, read));
        match read {
            Ok(read) => read.map(Ok),
            Err(JobError::Locked(_)) => None,
            Err(fault) => Some(Err(fault)),
        }
    }

    fn idle(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }

    fn in_snapshot<T>(
        &self,
        connection: Connection,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JobError> {
        let fault = |error: rusqlite::Error| JobError::from_sqlite(&error);
        let snapshot = connection.unchecked_transaction().map_err(fault)?;
        let read = read(&snapshot).map_err(fault)?;
        snapshot.finish().map_err(fault)?;
        // A connection that failed is not reused, and after closing none is.
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.at_once.is_closed() {
            idle.push(connection);
        }
        Ok(read)
    }

    /// Waits for the reads under way, closes the idle connections, and opens no more.
    ///
    /// The last connection that closes moves the log into the file. A read that outlives the journal would leave the
    /// log behind where the process exits first.
    pub(crate) async fn close(&self) {
        let _all = self.at_once.acquire_many(AT_ONCE).await;
        self.at_once.close();
        let idle = mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        let _closed = tokio::task::spawn_blocking(|| drop(idle)).await;
    }
}

/// How many reads run at once.
const AT_ONCE: u32 = 4;
