//! The address of the gateway for browsers.

use crate::gateway::Gateway;

impl Gateway {
    /// The origin at which a browser reaches the gateway that came to this host: that of the configuration, or on this
    /// machine the host itself. `None` elsewhere, as any page can choose the name by which it reaches a gateway.
    #[must_use]
    pub fn browser_origin(&self, host: Option<&str>) -> Option<String> {
        let config = self.config();
        if let Some(public) = &config.public_url {
            return Some(public.to_string());
        }
        let host = host.filter(|host| is_this_machine(host))?;
        let scheme = if config.has_tls { "https" } else { "http" };
        Some(format!("{scheme}://{host}"))
    }
}

/// Whether a host, with or without a port, is a name of this machine.
#[must_use]
pub fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]"
}
