//! The keys of users at providers.

use std::sync::Arc;

use jackfield_domain::directory::{
    ChangeAction, DirectoryChange, DirectoryEntry, EntryKind, EntryName, ProviderKey,
};
use jackfield_ports::credential::Credential;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::directory::{Changed, Directory, EntryQuery};
use jackfield_ports::journal::secrets::SealedSecret;

use super::{ATTEMPTS, ClientDirectory, DirectoryError};

impl ClientDirectory<'_> {
    /// Sets the key of a user at a provider, in place of an earlier one. It is stored encrypted, and used from the next
    /// turn on.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such user, the text is no key, or there is no master key.
    pub async fn set_provider_key(
        &self,
        by: &Arc<str>,
        user: &EntryName,
        provider: &Arc<str>,
        key: &Credential,
    ) -> Result<ProviderKey, DirectoryError> {
        let text = key.expose();
        if text.is_empty() || text.len() > MAX_KEY || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(DirectoryError::NoKey);
        }
        self.user(user).await?;
        let entry = ProviderKey {
            hint: hint(text),
            is_removed: false,
            provider: Arc::clone(provider),
            user: user.clone(),
        };
        let shared = &self.engine.shared;
        let kind = EntryKind::ProviderKey;
        let sealed = shared.seal(kind, &entry.name(), PROVIDER_KEY, key)?;
        self.store_provider_key(by, entry, &[sealed]).await
    }

    /// Takes the key of a user at a provider away, and deletes it. Turns that have begun with it make no further calls
    /// there.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such key.
    pub async fn remove_provider_key(
        &self,
        by: &Arc<str>,
        user: &EntryName,
        provider: &str,
    ) -> Result<ProviderKey, DirectoryError> {
        let name = EntryName::of_user(user, provider);
        // No provider has such a name, and not every journal can look it up.
        if provider.contains(char::is_control) {
            let kind = EntryKind::ProviderKey;
            return Err(DirectoryError::Missing { kind, name });
        }
        let newest = self.entry(EntryKind::ProviderKey, &name).await?;
        let Some(key) = newest
            .entry
            .into_provider_key()
            .filter(|key| !key.is_removed)
        else {
            let kind = EntryKind::ProviderKey;
            return Err(DirectoryError::Missing { kind, name });
        };
        let entry = ProviderKey {
            is_removed: true,
            ..key
        };
        self.store_provider_key(by, entry, &[]).await
    }

    /// The keys of a user at providers, without the keys themselves, each with its newest change.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Journal`] if the journal cannot be read.
    pub async fn provider_keys(
        &self,
        user: &EntryName,
    ) -> Result<Vec<(ProviderKey, DirectoryChange)>, DirectoryError> {
        let changes = self.entries_of_user(EntryKind::ProviderKey, user).await?;
        let keys = changes.into_iter().filter_map(|change| {
            let key = change.entry.clone().into_provider_key()?;
            (!key.is_removed).then_some((key, change))
        });
        Ok(keys.collect())
    }

    /// The newest changes of all entries of a kind that belong to a user.
    pub(crate) async fn entries_of_user(
        &self,
        kind: EntryKind,
        user: &EntryName,
    ) -> Result<Vec<DirectoryChange>, JournalError> {
        entries_below(self.directory, kind, EntryName::of_user(user, "")).await
    }

    /// Stores a key with its secret, after whatever others stored of it before.
    async fn store_provider_key(
        &self,
        by: &Arc<str>,
        key: ProviderKey,
        sealed: &[SealedSecret],
    ) -> Result<ProviderKey, DirectoryError> {
        let (kind, name) = (EntryKind::ProviderKey, key.name());
        for _ in 0..ATTEMPTS {
            let newest = self.directory.entry(kind, &name).await?;
            let change = DirectoryChange {
                action: match &newest {
                    _ if key.is_removed => ChangeAction::Removed,
                    None => ChangeAction::Created,
                    Some(_) => ChangeAction::Changed,
                },
                at: self.now(),
                by: Arc::clone(by),
                entry: DirectoryEntry::ProviderKey(key.clone()),
                revision: newest.map_or(1, |newest| newest.revision + 1),
            };
            if self.store_with_secrets(&change, sealed).await? == Changed::Stored {
                return Ok(key);
            }
        }
        Err(DirectoryError::Busy { kind, name })
    }
}

/// The newest changes of all entries of a kind whose names begin with this.
pub(crate) async fn entries_below(
    directory: &dyn Directory,
    kind: EntryKind,
    first: EntryName,
) -> Result<Vec<DirectoryChange>, JournalError> {
    let mut after = first.clone();
    let mut found = Vec::new();
    loop {
        let query = EntryQuery {
            after: Some(after),
            kind,
            limit: PAGE,
        };
        let page = directory.entries(&query).await?;
        let own = |change: &DirectoryChange| {
            let name = change.entry.name();
            name.as_str().starts_with(first.as_str())
        };
        let before = found.len();
        found.extend(page.into_iter().take_while(own));
        match found.last() {
            Some(last) if found.len() - before == PAGE => after = last.entry.name(),
            Some(_) | None => return Ok(found),
        }
    }
}

/// The end of a key, by which people know it; nothing of a short one.
fn hint(key: &str) -> Arc<str> {
    match key.len().checked_sub(HINT) {
        Some(start) if key.len() >= LONG => key.get(start..).unwrap_or_default().into(),
        Some(_) | None => "".into(),
    }
}

/// The name of the secret of an entry.
pub(crate) const PROVIDER_KEY: &str = "key";
/// How many characters of a key are shown.
const HINT: usize = 4;
/// The length from which on a key is long enough to show some of it.
const LONG: usize = 20;
/// The maximum length of a key, in bytes.
const MAX_KEY: usize = 4096;
/// How many entries are read at once.
const PAGE: usize = 100;
