//! A server that sends exactly the scripted bytes, and breaks off where the script says.
//!
//! It speaks HTTP/1.1 on a free port of the loopback address. General HTTP mocks cannot split a body, pause it or
//! break it off.
//!
//! ```no_run
//! # async fn example() {
//! use jackfield_testkit::server::{Gate, Response, TestServer};
//!
//! let server = TestServer::start().await;
//! let gate = Gate::new();
//! server.answer(
//!     Response::event_stream("data: one\n\n")
//!         .pause(&gate)
//!         .send("data: two\n\n")
//!         .split_sends(3),
//! );
//! // ... ask `server.base_url()`, look at what came so far, then:
//! gate.reached().await;
//! gate.open();
//! assert_eq!(server.request(0).await.path, "/v1/messages");
//! # }
//! ```

#![expect(
    clippy::expect_used,
    reason = "a test kit that cannot open a port has to fail the test"
)]

mod connection;
mod recorded;
mod response;

pub use self::recorded::RecordedRequest;
pub use self::response::{Framing, Response, ResponseStep};
pub use crate::gate::{Gate, TIME_LIMIT};

use std::collections::VecDeque;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::gate::with_timeout;

/// A scripted server. Dropping it closes its port and every connection.
pub struct TestServer {
    accepting: JoinHandle<()>,
    address: SocketAddr,
    shared: Arc<TestServerHandle>,
}

impl TestServer {
    /// Starts a server that sends the queued responses, one for each request, in order.
    ///
    /// A request without a queued response gets a 500 with an explanation.
    ///
    /// # Panics
    ///
    /// If no port can be opened on the loopback address.
    pub async fn start() -> Self {
        Self::bind(None).await
    }

    /// Starts a server that calls `handler` for each request without a queued response.
    ///
    /// # Panics
    ///
    /// If no port can be opened on the loopback address.
    pub async fn start_with(
        handler: impl FnMut(&RecordedRequest) -> Response + Send + 'static,
    ) -> Self {
        Self::bind(Some(Box::new(handler))).await
    }

    /// Queues the response to the next request without one.
    pub fn answer(&self, response: Response) {
        self.shared.lock().queue.push_back(response);
    }

    /// The address on which it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL, as `http://127.0.0.1:port`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of connections so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.lock().connections
    }

    /// All requests so far whose head and body arrived completely, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.lock().requests.clone()
    }

    /// The nth request, from 0, as soon as it has arrived.
    ///
    /// # Panics
    ///
    /// If it does not arrive within [`TIME_LIMIT`].
    pub async fn request(&self, nth: usize) -> RecordedRequest {
        let mut count = self.shared.count.subscribe();
        with_timeout(
            &format!("request {nth}"),
            count.wait_for(|came| *came > nth),
        )
        .await;
        self.shared.lock().requests[nth].clone()
    }

    /// Waits until the client has closed the connection of the nth request, from 0.
    ///
    /// # Panics
    ///
    /// If it does not within [`TIME_LIMIT`], or the server closed the connection itself.
    pub async fn closed_by_client(&self, nth: usize) {
        let mut end = self.request(nth).await.end;
        let what = format!("the client to close the connection of request {nth}");
        let end = with_timeout(&what, end.wait_for(|end| *end != ConnectionEnd::Open)).await;
        assert_eq!(end, ConnectionEnd::ByClient, "waited for {what}");
    }

    async fn bind(handler: Option<RequestHandler>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a port on the loopback address is free");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let shared = Arc::new(TestServerHandle {
            count: watch::Sender::new(0),
            state: Mutex::new(TestServerState {
                connections: 0,
                handler,
                queue: VecDeque::new(),
                requests: Vec::new(),
            }),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self {
            accepting,
            address,
            shared,
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // The task owns the connections' tasks and ends them, too.
        self.accepting.abort();
    }
}

impl fmt::Debug for TestServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// A reserved port on which no process listens.
#[derive(Debug)]
pub struct RefusingPort {
    address: SocketAddr,
    _held: TcpSocket,
}

impl RefusingPort {
    /// Reserves a free port of the loopback address.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn reserve() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket can be made");
        socket
            .bind((Ipv4Addr::LOCALHOST, 0).into())
            .expect("a port on the loopback address is free");
        Self {
            address: socket.local_addr().expect("a bound socket has an address"),
            _held: socket,
        }
    }

    /// The base URL without a listener, as `http://127.0.0.1:port`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Creates the response to a request without a queued one.
type RequestHandler = Box<dyn FnMut(&RecordedRequest) -> Response + Send>;

/// The end of a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ConnectionEnd {
    ByClient,
    ByServer,
    Open,
}

/// The state that the test shares with the connections.
struct TestServerHandle {
    /// The number of complete requests.
    count: watch::Sender<usize>,
    state: Mutex<TestServerState>,
}

struct TestServerState {
    connections: usize,
    handler: Option<RequestHandler>,
    queue: VecDeque<Response>,
    requests: Vec<RecordedRequest>,
}

impl TestServerHandle {
    fn lock(&self) -> MutexGuard<'_, TestServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request and takes the response to it.
    fn record(&self, request: RecordedRequest) -> Response {
        let mut state = self.lock();
        let response = match (state.queue.pop_front(), &mut state.handler) {
            (Some(response), _) => response,
            (None, Some(handler)) => handler(&request),
            (None, None) => Response::text(
                500,
                format!(
                    "no response is scripted for {} {}",
                    request.method, request.path
                ),
            ),
        };
        state.requests.push(request);
        let count = state.requests.len();
        drop(state);
        self.count.send_replace(count);
        response
    }
}

async fn accept(listener: TcpListener, shared: Arc<TestServerHandle>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                shared.lock().connections += 1;
                connections.spawn(connection::serve(stream, Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
