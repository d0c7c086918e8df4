//! A client that is made when it is first needed.

use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use super::{GuardedClient, GuardedSettings};
use crate::transport::TransportError;

/// A [`GuardedClient`] that is made with its first request, on a blocking thread: it reads the system's certificate
/// authorities.
pub struct LazyGuardedClient {
    client: OnceCell<GuardedClient>,
    settings: GuardedSettings,
}

impl LazyGuardedClient {
    /// Makes nothing yet.
    #[must_use]
    pub const fn new(settings: GuardedSettings) -> Self {
        Self {
            client: OnceCell::const_new(),
            settings,
        }
    }

    /// Its settings.
    #[must_use]
    pub const fn settings(&self) -> &GuardedSettings {
        &self.settings
    }

    /// The client. Call it within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// [`TransportError`] if it cannot be made; the next call tries again.
    pub async fn get(&self) -> Result<&GuardedClient, TransportError> {
        let made = self.client.get_or_try_init(|| async {
            let settings = self.settings.clone();
            let made = spawn_blocking(move || GuardedClient::new(settings)).await;
            made.map_err(|error| TransportError::Client {
                source: error.into(),
            })?
        });
        made.await
    }
}
