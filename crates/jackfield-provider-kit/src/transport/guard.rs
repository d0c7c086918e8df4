//! Which addresses a transport may reach, if not all.

use std::net::IpAddr;
use std::sync::Arc;

use http::Uri;
use jackfield_ports::chat_model::ModelError;

use super::Transport;
use super::fault::RequestPeer;
use crate::destinations::allowed::Allowed;
use crate::destinations::resolve::{self, CheckedResolver, Lookup, is_localhost};

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
        uri: &Uri,
        peer: &RequestPeer,
    ) -> Result<Option<&Transport>, ModelError> {
        let host = uri.host().unwrap_or_default();
        let literal: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        let is_direct = match literal {
            Some(address) => {
                resolve::check(&self.allowed, host, address).map_err(|_| peer.refused())?;
                self.allowed.has_address(address)
            }
            None => is_localhost(host) || self.allowed.has_name(host),
        };
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
