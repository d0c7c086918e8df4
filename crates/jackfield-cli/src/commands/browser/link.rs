//! The link to the gateway's page.

use std::net::SocketAddr;

use jackfield_assembly::PageToken;

/// The address that clients on this machine are given.
pub(crate) fn base(scheme: &str, address: SocketAddr) -> String {
    let port = address.port();
    // No client can connect to all addresses at once.
    match address.ip() {
        ip if ip.is_unspecified() => format!("{scheme}://localhost:{port}"),
        _ => format!("{scheme}://{address}"),
    }
}

/// The link to the page. What is behind `#` is in no request and in no log.
pub(crate) fn link(base: &str, token: &PageToken) -> String {
    format!("{base}/#token={}", token.expose())
}
