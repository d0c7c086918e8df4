//! The secrets of entries.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::directory::Changed;
use jackfield_ports::journal::secrets::{SealedSecret, SecretPlace, Secrets};

use super::{PostgresJournal, again};
use crate::{directory, secrets};

#[async_trait]
impl Secrets for PostgresJournal {
    async fn change_with_secrets(
        &self,
        change: &DirectoryChange,
        secrets: &[SealedSecret],
    ) -> Result<Changed, JournalError> {
        let record = jackfield_record::encode_directory_change(change);
        let record = record.map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })?;
        // A repetition is recognised.
        let changed = again!(
            directory::change(&mut self.pool.get().await?, change, &record, Some(secrets)).await
        );
        changed.map_err(|fault| self.unreachable(fault))
    }

    async fn secrets_of(
        &self,
        kind: EntryKind,
        entry: &EntryName,
    ) -> Result<Vec<SealedSecret>, JournalError> {
        let found = again!(secrets::of(&mut self.pool.get().await?, kind, entry).await);
        found.map_err(|fault| self.unreachable(fault))
    }

    async fn page(
        &self,
        after: Option<&SecretPlace>,
        limit: usize,
    ) -> Result<Vec<(SecretPlace, SealedSecret)>, JournalError> {
        let found = again!(secrets::page(&mut self.pool.get().await?, after, limit).await);
        found.map_err(|fault| self.unreachable(fault))
    }

    async fn reseal(
        &self,
        place: &SecretPlace,
        seen: &SealedSecret,
        anew: &SealedSecret,
    ) -> Result<bool, JournalError> {
        // A repetition would find what it has written itself, and take it for another's.
        let resealed = async {
            let mut connection = self.pool.get().await?;
            secrets::reseal(&mut connection, place, seen, anew).await
        };
        resealed.await.map_err(|fault| self.unreachable(fault))
    }

    async fn master_keys(&self) -> Result<BTreeMap<Arc<str>, u64>, JournalError> {
        let found = again!(secrets::master_keys(&mut self.pool.get().await?).await);
        found.map_err(|fault| self.unreachable(fault))
    }
}
