//! The link to a server over Streamable HTTP, in both eras (MCP specification, "Transports", revisions 2025-03-26 to
//! 2026-07-28, read 2026-11-26).
//!
//! Each message is one `POST`. Its answer is JSON, or a stream of events that ends with the answer. In the older era a
//! server may have a session, a stream of its own messages, and streams that are taken up again after a break.
//!
//! A request is sent once. Only what does not act (`initialize`, lists) is sent again, and only if the connection was
//! one that the server was just closing.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::ids::ToolboxId;
use jackfield_ports::toolbox::LATE_OUTCOME_LIMIT;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use rmcp::model::{RequestId, ServerPeerInfo};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use self::address::Address;
use self::exchange::{Exchange, HttpSession};
use self::sent::SentMessage;
use crate::auth::Authorization;
use crate::config::HttpEndpoint;
use crate::era::Era;
use crate::error::ServerFault;
use crate::link::{Link, LinkAdvice, LinkEvent, OF_AN_ENDPOINT, Outgoing, Written};

mod address;
mod exchange;
mod failures;
mod listen;
mod sent;
mod stream;

pub use self::address::is_reserved_header;

/// The settings of a link, beside its endpoint.
pub(crate) struct HttpSettings {
    /// The sign-in, if the configuration has no key of its own.
    pub(crate) authorization: Option<Arc<Authorization>>,
    /// The number of list changes.
    pub(crate) changes: watch::Sender<u64>,
    /// Whether failures name the host and the cause; the log has them in any case.
    pub(crate) expose_faults: bool,
    pub(crate) id: ToolboxId,
    /// The longest message that is read whole, in bytes.
    pub(crate) max_message: usize,
    /// The values of headers, which a server may repeat in a refusal.
    pub(crate) secrets: Vec<String>,
    /// Whether the server announces list changes at present.
    pub(crate) subscribed: watch::Sender<bool>,
}

/// A link to an endpoint.
pub(crate) struct HttpLink {
    /// Whether the end of the handshake was told; other messages wait for that.
    announced: watch::Sender<bool>,
    events: mpsc::Receiver<LinkEvent>,
    exchange: Arc<Exchange>,
    /// Whether the server has forgotten the session. Each request in flight still gets its own answer.
    is_session_lost: bool,
    /// Whether the server has answered the request for a stream of its own messages, or was late once. The first calls
    /// wait for that for a moment: some servers ask over that stream alone.
    listens: watch::Sender<bool>,
    /// The requests in flight, and those that ended just now.
    requests: JoinSet<()>,
    /// The same, for their cancellation.
    request_handles: Vec<(RequestId, AbortHandle)>,
    /// Messages that get no answer, and the stream of the server's own messages.
    tasks: JoinSet<()>,
}

impl HttpLink {
    /// Prepares a link. Nothing is sent before the first message.
    ///
    /// # Errors
    ///
    /// The endpoint is invalid.
    pub(crate) fn open(
        endpoint: &HttpEndpoint,
        transport: Option<&Transport>,
        settings: HttpSettings,
    ) -> Result<Self, ServerFault> {
        let address = Address::of(endpoint)?;
        let transport = match transport {
            Some(transport) => transport.clone(),
            None => Transport::new(TransportSettings::default())
                .map_err(|error| ServerFault::new(error.to_string(), "check this machine's TLS"))?,
        };
        let (sender, events) = mpsc::channel(EVENTS);
        let exchange = Exchange {
            address,
            events: sender,
            session: HttpSession::default(),
            settings,
            transport: transport.with_url_key("its `url`"),
        };
        Ok(Self {
            announced: watch::Sender::new(true),
            events,
            exchange: Arc::new(exchange),
            is_session_lost: false,
            listens: watch::Sender::new(true),
            requests: JoinSet::new(),
            request_handles: Vec::new(),
            tasks: JoinSet::new(),
        })
    }

    /// Cancels a request in the way of the present era: by closing its stream, or by the message.
    fn cancel(&mut self, id: &RequestId, message: SentMessage) -> Written {
        let handles = &mut self.request_handles;
        let place = handles.iter().position(|(known, _)| known == id);
        let request = place.map(|place| handles.swap_remove(place).1);
        if self.exchange.session.era() == Some(Era::Stateless) {
            if let Some(request) = request {
                request.abort();
            }
            return Box::pin(async { Ok(()) });
        }
        if let Some(request) = request {
            // The answer may still come, and counts for a while.
            self.tasks.spawn(async move {
                tokio::time::sleep(LATE_OUTCOME_LIMIT).await;
                request.abort();
            });
        }
        self.spawn(message, None)
    }

