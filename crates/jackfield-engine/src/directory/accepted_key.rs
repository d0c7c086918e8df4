//! Which requests a key lets in, and what its user has.

use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{ClientKey, DirectoryEntry, EntryKind, KeyRefusal, User};
use jackfield_domain::quota::Quota;

use super::{ClientDirectory, DirectoryError};

/// A key that a request came with, and its user.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AcceptedKey {
    /// The key.
    pub key: ClientKey,
    /// The quotas of the key, the user and the team, those that there are, by the names of their meters.
    pub quotas: Vec<(Arc<str>, Quota)>,
    /// Its user.
    pub user: User,
}

impl ClientDirectory<'_> {
    /// The key with a secret of this digest, if requests with it are accepted now. It is looked up anew each time, so
    /// that a revocation by any process holds at once.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Refused`] if it is not accepted, and [`DirectoryError::Journal`] if the journal cannot be read.
    pub async fn accept(&self, secret: &Digest) -> Result<AcceptedKey, DirectoryError> {
        let found = self.directory.find_key(secret).await?;
        let Some(DirectoryEntry::Key(key)) = found.map(|change| change.entry) else {
            return Err(KeyRefusal::Unknown.into());
        };
        key.check(secret, self.now())?;
        let user = self.user(&key.user).await?;
        if user.is_disabled {
            return Err(KeyRefusal::UserDisabled.into());
        }
        let mut quotas = vec![
            (EntryKind::Key, key.id.clone(), key.quota),
            (EntryKind::User, user.name.clone(), user.quota),
        ];
        if let Some(name) = &user.team {
            let team = self.entry(EntryKind::Team, name).await?.entry;
            if let DirectoryEntry::Team(team) = team {
                quotas.push((EntryKind::Team, team.name, team.quota));
            }
        }
        let quotas = quotas.into_iter().filter_map(|(kind, name, quota)| {
            let quota = quota.filter(|quota| !quota.is_empty())?;
            Some((format!("{}:{name}", kind.as_str()).into(), quota))
        });
        let quotas = quotas.collect();
        Ok(AcceptedKey { key, quotas, user })
    }

    /// Whether turns of a user have servers of the user or its team.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Journal`] if the journal cannot be read.
    pub async fn has_own_servers(&self, user: &User) -> Result<bool, DirectoryError> {
        Ok(self.engine.shared.has_own_servers(user).await?)
    }
}
