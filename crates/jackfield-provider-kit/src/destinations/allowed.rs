//! Destinations that are permitted although they are not public.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};
use thiserror::Error;

use super::addresses::canonical;

/// Networks and names that are permitted although they are not public. Empty by default.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Allowed {
    names: Vec<Name>,
    networks: Vec<IpNet>,
}

/// A name, and whether it stands for all names below it.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Name {
    with_subdomains: bool,
    name: String,
}

/// A text that is not a network, an address or a name.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum InvalidAllowance {
    /// The network has bits set after its prefix.
    #[error("`{given}` is no network; did you mean `{meant}`?")]
    HostBits {
        /// The given text.
        given: String,
        /// The network that contains it.
        meant: IpNet,
    },
    /// It has none of the three forms.
    #[error(
        "`{0}` is no network such as \"10.0.0.0/8\", no address, and no name such as \"localhost\" or \"*.internal.example\""
    )]
    Unreadable(String),
}

impl Allowed {
    /// Allows a network such as `10.0.0.0/8`, an address, a name such as `localhost`, or all names below one, such
    /// as `*.internal.example`. A name is allowed with any address.
    ///
    /// # Errors
    ///
    /// [`InvalidAllowance`] if it has none of these forms.
    pub fn allow(&mut self, text: &str) -> Result<(), InvalidAllowance> {
        let unreadable = || InvalidAllowance::Unreadable(text.to_owned());
        if let Ok(address) = text.parse::<IpAddr>() {
            self.networks.push(canonical(address).into());
            return Ok(());
        }
        if text.contains('/') {
            let network: IpNet = text.parse().map_err(|_| unreadable())?;
            if network.trunc() != network {
                return Err(InvalidAllowance::HostBits {
                    given: text.to_owned(),
                    meant: network.trunc(),
                });
            }
            self.networks.push(unmapped(network));
            return Ok(());
        }
        let (below, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let digits = name.chars().all(|c| c.is_ascii_digit() || c == '.');
        if name.is_empty() || digits || !name.chars().all(fits) || name.contains("..") {
            return Err(unreadable());
        }
        let name = normalize_name(name);
        self.names.push(Name {
            with_subdomains: below,
            name,
        });
        Ok(())
    }

    /// Whether this address is permitted although it is not public.
    #[must_use]
    pub fn has_address(&self, address: IpAddr) -> bool {
        let address = canonical(address);
        self.networks
            .iter()
            .any(|network| network.contains(&address))
    }

    /// Whether this name is permitted with any address.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        let name = normalize_name(name);
        self.names.iter().any(|allowed| {
            if allowed.with_subdomains {
                let above = name.strip_suffix(&allowed.name);
                above.is_some_and(|above| above.len() > 1 && above.ends_with('.'))
            } else {
                name == allowed.name
            }
        })
    }
}

/// A network of mapped IPv4 addresses as an IPv4 network, since canonical addresses are compared.
fn unmapped(network: IpNet) -> IpNet {
    let IpNet::V6(inner) = network else {
        return network;
    };
    let length = inner.prefix_len().checked_sub(MAPPED);
    let address = inner.addr().to_ipv4_mapped();
    address
        .zip(length)
        .and_then(|(address, length)| Ipv4Net::new(address, length).ok())
        .map_or(network, IpNet::V4)
}

/// A name for comparison: in lower case, and without a trailing dot.
fn normalize_name(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// The prefix length of `::ffff:0:0/96`, the range of mapped IPv4 addresses.
const MAPPED: u8 = 96;
