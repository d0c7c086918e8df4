//! The secrets of entries in memory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::directory::Changed;
use jackfield_ports::journal::secrets::{SealedSecret, SecretPlace, Secrets};

use super::MemoryJournal;

#[async_trait]
impl Secrets for MemoryJournal {
    async fn change_with_secrets(
        &self,
        change: &DirectoryChange,
        secrets: &[SealedSecret],
    ) -> Result<Changed, JournalError> {
        let record = jackfield_record::encode_directory_change(change);
        let record = record.map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })?;
        Ok(self.directory_rows(|rows| rows.change_with_secrets(change, record, secrets)))
    }

    async fn secrets_of(
        &self,
        kind: EntryKind,
        entry: &EntryName,
    ) -> Result<Vec<SealedSecret>, JournalError> {
        Ok(self.directory_rows(|rows| rows.secrets_of(kind, entry)))
    }

    async fn page(
        &self,
        after: Option<&SecretPlace>,
        limit: usize,
    ) -> Result<Vec<(SecretPlace, SealedSecret)>, JournalError> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(self.directory_rows(|rows| {
            let page = rows
                .sealed()
                .range::<SecretPlace, _>((from, Bound::Unbounded));
            let page = page.map(|(place, secret)| (place.clone(), secret.clone()));
            page.take(limit).collect()
        }))
    }

    async fn reseal(
        &self,
        place: &SecretPlace,
        seen: &SealedSecret,
        anew: &SealedSecret,
    ) -> Result<bool, JournalError> {
        Ok(self.directory_rows(|rows| rows.reseal(place, seen, anew)))
    }

    async fn master_keys(&self) -> Result<BTreeMap<Arc<str>, u64>, JournalError> {
        Ok(self.directory_rows(|rows| {
            let mut keys = BTreeMap::new();
            for secret in rows.sealed().values() {
                *keys.entry(Arc::clone(&secret.master_key)).or_default() += 1;
            }
            keys
        }))
    }
}
