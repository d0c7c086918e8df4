//! The secrets of entries in a file that can be written.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::directory::Changed;
use jackfield_ports::journal::secrets::{SealedSecret, SecretPlace, Secrets};
use rusqlite::Connection;

use super::SqliteJournal;
use crate::jobs::ConcurrentWriters;
use crate::secrets;

#[async_trait]
impl Secrets for SqliteJournal {
    async fn change_with_secrets(
        &self,
        change: &DirectoryChange,
        secrets: &[SealedSecret],
    ) -> Result<Changed, JournalError> {
        self.store_change(change, Some(secrets)).await
    }

    async fn secrets_of(
        &self,
        kind: EntryKind,
        entry: &EntryName,
    ) -> Result<Vec<SealedSecret>, JournalError> {
        let entry = entry.clone();
        self.inspect(move |connection| secrets::of(connection, kind.as_str(), entry.as_str()))
            .await
    }

    async fn page(
        &self,
        after: Option<&SecretPlace>,
        limit: usize,
    ) -> Result<Vec<(SecretPlace, SealedSecret)>, JournalError> {
        let after = after.cloned();
        self.inspect(move |connection| secrets::page(connection, after.as_ref(), limit))
            .await
    }

    async fn reseal(
        &self,
        place: &SecretPlace,
        seen: &SealedSecret,
        anew: &SealedSecret,
    ) -> Result<bool, JournalError> {
        let (place, seen, anew) = (place.clone(), seen.clone(), anew.clone());
        let work = move |connection: &Connection| secrets::reseal(connection, &place, &seen, &anew);
        let resealed = self.writer.execute(ConcurrentWriters::Others, work).await;
        resealed.map_err(|failed| self.unreachable(failed.fault))
    }

    async fn master_keys(&self) -> Result<BTreeMap<Arc<str>, u64>, JournalError> {
        self.inspect(secrets::master_keys).await
    }
}
