//! The directory and the meters of a journal with injected faults.

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};
use jackfield_domain::quota::{MeterOperation, MeterOutcome};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::directory::{ChangeQuery, Changed, Directory, EntryQuery};
use jackfield_ports::journal::meters::Meters;

use super::{FaultyJournal, JournalRequest};

impl FaultyJournal {
    /// The directory of the wrapped journal, unless the request fails.
    fn inner_directory(&self) -> Result<&dyn Directory, JournalError> {
        self.check_reachable(JournalRequest::Directory)?;
        let directory = self.inner.directory();
        directory.ok_or_else(|| JournalError::Unreachable {
            source: "there is no directory".into(),
        })
    }
}

#[async_trait]
impl Directory for FaultyJournal {
    async fn change(&self, change: &DirectoryChange) -> Result<Changed, JournalError> {
        self.inner_directory()?.change(change).await
    }

    async fn entry(
        &self,
        kind: EntryKind,
        name: &EntryName,
    ) -> Result<Option<DirectoryChange>, JournalError> {
        self.inner_directory()?.entry(kind, name).await
    }

    async fn entries(&self, query: &EntryQuery) -> Result<Vec<DirectoryChange>, JournalError> {
        self.inner_directory()?.entries(query).await
    }

    async fn find_key(&self, secret: &Digest) -> Result<Option<DirectoryChange>, JournalError> {
        self.inner_directory()?.find_key(secret).await
    }

    async fn has_keys(&self) -> Result<bool, JournalError> {
        self.inner_directory()?.has_keys().await
    }

    async fn changes(
        &self,
        query: &ChangeQuery,
    ) -> Result<Vec<(u64, DirectoryChange)>, JournalError> {
        self.inner_directory()?.changes(query).await
    }
}

#[async_trait]
impl Meters for FaultyJournal {
    async fn perform(&self, operation: &MeterOperation) -> Result<MeterOutcome, JournalError> {
        self.check_reachable(JournalRequest::Meters)?;
        match self.inner.meters() {
            Some(meters) => meters.perform(operation).await,
            None => Err(JournalError::Unreachable {
                source: "there are no meters".into(),
            }),
        }
    }
}
