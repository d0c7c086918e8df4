//! The address of the gateway for browsers.

use jackfield_domain::digest::Digest;

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

    /// Whether browsers reach the gateway over TLS, as far as its configuration says.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        let config = self.config();
        let public = config.public_url.as_ref();
        config.has_tls || public.is_some_and(|url| url.starts_with("https:"))
    }

    /// Whether a page with this token of its link is answered where no key is required.
    #[must_use]
    pub fn accepts_page(&self, token: Option<&str>) -> bool {
        let needed = self.config().page_token.as_ref();
        needed
            .is_none_or(|needed| token.is_some_and(|token| Digest::of(token.as_bytes()) == *needed))
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
