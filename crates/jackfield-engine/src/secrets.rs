//! Secrets that belong to entries of the directory: encrypted in the journal, and opened where they are used.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::directory::{EntryKind, EntryName};
use jackfield_ports::credential::Credential;
use jackfield_ports::journal::Journal as _;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::secrets::{SealedSecret, SecretPlace, Secrets};

use crate::crash;
use crate::master_keys::{MasterKeys, SecretError};
use crate::state::{Engine, EngineState};

/// What a change of the master key did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SecretRotation {
    /// How many secrets are under the newest master key now, and were not before.
    pub changed: u64,
    /// How many were under it before.
    pub unchanged: u64,
}

impl Engine {
    /// The number of secrets in the durable journal under each master key, by its id.
    ///
    /// # Errors
    ///
    /// [`SecretError::Journal`] if the journal cannot be read.
    pub async fn secret_counts(&self) -> Result<BTreeMap<Arc<str>, u64>, SecretError> {
        match self.shared.journal.secrets() {
            Some(secrets) => Ok(secrets.master_keys().await?),
            None => Ok(BTreeMap::new()),
        }
    }

    /// Checks that every secret of the durable journal can be opened with the master keys of this engine.
    ///
    /// # Errors
    ///
    /// [`SecretError`], whose message names the fix.
    pub async fn check_secrets(&self) -> Result<(), SecretError> {
        let known = self.shared.master_keys.as_ref().map(MasterKeys::ids);
        let known = known.unwrap_or_default();
        let stored = self.secret_counts().await?.into_keys();
        let ids: Vec<Arc<str>> = stored.filter(|id| !known.contains(id)).collect();
        match ids.is_empty() {
            true => Ok(()),
            false => Err(SecretError::UnknownKey { ids }),
        }
    }

    /// Whether there is a master key, so that secrets can be stored.
    #[must_use]
    pub fn has_master_key(&self) -> bool {
        self.shared.master_keys.is_some()
    }

    /// Encrypts every secret of the durable journal under the newest master key. One that others change meanwhile is
    /// under it, too, if they use the same keys. It may be repeated.
    ///
    /// # Errors
    ///
    /// [`SecretError`] at the first secret that cannot be opened; those before it are done.
    pub async fn rotate_secrets(&self) -> Result<SecretRotation, SecretError> {
        let keys = self.shared.master_keys()?;
        let mut done = SecretRotation::default();
        let Some(secrets) = self.shared.journal.secrets() else {
            return Ok(done);
        };
        let mut after = None;
        loop {
            let page = secrets.page(after.as_ref(), PAGE).await?;
            let Some((last, _)) = page.last() else {
                return Ok(done);
            };
            after = Some(last.clone());
            for (place, sealed) in page {
                match keys.reseal(&place, &sealed)? {
                    Some(anew) if secrets.reseal(&place, &sealed, &anew).await? => {
                        crash::point("resealed");
                        done.changed += 1;
                    }
                    Some(_) | None => done.unchanged += 1,
                }
            }
        }
    }
}

impl EngineState {
    /// The master keys.
    pub(crate) fn master_keys(&self) -> Result<&MasterKeys, SecretError> {
        self.master_keys.as_ref().ok_or(SecretError::NotConfigured)
    }

    /// The secrets of the durable journal.
    pub(crate) fn secrets(&self) -> Result<&dyn Secrets, SecretError> {
        let secrets = self.journal.secrets();
        let missing = || JournalError::Unreachable {
            source: "this journal keeps no secrets".into(),
        };
        Ok(secrets.ok_or_else(missing)?)
    }

    /// Encrypts a secret of an entry.
    pub(crate) fn seal(
        &self,
        kind: EntryKind,
        entry: &EntryName,
        name: &str,
        secret: &Credential,
    ) -> Result<SealedSecret, SecretError> {
        let place = SecretPlace::new(kind, entry, name);
        self.master_keys()?.seal(&place, secret)
    }

    /// A secret of an entry; `None` if the entry has none of this name.
    pub(crate) async fn secret(
        &self,
        kind: EntryKind,
        entry: &EntryName,
        name: &str,
    ) -> Result<Option<Credential>, SecretError> {
        let sealed = self.secrets()?.secrets_of(kind, entry).await?;
        let Some(sealed) = sealed.into_iter().find(|one| &*one.name == name) else {
            return Ok(None);
        };
        let place = SecretPlace::new(kind, entry, name);
        self.master_keys()?.open(&place, &sealed).map(Some)
    }

    /// All secrets of an entry, by name.
    pub(crate) async fn secrets_of(
        &self,
        kind: EntryKind,
        entry: &EntryName,
    ) -> Result<Vec<(Arc<str>, Credential)>, SecretError> {
        let keys = self.master_keys()?;
        let sealed = self.secrets()?.secrets_of(kind, entry).await?;
        let opened = sealed.into_iter().map(|sealed| {
            let place = SecretPlace::new(kind, entry, &sealed.name);
            Ok((Arc::clone(&sealed.name), keys.open(&place, &sealed)?))
        });
        opened.collect()
    }
}

/// How many secrets are read at once.
const PAGE: usize = 200;
