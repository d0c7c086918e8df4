//! The sign-in of a user at the server of a user or a team.

use std::sync::Arc;

use super::{EntryName, OwnServer, ServerOwner};
use crate::digest::Digest;

/// The sign-in of one user at an MCP server of that user or of its team, by OAuth. Its tokens are a secret of the entry,
/// and stand elsewhere, encrypted. A team's server has one of each user, and none for the team.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SignIn {
    /// Which server it is at: the [identity](OwnServer::identity) of the server when the sign-in began.
    pub identity: Digest,
    /// Whether the user has not confirmed it yet, so that there are no tokens.
    pub is_pending: bool,
    /// Whether it was taken away.
    pub is_removed: bool,
    /// To whom the server belongs.
    pub owner: ServerOwner,
    /// The name of the server among those of its owner.
    pub server: Arc<str>,
    /// The user whose sign-in it is.
    pub user: EntryName,
}

impl SignIn {
    /// The name of the entry.
    #[must_use]
    pub fn entry(&self) -> EntryName {
        Self::entry_at(&self.owner.entry(&self.server), &self.user)
    }

    /// The name of the entry of a user's sign-in at the server of this entry. The name of a server has no slash, and that
    /// of a user neither, so no two have the same.
    #[must_use]
    pub fn entry_at(server: &EntryName, user: &EntryName) -> EntryName {
        EntryName(format!("{server}/{user}").into())
    }

    /// How the names of the entries of all users at the server of this entry begin.
    #[must_use]
    pub fn entries_at(server: &EntryName) -> EntryName {
        EntryName(format!("{server}/").into())
    }

    /// Whether the user has signed in at this server, and not at another one of its name.
    #[must_use]
    pub fn is_at(&self, server: &OwnServer) -> bool {
        !self.is_pending && !self.is_removed && self.identity == server.identity()
    }
}
