//! Servers that cost nothing for a token: those on this machine and in its network.

use std::sync::Arc;

use jackfield_domain::price::{Money, Price, Rates};
use url::{Host, Url};

/// Whether a provider of this kind and address is a server of one's own.
pub(crate) fn is_local(kind: &str, base_url: Option<&str>) -> bool {
    KINDS.contains(&kind) && base_url.is_none_or(is_private)
}

/// The price of a model there; `None` for one that runs elsewhere.
pub(crate) fn price(model: &str, currency: &Arc<str>) -> Option<Price> {
    // Ollama sends what is asked of these models to its vendor, which bills it.
    let is_elsewhere = model.ends_with("-cloud") || model.ends_with(":cloud");
    (!is_elsewhere).then(|| Price {
        currency: Arc::clone(currency),
        date: "always".into(),
        rates: Rates::new(Money::ZERO, Money::ZERO),
        source: SOURCE.into(),
        variants: Vec::new(),
    })
}

/// Whether an address is on this machine or in a private network: such an IP address, or a name without a dot.
fn is_private(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else {
        return false;
    };
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            !name.contains('.') || PRIVATE_NAMES.iter().any(|end| name.ends_with(end))
        }
        Some(Host::Ipv4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Some(Host::Ipv6(ip)) => {
            ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local()
        }
        None => false,
    }
}

/// The source of a price of nothing.
const SOURCE: &str = "local";
/// The kinds of servers that a person runs.
const KINDS: &[&str] = &["llama-cpp", "lm-studio", "ollama", "sglang", "vllm"];
/// The ends of names in private networks (RFC 6761, RFC 6762, and `internal` of ICANN, 2024).
const PRIVATE_NAMES: &[&str] = &[".internal", ".local", ".localhost"];
