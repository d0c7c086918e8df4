//! The directory in a file that can be written.

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::directory::{ChangeQuery, Changed, Directory, EntryQuery};
use jackfield_ports::journal::secrets::SealedSecret;
use rusqlite::Connection;

use super::SqliteJournal;
use crate::directory::{self, ChangeJob, numbered_change, read_change};
use crate::jobs::ConcurrentWriters;

impl SqliteJournal {
    /// Stores a change, with all secrets that its entry has from then on if it is about them.
    pub(super) async fn store_change(
        &self,
        change: &DirectoryChange,
        secrets: Option<&[SealedSecret]>,
    ) -> Result<Changed, JournalError> {
        let job = ChangeJob::from_change(change).map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })?;
        let job = match secrets {
            Some(secrets) => job.with_secrets(secrets),
            None => job,
        };
        let work = move |connection: &Connection| job.store(connection);
        let changed = self.writer.execute(ConcurrentWriters::Others, work).await;
        changed.map_err(|failed| self.unreachable(failed.fault))
    }
}

#[async_trait]
impl Directory for SqliteJournal {
    async fn change(&self, change: &DirectoryChange) -> Result<Changed, JournalError> {
        self.store_change(change, None).await
    }

    async fn entry(
        &self,
        kind: EntryKind,
        name: &EntryName,
    ) -> Result<Option<DirectoryChange>, JournalError> {
        let name = name.clone();
        let found =
            self.inspect(move |connection| directory::entry(connection, kind, name.as_str()));
        found.await?.as_ref().map(read_change).transpose()
    }

    async fn entries(&self, query: &EntryQuery) -> Result<Vec<DirectoryChange>, JournalError> {
        let query = query.clone();
        let found = self.inspect(move |connection| directory::entries(connection, &query));
        found.await?.iter().map(read_change).collect()
    }

    async fn find_key(&self, secret: &Digest) -> Result<Option<DirectoryChange>, JournalError> {
        let secret = *secret;
        let found = self.inspect(move |connection| directory::find_key(connection, &secret));
        found.await?.as_ref().map(read_change).transpose()
    }

    async fn has_keys(&self) -> Result<bool, JournalError> {
        self.inspect(directory::has_keys).await
    }

    async fn changes(
        &self,
        query: &ChangeQuery,
    ) -> Result<Vec<(u64, DirectoryChange)>, JournalError> {
        let query = query.clone();
        let found = self.inspect(move |connection| directory::changes(connection, &query));
        found.await?.iter().map(numbered_change).collect()
    }
}
