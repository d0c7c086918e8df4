//! The HTTP client for providers: TLS by rustls with ring, no redirects, no retries, no proxy unless configured.

mod fault;
mod guard;
mod incoming;
pub(crate) mod leased;
mod pieces;
pub(crate) mod reuse;
pub(crate) mod tls;

pub(crate) use self::guard::TransportGuard;
pub use self::incoming::{Incoming, MAX_REPLY};
pub(crate) use self::pieces::TimedChunks;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use jackfield_ports::call_context::{CallContext, LeasePassed};
use jackfield_ports::chat_model::{BoxError, ModelError};
use thiserror::Error;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use self::reuse::ConnectionReuse;
use crate::cause::cause;

/// Sends requests to providers. Clones share connections and certificates: one is enough for all adapters.
///
/// Connections are kept for the next request. If a server closes a kept connection before it answers, the failure
/// advises to try again [at once](jackfield_domain::failure::RetryAdvice::AtOnce), on a fresh connection; a server that
/// does so often gets fresh connections only.
#[derive(Clone)]
pub struct Transport {
    /// Set where only public addresses are reached.
    guard: Option<Arc<TransportGuard>>,
    /// The clients for TLS and for proxies. Created with the first such request: reading the system's certificate
    /// authorities takes longer than a whole turn with a local server.
    tls_clients: Arc<OnceCell<Clients>>,
    /// The clients for all other requests.
    plain: Clients,
    reuse: Arc<ConnectionReuse>,
    settings: Arc<TransportSettings>,
    /// What failures call the setting with the address.
    url_key: &'static str,
}

/// A pair of HTTP clients.
#[derive(Clone)]
struct Clients {
    /// Keeps connections for the next request.
    pooled: reqwest::Client,
    /// Opens a connection for each request, and closes it after the reply.
    unpooled: reqwest::Client,
    /// Whether it has any certificate authorities.
    has_ca_roots: bool,
}

/// The settings of a transport. There is no limit on the total time of a call: the tool loop enforces one.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TransportSettings {
    /// The time limit for a connection, including TLS.
    pub connect_timeout: Duration,
    /// The URL of a proxy for everything except this machine; proxies in the environment are ignored.
    pub proxy: Option<String>,
    /// The longest silence of a server, before its response and within it. A safety net: the tool loop's own limit
    /// is shorter.
    pub read_idle: Duration,
    /// The value of the `user-agent` header.
    pub user_agent: String,
}

impl Default for TransportSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            proxy: None,
            read_idle: Duration::from_secs(300),
            user_agent: format!("jackfield/{}", env!("CARGO_PKG_VERSION")),
        }
    }
}

/// A transport that cannot be created.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The client cannot be created.
    #[error("the HTTP client cannot be set up")]
    Client {
        /// Why.
        #[source]
        source: BoxError,
    },
    /// The proxy is not a URL.
    #[error("the proxy is not a URL such as `http://host:8080`")]
    Proxy,
}

impl Transport {
    /// Creates a transport. The system's certificate authorities are read once, when they are first needed.
    ///
    /// A machine without any can still use plain `http` URLs.
    ///
    /// # Errors
    ///
    /// [`TransportError`] if the settings are invalid.
    pub fn new(settings: TransportSettings) -> Result<Self, TransportError> {
        Self::restricted(settings, None)
    }

    /// Creates a transport that reaches what this permits.
    pub(crate) fn restricted(
        settings: TransportSettings,
        guard: Option<Arc<TransportGuard>>,
    ) -> Result<Self, TransportError> {
        let no_roots = tls::without_roots();
        let no_roots = no_roots.map_err(|source| TransportError::Client { source })?;
        Ok(Self {
            tls_clients: Arc::default(),
            plain: Clients::new(&settings, guard.as_deref(), no_roots, false)?,
            guard,
            reuse: Arc::default(),
            settings: Arc::new(settings),
            url_key: "base_url",
        })
    }

    /// The same transport, whose failures call the setting with the address so, instead of `base_url`.
    #[must_use]
    pub const fn with_url_key(mut self, key: &'static str) -> Self {
        self.url_key = key;
        self
    }

