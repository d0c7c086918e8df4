//! The sign-ins of users at servers of users and teams, by OAuth.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::directory::{
    ChangeAction, DirectoryChange, DirectoryEntry, EntryKind, EntryName, OwnServer, ServerOwner,
    SignIn,
};
use jackfield_domain::time::WallTime;
use jackfield_ports::credential::Credential;
use jackfield_ports::journal::directory::Changed;
use jackfield_ports::journal::secrets::SealedSecret;

use super::{ATTEMPTS, ClientDirectory, DirectoryError, entries_below, missing};
use crate::own_servers::SignInClient;
use crate::sign_in_store::{PendingLogin, SignInSecret, SignInStore};

/// A sign-in that a user has yet to confirm in a browser.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct BegunSignIn {
    /// Until when it can be confirmed.
    pub expires: WallTime,
    /// The scope that is asked for, if one is.
    pub scope: Option<String>,
    /// The address to open in a browser.
    pub url: String,
}

impl ClientDirectory<'_> {
    /// Begins the sign-in of a user at a server of its own or of its team. The browser comes back to `redirect_uri`.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if the user has no such server, the server has no sign-in that can be used, or there is no
    /// master key.
    pub async fn begin_sign_in(
        &self,
        by: &Arc<str>,
        user: &EntryName,
        (owner, name): (&ServerOwner, &str),
        redirect_uri: &str,
    ) -> Result<BegunSignIn, DirectoryError> {
        let server = self.server_of_user(user, owner, name).await?;
        let store = self.engine.shared.sign_in_store(&server, user)?;
        let known = store.load().await?;
        let client = self.sign_in_client()?;
        let begun = client.begin(&server, known, redirect_uri).await;
        let begun = begun.map_err(DirectoryError::SignInFailed)?;
        let expires = self.now().after(LOGIN_TIME);
        let login = PendingLogin {
            text: begun.login.expose().to_owned(),
            until: expires.as_millis(),
        };
        self.keep_login(by, user, &server, &store, login).await?;
        Ok(BegunSignIn {
            expires,
            scope: begun.scope,
            url: begun.url,
        })
    }

    /// Ends a sign-in of a user with the address to which the browser came back. It is used once, also if it fails.
    /// Returns the server that it is at.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::NoLogin`] if no sign-in of this user waits for this answer, and others if there are no tokens for
    /// it or they cannot be stored.
    pub async fn finish_sign_in(
        &self,
        by: &Arc<str>,
        user: &EntryName,
        redirect: &str,
    ) -> Result<OwnServer, DirectoryError> {
        let client = self.sign_in_client()?;
        for server in self.servers_of_user(user).await? {
            let store = self.engine.shared.sign_in_store(&server, user)?;
            let Some(login) = self.take_login(&store, client, redirect).await? else {
                continue;
            };
            let tokens = client.finish(&server, &login, redirect).await;
            let tokens = tokens.map_err(DirectoryError::SignInFailed)?;
            self.keep_tokens(by, user, &server, &store, &tokens).await?;
            // It may be gone, or have another address, since it was read.
            let newest = self.server(&server.owner, &server.name).await;
            if !newest.is_ok_and(|(newest, _)| newest.identity() == server.identity()) {
                self.forget_sign_ins(by, &server).await?;
                return Err(missing(EntryKind::Server, &server.entry()));
            }
            return Ok(server);
        }
        Err(DirectoryError::NoLogin)
    }

    /// Takes the sign-in of a user at a server away, and deletes its tokens. They are revoked, too, where the
    /// authorization server does that.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`] if there is no such sign-in.
    pub async fn end_sign_in(
        &self,
        by: &Arc<str>,
        user: &EntryName,
        (owner, name): (&ServerOwner, &str),
    ) -> Result<(), DirectoryError> {
        let server = self.server_of_user(user, owner, name).await?;
        let store = Arc::new(self.engine.shared.sign_in_store(&server, user)?);
        // A renewal under way ends first, so that the newest tokens are revoked. What cannot be read is deleted all the same.
        let (lock, tokens) = match store.lock().await {
            Ok(lock) => (Some(lock), store.load().await?),
            Err(error) => {
                tracing::warn!(%error, "the tokens of a sign-in cannot be read, and are not revoked");
                (None, None)
            }
        };
        let entry = SignIn::entry_at(&server.entry(), user);
        if !self.forget_sign_in(by, &entry).await? {
            return Err(missing(EntryKind::SignIn, &entry));
        }
        drop(lock);
        if let Some(tokens) = tokens
            && let Err(why) = self.sign_in_client()?.revoke(&server, &tokens).await
        {
            tracing::warn!(%entry, why, "the tokens of a sign-in were not revoked");
        }
        Ok(())
    }

    /// Whether a user has signed in at a server.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Journal`] if the journal cannot be read.
    pub async fn is_signed_in(
        &self,
        user: &EntryName,
        server: &OwnServer,
    ) -> Result<bool, DirectoryError> {
        let entry = SignIn::entry_at(&server.entry(), user);
        let newest = self.directory.entry(EntryKind::SignIn, &entry).await?;
        let newest = newest.and_then(|change| change.entry.into_sign_in());
        Ok(newest.is_some_and(|sign_in| sign_in.is_at(server)))
    }

    /// Takes the sign-ins of all users at a server away, with their tokens.
    pub(super) async fn forget_sign_ins(
        &self,
        by: &Arc<str>,
        server: &OwnServer,
    ) -> Result<(), DirectoryError> {
        let first = SignIn::entries_at(&server.entry());
        let all = entries_below(self.directory, EntryKind::SignIn, first).await?;
        for change in all {
            self.forget_sign_in(by, &change.entry.name()).await?;
        }
        Ok(())
    }

    /// Takes the sign-ins of a user at the servers of a team away, with their tokens.
    pub(super) async fn forget_sign_ins_of(
        &self,
        by: &Arc<str>,
        user: &EntryName,
        team: &EntryName,
    ) -> Result<(), DirectoryError> {
        for (server, _) in self.servers(&ServerOwner::Team(team.clone())).await? {
            let entry = SignIn::entry_at(&server.entry(), user);
            self.forget_sign_in(by, &entry).await?;
        }
        Ok(())
    }

    /// Takes a sign-in away; `false` if there is none.
    async fn forget_sign_in(
        &self,
        by: &Arc<str>,
        entry: &EntryName,
    ) -> Result<bool, DirectoryError> {
        for _ in 0..ATTEMPTS {
            let Some((sign_in, revision)) = self.newest_sign_in(entry).await? else {
                return Ok(false);
            };
            if sign_in.is_removed {
                return Ok(false);
            }
            let sign_in = SignIn {
                is_pending: false,
                is_removed: true,
                ..sign_in
            };
            let step = (ChangeAction::Removed, revision + 1);
            if self.store_sign_in(by, sign_in, step, &[]).await? == Changed::Stored {
                return Ok(true);
            }
        }
        Err(busy(entry))
    }

    /// Keeps a sign-in that the user has yet to confirm, beside the tokens of an earlier one.
    async fn keep_login(
        &self,
        by: &Arc<str>,
        user: &EntryName,
        server: &OwnServer,
        store: &SignInStore,
        login: PendingLogin,
    ) -> Result<(), DirectoryError> {
        let entry = SignIn::entry_at(&server.entry(), user);
        for _ in 0..ATTEMPTS {
            let newest = self.newest_sign_in(&entry).await?;
            // The secrets of a sign-in that was taken away are deleted, and those at another address are not read.
            if let Some((sealed, secret)) = store.read().await? {
                let secret = SignInSecret {
                    login: Some(login.clone()),
                    ..secret
                };
                if store.replace(&sealed, &secret).await? {
                    return Ok(());
                }
                continue;
            }
            let secret = SignInSecret {
                login: Some(login.clone()),
                ..SignInSecret::default()
            };
            let sign_in = sign_in(user, server, true);
            let step = (ChangeAction::Created, next(newest.as_ref()));
            let sealed = [store.seal(&secret)?];
            if self.store_sign_in(by, sign_in, step, &sealed).await? == Changed::Stored {
                return Ok(());
            }
        }
        Err(busy(&entry))
    }

    /// Takes the open sign-in that this is the answer to, so that no other answer meets it.
    async fn take_login(
        &self,
        store: &SignInStore,
        client: &dyn SignInClient,
        redirect: &str,
    ) -> Result<Option<Credential>, DirectoryError> {
        for _ in 0..ATTEMPTS {
            let Some((sealed, mut secret)) = store.read().await? else {
                return Ok(None);
            };
            let login = secret.login.take();
            let login = login.filter(|login| login.is_open(self.now()));
            let login = login.map(|login| Credential::new(login.text));
            let Some(login) = login.filter(|login| client.is_answered(login, redirect)) else {
                return Ok(None);
            };
            if store.replace(&sealed, &secret).await? {
                return Ok(Some(login));
            }
        }
        Ok(None)
    }

    /// Keeps the tokens of a sign-in. It is another one from now on, so connections of the one before are not used.
    async fn keep_tokens(
        &self,
        by: &Arc<str>,
        user: &EntryName,
        server: &OwnServer,
        store: &SignInStore,
        tokens: &Credential,
    ) -> Result<(), DirectoryError> {
        let entry = SignIn::entry_at(&server.entry(), user);
        let secret = SignInSecret {
            tokens: Some(tokens.expose().to_owned()),
            ..SignInSecret::default()
        };
        for _ in 0..ATTEMPTS {
            let newest = self.newest_sign_in(&entry).await?;
            let newest = newest
                .filter(|(newest, _)| !newest.is_removed && newest.identity == server.identity());
            if newest.is_none() {
                return Err(missing(EntryKind::SignIn, &entry));
            }
            let sign_in = sign_in(user, server, false);
            let step = (ChangeAction::Changed, next(newest.as_ref()));
            let sealed = [store.seal(&secret)?];
            if self.store_sign_in(by, sign_in, step, &sealed).await? == Changed::Stored {
                return Ok(());
            }
        }
        Err(busy(&entry))
    }

    async fn newest_sign_in(
        &self,
        entry: &EntryName,
    ) -> Result<Option<(SignIn, u64)>, DirectoryError> {
        let newest = self.directory.entry(EntryKind::SignIn, entry).await?;
        Ok(newest.and_then(|change| Some((change.entry.into_sign_in()?, change.revision))))
    }

    async fn store_sign_in(
        &self,
        by: &Arc<str>,
        sign_in: SignIn,
        (action, revision): (ChangeAction, u64),
        sealed: &[SealedSecret],
    ) -> Result<Changed, DirectoryError> {
        let change = DirectoryChange {
            action,
            at: self.now(),
            by: Arc::clone(by),
            entry: DirectoryEntry::SignIn(sign_in),
            revision,
        };
        self.store_with_secrets(&change, sealed).await
    }

    /// A server that turns of this user have.
    async fn server_of_user(
        &self,
        user: &EntryName,
        owner: &ServerOwner,
        name: &str,
    ) -> Result<OwnServer, DirectoryError> {
        let is_own = match owner {
            ServerOwner::Team(team) => self.user(user).await?.team.as_ref() == Some(team),
            ServerOwner::User(of) => of == user,
        };
        if !is_own {
            let shown: String = name.chars().take(OwnServer::MAX_NAME).collect();
            return Err(missing(EntryKind::Server, &owner.entry(&shown)));
        }
        Ok(self.server(owner, name).await?.0)
    }

    /// The servers of a user and of its team.
    async fn servers_of_user(&self, user: &EntryName) -> Result<Vec<OwnServer>, DirectoryError> {
        let team = self.user(user).await?.team.map(ServerOwner::Team);
        let mut all = Vec::new();
        for owner in [ServerOwner::User(user.clone())].into_iter().chain(team) {
            let servers = self.servers(&owner).await?.into_iter();
            all.extend(servers.map(|(server, _)| server));
        }
        Ok(all)
    }

    fn sign_in_client(&self) -> Result<&dyn SignInClient, DirectoryError> {
        let own = self.engine.shared.own_servers()?;
        own.factory.sign_in_client().ok_or_else(|| {
            let why = "this program signs nobody in at servers".to_owned();
            DirectoryError::ServerRefused(why)
        })
    }
}

fn sign_in(user: &EntryName, server: &OwnServer, is_pending: bool) -> SignIn {
    SignIn {
        identity: server.identity(),
        is_pending,
        is_removed: false,
        owner: server.owner.clone(),
        server: Arc::clone(&server.name),
        user: user.clone(),
    }
}

/// The number of the next change.
fn next(newest: Option<&(SignIn, u64)>) -> u64 {
    newest.map_or(1, |(_, revision)| revision + 1)
}

fn busy(entry: &EntryName) -> DirectoryError {
    DirectoryError::Busy {
        kind: EntryKind::SignIn,
        name: entry.clone(),
    }
}

/// How long a sign-in can be confirmed.
const LOGIN_TIME: Duration = Duration::from_secs(600);
