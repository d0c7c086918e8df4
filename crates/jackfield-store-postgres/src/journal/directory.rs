//! The directory.

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::directory::{ChangeQuery, Changed, Directory, EntryQuery};

use super::{PostgresJournal, again};
use crate::directory;

#[async_trait]
impl Directory for PostgresJournal {
    async fn change(&self, change: &DirectoryChange) -> Result<Changed, JournalError> {
        let record = jackfield_record::encode_directory_change(change);
        let record = record.map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })?;
        // A repetition is recognised.
        let changed =
            again!(directory::change(&mut self.pool.get().await?, change, &record, None).await);
        changed.map_err(|fault| self.unreachable(fault))
    }

    async fn entry(
        &self,
        kind: EntryKind,
        name: &EntryName,
    ) -> Result<Option<DirectoryChange>, JournalError> {
        let found = again!(directory::entry(&mut self.pool.get().await?, kind, name).await);
        found.map_err(|fault| self.unreachable(fault))
    }

    async fn entries(&self, query: &EntryQuery) -> Result<Vec<DirectoryChange>, JournalError> {
        let found = again!(directory::entries(&mut self.pool.get().await?, query).await);
        found.map_err(|fault| self.unreachable(fault))
    }

    async fn find_key(&self, secret: &Digest) -> Result<Option<DirectoryChange>, JournalError> {
        let found = again!(directory::find_key(&mut self.pool.get().await?, secret).await);
        found.map_err(|fault| self.unreachable(fault))
    }

    async fn has_keys(&self) -> Result<bool, JournalError> {
        let found = again!(directory::has_keys(&mut self.pool.get().await?).await);
        found.map_err(|fault| self.unreachable(fault))
    }

    async fn changes(
        &self,
        query: &ChangeQuery,
    ) -> Result<Vec<(u64, DirectoryChange)>, JournalError> {
        let found = again!(directory::changes(&mut self.pool.get().await?, query).await);
        found.map_err(|fault| self.unreachable(fault))
    }
}
