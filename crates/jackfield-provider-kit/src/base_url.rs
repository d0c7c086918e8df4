//! Where a provider is: an address that holds no secrets, so that it can be shown.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;
use url::{Host, Url};

/// The address of a provider's API: scheme, host, port and perhaps a path, and nothing else.
#[derive(Clone, Eq, PartialEq)]
pub struct BaseUrl {
    /// The server alone, which every request asks for.
    endpoint: Arc<str>,
    url: Url,
}

/// An address that cannot be a provider's.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum InvalidBaseUrl {
    /// It has a query or a fragment.
    #[error("base_url has a `?` or `#` part: give the address alone, such as `https://host/path`")]
    Extra,
    /// It is no URL.
    #[error("base_url is not a URL: one looks like `https://host` or `http://127.0.0.1:8080`")]
    NotAUrl,
    /// It is neither `http` nor `https`.
    #[error("base_url begins neither with `https://` nor with `http://`")]
    Scheme,
    /// It has a user or a password.
    #[error("base_url has a user or a password in it: keys belong into their own setting")]
    UserInfo,
}

impl BaseUrl {
    /// Checks and takes an address. A slash at its end makes no difference.
    ///
    /// # Errors
    ///
    /// [`InvalidBaseUrl`], which never repeats the text: it may hold a secret.
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

    /// The server alone, as `scheme://host` and its port where that is not the scheme's own.
    #[must_use]
    pub const fn endpoint(&self) -> &Arc<str> {
        &self.endpoint
    }

    /// The same, with this path if it has none; `path` begins with a slash.
    #[must_use]
    pub fn or_path(mut self, path: &str) -> Self {
        if self.path().is_empty() {
            self.url.set_path(path);
        }
        self
    }

    /// Its path, with a slash at its beginning and none at its end; empty if it has none.
    #[must_use]
    pub fn path(&self) -> &str {
        self.url.path().trim_end_matches('/')
    }

    /// The address of a resource below this one; `path` begins with a slash.
    #[must_use]
    pub fn join(&self, path: &str) -> String {
        format!("{self}{path}")
    }

    /// Whether what is sent there can be read on the way: it is neither encrypted nor on this machine.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        let local = match self.url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        self.url.scheme() == "http" && !local
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
