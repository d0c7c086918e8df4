//! The directory, the logins, the secrets, the meters and the upstream responses of a journal with injected faults.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};
use jackfield_domain::quota::{MeterOperation, MeterOutcome};
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::directory::{ChangeQuery, Changed, Directory, EntryQuery};
use jackfield_ports::journal::logins::{Login, Logins};
use jackfield_ports::journal::meters::Meters;
use jackfield_ports::journal::secrets::{SealedSecret, SecretPlace, Secrets};
use jackfield_ports::journal::upstream_responses::{UpstreamResponse, UpstreamResponses};

use super::{FaultyJournal, JournalRequest};
use crate::fakes::rulebook::locked;

impl FaultyJournal {
    /// The directory of the wrapped journal, unless the request fails.
    fn inner_directory(&self) -> Result<&dyn Directory, JournalError> {
        self.check_reachable(JournalRequest::Directory)?;
        let directory = self.inner.directory();
        directory.ok_or_else(|| JournalError::Unreachable {
            source: "there is no directory".into(),
        })
    }

    /// The logins of the wrapped journal, unless the request fails.
    fn inner_logins(&self) -> Result<&dyn Logins, JournalError> {
        self.check_reachable(JournalRequest::Logins)?;
        let logins = self.inner.logins();
        logins.ok_or_else(|| JournalError::Unreachable {
            source: "there are no logins".into(),
        })
    }

    /// The upstream responses of the wrapped journal, unless the request fails.
    fn inner_upstream_responses(&self) -> Result<&dyn UpstreamResponses, JournalError> {
        self.check_reachable(JournalRequest::UpstreamResponses)?;
        let responses = self.inner.upstream_responses();
        responses.ok_or_else(|| JournalError::Unreachable {
            source: "there are no upstream responses".into(),
        })
    }

    /// The secrets of the wrapped journal, unless the request fails.
    fn inner_secrets(&self) -> Result<&dyn Secrets, JournalError> {
        self.check_reachable(JournalRequest::Directory)?;
        let secrets = self.inner.secrets();
        secrets.ok_or_else(|| JournalError::Unreachable {
            source: "there are no secrets".into(),
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
impl Secrets for FaultyJournal {
    async fn change_with_secrets(
        &self,
        change: &DirectoryChange,
        secrets: &[SealedSecret],
    ) -> Result<Changed, JournalError> {
        let inner = self.inner_secrets()?;
        inner.change_with_secrets(change, secrets).await
    }

    async fn secrets_of(
        &self,
        kind: EntryKind,
        entry: &EntryName,
    ) -> Result<Vec<SealedSecret>, JournalError> {
        let gate = locked(&self.state).secrets_gate.clone();
        if let Some(gate) = gate {
            gate.pass().await;
        }
        self.inner_secrets()?.secrets_of(kind, entry).await
    }

    async fn page(
        &self,
        after: Option<&SecretPlace>,
        limit: usize,
    ) -> Result<Vec<(SecretPlace, SealedSecret)>, JournalError> {
        self.inner_secrets()?.page(after, limit).await
    }

    async fn reseal(
        &self,
        place: &SecretPlace,
        seen: &SealedSecret,
        anew: &SealedSecret,
    ) -> Result<bool, JournalError> {
        self.inner_secrets()?.reseal(place, seen, anew).await
    }

    async fn master_keys(&self) -> Result<BTreeMap<Arc<str>, u64>, JournalError> {
        self.inner_secrets()?.master_keys().await
    }
}

#[async_trait]
impl UpstreamResponses for FaultyJournal {
    async fn store_upstream_response(
        &self,
        response: &UpstreamResponse,
        now: WallTime,
    ) -> Result<(), JournalError> {
        let responses = self.inner_upstream_responses()?;
        responses.store_upstream_response(response, now).await
    }

    async fn find_upstream_response(
        &self,
        place: &Digest,
    ) -> Result<Option<UpstreamResponse>, JournalError> {
        let responses = self.inner_upstream_responses()?;
        responses.find_upstream_response(place).await
    }
}

#[async_trait]
impl Logins for FaultyJournal {
    async fn store_login(&self, login: &Login, now: WallTime) -> Result<(), JournalError> {
        self.inner_logins()?.store_login(login, now).await
    }

    async fn find_login(&self, secret: &Digest) -> Result<Option<Login>, JournalError> {
        self.inner_logins()?.find_login(secret).await
    }

    async fn remove_login(&self, secret: &Digest) -> Result<(), JournalError> {
        self.inner_logins()?.remove_login(secret).await
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
