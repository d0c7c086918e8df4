//! The headers of a raw request and of its response.

use http::header::{AUTHORIZATION, CONTENT_LENGTH, COOKIE, EXPECT, PROXY_AUTHORIZATION};
use http::header::{
    CONNECTION, HOST, HeaderName, PROXY_AUTHENTICATE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue};

use super::UpstreamSettings;
use crate::secret::Secret;

/// The headers to send for those of a client.
pub(super) fn to_send(mut headers: HeaderMap, settings: &UpstreamSettings) -> HeaderMap {
    remove_connection(&mut headers);
    for name in OF_CLIENTS {
        headers.remove(name);
    }
    for (name, value) in &settings.headers {
        headers.insert(name, value.clone());
    }
    for (name, value) in &settings.defaults {
        headers.entry(name).or_insert_with(|| value.clone());
    }
    for (name, value) in &settings.lists {
        add_to_list(&mut headers, name, value);
    }
    headers
}

/// The headers to return for those of a server, without this key.
pub(super) fn to_return(headers: &HeaderMap, key: Option<&Secret>) -> HeaderMap {
    let mut headers = headers.clone();
    remove_connection(&mut headers);
    for name in OF_SERVERS.iter().chain(&OF_ORIGINS) {
        headers.remove(*name);
    }
    let names = headers.keys().cloned();
    let of_origins = names.filter(|name| name.as_str().starts_with("access-control-"));
    for name in of_origins.collect::<Vec<_>>() {
        headers.remove(name);
    }
    for value in headers.values_mut() {
        if let (Some(key), Ok(text)) = (key, value.to_str())
            && let Ok(without) = HeaderValue::from_str(&key.redact(text))
            && without != *value
        {
            *value = without;
        }
    }
    headers
}

/// Removes the headers that concern one connection (RFC 9110, section 7.6.1).
fn remove_connection(headers: &mut HeaderMap) {
    let options = headers.get_all(CONNECTION).iter();
    let options = options.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    let named = options.filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok());
    let named: Vec<HeaderName> = named.collect();
    for name in named {
        headers.remove(name);
    }
    for name in OF_CONNECTIONS {
        headers.remove(name);
    }
}

/// Adds the items of a comma-separated list that are missing. The client's values stay as they are if none is.
fn add_to_list(headers: &mut HeaderMap, name: &HeaderName, added: &HeaderValue) {
    let lines = headers.get_all(name).iter();
    let lines: Option<Vec<&str>> = lines.map(|line| line.to_str().ok()).collect();
    let (Some(lines), Ok(added_text)) = (lines, added.to_str()) else {
        headers.append(name, added.clone());
        return;
    };
    let items = |line: &str| -> Vec<String> {
        let items = line.split(',').map(|item| item.trim().to_owned());
        items.collect()
    };
    let known: Vec<String> = lines.iter().flat_map(|line| items(line)).collect();
    let missing = items(added_text);
    let missing: Vec<String> = missing
        .into_iter()
        .filter(|item| !known.contains(item))
        .collect();
    if missing.is_empty() {
        return;
    }
    // In one line: some servers read only the first.
    let mut all: Vec<&str> = lines;
    all.extend(missing.iter().map(String::as_str));
    if let Ok(joined) = HeaderValue::from_str(&all.join(",")) {
        headers.insert(name, joined);
    }
}

/// The headers of a connection, on both sides.
const OF_CONNECTIONS: [HeaderName; 10] = [
    CONNECTION,
    EXPECT,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    HeaderName::from_static("proxy-connection"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The headers of clients that are not sent: those that the adapter sets itself, cookies and credentials.
const OF_CLIENTS: [HeaderName; 9] = [
    HeaderName::from_static("api-key"),
    AUTHORIZATION,
    CONTENT_LENGTH,
    COOKIE,
    HeaderName::from_static("cookie2"),
    HOST,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-goog-api-key"),
];

/// The headers of servers that are not returned: cookies would mix up the clients, who share one account.
const OF_SERVERS: [&str; 2] = ["set-cookie", "set-cookie2"];

/// The headers by which a server speaks for its whole origin, beside those of `access-control-`. The origin of the client is
/// the gateway's.
const OF_ORIGINS: [&str; 11] = [
    "alt-svc",
    "clear-site-data",
    "expect-ct",
    "nel",
    "public-key-pins",
    "public-key-pins-report-only",
    "refresh",
    "report-to",
    "reporting-endpoints",
    "service-worker-allowed",
    "strict-transport-security",
];
