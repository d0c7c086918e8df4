//! The directory: the users, teams and keys of a gateway's clients, what users bring, and the changes to them.
//!
//! The value of an entry is that of its newest change, so a list of changes is the audit of the administration.

mod client_lookup;
mod own_server;
mod provider_key;
mod sign_in;

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::digest::Digest;
use crate::policy;
use crate::quota::Quota;
use crate::time::WallTime;

pub use self::client_lookup::ClientLookup;
pub use self::own_server::{InvalidOwnServer, OwnEndpoint, OwnServer, ServerOwner};
pub use self::provider_key::ProviderKey;
pub use self::sign_in::SignIn;

/// The name of a user or a team, or the id of a key: lower case, so that no two look alike but for their case.
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct EntryName(Arc<str>);

impl EntryName {
    /// The maximum length, in bytes.
    pub const MAX: usize = 64;

    /// Validates a name.
    ///
    /// # Errors
    ///
    /// [`InvalidEntryName`] unless the text is 1 to [`Self::MAX`] characters of `a-z`, `0-9`, `.`, `_`, `-`, `@` and
    /// `+`, of which the first is a letter or a digit.
    pub fn parse(text: &str) -> Result<Self, InvalidEntryName> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_valid = (1..=Self::MAX).contains(&text.len())
            && text.bytes().next().is_some_and(is_plain)
            && text
                .bytes()
                .all(|byte| is_plain(byte) || b"._-@+".contains(&byte));
        if is_valid {
            Ok(Self(text.into()))
        } else {
            Err(InvalidEntryName(text.chars().take(80).collect()))
        }
    }

    /// The name of what belongs to a user, of this name there. No name of a user, a team or a key has a colon or a
    /// slash, so it is none of theirs, and no other user's.
    #[must_use]
    pub fn of_user(user: &Self, name: &str) -> Self {
        Self(format!("{}/{name}", user_principal(user)).into())
    }

    /// The user that this belongs to, and its name there, if it belongs to one.
    #[must_use]
    pub fn of_whom(&self) -> Option<(&str, &str)> {
        self.0.strip_prefix("user:")?.split_once('/')
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for EntryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for EntryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text is no name of a user, a team or a key; it is cut to 80 characters.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error(
    "`{0}` cannot be a name: 1 to 64 characters of a-z, 0-9, `.`, `_`, `-`, `@` and `+` can, the first a letter or a digit"
)]
pub struct InvalidEntryName(pub String);

/// A person or a program that uses a gateway.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct User {
    /// Whether none of its keys is accepted.
    pub is_disabled: bool,
    /// The name.
    pub name: EntryName,
    /// What all of its keys together may use; `None` for no limit.
    pub quota: Option<Quota>,
    /// The team, if it belongs to one.
    pub team: Option<EntryName>,
}

impl User {
    /// The principal of its requests.
    #[must_use]
    pub fn principal(&self) -> Arc<str> {
        user_principal(&self.name)
    }
}

/// The principal of the requests of a user. No configured principal has a colon.
#[must_use]
pub fn user_principal(name: &EntryName) -> Arc<str> {
    format!("user:{name}").into()
}

/// The user of a principal, if it is one's own or that of an end user for whom it asks.
#[must_use]
pub fn user_of_principal(principal: &str) -> Option<EntryName> {
    let name = principal.strip_prefix("user:")?;
    let name = name.split_once('/').map_or(name, |(user, _)| user);
    EntryName::parse(name).ok()
}

/// A group of users.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Team {
    /// The name.
    pub name: EntryName,
    /// What all of its users together may use; `None` for no limit.
    pub quota: Option<Quota>,
}

/// A key with which a client of a gateway shows whose requests it makes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClientKey {
    /// When it ends; `None` for never.
    pub expires: Option<WallTime>,
    /// Whether it may neither list nor answer the questions of turns that wait for a person.
    pub has_no_approvals: bool,
    /// Its id, which is no secret.
    pub id: EntryName,
    /// Whether it may see everything and change the directory.
    pub is_admin: bool,
    /// What people call it; may be empty.
    pub label: Arc<str>,
    /// The names of models, routes and assistants that it may use, with `*` for any text; `None` for all.
    pub models: Option<Vec<Arc<str>>>,
    /// What it may use; `None` for no limit of its own.
    pub quota: Option<Quota>,
    /// Since when it is not accepted any more.
    pub revoked: Option<WallTime>,
    /// Its secrets, the newest first.
    pub secrets: Vec<KeySecret>,
    /// The patterns of the server tools that it may use; `None` for those that the gateway gives to all.
    pub tools: Option<Vec<Arc<str>>>,
    /// The user to which it belongs.
    pub user: EntryName,
}

/// A secret of a key, as it is stored.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeySecret {
    /// The digest of the secret.
    pub digest: Digest,
    /// Until when it is accepted after a rotation; `None` for as long as the key.
    pub until: Option<WallTime>,
}

impl ClientKey {
    /// Whether requests with the secret of this digest are accepted at this time.
    ///
    /// # Errors
    ///
    /// [`KeyRefusal`] with the reason.
    pub fn check(&self, digest: &Digest, now: WallTime) -> Result<(), KeyRefusal> {
        let mut secrets = self.secrets.iter();
        let secret = secrets.find(|secret| secret.digest == *digest);
        let Some(secret) = secret else {
            return Err(KeyRefusal::Unknown);
        };
        if self.revoked.is_some() {
            return Err(KeyRefusal::Revoked);
        }
        if self.expires.is_some_and(|expires| expires <= now) {
            return Err(KeyRefusal::Expired);
        }
        if secret.until.is_some_and(|until| until <= now) {
            return Err(KeyRefusal::Replaced);
        }
        Ok(())
    }