    /// Sends a message that gets no answer.
    fn spawn(&mut self, message: SentMessage, announces: Option<watch::Sender<bool>>) -> Written {
        let (done, ended) = oneshot::channel::<()>();
        let exchange = Arc::clone(&self.exchange);
        let mut announced = self.announced.subscribe();
        self.tasks.spawn(async move {
            if announces.is_none() {
                until_announced(&mut announced).await;
            }
            exchange.tell(&message).await;
            if let Some(announces) = announces {
                announces.send_replace(true);
            }
            let _gone = done.send(());
        });
        Box::pin(async move {
            let _ended = ended.await;
            Ok(())
        })
    }

    fn reap(&mut self) {
        while self.requests.try_join_next().is_some() {}
        while self.tasks.try_join_next().is_some() {}
        let handles = &mut self.request_handles;
        handles.retain(|(_, request)| !request.is_finished());
    }
}

#[async_trait]
impl Link for HttpLink {
    fn advice(&self) -> &'static LinkAdvice {
        &OF_AN_ENDPOINT
    }

    fn settle(&mut self, era: Era, peer: &ServerPeerInfo) {
        let version = peer.protocol_version.as_str();
        self.exchange.session.settle(era, version);
    }

    fn session(&self) -> Option<String> {
        self.exchange.session.id()
    }

    fn send(&mut self, message: Outgoing) -> Written {
        self.reap();
        let (sent, mark) = SentMessage::read(message);
        let Some(id) = sent.request_id.clone() else {
            return match (&*sent.method, &sent.cancels) {
                ("notifications/cancelled", Some(id)) => self.cancel(&id.clone(), sent),
                ("notifications/initialized", _) => {
                    self.announced.send_replace(false);
                    self.listens.send_replace(false);
                    let listens = self.listens.clone();
                    let written = self.spawn(sent, Some(self.announced.clone()));
                    let (exchange, mut announced) =
                        (Arc::clone(&self.exchange), self.announced.subscribe());
                    self.tasks.spawn(async move {
                        until_announced(&mut announced).await;
                        exchange.listen(&listens).await;
                    });
                    written
                }
                // A server that asks faster than it takes replies gets no more of them.
                _ if self.tasks.len() >= MAX_TASKS => Box::pin(async { Ok(()) }),
                _ => self.spawn(sent, None),
            };
        };
        let exchange = Arc::clone(&self.exchange);
        let mut announced = self.announced.subscribe();
        let listens = self.listens.clone();
        let is_call = sent.method == "tools/call";
        let request = self.requests.spawn(async move {
            until_announced(&mut announced).await;
            if is_call {
                let mut answered = listens.subscribe();
                let answered = answered.wait_for(|listens| *listens);
                if timeout(STREAM, answered).await.is_err() {
                    // Later calls would wait in vain, too.
                    listens.send_replace(true);
                }
            }
            exchange.ask(&sent, mark).await;
        });
        self.request_handles.push((id, request));
        Box::pin(async { Ok(()) })
    }

    async fn receive(&mut self) -> Option<LinkEvent> {
        loop {
            if self.is_session_lost && self.requests.is_empty() {
                // The server's own messages belong to no request any more.
                self.tasks.abort_all();
                return self.events.try_recv().ok();
            }
            tokio::select! {
                event = self.events.recv() => {
                    let is_loss = event.as_ref().is_some_and(LinkEvent::is_loss_of_session);
                    self.is_session_lost |= is_loss;
                    return event;
                }
                Some(_) = self.requests.join_next() => {}
            }
        }
    }

    async fn close(&mut self) {
        self.requests.shutdown().await;
        self.tasks.shutdown().await;
        self.exchange.end_session().await;
    }
}

/// Waits for the end of the handshake to be told.
async fn until_announced(announced: &mut watch::Receiver<bool>) {
    let _gone = announced.wait_for(|announced| *announced).await.is_ok();
}

/// The length of the queue of events; streams wait while it is full.
const EVENTS: usize = 256;
/// How long the first calls wait for the stream of the server's own messages.
const STREAM: Duration = Duration::from_millis(500);
/// The most messages under way at which replies to the server are still sent.
const MAX_TASKS: usize = 1024;
