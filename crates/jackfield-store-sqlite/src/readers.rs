//! Connections that read, beside the one that writes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::error::Fault;
use crate::schema;

/// A few connections, opened when they are needed.
pub(crate) struct Readers {
    at_once: Semaphore,
    idle: Mutex<Vec<Connection>>,
    path: PathBuf,
}

impl Readers {
    pub(crate) fn new(path: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            at_once: Semaphore::new(AT_ONCE),
            idle: Mutex::default(),
            path,
        })
    }

    /// Reads within one snapshot, away from the threads of the runtime.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        let permit = self.at_once.acquire().await.map_err(|_| Fault::Closed)?;
        let us = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || us.in_snapshot(read));
        // A read that panics is our mistake, and ends nobody's turn.
        let ended = reading.await.unwrap_or(Err(Fault::Closed));
        drop(permit);
        ended
    }

    fn in_snapshot<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Fault> {
        let fault = |error: rusqlite::Error| Fault::of(&error);
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let connection = match idle {
            Some(connection) => connection,
            None => schema::connect(&self.path, false).map_err(fault)?,
        };
        let snapshot = connection.unchecked_transaction().map_err(fault)?;
        let read = read(&snapshot).map_err(fault)?;
        snapshot.finish().map_err(fault)?;
        // One that failed is not used again.
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(connection);
        Ok(read)
    }

    /// Opens nothing more.
    pub(crate) fn close(&self) {
        self.at_once.close();
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

/// How many read at once.
const AT_ONCE: usize = 4;
