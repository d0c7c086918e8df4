//! Which addresses requests may go to: public ones, and those that are allowed.

pub(crate) mod addresses;
pub(crate) mod allowed;
pub(crate) mod resolve;

use std::net::IpAddr;

use url::{Host, Url};

use self::allowed::Allowed;
use self::resolve::{RefusedAddress, is_localhost};

/// Whether requests to this URL go to its host directly, although there is a proxy: to this machine and to allowed
/// destinations.
///
/// # Errors
///
/// The host is a literal address that is not permitted. A name is checked when it is resolved.
pub(crate) fn is_direct(allowed: &Allowed, url: &Url) -> Result<bool, RefusedAddress> {
    let literal: Option<IpAddr> = match url.host() {
        Some(Host::Domain(_)) | None => None,
        Some(Host::Ipv4(address)) => Some(address.into()),
        Some(Host::Ipv6(address)) => Some(address.into()),
    };
    let host = url.host_str().unwrap_or_default();
    match literal {
        Some(address) => {
            resolve::check(allowed, host, address)?;
            Ok(allowed.has_address(address))
        }
        None => Ok(is_localhost(host) || allowed.has_name(host)),
    }
}
