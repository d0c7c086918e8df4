//! Names to addresses, each of which is checked before anything is connected to it.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use thiserror::Error;

use super::addresses::{canonical, special};
use super::allowed::Allowed;

/// Finds the addresses of a name.
#[async_trait]
pub trait Lookup: Send + Sync {
    /// All addresses of this name. Cancelled by dropping.
    ///
    /// # Errors
    ///
    /// The name has none, or nobody can be asked.
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Asks the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((name, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// An address that is not connected to.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub(super) struct RefusedAddress {
    pub(super) address: IpAddr,
    pub(super) host: String,
    pub(super) what: &'static str,
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

/// Whether an address of a host may be connected to.
pub(super) fn check(allowed: &Allowed, host: &str, address: IpAddr) -> Result<(), RefusedAddress> {
    match special(address) {
        Some(what) if !allowed.has_address(address) => Err(RefusedAddress {
            address: canonical(address),
            host: host.to_owned(),
            what,
        }),
        Some(_) | None => Ok(()),
    }
}

/// The resolver of the client: what it gives is what is connected to, so nothing can change in between.
pub(super) struct CheckedResolver {
    pub(super) allowed: Arc<Allowed>,
    pub(super) lookup: Arc<dyn Lookup>,
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
                // One bad address is enough: public ones beside it are what an attack looks like.
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
