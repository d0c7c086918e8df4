//! Which servers of users and teams a turn has.

use std::sync::Arc;

use jackfield_domain::caller::Caller;
use jackfield_domain::directory::{
    DirectoryEntry, EntryKind, EntryName, OwnServer, ServerOwner, SignIn, User, user_of_principal,
};
use jackfield_domain::ids::ToolboxId;
use jackfield_ports::credential::Credential;
use jackfield_ports::journal::directory::Directory;
use jackfield_ports::journal::secrets::SecretPlace;
use jackfield_ports::journal::{Journal as _, JournalError};
use jackfield_ports::toolbox_source::{ToolboxProblem, ToolboxSet, WHOLE_SOURCE};

use crate::directory::{DirectoryError, entries_below};
use crate::error::chain;
use crate::master_keys::SecretError;
use crate::own_servers::{OpenedServer, OwnServers};
use crate::sign_in_store::SignInStore;
use crate::state::EngineState;

impl EngineState {
    /// The servers of users and teams.
    pub(crate) fn own_servers(&self) -> Result<&OwnServers, DirectoryError> {
        self.own_servers.as_deref().ok_or_else(|| {
            DirectoryError::ServerRefused("this gateway takes no servers of people".to_owned())
        })
    }

    /// Whether turns of this user have servers of the user or its team.
    pub(crate) async fn has_own_servers(&self, user: &User) -> Result<bool, JournalError> {
        let (Some(own), Some(directory)) = (&self.own_servers, self.journal.directory()) else {
            return Ok(false);
        };
        Ok(!servers_of(own, directory, user).await?.is_empty())
    }

    /// The toolboxes of the servers that a client's user and its team have. A server that cannot be opened is a problem
    /// and makes no other unavailable.
    pub(crate) async fn own_toolboxes(&self, client: Option<&Caller>) -> ToolboxSet {
        let mut set = ToolboxSet::default();
        let (Some(own), Some(directory)) = (&self.own_servers, self.journal.directory()) else {
            return set;
        };
        let Some(client) = client else {
            return set;
        };
        let Some(user) = user_of_principal(&client.principal) else {
            return set;
        };
        let principal = &client.principal;
        let servers = match servers_of_name(own, directory, &user).await {
            Ok(servers) => servers,
            Err(error) => {
                let why = chain(&error);
                tracing::error!(%user, why, "the servers of a user cannot be read");
                set.problems.extend(source_problem());
                return set;
            }
        };
        let entries: Vec<EntryName> = servers.iter().map(|(server, _)| server.entry()).collect();
        own.keep(principal, &entries);
        for ((server, revision), entry) in servers.into_iter().zip(&entries) {
            let Ok(id) = server.toolbox() else {
                continue;
            };
            let signed_in = match self.sign_in_revision(directory, &server, &user).await {
                Ok(revision) => revision,
                Err(error) => {
                    let why = chain(&error);
                    tracing::error!(server = %entry, why, "the sign-in at a server cannot be read");
                    let message = "your sign-in there cannot be read now".to_owned();
                    let toolbox = id;
                    set.problems.push(ToolboxProblem { message, toolbox });
                    continue;
                }
            };
            let of = (revision, signed_in);
            if let Some(registered) = own.find(principal, entry, of) {
                set.toolboxes.push(registered);
                continue;
            }
            let opened = match self.secrets_of_server(directory, &server, revision).await {
                Ok(Some(secrets)) => {
                    let opened = OpenedServer {
                        id: id.clone(),
                        revision,
                        secrets,
                        sign_in: self.sign_in_of_turn(&server, &user),
                        server,
                    };
                    own.open(principal, &opened, of)
                }
                Ok(None) => Err("its owner changes it now; the next turn has it".to_owned()),
                Err(error) => {
                    let error = chain(&error);
                    tracing::error!(server = %entry, %error, "the secrets of a server cannot be opened");
                    Err("its secrets cannot be opened now".to_owned())
                }
            };
            match opened {
                Ok(registered) => set.toolboxes.push(registered),
                Err(message) => set.problems.push(ToolboxProblem {
                    message,
                    toolbox: id,
                }),
            }
        }
        set
    }

