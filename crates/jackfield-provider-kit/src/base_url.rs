//! The base URL of a provider: it contains no secrets, so it may be shown.

use std::fmt;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use thiserror::Error;
use url::{Host, Url};

/// The base URL of a provider's API: scheme, host, port and an optional path, and nothing else.
#[derive(Clone, Eq, PartialEq)]
pub struct BaseUrl {
    /// Scheme, host and port, which every request uses.
    endpoint: Arc<str>,
    url: Url,
}

/// A URL that cannot be a provider's base URL.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum InvalidBaseUrl {
    /// It has a query or a fragment.
    #[error("base_url has a `?` or `#` part: give the address alone, such as `https://host/path`")]
    Extra,
    /// It is not a URL.
    #[error("base_url is not a URL: one looks like `https://host` or `http://127.0.0.1:8080`")]
    NotAUrl,
    /// Its scheme is neither `http` nor `https`.
    #[error("base_url begins neither with `https://` nor with `http://`")]
    Scheme,
    /// It has a user or a password.
    #[error("base_url has a user or a password in it: keys belong into their own setting")]
    UserInfo,
}

impl BaseUrl {
    /// Parses a base URL. A trailing slash is ignored.
    ///
    /// # Errors
    ///
    /// [`InvalidBaseUrl`], which never quotes the text, as it may contain a secret.
    pub fn parse(text: &str) -> Result<Self, InvalidBaseUrl> {
        let url = Url::parse(text.trim()).map_err(|_| InvalidBaseUrl::NotAUrl)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(InvalidBaseUrl::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidBaseUrl::UserInfo);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidBaseUrl::Extra);
        }
        Ok(Self {
            endpoint: url.origin().ascii_serialization().into(),
            url,
        })
    }

    /// Scheme, host and port, as `scheme://host`, with a port only if it is not the scheme's default.
    #[must_use]
    pub const fn endpoint(&self) -> &Arc<str> {
        &self.endpoint
    }

    /// Adds this path if there is none; `path` begins with a slash.
    #[must_use]
    pub fn or_path(mut self, path: &str) -> Self {
        if self.path().is_empty() {
            self.url.set_path(path);
        }
        self
    }

    /// Its path, with a leading slash and without a trailing one; empty if it has none.
    #[must_use]
    pub fn path(&self) -> &str {
        self.url.path().trim_end_matches('/')
    }

    /// The URL of a resource below this one; `path` begins with a slash.
    #[must_use]
    pub fn join(&self, path: &str) -> String {
        format!("{self}{path}")
    }

    /// Whether requests can be read in transit: the connection is neither encrypted nor within this machine.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        self.url.scheme() == "http" && !is_this_machine(&self.url)
    }
}

/// Whether an address is one of this machine.
#[must_use]
pub fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BaseUrl({self})")
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.as_str().trim_end_matches('/'))
    }
}

/// A text encoded as one segment of a path or one value of a query: only unreserved characters remain (RFC 3986,
/// section 2.3).
#[must_use]
pub fn encode_part(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Every ASCII character but the unreserved ones; characters outside ASCII are always encoded.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
