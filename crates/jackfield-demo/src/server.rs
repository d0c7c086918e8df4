//! The loopback server: HTTP/1.1 on a free port, in the Claude dialect.
//!
//! | | |
//! |---|---|
//! | `POST /v1/messages` | the model's reply, whole or as events |
//! | `GET /v1/models`, `GET /v1/models/{id}` | the one model that there is |
//!
//! Every request is held to the vendor's rules, and one that breaks them is refused in the vendor's form.
//! Any key will do, but there has to be one, as with the vendor.
//! Tokens are counted roughly, as a quarter of the bytes: rules have no tokens.

mod body;
mod messages;
mod refusal;
mod routes;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// How fast the events of a streamed reply come.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ReplyPace(Option<Duration>);

impl ReplyPace {
    /// So that a person sees the words come: about as fast as a hosted model.
    pub const READABLE: Self = Self(Some(Duration::from_millis(15)));
    /// As fast as can be.
    pub const UNPACED: Self = Self(None);

    /// With this pause before each event.
    #[must_use]
    pub const fn every(pause: Duration) -> Self {
        Self(Some(pause))
    }
}

/// The demo's server. Dropping it closes its port and every connection.
#[derive(Debug)]
pub struct DemoServer {
    accepting: JoinHandle<()>,
    address: SocketAddr,
}

impl DemoServer {
    /// Starts a server on a free port of the loopback address, as tasks of the current runtime.
    ///
    /// # Errors
    ///
    /// [`ListenError`] if there is no such port.
    pub async fn start(pace: ReplyPace) -> Result<Self, ListenError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(accept(listener, pace));
        tracing::debug!(%address, "the demo model listens");
        Ok(Self { accepting, address })
    }

    /// Where it listens, as `http://127.0.0.1:port`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        // The task owns the connections' tasks, and takes them along.
        self.accepting.abort();
    }
}

/// No port of the loopback address can be opened.
#[derive(Debug, Error)]
#[error("the demo model cannot listen on a port of the loopback address")]
pub struct ListenError(#[from] io::Error);

async fn accept(listener: TcpListener, pace: ReplyPace) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, pace));
                }
                // Out of file handles, as a rule: taking the next one at once would only spin.
                Err(_) => tokio::time::sleep(BREATH).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, pace: ReplyPace) {
    // Events are small, and are to arrive one by one.
    let _may_be_slow = stream.set_nodelay(true);
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(
            TokioIo::new(stream),
            service_fn(move |request| routes::answer(request, pace)),
        );
    if let Err(fault) = served.await {
        tracing::debug!(%fault, "a connection to the demo model broke");
    }
}

const BREATH: Duration = Duration::from_millis(50);
