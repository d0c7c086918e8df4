//! The directory in memory.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::directory::{ChangeQuery, Changed, Directory, EntryQuery};

use super::MemoryJournal;
use crate::directory::DirectoryRows;

impl MemoryJournal {
    pub(super) fn directory_rows<T>(&self, access: impl FnOnce(&mut DirectoryRows) -> T) -> T {
        let mut rows = self.directory.lock();
        access(rows.as_mut().unwrap_or_else(|poisoned| poisoned.get_mut()))
    }
}

#[async_trait]
impl Directory for MemoryJournal {
    async fn change(&self, change: &DirectoryChange) -> Result<Changed, JournalError> {
        let record = jackfield_record::encode_directory_change(change);
        let record = record.map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })?;
        Ok(self.directory_rows(|rows| rows.change(change, record)))
    }

    async fn entry(
        &self,
        kind: EntryKind,
        name: &EntryName,
    ) -> Result<Option<DirectoryChange>, JournalError> {
        let found = self.directory_rows(|rows| rows.entry(kind, name));
        found.map(|record| decode(&record)).transpose()
    }

    async fn entries(&self, query: &EntryQuery) -> Result<Vec<DirectoryChange>, JournalError> {
        let found = self.directory_rows(|rows| rows.entries(query));
        found.iter().map(decode).collect()
    }

    async fn find_key(&self, secret: &Digest) -> Result<Option<DirectoryChange>, JournalError> {
        let found = self.directory_rows(|rows| rows.find_key(secret));
        found.map(|record| decode(&record)).transpose()
    }

    async fn has_keys(&self) -> Result<bool, JournalError> {
        Ok(self.directory_rows(|rows| rows.has_keys()))
    }

    async fn changes(
        &self,
        query: &ChangeQuery,
    ) -> Result<Vec<(u64, DirectoryChange)>, JournalError> {
        let found = self.directory_rows(|rows| rows.changes(query));
        let read = found
            .iter()
            .map(|(number, record)| Ok((*number, decode(record)?)));
        read.collect()
    }
}

fn decode(record: &Arc<[u8]>) -> Result<DirectoryChange, JournalError> {
    let decoded = jackfield_record::decode_directory_change(record);
    decoded.map_err(|error| JournalError::Unreachable {
        source: error.into(),
    })
}
