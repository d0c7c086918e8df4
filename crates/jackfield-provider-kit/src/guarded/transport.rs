//! A transport that reaches public addresses only, as the guarded client does, and keeps connections.

use std::sync::Arc;

use super::GuardedSettings;
use crate::transport::{Transport, TransportError, TransportGuard, TransportSettings};

impl Transport {
    /// Creates a transport that connects only to public addresses and to those that are allowed in the settings. An
    /// address is checked after its name was resolved, and the connection goes to exactly that address. Clones share
    /// connections; two transports never do.
    ///
    /// With a proxy, the proxy resolves names and connects: literal addresses are still checked. `localhost` and allowed
    /// destinations are reached directly.
    ///
    /// # Errors
    ///
    /// [`TransportError`] if the settings are invalid.
    pub fn guarded(guarded: &GuardedSettings) -> Result<Self, TransportError> {
        let settings = TransportSettings {
            connect_timeout: guarded.connect_timeout,
            proxy: None,
            read_idle: guarded.read_idle,
            user_agent: guarded.user_agent.clone(),
        };
        let proxied = guarded.proxy.clone().map(|proxy| {
            Self::new(TransportSettings {
                proxy: Some(proxy),
                ..settings.clone()
            })
        });
        let guard = TransportGuard {
            allowed: Arc::new(guarded.allowed.clone()),
            lookup: Arc::clone(&guarded.lookup),
            proxied: proxied.transpose()?,
        };
        Self::restricted(settings, Some(Arc::new(guard)))
    }
}