    /// Whether requests may name this model, route or assistant.
    #[must_use]
    pub fn allows_model(&self, name: &str) -> bool {
        let Some(patterns) = &self.models else {
            return true;
        };
        patterns
            .iter()
            .any(|pattern| policy::matches(pattern, name))
    }
}

/// Why a key is not accepted.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum KeyRefusal {
    /// Its time is over.
    #[error("this key has expired")]
    Expired,
    /// A rotation replaced its secret.
    #[error("this key was replaced by a new one")]
    Replaced,
    /// It was revoked.
    #[error("this key was revoked")]
    Revoked,
    /// There is no such key.
    #[error("this key is not one of those that the gateway knows")]
    Unknown,
    /// Its user is disabled.
    #[error("the user of this key is disabled")]
    UserDisabled,
}

/// An entry of the directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DirectoryEntry {
    /// A key.
    Key(ClientKey),
    /// The key of a user at a provider.
    ProviderKey(ProviderKey),
    /// The MCP server of a user or a team.
    Server(OwnServer),
    /// The sign-in of a user at such a server.
    SignIn(SignIn),
    /// A team.
    Team(Team),
    /// A user.
    User(User),
}

impl DirectoryEntry {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> EntryKind {
        match self {
            Self::Key(_) => EntryKind::Key,
            Self::ProviderKey(_) => EntryKind::ProviderKey,
            Self::Server(_) => EntryKind::Server,
            Self::SignIn(_) => EntryKind::SignIn,
            Self::Team(_) => EntryKind::Team,
            Self::User(_) => EntryKind::User,
        }
    }

    /// Its name, or the id of a key.
    #[must_use]
    pub fn name(&self) -> EntryName {
        match self {
            Self::Key(key) => key.id.clone(),
            Self::ProviderKey(key) => key.name(),
            Self::Server(server) => server.entry(),
            Self::SignIn(sign_in) => sign_in.entry(),
            Self::Team(team) => team.name.clone(),
            Self::User(user) => user.name.clone(),
        }
    }

    /// What a key, a team or a user may use.
    #[must_use]
    pub const fn quota(&self) -> Option<Quota> {
        match self {
            Self::Key(key) => key.quota,
            Self::ProviderKey(_) | Self::Server(_) | Self::SignIn(_) => None,
            Self::Team(team) => team.quota,
            Self::User(user) => user.quota,
        }
    }

    /// The place of what a key, a team or a user may use.
    #[must_use]
    pub const fn quota_mut(&mut self) -> Option<&mut Option<Quota>> {
        match self {
            Self::Key(key) => Some(&mut key.quota),
            Self::ProviderKey(_) | Self::Server(_) | Self::SignIn(_) => None,
            Self::Team(team) => Some(&mut team.quota),
            Self::User(user) => Some(&mut user.quota),
        }
    }

    /// The key, if it is one.
    #[must_use]
    pub fn into_key(self) -> Option<ClientKey> {
        if let Self::Key(it) = self {
            Some(it)
        } else {
            None
        }
    }

    /// The key at a provider, if it is one.
    #[must_use]
    pub fn into_provider_key(self) -> Option<ProviderKey> {
        if let Self::ProviderKey(it) = self {
            Some(it)
        } else {
            None
        }
    }

    /// The server, if it is one.
    #[must_use]
    pub fn into_server(self) -> Option<OwnServer> {
        if let Self::Server(it) = self {
            Some(it)
        } else {
            None
        }
    }

    /// The sign-in, if it is one.
    #[must_use]
    pub fn into_sign_in(self) -> Option<SignIn> {
        if let Self::SignIn(it) = self {
            Some(it)
        } else {
            None
        }
    }

    /// The team, if it is one.
    #[must_use]
    pub fn into_team(self) -> Option<Team> {
        if let Self::Team(it) = self {
            Some(it)
        } else {
            None
        }
    }

    /// The user, if it is one.
    #[must_use]
    pub fn into_user(self) -> Option<User> {
        if let Self::User(it) = self {
            Some(it)
        } else {
            None
        }
    }
}

/// The kinds of entries.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum EntryKind {
    /// Keys.
    Key,
    /// Keys of users at providers.
    ProviderKey,
    /// MCP servers of users and teams.
    Server,
    /// Sign-ins of users at such servers.
    SignIn,
    /// Teams.
    Team,
    /// Users.
    User,
}

crate::named! { EntryKind:
    Key = "key", ProviderKey = "provider-key", Server = "server", SignIn = "sign-in", Team = "team",
    User = "user",
}

/// What a change did to an entry.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ChangeAction {
    /// It was changed in another way.
    Changed,
    /// It was made.
    Created,
    /// A user or a server was disabled.
    Disabled,
    /// A user or a server was enabled again.
    Enabled,
    /// What a user brought was taken away, with its secrets.
    Removed,
    /// A key was revoked.
    Revoked,
    /// A key got a new secret.
    Rotated,
}

crate::named! { ChangeAction:
    Changed = "changed", Created = "created", Disabled = "disabled", Enabled = "enabled",
    Removed = "removed", Revoked = "revoked", Rotated = "rotated",
}

/// A change of an entry: who made it, when, and the value since then.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DirectoryChange {
    /// What was done.
    pub action: ChangeAction,
    /// When.
    pub at: WallTime,
    /// The person or client that did it.
    pub by: Arc<str>,
    /// The entry since then.
    pub entry: DirectoryEntry,
    /// The number of this change among those of the entry, from 1.
    pub revision: u64,
}
