//! The connection to a running server after the handshake; many tasks send requests through it at once.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::{ToolCallId, ToolboxId};
use jackfield_ports::mcp_observer::McpObservers;
use jackfield_ports::server_log::LogLevel;
use jackfield_provider_kit::transport::Transport;
use rmcp::model::ServerPeerInfo;
use rmcp::service::{RunningService, serve_directly};
use rmcp::{Peer, RoleClient};
use tokio::sync::{RwLock, broadcast, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use self::announcements::{can_announce, listen};
use self::subscriptions::ResourceSubscriptions;
pub(crate) use self::subscriptions::WatchedResources;
use crate::abandoned::AbandonedRequests;
use crate::announcement::{ANNOUNCEMENTS, ContextAnnouncement};
use crate::auth::Authorization;
use crate::config::{ClientSettings, ServerConfig};
use crate::era::Era;
use crate::error::ServerFault;
use crate::failure::{LinkFailure, LinkFailureKind};
use crate::handshake::{HandshakeError, ended_early, negotiate};
use crate::held::HeldCalls;
use crate::http::{HttpLink, HttpSettings};
use crate::link::{Link, OF_A_PROCESS, OF_AN_ENDPOINT, Outgoing};
use crate::listing::Listing;
use crate::log::Log;
use crate::mark::RequestsInFlight;
use crate::observed::ObservedServer;
use crate::process::{EXIT_WAIT, ServerProcess};
use crate::questions::AllowedQuestions;
use crate::roots::Root;
use crate::roots_handler::RootsHandler;
use crate::transport::{LinkTransport, ServerNotices};

mod announcements;
mod caller;
mod requests;
mod subscriptions;
mod tool_list;

/// A running server, as used by the toolbox and its calls.
pub(crate) struct ServerConnection {
    pub(crate) abandoned: Arc<AbandonedRequests>,
    /// What the server may ask.
    pub(crate) allowed: AllowedQuestions,
    changes: watch::Receiver<u64>,
    /// What the server announces of resources and prompts.
    context: broadcast::Sender<ContextAnnouncement>,
    ended: watch::Receiver<bool>,
    pub(crate) era: Era,
    /// How the process ended, once known.
    exit_reason: watch::Sender<Option<String>>,
    /// Whether a call was refused because its headers do not fit the present list of tools.
    headers_refused: AtomicBool,
    /// The calls whose server waits for a person.
    pub(crate) held: Arc<HeldCalls>,
    id: ToolboxId,
    pub(crate) info: ServerPeerInfo,
    /// Whether its announcements of the older era come over a stream of their own, which may be closed.
    is_endpoint: bool,
    /// The last list of tools.
    pub(crate) listing: RwLock<Option<Arc<Listing>>>,
    /// How many times the list of tools was requested.
    listing_count: AtomicU64,
    /// The level of log messages that the server was told, in the older era.
    log_level: tokio::sync::Mutex<Option<LogLevel>>,
    observed: ObservedServer,
    /// Replies to questions of the server, as JSON.
    replies: mpsc::Sender<Outgoing>,
    /// The folders that the server should work in.
    pub(crate) roots: Vec<Root>,
    session_lost: watch::Receiver<bool>,
    /// The resources that this client has subscribed to in the older era.
    subscriptions: ResourceSubscriptions,
    /// Whether the server announces list changes at present; not known of a process in the older era.
    subscribed: watch::Receiver<bool>,
    /// The calls that the server may still be working on.
    open_calls: Mutex<HashSet<ToolCallId>>,
    pub(crate) peer: Peer<RoleClient>,
}

/// How a server over HTTP is reached.
#[derive(Default)]
pub(crate) struct HttpReach {
    /// The sign-in, if the configuration has no key of its own.
    pub(crate) authorization: Option<Arc<Authorization>>,
    /// The HTTP client, if it is not one of the link's own.
    pub(crate) transport: Option<Transport>,
}

/// A running server, with its process if it has one, as owned by the supervisor.
pub(crate) struct RunningServer {
    pub(crate) connection: Arc<ServerConnection>,
    process: Option<ServerProcess>,
    listener: Option<JoinHandle<()>>,
    service: RunningService<RoleClient, RootsHandler>,
    /// When the handshake was completed.
    since: Instant,
}

impl RunningServer {
    /// Starts a server and completes the handshake. Dropping the future ends the server.
    pub(crate) async fn start(
        config: &ServerConfig,
        settings: &ClientSettings,
        log: &Arc<Log>,
        known_era: Option<Era>,
        reach: &HttpReach,
        observers: &McpObservers,
    ) -> Result<Self, ServerFault> {
        let met = timeout(settings.start_limit, async {
            match Self::attempt(config, settings, log, known_era, reach, observers).await {
                // Some old servers exit at the first method that they do not know.
                Err(HandshakeError::EndedAtProbe) => {
                    let era = Some(Era::Handshake);
                    Self::attempt(config, settings, log, era, reach, observers).await
                }
                other => other,
            }
        });
        let fault = match met.await {
            Ok(Ok(running)) => return Ok(running),
            Ok(Err(HandshakeError::EndedAtProbe)) => ended_early(),
            Ok(Err(HandshakeError::Fault(fault))) => fault,
            // This fault is complete; nothing is added to it.
            Ok(Err(HandshakeError::Container(fault))) => return Err(fault),
            Err(_) => ServerFault::new(
                format!(
                    "it did not answer within {} s",
                    settings.start_limit.as_secs_f64()
                ),
                match config.http {
                    Some(_) => OF_AN_ENDPOINT.not_a_server,
                    None => OF_A_PROCESS.not_a_server,
                },
            ),
        };
        Err(with_last_line(fault, log))
    }

    async fn attempt(
        config: &ServerConfig,
        settings: &ClientSettings,
        log: &Arc<Log>,
        known_era: Option<Era>,
        reach: &HttpReach,
        observers: &McpObservers,
    ) -> Result<Self, HandshakeError> {
        let (changes, ended) = (watch::Sender::new(0), watch::Sender::new(false));
        let (changed, has_ended) = (changes.subscribe(), ended.subscribe());
        let lost = watch::Sender::new(false);
        let session_lost = lost.subscribe();
        let listening = watch::Sender::new(false);
        let listener_changes = changes.clone();
        let is_listening = listening.subscribe();
        let (mut link, mut process): (Box<dyn Link>, Option<ServerProcess>) = match &config.http {
            None => {
                let started = ServerProcess::start(config, settings, log);
                let (process, link) = started.map_err(HandshakeError::Fault)?;
                (link, Some(process))
            }
            Some(endpoint) => {
                let http = HttpSettings {
                    authorization: reach.authorization.clone(),
                    changes: changes.clone(),
                    expose_faults: settings.expose_faults,
                    id: config.id.clone(),
                    max_message: settings.max_message,
                    secrets: config.secrets(),
                    subscribed: listening.clone(),
                };
                let link = HttpLink::open(endpoint, reach.transport.as_ref(), http);
                (Box::new(link.map_err(HandshakeError::Fault)?), None)
            }
        };
        let context = broadcast::Sender::new(ANNOUNCEMENTS);
        let notices = ServerNotices {
            changes,
            context: context.clone(),
            ended,
            session_lost: lost,
            subscribed: listening.clone(),
            log: Arc::clone(log),
        };
        let mut observed = ObservedServer::new(observers, config);
        let mut beginning = observed.begin(INITIALIZE);
        let has_roots = !config.roots.is_empty();
        let meeting = negotiate(&mut *link, &notices, known_era, settings, has_roots);
        let met = match &mut process {
            Some(process) => process.watch(meeting).await,
            None => meeting.await,
        };
        let met = match met {
            Ok(met) => met,
            Err(missed) => {
                if let Some(beginning) = &mut beginning {
                    beginning.fail("handshake");
                }
                return Err(match process {
                    Some(process) => process.explain(missed, link, config, log).await,
                    None => missed,
                });
            }
        };
        observed.settle(met.peer.protocol_version.as_str(), link.session());
        if let Some(beginning) = beginning {
            beginning.settle(met.era, &observed);
        }
        let abandoned = Arc::new(AbandonedRequests::default());
        let (replies, replied) = mpsc::channel(REPLIES);
        let allowed = AllowedQuestions::of(settings);
        let transport = LinkTransport {
            abandoned: Arc::clone(&abandoned),
            allowed,
            in_flight: Arc::new(RequestsInFlight::default()),
            link,
            notices,
            replies: replied,
        };
        let handler = RootsHandler::new(&settings.version, &config.roots, allowed);
        let service = serve_directly(handler, transport, Some(met.peer.clone()));
        let connection = Arc::new(ServerConnection {
            abandoned,
            allowed,
            changes: changed,
            context,
            ended: has_ended,
            era: met.era,
            exit_reason: watch::Sender::new(None),
            headers_refused: AtomicBool::new(false),
            held: Arc::new(HeldCalls::new(replies.clone())),
            id: config.id.clone(),
            info: met.peer,
            is_endpoint: config.http.is_some(),
            listing: RwLock::new(None),
            listing_count: AtomicU64::new(0),
            log_level: tokio::sync::Mutex::default(),
            observed,
            replies,
            roots: config.roots.clone(),
            session_lost,
            subscriptions: ResourceSubscriptions::default(),
            subscribed: is_listening,
            open_calls: Mutex::default(),
            peer: service.peer().clone(),
        });
        let needs_listener = met.era == Era::Stateless && can_announce(&connection.info);
        let listener = needs_listener
            .then(|| tokio::spawn(listen(connection.peer.clone(), listening, listener_changes)));
        Ok(Self {
            connection,
            process,
            listener,
            service,
            since: Instant::now(),
        })
    }

    /// Waits until the server has ended by itself, or has forgotten the session, and returns how.
    pub(crate) async fn wait_for_exit(&mut self) -> String {
        let mut silence = pin!(self.connection.wait_until_ended());
        let ended = match &mut self.process {
            Some(process) => {
                tokio::select! {
                    ended = process.wait_for_exit() => {
                        // What it wrote before counts.
                        let _late = timeout(EXIT_WAIT, silence).await;
                        ended
                    }
                    () = &mut silence => {
                        // The exit status may be available in a moment.
                        let ended = timeout(EXIT_WAIT, process.wait_for_exit()).await;
                        ended.unwrap_or_else(|_| "it closed its output".to_owned())
                    }
                }
            }
            None => {
                silence.await;
                "its session has ended".to_owned()
            }
        };
        self.connection.set_exit_reason(&ended);
        ended
    }

    /// Sends the last cancellations, closes the server's input, gives it time to exit, and then terminates it. The time
    /// is bounded.
    pub(crate) async fn shutdown(self) {
        self.report_end();
        self.close().await;
    }

    /// Keeps a session that the server has forgotten until each request in flight has its own answer, which its time
    /// limit bounds, or until this is stopped.
    pub(crate) async fn drain(self, stop: CancellationToken) {
        self.report_end();
        let mut ended = self.connection.ended.clone();
        tokio::select! {
            _ended = ended.wait_for(|ended| *ended) => {}
            () = stop.cancelled() => {}
        }
        self.close().await;
    }

    fn report_end(&self) {
        let is_over = !self.connection.is_open();
        let error = is_over.then_some("ended");
        let observed = &self.connection.observed;
        observed.session_ended(self.since.elapsed(), error);
    }

    async fn close(self) {
        let Self {
            connection,
            process,
            listener,
            mut service,
            since: _,
        } = self;
        if let Some(listener) = listener {
            listener.abort();
        }
        connection.set_exit_reason("it was stopped");
        let cancellations = connection.abandoned.cancellations();
        cancellations.close();
        let _late = timeout(CLOSING, cancellations.wait()).await;
        let _closed = service.close_with_timeout(CLOSING).await;
        if let Some(process) = process {
            process.shutdown().await;
        }
    }
}

impl ServerConnection {
    /// Whether the server still takes requests, as far as is known.
    pub(crate) fn is_open(&self) -> bool {
        !*self.ended.borrow() && !self.has_lost_session() && !self.peer.is_transport_closed()
    }

    /// Whether the server announces list changes: in the newer era, and over HTTP, only while it has a stream for
    /// them.
    pub(crate) fn announces_changes(&self) -> bool {
        match self.era {
            Era::Handshake => {
                can_announce(&self.info) && (!self.is_endpoint || *self.subscribed.borrow())
            }
            Era::Stateless => *self.subscribed.borrow(),
        }
    }

    /// Whether the server has forgotten the session, so that a request that it refused may be made in a new one.
    pub(crate) fn has_lost_session(&self) -> bool {
        *self.session_lost.borrow()
    }

    /// Whether calls repeat arguments in headers.
    pub(crate) fn mirrors_arguments(&self) -> bool {
        self.is_endpoint && self.era == Era::Stateless
    }

    /// The failure of a call that has no answer because of the link.
    pub(crate) fn call_failure(&self, failure: &LinkFailure) -> ToolFailure {
        let kind = match failure.kind {
            LinkFailureKind::Protocol => ToolFailureKind::ProtocolViolation,
            LinkFailureKind::Timeout => ToolFailureKind::Timeout,
            LinkFailureKind::Unavailable => ToolFailureKind::Unavailable,
        };
        let message = format!("the server `{}`: {failure}", self.id);
        if failure.not_sent {
            ToolFailure::not_sent(kind, message)
        } else {
            ToolFailure::unknown(kind, message)
        }
    }

    /// Whether the server has declared the tools capability.
    pub(crate) const fn has_tools(&self) -> bool {
        self.info.capabilities.tools.is_some()
    }

    /// Whether the server has declared the resources capability.
    pub(crate) const fn has_resources(&self) -> bool {
        self.info.capabilities.resources.is_some()
    }

    /// Whether the server has declared the prompts capability.
    pub(crate) const fn has_prompts(&self) -> bool {
        self.info.capabilities.prompts.is_some()
    }

    /// The number of changes of the list of tools so far.
    pub(crate) fn changes(&self) -> u64 {
        *self.changes.borrow()
    }

    /// The number of requests for the list of tools so far, including the one in flight.
    pub(crate) fn listing_count(&self) -> u64 {
        self.listing_count.load(Ordering::SeqCst)
    }

    /// Counts another request for the list of tools, and returns its number.
    pub(crate) fn next_listing_number(&self) -> u64 {
        self.listing_count.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Records that the server is working on this call.
    pub(crate) fn begin_call(&self, call: &ToolCallId) {
        let mut calls = self
            .open_calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if calls.len() < MAX_OPEN_FILES {
            calls.insert(call.clone());
        }
    }

    /// Records that the server has answered this call.
    pub(crate) fn end_call(&self, call: &ToolCallId) {
        let mut calls = self
            .open_calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        calls.remove(call);
    }

    /// Whether the server may still be working on an earlier attempt at this call.
    pub(crate) fn is_handling(&self, call: &ToolCallId) -> bool {
        let calls = self
            .open_calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        calls.contains(call)
    }

    /// How the process ended; waits for a moment if that is not yet known.
    pub(crate) async fn exit_reason(&self) -> String {
        let mut farewell = self.exit_reason.subscribe();
        let known = timeout(EXIT_WAIT * 2, farewell.wait_for(Option::is_some)).await;
        let ended = known
            .ok()
            .and_then(Result::ok)
            .and_then(|ended| ended.clone());
        ended.unwrap_or_else(|| "its connection closed".to_owned())
    }

    /// Records how the process ended. The first record is kept.
    fn set_exit_reason(&self, reason: &str) {
        self.exit_reason.send_if_modified(|farewell| {
            let first = farewell.is_none();
            if first {
                *farewell = Some(reason.to_owned());
            }
            first
        });
    }
}

fn with_last_line(fault: ServerFault, log: &Log) -> ServerFault {
    match log.last_line() {
        Some(words) => {
            ServerFault::new(format!("{} (it said: {words})", fault.reason), fault.advice)
        }
        None => fault,
    }
}

/// The method of a handshake that has not found the era of the server.
const INITIALIZE: &str = "initialize";
/// The time limit for sending the last cancellations, and for closing the connection.
const CLOSING: Duration = Duration::from_millis(500);
/// The length of the queue of replies to a server's questions.
const REPLIES: usize = 16;
/// The most calls without a result that are remembered per process.
const MAX_OPEN_FILES: usize = 4096;
