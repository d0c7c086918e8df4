//! Which requests a key or a sign-in lets in, and what its user has.

use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{
    ClientKey, DirectoryEntry, EntryKind, EntryName, KeyRefusal, User,
};
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

/// A user that is not disabled.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AcceptedUser {
    /// The quotas of the user and the team, those that there are, by the names of their meters.
    pub quotas: Vec<(Arc<str>, Quota)>,
    /// The user.
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
        let AcceptedUser { mut quotas, user } = self.accept_user(&key.user).await?;
        if let Some(quota) = quota_of(EntryKind::Key, &key.id, key.quota) {
            quotas.insert(0, quota);
        }
        Ok(AcceptedKey { key, quotas, user })
    }

    /// A user, if requests of it are accepted now: it is there, and not disabled.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Missing`] without such a user, [`DirectoryError::Refused`] if it is disabled, and
    /// [`DirectoryError::Journal`] if the journal cannot be read.
    pub async fn accept_user(&self, name: &EntryName) -> Result<AcceptedUser, DirectoryError> {
        let user = self.user(name).await?;
        if user.is_disabled {
            return Err(KeyRefusal::UserDisabled.into());
        }
        let mut quotas = vec![quota_of(EntryKind::User, &user.name, user.quota)];
        if let Some(name) = &user.team {
            let team = self.entry(EntryKind::Team, name).await?.entry;
            if let DirectoryEntry::Team(team) = team {
                quotas.push(quota_of(EntryKind::Team, &team.name, team.quota));
            }
        }
        let quotas = quotas.into_iter().flatten().collect();
        Ok(AcceptedUser { quotas, user })
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

/// A quota that limits something, with the name of its meter.
fn quota_of(kind: EntryKind, name: &EntryName, quota: Option<Quota>) -> Option<(Arc<str>, Quota)> {
    let quota = quota.filter(|quota| !quota.is_empty())?;
    Some((format!("{}:{name}", kind.as_str()).into(), quota))
}
