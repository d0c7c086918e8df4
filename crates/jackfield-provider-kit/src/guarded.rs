//! The guarded client: for requests to URLs that tools, servers or their responses choose.
//!
//! - It connects only to public addresses, unless others are [`Allowed`]. An address is checked after name
//!   resolution, and the connection goes to exactly the checked address; every request gets a new connection, so
//!   that none is reached by a connection made for another purpose.
//! - Redirects are followed for at most [`MAX_REDIRECTS`] steps, only for GET and HEAD, and never from `https` to
//!   `http`; each step is checked like a separate request, and headers are not sent to another origin.
//! - Nothing is retried, decompressed, stored (no cookies) or taken from the environment.
//!
//! With a proxy, the proxy resolves names and connects: literal addresses are still checked, but names are up to
//! the proxy. `localhost` and allowed destinations are reached directly.

mod answer;
mod fault;
mod lazy;
mod transport;

pub use self::answer::{GuardedBody, GuardedResponse};
pub use self::fault::{FetchError, FetchErrorKind};
pub use self::lazy::LazyGuardedClient;
pub use crate::destinations::addresses::special;
pub use crate::destinations::allowed::{Allowed, InvalidAllowance};
pub use crate::destinations::resolve::{Lookup, SystemLookup};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use jackfield_ports::call_context::CallContext;
use url::Url;

use self::fault::Peer;
use crate::destinations;
use crate::destinations::resolve::CheckedResolver;
use crate::transport::{TransportError, leased, tls};

/// Sends requests to public addresses. Clones share all state.
#[derive(Clone)]
pub struct GuardedClient {
    direct: reqwest::Client,
    proxied: Option<reqwest::Client>,
    settings: Arc<GuardSettings>,
    /// Whether this machine has any certificate authorities.
    has_ca_roots: bool,
}

struct GuardSettings {
    advised: bool,
    allowed: Arc<Allowed>,
    connect_timeout: Duration,
    read_idle: Duration,
    same_origin: bool,
}

/// The settings of the client. There is no limit on the total time of a request: the caller has to enforce one.
#[derive(Clone)]
#[non_exhaustive]
pub struct GuardedSettings {
    /// Whether a refusal explains how `allow_private` would permit it: set it where [`Self::allowed`] comes from
    /// that setting.
    pub advised: bool,
    /// Destinations that are permitted although they are not public.
    pub allowed: Allowed,
    /// The time limit for a connection, including name resolution and TLS.
    pub connect_timeout: Duration,
    /// The resolver of names.
    pub lookup: Arc<dyn Lookup>,
    /// The URL of a proxy for everything except `localhost` and allowed destinations.
    pub proxy: Option<String>,
    /// The longest silence of a server, before its response and within it.
    pub read_idle: Duration,
    /// Whether redirects are followed within one origin only.
    pub same_origin: bool,
    /// The value of the `user-agent` header.
    pub user_agent: String,
}

impl Default for GuardedSettings {
    fn default() -> Self {
        Self {
            advised: true,
            allowed: Allowed::default(),
            connect_timeout: Duration::from_secs(10),
            lookup: Arc::new(SystemLookup),
            proxy: None,
            read_idle: Duration::from_secs(300),
            same_origin: false,
            user_agent: format!("jackfield/{}", env!("CARGO_PKG_VERSION")),
        }
    }
}

impl fmt::Debug for GuardedSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The proxy's URL may contain a password.
        f.debug_struct("GuardedSettings")
            .field("allowed", &self.allowed)
            .field("connect_timeout", &self.connect_timeout)
            .field("read_idle", &self.read_idle)
            .finish_non_exhaustive()
    }
}

/// A request.
pub struct GuardedRequest {
    /// The body; empty for none.
    pub body: Bytes,
    /// Headers. Only the origin of `url` gets them all; others get `accept` and `accept-language`.
    pub headers: HeaderMap,
    /// The method.
    pub method: Method,
    /// The URL, with scheme `http` or `https`.
    pub url: Url,
}

impl fmt::Debug for GuardedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Path, query, headers and body may contain secrets.
        f.debug_struct("GuardedRequest")
            .field("method", &self.method)
            .field("host", &self.url.host_str())
            .finish_non_exhaustive()
    }
}

impl GuardedClient {
    /// Creates a client. The system's certificate authorities are read once, here.
    ///
    /// # Errors
    ///
    /// [`TransportError`] if the settings are invalid.
    pub fn new(settings: GuardedSettings) -> Result<Self, TransportError> {
        let (tls, trusting) =
            tls::configure().map_err(|source| TransportError::Client { source })?;
        let allowed = Arc::new(settings.allowed.clone());
        let checked = CheckedResolver {
            allowed: Arc::clone(&allowed),
            lookup: Arc::clone(&settings.lookup),
        };
        let direct = build(client(&settings, tls.clone()).dns_resolver(Arc::new(checked)))?;
        let proxied = match &settings.proxy {
            Some(proxy) => {
                // The error would quote the URL, which may contain a password.
                let proxy = reqwest::Proxy::all(proxy).map_err(|_| TransportError::Proxy)?;
                Some(build(client(&settings, tls).proxy(proxy))?)
            }
            None => None,
        };
        let settings = Arc::new(GuardSettings {
            advised: settings.advised,
            allowed,
            connect_timeout: settings.connect_timeout,
            read_idle: settings.read_idle,
            same_origin: settings.same_origin,
        });
        Ok(Self {
            direct,
            proxied,
            settings,
            has_ca_roots: trusting,
        })
    }

