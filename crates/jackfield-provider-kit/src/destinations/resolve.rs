//! Resolves names to addresses, each of which is checked before the connection.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use thiserror::Error;

use super::addresses::{canonical, special};
use super::allowed::Allowed;

/// Resolves names.
#[async_trait]
pub trait Lookup: Send + Sync {
    /// All addresses of this name. Dropping the future cancels the lookup.
    ///
    /// # Errors
    ///
    /// The name has no address, or no resolver can be reached.
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((name, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// An address that is not permitted.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub(crate) struct RefusedAddress {
    pub(crate) address: IpAddr,
    pub(crate) host: String,
    pub(crate) what: &'static str,
}

impl fmt::Display for RefusedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address,
            host,
            what,
        } = self;
        let written = host.trim_matches(['[', ']']);
        if written.parse() == Ok(*address) {
            write!(f, "{address} is {what}")?;
        } else {
            write!(f, "{host} is at {address}, which is {what}")?;
        }
        f.write_str(", and only public addresses are reached")
    }
}

/// Checks whether an address of a host is permitted.
pub(crate) fn check(allowed: &Allowed, host: &str, address: IpAddr) -> Result<(), RefusedAddress> {
    match special(address) {
        Some(what) if !allowed.has_address(address) => Err(RefusedAddress {
            address: canonical(address),
            host: host.to_owned(),
            what,
        }),
        Some(_) | None => Ok(()),
    }
}

/// The resolver of the client: the connection uses exactly its results, so the address cannot change in between.
pub(crate) struct CheckedResolver {
    pub(crate) allowed: Arc<Allowed>,
    pub(crate) lookup: Arc<dyn Lookup>,
}

impl reqwest::dns::Resolve for CheckedResolver {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let (allowed, lookup) = (Arc::clone(&self.allowed), Arc::clone(&self.lookup));
        Box::pin(async move {
            let name = name.as_str();
            let addresses = lookup.lookup(name).await?;
            if addresses.is_empty() {
                let none = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                return Err(none.into());
            }
            if !allowed.has_name(name) {
                // One forbidden address fails the lookup: a mix with public ones is typical of an attack.
                for address in &addresses {
                    check(&allowed, name, *address)?;
                }
            }
            let sockets = addresses.into_iter().map(|ip| SocketAddr::new(ip, 0));
            let sockets: reqwest::dns::Addrs = Box::new(sockets);
            Ok(sockets)
        })
    }
}

/// Whether a name stands for this machine.
pub(crate) fn is_localhost(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    host == "localhost" || host.ends_with(".localhost")
}
