//! Cookies of the gateway's page, which no script can read.

use http::header::{COOKIE, ORIGIN};
use http::{HeaderMap, HeaderValue};
use jackfield_gateway::Gateway;

/// A cookie as it is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cookie<'a> {
    /// Whether it is sent over TLS alone. Then no other host can set it (RFC 6265bis, section 4.1.3.2).
    pub(crate) is_secure: bool,
    pub(crate) name: &'a str,
    /// The path below which it is sent without TLS; with TLS it is sent to the whole host.
    pub(crate) path: &'a str,
    pub(crate) same_site: &'a str,
    pub(crate) seconds: u64,
    pub(crate) value: &'a str,
}

impl Cookie<'_> {
    /// The header that sets it.
    pub(crate) fn header(&self) -> HeaderValue {
        let Self {
            is_secure,
            name,
            path,
            same_site,
            seconds,
            value,
        } = self;
        let text = if *is_secure {
            format!(
                "{SECURE}{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite={same_site}; Secure"
            )
        } else {
            format!(
                "{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite={same_site}"
            )
        };
        HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
    }
}

/// The value of the cookie of this name. Where browsers come over TLS, one that another host may have set does not count.
pub(crate) fn value<'h>(headers: &'h HeaderMap, name: &str, is_encrypted: bool) -> Option<&'h str> {
    let cookies = headers.get_all(COOKIE).into_iter();
    let cookies = cookies.filter_map(|cookies| cookies.to_str().ok());
    let pairs = cookies.flat_map(|cookies| cookies.split(';'));
    let (mut secure, mut plain) = (None, None);
    for pair in pairs {
        let Some((key, value)) = pair.trim().split_once('=') else {
            continue;
        };
        if key.strip_prefix(SECURE) == Some(name) {
            secure = secure.or(Some(value));
        } else if key == name {
            plain = plain.or(Some(value));
        }
    }
    secure.or_else(|| plain.filter(|_| !is_encrypted))
}

/// Whether the request has the cookie that the page gets for its link, or no link is needed.
pub(crate) fn has_page_cookie(gateway: &Gateway, headers: &HeaderMap) -> bool {
    gateway.accepts_page(value(headers, PAGE, gateway.is_encrypted()))
}

/// Whether a browser says that it sent the request, in headers that no page can set.
pub(crate) fn is_browsers(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN) || headers.contains_key(FETCH_SITE)
}

/// The cookie of a page that came by its link, where no key is needed.
pub(crate) const PAGE: &str = "jackfield_page";
/// Where browsers say from which site a request is.
pub(crate) const FETCH_SITE: &str = "sec-fetch-site";
const SECURE: &str = "__Host-";