    /// Sends a request, and returns the response with any status as soon as its head has arrived.
    ///
    /// Dropping the future, or the response, closes the connection.
    ///
    /// # Errors
    ///
    /// [`ModelError`], classified: `BeforeSend` only if no connection was made.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Incoming, ModelError> {
        self.send_call(request, &CallContext::default()).await
    }

    /// Like [`send`](Self::send), for the request of a call to a model or a tool. Its lease is looked at once there is a
    /// connection, right before the first byte; that of a request without a body, right before the connection.
    ///
    /// # Errors
    ///
    /// [`ModelError`], classified: `BeforeSend` if no connection was made, or if the lease has passed.
    pub async fn send_call(
        &self,
        request: Request<Bytes>,
        call: &CallContext,
    ) -> Result<Incoming, ModelError> {
        call.begin()?;
        let peer = fault::RequestPeer::new(request.uri(), &self.settings, self.url_key);
        let request = request.map(|bytes| leased::body(bytes, call));
        let request = match reqwest::Request::try_from(request) {
            Ok(request) => request,
            Err(error) => return Err(peer.unsendable(error)),
        };
        // The URL as it is connected to: other spellings of an address are literal addresses there.
        let proxied = match &self.guard {
            Some(guard) => guard.check(request.url(), &peer)?,
            None => None,
        };
        proxied.unwrap_or(self).execute(request, peer).await
    }

    async fn execute(
        &self,
        request: reqwest::Request,
        peer: fault::RequestPeer,
    ) -> Result<Incoming, ModelError> {
        let encrypted = request.url().scheme() == "https";
        let clients = if encrypted || self.settings.proxy.is_some() {
            let tls_clients = self.tls_clients().await;
            tls_clients.map_err(|error| peer.client_unavailable(error))?
        } else {
            &self.plain
        };
        if encrypted && !clients.has_ca_roots {
            return Err(peer.untrusted().into());
        }
        let may_reuse = self.reuse.is_allowed(peer.host());
        let client = if may_reuse {
            &clients.pooled
        } else {
            &clients.unpooled
        };
        match timeout(self.settings.read_idle, client.execute(request)).await {
            Ok(Ok(response)) => {
                self.reuse.replied(peer.host());
                Ok(Incoming::new(response, peer))
            }
            Ok(Err(error)) => {
                let is_ours = error.is_builder() || cause::<LeasePassed>(&error).is_some();
                let is_closed = may_reuse && !error.is_connect() && !is_ours;
                let was_kept = is_closed && self.reuse.closed(peer.host());
                Err(peer.no_response(error, was_kept))
            }
            Err(_) => Err(peer.timed_out().into()),
        }
    }

    /// The clients with the system's certificate authorities. Reading them takes a while, so it runs on a blocking
    /// thread.
    async fn tls_clients(&self) -> Result<&Clients, TransportError> {
        let initialized = self.tls_clients.get_or_try_init(|| async {
            let (settings, guard) = (Arc::clone(&self.settings), self.guard.clone());
            let task = tokio::task::spawn_blocking(move || {
                let (tls, trusting) =
                    tls::configure().map_err(|source| TransportError::Client { source })?;
                Clients::new(&settings, guard.as_deref(), tls, trusting)
            });
            let crashed = |source: tokio::task::JoinError| TransportError::Client {
                source: source.into(),
            };
            task.await.map_err(crashed)?
        });
        initialized.await
    }
}

impl Clients {
    fn new(
        settings: &TransportSettings,
        guard: Option<&TransportGuard>,
        tls: rustls::ClientConfig,
        trusting: bool,
    ) -> Result<Self, TransportError> {
        let unpooled = client(settings, guard, tls.clone())?.pool_max_idle_per_host(0);
        let pooled = client(settings, guard, tls)?.pool_idle_timeout(POOL_IDLE);
        Ok(Self {
            pooled: build(pooled)?,
            unpooled: build(unpooled)?,
            has_ca_roots: trusting,
        })
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The proxy's URL may contain a password.
        f.debug_struct("Transport")
            .field("connect_timeout", &self.settings.connect_timeout)
            .field("read_idle", &self.settings.read_idle)
            .finish_non_exhaustive()
    }
}

/// A client with these settings, except for the reuse of connections.
fn client(
    settings: &TransportSettings,
    guard: Option<&TransportGuard>,
    tls: rustls::ClientConfig,
) -> Result<reqwest::ClientBuilder, TransportError> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(settings.connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .user_agent(&settings.user_agent)
        .no_proxy();
    if let Some(guard) = guard {
        builder = builder.dns_resolver(Arc::new(guard.resolver()));
    }
    let Some(proxy) = &settings.proxy else {
        return Ok(builder);
    };
    // The error would quote the URL, which may contain a password.
    let proxy = reqwest::Proxy::all(proxy).map_err(|_| TransportError::Proxy)?;
    let direct = reqwest::NoProxy::from_string("localhost,127.0.0.0/8,::1");
    Ok(builder.proxy(proxy.no_proxy(direct)))
}

fn build(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, TransportError> {
    builder.build().map_err(|source| TransportError::Client {
        source: source.without_url().into(),
    })
}

/// How long an idle connection is kept. Many servers close theirs after 5 s, and a request that meets the close may
/// have been received.
const POOL_IDLE: Duration = Duration::from_secs(4);