    /// Where the sign-in of a user at a server is kept.
    pub(crate) fn sign_in_store(
        &self,
        server: &OwnServer,
        user: &EntryName,
    ) -> Result<SignInStore, SecretError> {
        let keys = self.master_keys()?.clone();
        let journal = Arc::clone(self.journal.durable());
        Ok(SignInStore::new((journal, keys), server, user))
    }

    /// Where turns of a user find the sign-in at a server; `None` for a server that is not signed in at, and without a
    /// master key.
    fn sign_in_of_turn(&self, server: &OwnServer, user: &EntryName) -> Option<Arc<SignInStore>> {
        server.sign_in_address()?;
        self.sign_in_store(server, user).ok().map(Arc::new)
    }

    /// The number of the newest change of a user's sign-in at a server, or 0 without one.
    async fn sign_in_revision(
        &self,
        directory: &dyn Directory,
        server: &OwnServer,
        user: &EntryName,
    ) -> Result<u64, JournalError> {
        if server.sign_in_address().is_none() || self.master_keys.is_none() {
            return Ok(0);
        }
        let entry = SignIn::entry_at(&server.entry(), user);
        let newest = directory.entry(EntryKind::SignIn, &entry).await?;
        Ok(newest.map_or(0, |newest| newest.revision))
    }

    /// The secrets of a server at this revision of its entry; `None` if there is another one meanwhile: a new key must
    /// not be sent to the old address.
    async fn secrets_of_server(
        &self,
        directory: &dyn Directory,
        server: &OwnServer,
        revision: u64,
    ) -> Result<Option<Vec<(Arc<str>, Credential)>>, SecretError> {
        if server.secrets.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let entry = server.entry();
        let secrets = self.secrets_of(EntryKind::Server, &entry).await?;
        let newest = directory.entry(EntryKind::Server, &entry).await?;
        if newest.is_none_or(|newest| newest.revision != revision) {
            return Ok(None);
        }
        let has = |name: &str| secrets.iter().any(|(known, _)| **known == *name);
        match server.secrets.iter().find(|name| !has(name)) {
            Some(missing) => Err(SecretError::Damaged {
                place: SecretPlace::new(EntryKind::Server, &entry, missing),
            }),
            None => Ok(Some(secrets)),
        }
    }
}

/// The servers that turns of a user have, each with the number of its newest change.
async fn servers_of_name(
    own: &OwnServers,
    directory: &dyn Directory,
    user: &EntryName,
) -> Result<Vec<(OwnServer, u64)>, JournalError> {
    let found = directory.entry(EntryKind::User, user).await?;
    match found.map(|change| change.entry) {
        Some(DirectoryEntry::User(user)) => servers_of(own, directory, &user).await,
        Some(_) | None => Ok(Vec::new()),
    }
}

async fn servers_of(
    own: &OwnServers,
    directory: &dyn Directory,
    user: &User,
) -> Result<Vec<(OwnServer, u64)>, JournalError> {
    let owner = ServerOwner::User(user.name.clone());
    let team = user.team.clone().map(ServerOwner::Team);
    let mut all = Vec::new();
    for owner in [owner].into_iter().chain(team) {
        let entries = entries_below(directory, EntryKind::Server, owner.entry("")).await?;
        let used = entries.into_iter().filter_map(|change| {
            let server = change.entry.into_server()?;
            server.is_used().then_some((server, change.revision))
        });
        all.extend(used.take(own.limit(&owner)));
    }
    Ok(all)
}

/// The problem of a directory that cannot be read.
fn source_problem() -> Option<ToolboxProblem> {
    Some(ToolboxProblem {
        message: "your own servers cannot be read now".to_owned(),
        toolbox: ToolboxId::parse(WHOLE_SOURCE).ok()?,
    })
}
