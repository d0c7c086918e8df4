//! Logins of browsers: each stands for the client whose API key was shown for it, or for the user that signed in.

use std::time::Duration;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::directory::ClientLookup;

use crate::api_keys::Principal;
use crate::failures;
use crate::gateway::Gateway;

/// A login that is open.
#[derive(Clone, Debug)]
pub struct BrowserLogin {
    /// The key or the user as which the browser is logged in.
    pub(crate) client: ClientLookup,
    /// How long it lasts from now on.
    pub remaining: Duration,
}

impl Gateway {
    /// Logs a browser in as this client, whose API key it showed, or whose user signed in. The value is a secret for the
    /// cookie of the browser; it lasts for [`LOGIN_LIFETIME`], at every gateway over the same journal.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Unavailable`] if the journal cannot be written or keeps no logins, or the operating system has
    /// no random numbers, and [`ServeErrorKind::Unauthenticated`] for a client that needs no key.
    pub async fn log_in(&self, client: &Principal) -> Result<String, ServeError> {
        let Some(lookup) = client.lookup.clone() else {
            let message = "this gateway needs no key, so there is nothing to log in with";
            return Err(ServeError::new(ServeErrorKind::Unauthenticated, message));
        };
        let login = self.engine().log_in(lookup, LOGIN_LIFETIME);
        login
            .await
            .map_err(|error| failures::from_directory_error(&error))
    }

    /// The login that a cookie has, unless it is over.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Unavailable`] if the journal cannot be read.
    pub async fn find_login(&self, value: &str) -> Result<Option<BrowserLogin>, ServeError> {
        let found = self.engine().find_login(value).await;
        let found = found.map_err(|error| failures::from_directory_error(&error))?;
        Ok(found.map(|(client, remaining)| BrowserLogin { client, remaining }))
    }

    /// Ends the login that a cookie has.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Unavailable`] if the journal cannot be read or written.
    pub async fn log_out(&self, value: &str) -> Result<(), ServeError> {
        let ended = self.engine().log_out(value).await;
        ended.map_err(|error| failures::from_directory_error(&error))
    }
}

/// How long a login of a browser lasts.
pub const LOGIN_LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);
