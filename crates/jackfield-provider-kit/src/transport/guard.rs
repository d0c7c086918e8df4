//! Which addresses a transport may reach, if not all.

use std::sync::Arc;

use jackfield_ports::chat_model::ModelError;
use url::Url;

use super::Transport;
use super::fault::RequestPeer;
use crate::destinations;
use crate::destinations::allowed::Allowed;
use crate::destinations::resolve::{CheckedResolver, Lookup};

/// What a transport may reach.
pub(crate) struct TransportGuard {
    pub(crate) allowed: Arc<Allowed>,
    pub(crate) lookup: Arc<dyn Lookup>,
    /// The transport through the proxy, if there is one.
    pub(crate) proxied: Option<Transport>,
}

impl TransportGuard {
    /// Checks an address as far as it needs no resolution. Returns the transport that the request goes over instead, if
    /// there is a proxy for it.
    pub(super) fn check(
        &self,
        url: &Url,
        peer: &RequestPeer,
    ) -> Result<Option<&Transport>, ModelError> {
        let is_direct = destinations::is_direct(&self.allowed, url);
        let is_direct = is_direct.map_err(|_| peer.refused())?;
        Ok(self.proxied.as_ref().filter(|_| !is_direct))
    }

    /// The resolver of direct connections.
    pub(super) fn resolver(&self) -> CheckedResolver {
        CheckedResolver {
            allowed: Arc::clone(&self.allowed),
            lookup: Arc::clone(&self.lookup),
        }
    }
}