    /// Sends a request, and returns the response with any status as soon as its head has arrived. Redirects of GET
    /// and HEAD have been followed.
    ///
    /// Dropping the future, or the response, closes the connection.
    ///
    /// # Errors
    ///
    /// [`FetchError`]. If it says that nothing was sent, that is proved.
    pub async fn send(&self, request: GuardedRequest) -> Result<GuardedResponse, FetchError> {
        self.send_call(request, &CallContext::default()).await
    }

    /// Like [`send`](Self::send), for the request of a call to a tool. Its lease is looked at once there is a
    /// connection, right before the first byte; that of a request without a body, right before the connection.
    ///
    /// # Errors
    ///
    /// [`FetchError`]. If it says that nothing was sent, that is proved.
    pub async fn send_call(
        &self,
        request: GuardedRequest,
        call: &CallContext,
    ) -> Result<GuardedResponse, FetchError> {
        let GuardedRequest {
            body,
            mut headers,
            method,
            mut url,
        } = request;
        headers
            .entry(ACCEPT_ENCODING)
            .or_insert(HeaderValue::from_static("identity"));
        let mut peer = self.peer(&url);
        for step in 0.. {
            let client = self.client(&url, &peer)?;
            call.begin().map_err(|passed| peer.passed(passed))?;
            let http_request = client
                .request(method.clone(), url.clone())
                .headers(headers.clone())
                .body(leased::body(body.clone(), call));
            let response = http_request
                .send()
                .await
                .map_err(|error| peer.no_response(error))?;
            let Some(next) = location(&response) else {
                return Ok(GuardedResponse::new(response, peer));
            };
            let next = next
                .and_then(|next| url.join(next).ok())
                .ok_or_else(|| peer.redirect("to what is no address"))?;
            let host = host_of(&next);
            if ![Method::GET, Method::HEAD].contains(&method) {
                let why = format!("to {host}, which is followed for GET and HEAD only");
                return Err(peer.redirect(&why));
            }
            if step >= MAX_REDIRECTS {
                let why = format!("to {host}, after {MAX_REDIRECTS} others");
                return Err(peer.redirect(&why));
            }
            if url.scheme() == "https" && next.scheme() != "https" {
                let why = format!("to {host} without encryption, which is not followed");
                return Err(peer.redirect(&why));
            }
            if !next.username().is_empty() || next.password().is_some() {
                let why = format!("to {host} with a user in the address, which is not followed");
                return Err(peer.redirect(&why));
            }
            if self.settings.same_origin && next.origin() != url.origin() {
                let why = format!("to {host}, which is another origin and not followed");
                return Err(peer.redirect(&why));
            }
            if next.origin() != url.origin() {
                headers = without_credentials(&headers);
            }
            url = next;
            peer = Peer {
                is_redirected: true,
                ..self.peer(&url)
            };
        }
        // The range is unbounded.
        Err(peer.redirect("without end"))
    }

    /// The client for a URL, if it is permitted.
    fn client(&self, url: &Url, peer: &Peer) -> Result<&reqwest::Client, FetchError> {
        let allowed = &self.settings.allowed;
        let encrypted = match url.scheme() {
            "http" => false,
            "https" => true,
            scheme => {
                let why = format!(
                    "to a `{}:` address, which is not followed",
                    truncated(scheme)
                );
                return Err(peer.redirect(&why));
            }
        };
        let is_direct = destinations::is_direct(allowed, url);
        let is_direct = is_direct.map_err(|refused| peer.refused(&refused))?;
        if encrypted && !self.has_ca_roots {
            return Err(peer.untrusted());
        }
        Ok(self
            .proxied
            .as_ref()
            .filter(|_| !is_direct)
            .unwrap_or(&self.direct))
    }

    fn peer(&self, url: &Url) -> Peer {
        Peer {
            advised: self.settings.advised,
            connect_timeout: self.settings.connect_timeout,
            host: host_of(url),
            is_redirected: false,
            read_idle: self.settings.read_idle,
        }
    }
}

impl fmt::Debug for GuardedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedClient")
            .field("allowed", &self.settings.allowed)
            .finish_non_exhaustive()
    }
}

/// The target of a redirect; `Some(None)` if it is not text, and `None` if the response is not a redirect.
fn location(response: &reqwest::Response) -> Option<Option<&str>> {
    let redirect = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::SEE_OTHER,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    let location = response.headers().get(LOCATION)?;
    redirect
        .contains(&response.status())
        .then(|| location.to_str().ok())
}

/// The headers that another origin may get.
fn without_credentials(headers: &HeaderMap) -> HeaderMap {
    let kept = [ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE];
    let kept = headers.iter().filter(|(name, _)| kept.contains(name));
    kept.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn host_of(url: &Url) -> String {
    let host = truncated(url.host_str().unwrap_or("the server"));
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host,
    }
}

/// A text chosen by a server, shortened for people. A host name has at most 253 characters (RFC 1035).
fn truncated(text: &str) -> String {
    let mut letters = text.chars();
    let mut short: String = letters.by_ref().take(MAX_SHOWN).collect();
    if letters.next().is_some() {
        short.push('…');
    }
    short
}

fn client(settings: &GuardedSettings, tls: rustls::ClientConfig) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(settings.connect_timeout)
        .read_timeout(settings.read_idle)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .pool_max_idle_per_host(0)
        .user_agent(&settings.user_agent)
        .no_proxy()
}

fn build(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, TransportError> {
    builder.build().map_err(|source| TransportError::Client {
        source: source.without_url().into(),
    })
}

/// The longest host or scheme that an error quotes, in characters.
const MAX_SHOWN: usize = 253;
/// The most redirects that one request follows.
pub const MAX_REDIRECTS: usize = 5;
