//! The port to a server's own API: sends a request unchanged, and receives the response unchanged.

use std::borrow::Cow;
use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

use crate::chat_model::ModelError;
use crate::credential::Credential;

/// A server whose own API can be used without translation, beside its [`ChatModel`](crate::chat_model::ChatModel).
///
/// A provider without such an API has none. `Debug` is required because whatever holds an upstream is logged.
///
/// # Contract
///
/// - One call MUST make at most one request, and MUST NOT retry or follow a redirect.
/// - The request MUST go to the configured server, to the resource that belongs to its endpoint. A path that is not
///   [served](Self::serves), and the methods CONNECT and TRACE, MUST be refused as `Unsupported` before anything is
///   sent.
/// - Method, query and body MUST be sent unchanged, the body byte for byte. Only characters that a URL does not
///   permit may be percent-encoded in the query.
/// - These request headers MUST NOT be sent:
///   - those of a connection: `connection` and the headers that it names, `expect`, `http2-settings`, `keep-alive`,
///     `proxy-authenticate`, `proxy-connection`, `te`, `trailer`, `transfer-encoding`, `upgrade`;
///   - `host` and `content-length`, which the adapter sets itself;
///   - cookies: `cookie`, `cookie2`;
///   - the client's credentials: `api-key`, `authorization`, `proxy-authorization`, `x-api-key`, `x-goog-api-key`.
/// - All other request headers MUST be sent with their values, those of one name in their order. The adapter adds
///   its key and its configured headers: a header that belongs to the account replaces the client's, a list (such as
///   betas) is added to the client's, and a header that tells the form of the request (such as a version) is only
///   added if the client sent none. It may add `accept: */*` and its own `user-agent` if the client sent none.
/// - A credential of the request MUST be used in place of the adapter's own key and account, or the request MUST be
///   refused as `Unsupported` before it is sent.
/// - A response MUST be returned with any status, also one of an error or a redirect.
/// - Response headers MUST be returned with their values, without those of the connection (as above), without cookies
///   (`set-cookie`, `set-cookie2`) and without those that speak for the server's whole origin (`access-control-*`,
///   `alt-svc`, `clear-site-data`, `strict-transport-security`, …). `content-length` and `content-encoding` stay.
/// - The response's body MUST be returned byte for byte, whatever its type is, compressed if it is, and each piece as
///   soon as it arrives.
/// - The key MUST NOT come back in headers, nor in the body of an error, where as many other bytes stand in its place.
/// - A body that breaks off, or whose framing is broken, MUST end in an error (`Interrupted`), never in `None`; and
///   `None` MUST NOT follow an error. A body that is delimited by the end of its connection ends with that: whether
///   it is complete in its own language is for the caller to find out.
/// - A failure MUST be classified with kind, phase and advice; `BeforeSend` only where it is proved, and `MidReply`
///   once a piece of the body was returned.
/// - The server's silence MUST be limited in time, and so MUST be the size of a body that is not a stream of events.
/// - Dropping the future, or the body, MUST close the connection, unless the body was read to its end.
/// - Secrets, those of the client too, MUST NOT reach `Debug`, errors, logs or URLs.
#[async_trait]
pub trait Upstream: fmt::Debug + Send + Sync {
    /// The paths that the server serves, as clients of its vendor's API name them: below the root of the API, such
    /// as `/v1/messages`, whatever path the configured base URL has. Each begins with a slash, and occurs once. One
    /// that ends in `/*` stands for all paths below it.
    fn endpoints(&self) -> &[Cow<'static, str>];

    /// Whether a path is that of an endpoint: whether one [covers](endpoint_covers) it.
    fn serves(&self, path: &str) -> bool {
        let mut endpoints = self.endpoints().iter();
        endpoints.any(|endpoint| endpoint_covers(endpoint, path))
    }

    /// Whether the server takes a field, with this model, that the caller adds to a client's request. Quirks say so, and
    /// [earlier refusals](Self::field_refused).
    fn takes_field(&self, _model: &str, _field: &str) -> bool {
        true
    }

    /// Whether the cost that a reply of this model states is what the server charges, in US dollars.
    fn states_cost(&self, _model: &str) -> bool {
        false
    }

    /// The server refuses a field, with this model, that the caller had added.
    fn field_refused(&self, _model: &str, _field: &'static str) {}

    /// Sends a request, and returns the response as soon as its head has arrived. Dropping the future cancels the
    /// request by closing the connection.
    ///
    /// # Errors
    ///
    /// [`ModelError`], classified, if nothing could be sent or no head of a response could be read. A response with
    /// an error status is no error.
    async fn send(&self, request: RawRequest) -> Result<RawReply, ModelError>;
}

/// Whether an endpoint covers a path: it is the same, or below an endpoint that ends in `/*`.
///
/// Below it, a path is only covered if no server can take it for another one: it has no empty segment, none of dots
/// alone, and no escapes.
#[must_use]
pub fn endpoint_covers(endpoint: &str, path: &str) -> bool {
    let Some(folder) = endpoint
        .strip_suffix('*')
        .filter(|name| name.ends_with('/'))
    else {
        return endpoint == path;
    };
    // Some servers read a segment up to its semicolon.
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.split(['/', ';']).all(is_plain_segment))
}

fn is_plain_segment(segment: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@!$&'()+,=".contains(&byte);
    segment.bytes().all(is_plain) && segment.bytes().any(|byte| byte != b'.')
}

/// A request as a client sent it.
#[derive(Clone)]
pub struct RawRequest {
    /// The body; empty for none.
    pub body: Bytes,
    /// The secret to use in place of the adapter's own key, if the person brings one.
    pub credential: Option<Credential>,
    /// The headers of the client, credentials and connection headers included.
    pub headers: HeaderMap,
    /// The method.
    pub method: Method,
    /// The path, which is one that is [served](Upstream::serves).
    pub path: String,
    /// The query without the question mark.
    pub query: Option<String>,
}

impl fmt::Debug for RawRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Path, query, headers and body may contain secrets.
        f.debug_struct("RawRequest")
            .field("method", &self.method)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// A response whose head has arrived.
pub struct RawReply {
    /// The body, which is still arriving. Dropping it closes the connection, unless it was read to its end.
    pub body: Box<dyn RawBody>,
    /// The headers, without those of the connection and without cookies.
    pub headers: HeaderMap,
    /// The status, of any class.
    pub status: StatusCode,
}

impl fmt::Debug for RawReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A server may repeat secrets in its headers.
        f.debug_struct("RawReply")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// The body of a response, in pieces.
#[async_trait]
pub trait RawBody: Send {
    /// The next piece, which is not empty; `None` at the end of a complete body. Dropping the future loses nothing:
    /// the next call returns what this one would have returned.
    ///
    /// # Errors
    ///
    /// [`ModelError`] if the body breaks off, is too large, or the server is silent for too long. Every later call
    /// returns the same failure.
    async fn next(&mut self) -> Result<Option<Bytes>, ModelError>;
}
