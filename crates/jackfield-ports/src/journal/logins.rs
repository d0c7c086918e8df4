//! The logins of browsers at a gateway.

use std::fmt;

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::ClientLookup;
use jackfield_domain::time::WallTime;

use super::JournalError;

/// Stores the logins of browsers beside the directory. Of the secret of a login, only the digest is stored.
///
/// # Contract
///
/// - `find_login` MUST return a login, equal, from the moment that it was stored until it is removed or deleted, in every
///   process at once.
/// - `store_login` MUST delete the logins that are over by then. Of the logins of one client, it MUST keep at most
///   [`MAX_LOGINS`], those that last longest; it MUST NOT delete others.
/// - Removing a login that is not there is no error.
/// - What was stored MUST be as durable as a committed append.
#[async_trait]
pub trait Logins: Send + Sync {
    /// Stores a login, at this time.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be reached or written. It may be stored then.
    async fn store_login(&self, login: &Login, now: WallTime) -> Result<(), JournalError>;

    /// The login with the secret of this digest. It may be over.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be read.
    async fn find_login(&self, secret: &Digest) -> Result<Option<Login>, JournalError>;

    /// Removes the login with the secret of this digest.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unreachable`] if the journal cannot be reached or written. It may be removed then.
    async fn remove_login(&self, secret: &Digest) -> Result<(), JournalError>;
}

/// The login of a browser.
#[derive(Clone, Eq, PartialEq)]
pub struct Login {
    /// The client as which it is logged in.
    pub client: ClientLookup,
    /// When it is over.
    pub expires: WallTime,
    /// The digest of its secret.
    pub secret: Digest,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

/// How many logins a client has at most.
pub const MAX_LOGINS: usize = 100;
