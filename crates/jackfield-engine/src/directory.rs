//! The directory of the journal, as administrators use it: users, teams and keys of a gateway's clients.

mod accepted_key;
mod error;
mod own_servers;
mod provider_keys;
mod secret;
mod sign_ins;

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::directory::{
    ChangeAction, ClientKey, DirectoryChange, DirectoryEntry, EntryKind, EntryName, KeyRefusal,
    KeySecret, Team, User,
};
use jackfield_domain::quota::{MeterOperation, MeterOutcome, Quota, QuotaChange};
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal as _;
use jackfield_ports::journal::directory::{ChangeQuery, Changed, Directory, EntryQuery};
use jackfield_ports::journal::secrets::SealedSecret;

pub use self::accepted_key::{AcceptedKey, AcceptedUser};
pub use self::error::DirectoryError;
pub(crate) use self::provider_keys::{PROVIDER_KEY, entries_below};
pub use self::secret::{KEY_PREFIX, NewSecret};
pub use self::sign_ins::BegunSignIn;
use crate::budgets;
use crate::error::EngineError;
use crate::state::Engine;

/// The users, teams and keys of a journal. Every change is stored with its author.
#[derive(Clone, Copy)]
pub struct ClientDirectory<'e> {
    directory: &'e dyn Directory,
    engine: &'e Engine,
}

/// A key to make.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct KeyOptions {
    /// When it ends; `None` for never.
    pub expires: Option<WallTime>,
    /// Whether it may neither list nor answer the questions of turns that wait for a person.
    pub has_no_approvals: bool,
    /// Whether it may see everything and change the directory.
    pub is_admin: bool,
    /// What people call it.
    pub label: Arc<str>,
    /// The names of models, routes and assistants that it may use; `None` for all.
    pub models: Option<Vec<Arc<str>>>,
    /// What it may use; `None` for no limit of its own.
    pub quota: Option<Quota>,
    /// The patterns of server tools that it may use; `None` for those that the gateway gives to all.
    pub tools: Option<Vec<Arc<str>>>,
}

/// What changes of a user; `None` leaves it as it is.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct UserUpdate {
    /// Whether its keys are refused.
    pub is_disabled: Option<bool>,
    /// What all of its keys together may use.
    pub quota: QuotaChange,
    /// The team; the inner `None` is no team.
    pub team: Option<Option<EntryName>>,
}

impl Engine {
    /// The users, teams and keys of the durable journal; `None` if it keeps none.
    #[must_use]
    pub fn directory(&self) -> Option<ClientDirectory<'_>> {
        let directory = self.shared.journal.directory()?;
        Some(ClientDirectory {
            directory,
            engine: self,
        })
    }
}

impl Engine {
    /// Whether the journal keeps meters.
    #[must_use]
    pub fn keeps_meters(&self) -> bool {
        self.shared.journal.meters().is_some()
    }

    /// Performs an operation on the meters of the durable journal.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read or written, or keeps no meters.
    pub async fn perform_on_meters(
        &self,
        operation: &MeterOperation,
    ) -> Result<MeterOutcome, EngineError> {
        Ok(budgets::perform(&self.shared, operation).await?)
    }
}

