//! Logins of browsers: each stands for the client whose API key was shown for it, or for the user that signed in.

use std::sync::Arc;
use std::time::Duration;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use tokio::time::Instant;

use crate::api_keys::Principal;
use crate::gateway::Gateway;

/// A login that is open.
#[derive(Clone, Debug)]
pub struct BrowserLogin {
    /// The client.
    pub client: Arc<Principal>,
    /// When it ends.
    expires: Instant,
}

impl BrowserLogin {
    /// How long it lasts from now on.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.expires.saturating_duration_since(Instant::now())
    }
}

impl Gateway {
    /// Logs a browser in as this client, whose API key it showed, or whose user signed in. The value is a secret for the
    /// cookie of the browser; it lasts for [`LOGIN_LIFETIME`](crate::LOGIN_LIFETIME).
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Internal`] if the operating system has no random numbers.
    pub fn log_in(&self, client: Arc<Principal>) -> Result<String, ServeError> {
        let value = self.shared.browser_logins.issue(client);
        value.map_err(|error| no_random_numbers(&error))
    }

    /// The login that a cookie has, unless it is over.
    #[must_use]
    pub fn find_login(&self, value: &str) -> Option<BrowserLogin> {
        let (client, expires) = self.shared.browser_logins.find(value)?;
        Some(BrowserLogin { client, expires })
    }

    /// Ends the login that a cookie has.
    pub fn log_out(&self, value: &str) {
        drop(self.shared.browser_logins.take(value));
    }
}

pub(crate) fn no_random_numbers(error: &getrandom::Error) -> ServeError {
    let message = format!("the operating system has no random numbers: {error}");
    ServeError::new(ServeErrorKind::Internal, message)
}
