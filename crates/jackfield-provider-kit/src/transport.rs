//! The guarded HTTP client: encrypted by rustls over ring, never redirected, never retried, no proxy unless told.

mod fault;
mod incoming;
mod tls;

pub use self::incoming::{Incoming, MAX_REPLY};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use jackfield_ports::chat_model::{BoxError, ModelError};
use thiserror::Error;

/// Sends requests to providers. Clones share connections and certificates: one is enough for all adapters.
#[derive(Clone)]
pub struct Transport {
    client: reqwest::Client,
    settings: Arc<TransportSettings>,
    /// Whether this machine knows any certificate authority.
    trusting: bool,
}

/// How requests are sent. There is no limit on the whole of a call: the loop keeps the time.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TransportSettings {
    /// How long a connection may take to be made, encryption included.
    pub connect_timeout: Duration,
    /// A proxy for everything but this machine, as a URL; the environment's own are not used.
    pub proxy: Option<String>,
    /// How long a server may be silent, before its answer and within it. A safety net: the loop's own limit is shorter.
    pub read_idle: Duration,
    /// What the client calls itself.
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

/// A transport that cannot be set up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The client cannot be made.
    #[error("the HTTP client cannot be set up")]
    Client {
        /// Why.
        #[source]
        source: BoxError,
    },
    /// The proxy is not one.
    #[error("the proxy is not a URL such as `http://host:8080`")]
    Proxy,
}

impl Transport {
    /// Sets up a transport. The system's certificate authorities are read once, here.
    ///
    /// A machine that has none can still be used with plain `http` addresses.
    ///
    /// # Errors
    ///
    /// [`TransportError`] if the settings cannot be followed.
    pub fn new(settings: TransportSettings) -> Result<Self, TransportError> {
        let (tls, trusting) =
            tls::configure().map_err(|source| TransportError::Client { source })?;
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(settings.connect_timeout)
            .read_timeout(settings.read_idle)
            .pool_idle_timeout(POOL_IDLE)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .user_agent(&settings.user_agent)
            .no_proxy();
        if let Some(proxy) = &settings.proxy {
            // The error would repeat the URL, which may hold a password.
            let proxy = reqwest::Proxy::all(proxy).map_err(|_| TransportError::Proxy)?;
            let direct = reqwest::NoProxy::from_string("localhost,127.0.0.0/8,::1");
            builder = builder.proxy(proxy.no_proxy(direct));
        }
        let client = builder.build().map_err(|source| TransportError::Client {
            source: source.without_url().into(),
        })?;
        Ok(Self {
            client,
            settings: Arc::new(settings),
            trusting,
        })
    }

    /// Sends a request, and returns what comes back as soon as its head is there, whatever its status.
    ///
    /// Dropping the future, or the response, closes the connection.
    ///
    /// # Errors
    ///
    /// [`ModelError`], classified: `BeforeSend` only where no connection came about.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Incoming, ModelError> {
        let peer = fault::Peer::of(request.uri(), &self.settings);
        if !self.trusting && request.uri().scheme_str() == Some("https") {
            return Err(peer.untrusted().into());
        }
        let request = match reqwest::Request::try_from(request) {
            Ok(request) => request,
            Err(error) => return Err(peer.unsendable(error)),
        };
        match self.client.execute(request).await {
            Ok(response) => Ok(Incoming::new(response, peer)),
            Err(error) => Err(peer.not_answered(error)),
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The proxy's address may hold a password.
        f.debug_struct("Transport")
            .field("connect_timeout", &self.settings.connect_timeout)
            .field("read_idle", &self.settings.read_idle)
            .finish_non_exhaustive()
    }
}

/// How long a connection is kept for the next request. Many servers close theirs after 5 s, and a
/// request that meets the closing of its connection is one that may have been received.
const POOL_IDLE: Duration = Duration::from_secs(4);