impl ClientDirectory<'_> {
    /// Whether there is a key, accepted or not.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Journal`] if the journal cannot be read.
    pub async fn has_keys(&self) -> Result<bool, DirectoryError> {
        Ok(self.directory.has_keys().await?)
    }

    /// Whether there is a key of an administrator that is accepted.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Journal`] if the journal cannot be read.
    pub async fn has_admin_key(&self) -> Result<bool, DirectoryError> {
        let now = self.now();
        let mut after = None;
        loop {
            let keys = self.entries(EntryKind::Key, after, PAGE).await?;
            let Some(last) = keys.last().map(DirectoryEntry::name) else {
                return Ok(false);
            };
            let admins = keys.into_iter().filter_map(DirectoryEntry::into_key);
            for key in admins.filter(|key| key.is_admin) {
                let is_over = key.expires.is_some_and(|expires| expires <= now);
                if key.revoked.is_none() && !is_over && !self.user(&key.user).await?.is_disabled {
                    return Ok(true);
                }
            }
            after = Some(last);
        }
    }

    /// Adds a user.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is one of this name, or no such team.
    pub async fn add_user(
        &self,
        by: &Arc<str>,
        name: EntryName,
        team: Option<EntryName>,
    ) -> Result<User, DirectoryError> {
        self.check_team(team.as_ref()).await?;
        let user = User {
            is_disabled: false,
            name,
            quota: None,
            team,
        };
        self.create(by, DirectoryEntry::User(user.clone())).await?;
        Ok(user)
    }

    /// Changes a user. A user who leaves a team has no sign-ins at its servers any more.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such user or team.
    pub async fn update_user(
        &self,
        by: &Arc<str>,
        name: &EntryName,
        update: &UserUpdate,
    ) -> Result<User, DirectoryError> {
        if let Some(team) = &update.team {
            self.check_team(team.as_ref()).await?;
        }
        // First: if this is broken off, the user is still in the team, and can be moved again.
        let left = self.left_team(name, update).await?;
        if let Some(left) = &left {
            self.forget_sign_ins_of(by, name, left).await?;
        }
        let changed = self.update(by, EntryKind::User, name, |entry| {
            let DirectoryEntry::User(user) = entry else {
                return Ok(ChangeAction::Changed);
            };
            let action = match update.is_disabled {
                Some(true) if !user.is_disabled => ChangeAction::Disabled,
                Some(false) if user.is_disabled => ChangeAction::Enabled,
                Some(_) | None => ChangeAction::Changed,
            };
            user.is_disabled = update.is_disabled.unwrap_or(user.is_disabled);
            if let Some(team) = &update.team {
                user.team.clone_from(team);
            }
            user.quota = update.quota.apply(user.quota);
            Ok(action)
        });
        let changed = changed.await?;
        if let Some(left) = &left {
            self.forget_sign_ins_of(by, name, left).await?;
        }
        changed
            .into_user()
            .ok_or_else(|| missing(EntryKind::User, name))
    }

    /// The team that a user leaves by this change.
    async fn left_team(
        &self,
        name: &EntryName,
        update: &UserUpdate,
    ) -> Result<Option<EntryName>, DirectoryError> {
        let Some(team) = &update.team else {
            return Ok(None);
        };
        let before = self.user(name).await?.team;
        Ok(before.filter(|before| Some(before) != team.as_ref()))
    }

    /// Adds a team.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is one of this name.
    pub async fn add_team(&self, by: &Arc<str>, name: EntryName) -> Result<Team, DirectoryError> {
        let team = Team { name, quota: None };
        self.create(by, DirectoryEntry::Team(team.clone())).await?;
        Ok(team)
    }

    /// Changes what a key, a user or a team may use. The result has the quota of before, and the entry.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such entry.
    pub async fn limit(
        &self,
        by: &Arc<str>,
        kind: EntryKind,
        name: &EntryName,
        change: &QuotaChange,
    ) -> Result<(Option<Quota>, DirectoryEntry), DirectoryError> {
        let mut before = None;
        let changed = self.update(by, kind, name, |entry| {
            if let Some(quota) = entry.quota_mut() {
                before = *quota;
                *quota = change.apply(before);
            }
            Ok(ChangeAction::Changed)
        });
        let entry = changed.await?;
        Ok((before, entry))
    }

    /// Makes a key for a user. The secret is nowhere but in the result.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such user, or the operating system has no random numbers.
    pub async fn create_key(
        &self,
        by: &Arc<str>,
        user: &EntryName,
        options: KeyOptions,
    ) -> Result<(ClientKey, NewSecret), DirectoryError> {
        self.user(user).await?;
        let secret = NewSecret::new()?;
        let key = ClientKey {
            expires: options.expires,
            has_no_approvals: options.has_no_approvals,
            id: secret::key_id()?,
            is_admin: options.is_admin,
            label: options.label,
            models: options.models,
            quota: options.quota,
            revoked: None,
            secrets: vec![KeySecret {
                digest: secret.digest(),
                until: None,
            }],
            tools: options.tools,
            user: user.clone(),
        };
        self.create(by, DirectoryEntry::Key(key.clone())).await?;
        Ok((key, secret))
    }

    /// Gives a key a new secret. The one before is accepted for `overlap` more; older ones are not any more.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such key, it was revoked or has expired, or the operating system has no random
    /// numbers.
    pub async fn rotate_key(
        &self,
        by: &Arc<str>,
        id: &EntryName,
        overlap: Duration,
    ) -> Result<(ClientKey, NewSecret), DirectoryError> {
        let secret = NewSecret::new()?;
        let (digest, now) = (secret.digest(), self.now());
        let changed = self.update(by, EntryKind::Key, id, |entry| {
            let DirectoryEntry::Key(key) = entry else {
                return Ok(ChangeAction::Rotated);
            };
            if key.revoked.is_some() {
                return Err(KeyRefusal::Revoked.into());
            }
            if key.expires.is_some_and(|expires| expires <= now) {
                return Err(KeyRefusal::Expired.into());
            }
            key.secrets.truncate(1);
            for before in &mut key.secrets {
                before.until = Some(now.after(overlap));
            }
            let until = None;
            key.secrets.insert(0, KeySecret { digest, until });
            Ok(ChangeAction::Rotated)
        });
        Ok((key_of(changed.await?, id)?, secret))
    }

    /// Revokes a key, at once and for good. A key that was revoked before stays as it is.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such key.
    pub async fn revoke_key(
        &self,
        by: &Arc<str>,
        id: &EntryName,
    ) -> Result<ClientKey, DirectoryError> {
        let now = self.now();
        let changed = self.update(by, EntryKind::Key, id, |entry| {
            if let DirectoryEntry::Key(key) = entry {
                key.revoked = key.revoked.or(Some(now));
            }
            Ok(ChangeAction::Revoked)
        });
        key_of(changed.await?, id)
    }

    /// A user.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such user, or the journal cannot be read.
    pub async fn user(&self, name: &EntryName) -> Result<User, DirectoryError> {
        let user = self.entry(EntryKind::User, name).await?.entry.into_user();
        user.ok_or_else(|| missing(EntryKind::User, name))
    }

    /// A key.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such key, or the journal cannot be read.
    pub async fn key(&self, id: &EntryName) -> Result<ClientKey, DirectoryError> {
        key_of(self.entry(EntryKind::Key, id).await?.entry, id)
    }

    /// The entries of a kind, ordered by name: at most `limit`, after this one.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Journal`] if the journal cannot be read.
    pub async fn entries(
        &self,
        kind: EntryKind,
        after: Option<EntryName>,
        limit: usize,
    ) -> Result<Vec<DirectoryEntry>, DirectoryError> {
        let query = EntryQuery { after, kind, limit };
        let found = self.directory.entries(&query).await?;
        Ok(found.into_iter().map(|change| change.entry).collect())
    }

    /// The changes to the directory, the newest first, each with its number.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Journal`] if the journal cannot be read.
    pub async fn changes(
        &self,
        query: &ChangeQuery,
    ) -> Result<Vec<(u64, DirectoryChange)>, DirectoryError> {
        Ok(self.directory.changes(query).await?)
    }

    /// When requests are made now.
    #[must_use]
    pub fn now(&self) -> WallTime {
        self.engine.now()
    }

    async fn entry(
        &self,
        kind: EntryKind,
        name: &EntryName,
    ) -> Result<DirectoryChange, DirectoryError> {
        let found = self.directory.entry(kind, name).await?;
        found.ok_or_else(|| missing(kind, name))
    }

    async fn check_team(&self, team: Option<&EntryName>) -> Result<(), DirectoryError> {
        if let Some(team) = team {
            self.entry(EntryKind::Team, team).await?;
        }
        Ok(())
    }

    async fn create(&self, by: &Arc<str>, entry: DirectoryEntry) -> Result<(), DirectoryError> {
        let (kind, name) = (entry.kind(), entry.name());
        let change = DirectoryChange {
            action: ChangeAction::Created,
            at: self.now(),
            by: Arc::clone(by),
            entry,
            revision: 1,
        };
        match self.store(&change).await? {
            Changed::Stored => Ok(()),
            Changed::Conflict => Err(DirectoryError::Exists { kind, name }),
        }
    }

    /// Changes an entry, again from its newest value if another change came first. Without a difference it stays as it
    /// is.
    async fn update(
        &self,
        by: &Arc<str>,
        kind: EntryKind,
        name: &EntryName,
        mut edit: impl FnMut(&mut DirectoryEntry) -> Result<ChangeAction, DirectoryError>,
    ) -> Result<DirectoryEntry, DirectoryError> {
        for _ in 0..ATTEMPTS {
            let newest = self.entry(kind, name).await?;
            let mut entry = newest.entry.clone();
            let action = edit(&mut entry)?;
            if entry == newest.entry {
                return Ok(entry);
            }
            let change = DirectoryChange {
                action,
                at: self.now(),
                by: Arc::clone(by),
                entry,
                revision: newest.revision + 1,
            };
            if self.store(&change).await? == Changed::Stored {
                return Ok(change.entry);
            }
        }
        let name = name.clone();
        Err(DirectoryError::Busy { kind, name })
    }

    async fn store(&self, change: &DirectoryChange) -> Result<Changed, DirectoryError> {
        let changed = self.directory.change(change).await?;
        log(change, changed);
        Ok(changed)
    }

    /// Stores a change with the secrets of its entry, in place of those of before.
    async fn store_with_secrets(
        &self,
        change: &DirectoryChange,
        sealed: &[SealedSecret],
    ) -> Result<Changed, DirectoryError> {
        let secrets = self.engine.shared.secrets()?;
        let changed = secrets.change_with_secrets(change, sealed).await?;
        log(change, changed);
        Ok(changed)
    }
}

fn log(change: &DirectoryChange, changed: Changed) {
    if changed == Changed::Stored {
        let (kind, name) = (change.entry.kind().as_str(), change.entry.name());
        let action = change.action.as_str();
        tracing::info!(by = %change.by, action, kind, %name, "the directory was changed");
    }
}

fn key_of(entry: DirectoryEntry, id: &EntryName) -> Result<ClientKey, DirectoryError> {
    entry.into_key().ok_or_else(|| missing(EntryKind::Key, id))
}

fn missing(kind: EntryKind, name: &EntryName) -> DirectoryError {
    DirectoryError::Missing {
        kind,
        name: name.clone(),
    }
}

/// How many entries are read at once.
const PAGE: usize = 500;
/// How often a change is tried that others overtake.
const ATTEMPTS: u32 = 20;
