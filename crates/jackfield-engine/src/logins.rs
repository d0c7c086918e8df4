//! The logins of browsers, which the journal keeps for every gateway over it.

use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::ClientLookup;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::logins::{Login, Logins};
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
        let secret = Digest::from_bytes(random()?).to_hex();
        let now = self.wall_time();
        let login = Login {
            client,
            expires: now.after(lifetime),
            secret: Digest::of(secret.as_bytes()),
        };
        self.logins()?.store_login(&login, now).await?;
        Ok(secret)
    }

    /// The client of the login with this secret, and how long it lasts from now on; `None` if there is none, or if it is
    /// over.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Journal`] if the journal keeps no logins, or cannot be read.
    pub async fn find_login(
        &self,
        secret: &str,
    ) -> Result<Option<(ClientLookup, Duration)>, DirectoryError> {
        let found = self
            .logins()?
            .find_login(&Digest::of(secret.as_bytes()))
            .await?;
        let now = self.wall_time();
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
    /// [`DirectoryError::Journal`] if the journal keeps no logins, or cannot be written.
    pub async fn log_out(&self, secret: &str) -> Result<(), DirectoryError> {
        let secret = Digest::of(secret.as_bytes());
        Ok(self.logins()?.remove_login(&secret).await?)
    }

    fn logins(&self) -> Result<&dyn Logins, JournalError> {
        let logins = self.shared.journal.logins();
        logins.ok_or_else(|| JournalError::Unreachable {
            source: "this journal keeps no logins".into(),
        })
    }

    fn wall_time(&self) -> WallTime {
        self.shared.clock.now().wall
    }
}
