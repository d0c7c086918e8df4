//! The MCP servers of users and teams, as entries of the directory.

use std::sync::Arc;

use jackfield_domain::directory::{
    ChangeAction, DirectoryChange, DirectoryEntry, EntryKind, OwnServer, ServerOwner,
};
use jackfield_ports::credential::Credential;
use jackfield_ports::journal::directory::Changed;
use jackfield_ports::journal::secrets::SealedSecret;

use super::{ATTEMPTS, ClientDirectory, DirectoryError, entries_below, missing};

impl ClientDirectory<'_> {
    /// Sets a server of a user or a team, in place of an earlier one of its name. The values of its headers or variables
    /// are stored encrypted. The next turn of the owner has its tools. Sign-ins at another address are taken away.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such user or team, the server is not one that the configuration allows, the
    /// owner has too many, or there is no master key for its secrets.
    pub async fn set_server(
        &self,
        by: &Arc<str>,
        server: OwnServer,
        secrets: &[(Arc<str>, Credential)],
    ) -> Result<OwnServer, DirectoryError> {
        let server = OwnServer {
            is_removed: false,
            secrets: secrets.iter().map(|(name, _)| Arc::clone(name)).collect(),
            ..server
        };
        server.check()?;
        let shared = &self.engine.shared;
        let allowed = shared.own_servers()?;
        allowed
            .factory
            .check(&server)
            .map_err(DirectoryError::ServerRefused)?;
        self.check_owner(&server.owner).await?;
        let name = server.entry();
        let mut sealed = Vec::new();
        for (secret, value) in secrets {
            OwnServer::check_secret(secret, value.expose())?;
            sealed.push(shared.seal(EntryKind::Server, &name, secret, value)?);
        }
        let max = allowed.limit(&server.owner);
        for _ in 0..ATTEMPTS {
            let all = self.all_servers(&server.owner).await?;
            let newest = all.iter().find(|(other, _)| other.name == server.name);
            let action = match newest {
                Some((before, _)) if !before.is_removed => ChangeAction::Changed,
                Some(_) | None => ChangeAction::Created,
            };
            if action == ChangeAction::Created {
                let owner = server.owner.clone();
                let used = all.iter().filter(|(other, _)| !other.is_removed);
                if used.count() >= max {
                    return Err(DirectoryError::TooManyServers { max, owner });
                }
                if newest.is_none() && all.len() >= MAX_NAMES {
                    let max = MAX_NAMES;
                    return Err(DirectoryError::TooManyServerNames { max, owner });
                }
            }
            let revision = newest.map_or(1, |(_, newest)| newest.revision + 1);
            let is_moved = newest.is_some_and(|(before, _)| before.identity() != server.identity());
            if is_moved {
                self.forget_sign_ins(by, &server).await?;
            }
            let stored = self.store_server(by, &server, (action, revision), &sealed);
            if stored.await? == Changed::Stored {
                if is_moved {
                    // One may have been finished meanwhile.
                    self.forget_sign_ins(by, &server).await?;
                }
                return Ok(server);
            }
        }
        let kind = EntryKind::Server;
        Err(DirectoryError::Busy { kind, name })
    }

    /// Takes a server of a user or a team away, and deletes its secrets and the sign-ins at it. Turns that have begun with
    /// it keep it until they end or wait.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such server.
    pub async fn remove_server(
        &self,
        by: &Arc<str>,
        owner: &ServerOwner,
        name: &str,
    ) -> Result<OwnServer, DirectoryError> {
        let entry = owner.entry(name);
        for _ in 0..ATTEMPTS {
            let (server, newest) = self.server(owner, name).await?;
            let server = OwnServer {
                is_removed: true,
                secrets: Vec::new(),
                ..server
            };
            // First: if this is broken off, the server is still there, and can be taken away again.
            self.forget_sign_ins(by, &server).await?;
            let (action, revision) = (ChangeAction::Removed, newest.revision + 1);
            let stored = self.store_server(by, &server, (action, revision), &[]);
            if stored.await? == Changed::Stored {
                // One may have been finished meanwhile.
                self.forget_sign_ins(by, &server).await?;
                return Ok(server);
            }
        }
        let kind = EntryKind::Server;
        Err(DirectoryError::Busy { kind, name: entry })
    }

    /// Disables or enables a server of a user or a team. Its secrets stay.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such server.
    pub async fn switch_server(
        &self,
        by: &Arc<str>,
        owner: &ServerOwner,
        name: &str,
        is_disabled: bool,
    ) -> Result<OwnServer, DirectoryError> {
        self.server(owner, name).await?;
        let entry = owner.entry(name);
        let gone = || missing(EntryKind::Server, &entry);
        let changed = self.update(by, EntryKind::Server, &entry, |entry| {
            let DirectoryEntry::Server(server) = entry else {
                return Err(gone());
            };
            if server.is_removed {
                return Err(gone());
            }
            server.is_disabled = is_disabled;
            Ok(match is_disabled {
                true => ChangeAction::Disabled,
                false => ChangeAction::Enabled,
            })
        });
        changed.await?.into_server().ok_or_else(gone)
    }

    /// The servers of a user or a team, without their secrets, by name, each with its newest change.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such user or team, or the journal cannot be read.
    pub async fn servers(
        &self,
        owner: &ServerOwner,
    ) -> Result<Vec<(OwnServer, DirectoryChange)>, DirectoryError> {
        self.check_owner(owner).await?;
        let mut all = self.all_servers(owner).await?;
        all.retain(|(server, _)| !server.is_removed);
        Ok(all)
    }

    /// A server of a user or a team, with its newest change.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such server.
    pub async fn server(
        &self,
        owner: &ServerOwner,
        name: &str,
    ) -> Result<(OwnServer, DirectoryChange), DirectoryError> {
        let servers = self.servers(owner).await?.into_iter();
        let mut found = servers.filter(|(server, _)| &*server.name == name);
        found.next().ok_or_else(|| {
            let shown: String = name.chars().take(OwnServer::MAX_NAME).collect();
            missing(EntryKind::Server, &owner.entry(&shown))
        })
    }

    async fn all_servers(
        &self,
        owner: &ServerOwner,
    ) -> Result<Vec<(OwnServer, DirectoryChange)>, DirectoryError> {
        let (kind, first) = (EntryKind::Server, owner.entry(""));
        let changes = entries_below(self.directory, kind, first).await?;
        let servers = changes
            .into_iter()
            .filter_map(|change| Some((change.entry.clone().into_server()?, change)));
        Ok(servers.collect())
    }

    async fn check_owner(&self, owner: &ServerOwner) -> Result<(), DirectoryError> {
        match owner {
            ServerOwner::Team(team) => self.check_team(Some(team)).await,
            ServerOwner::User(user) => self.user(user).await.map(drop),
        }
    }

    async fn store_server(
        &self,
        by: &Arc<str>,
        server: &OwnServer,
        (action, revision): (ChangeAction, u64),
        sealed: &[SealedSecret],
    ) -> Result<Changed, DirectoryError> {
        let change = DirectoryChange {
            action,
            at: self.now(),
            by: Arc::clone(by),
            entry: DirectoryEntry::Server(server.clone()),
            revision,
        };
        self.store_with_secrets(&change, sealed).await
    }
}

/// The maximum number of names that servers of one owner have ever had, as each turn reads all of them.
const MAX_NAMES: usize = 200;
