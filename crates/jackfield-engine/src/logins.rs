//! The logins of browsers, which the journal keeps for every gateway over it.

use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::ClientLookup;
use jackfield_ports::journal::logins::Login;
use jackfield_ports::journal::{Journal as _, JournalError};

use crate::directory::DirectoryError;
use crate::master_keys::random;
use crate::state::Engine;

impl Engine {
    /// Stores a login of a browser as this client, for so long. Returns its secret.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Journal`] if the journal keeps no logins, or cannot be written, and
    /// [`DirectoryError::Secret`] if the operating system has no random numbers.
    pub async fn log_in(
        &self,
        client: ClientLookup,
        lifetime: Duration,
    ) -> Result<String, DirectoryError> {
        let logins = self.shared.journal.logins();
        let logins = logins.ok_or_else(|| JournalError::Unreachable {
            source: "this journal keeps no logins, so no browser can log in".into(),
        })?;
        let secret = Digest::from_bytes(random()?).to_hex();
        let now = self.now();
        let login = Login {
            client,
            expires: now.after(lifetime),
            secret: Digest::of(secret.as_bytes()),
        };
        logins.store_login(&login, now).await?;
        Ok(secret)
    }

    /// The client of the login with this secret, and how long it lasts from now on; `None` if there is none, or if it is
    /// over.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Journal`] if the journal cannot be read.
    pub async fn find_login(
        &self,
        secret: &str,
    ) -> Result<Option<(ClientLookup, Duration)>, DirectoryError> {
        let (Some(logins), Some(secret)) = (self.shared.journal.logins(), digest(secret)) else {
            return Ok(None);
        };
        let found = logins.find_login(&secret).await?;
        let now = self.now();
        let open = found.filter(|login| login.expires > now);
        Ok(open.map(|login| {
            let millis = login.expires.as_millis().abs_diff(now.as_millis());
            (login.client, Duration::from_millis(millis))
        }))
    }

    /// Removes the login with this secret, if there is one.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Journal`] if the journal cannot be read or written.
    pub async fn log_out(&self, secret: &str) -> Result<(), DirectoryError> {
        let (Some(logins), Some(secret)) = (self.shared.journal.logins(), digest(secret)) else {
            return Ok(());
        };
        // Anyone may ask: only the secret of a login makes the journal write.
        if logins.find_login(&secret).await?.is_some() {
            logins.remove_login(&secret).await?;
        }
        Ok(())
    }
}

/// The digest of the secret of a login; `None` for a text that cannot be one.
fn digest(secret: &str) -> Option<Digest> {
    Digest::from_hex(secret).map(|_| Digest::of(secret.as_bytes()))
}
