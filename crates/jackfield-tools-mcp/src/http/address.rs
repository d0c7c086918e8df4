//! The address of an endpoint, and the headers that its configuration adds.

use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::config::HttpEndpoint;
use crate::error::ServerFault;

pub(super) struct Address {
    pub(super) headers: HeaderMap,
    pub(super) url: Url,
}

impl Address {
    /// Checks an endpoint. Its URL and the values of its headers are never quoted, as they may contain secrets.
    pub(super) fn of(endpoint: &HttpEndpoint) -> Result<Self, ServerFault> {
        let invalid = |reason: &str| {
            Err(ServerFault::new(
                reason,
                "set `url` to an address such as `https://host/mcp`",
            ))
        };
        let Ok(mut url) = Url::parse(endpoint.url.trim()) else {
            return invalid("its `url` is not a URL");
        };
        if !matches!(url.scheme(), "http" | "https") {
            return invalid("its `url` begins neither with `https://` nor with `http://`");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ServerFault::new(
                "its `url` has a user or a password in it",
                "take them out, and give a header in its `headers` instead",
            ));
        }
        url.set_fragment(None);
        let mut headers = HeaderMap::new();
        for (name, value) in &endpoint.headers {
            let (Ok(parsed), Ok(mut value)) = (
                HeaderName::try_from(name.as_str()),
                HeaderValue::try_from(value.trim()),
            ) else {
                return Err(ServerFault::new(
                    format!(
                        "its header `{}` is not one that HTTP can carry",
                        shown(name)
                    ),
                    "correct it in its `headers`: a line break or another control character may be in it",
                ));
            };
            if is_reserved_header(parsed.as_str()) {
                return Err(ServerFault::new(
                    format!("its header `{parsed}` is set by the protocol"),
                    "take it out of its `headers`",
                ));
            }
            value.set_sensitive(true);
            headers.insert(parsed, value);
        }
        Ok(Self { headers, url })
    }

    /// The host, and the port if the URL has one.
    pub(super) fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or("the server");
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }
}

/// Whether the protocol or the connection sets the header of this name, so that a server's configuration cannot.
#[must_use]
pub fn is_reserved_header(name: &str) -> bool {
    const RESERVED: &[&str] = &[
        "accept",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "transfer-encoding",
    ];
    let name = name.to_ascii_lowercase();
    RESERVED.contains(&&*name) || name.starts_with("mcp-")
}

fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(80).collect()
}
