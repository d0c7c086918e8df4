//! The task of one server, which starts it on demand, restarts it after its end, and stops it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use crate::clock::after;
use crate::config::{ClientSettings, ServerConfig};
use crate::connection::{RunningServer, ServerConnection};
use crate::error::ServerFault;
use crate::handshake::Era;
use crate::log::Log;
use crate::state::ServerState;

/// The state that a server's supervisor shares with its users.
pub(crate) struct ServerHandle {
    pub(crate) config: ServerConfig,
    pub(crate) era: Mutex<Option<Era>>,
    pub(crate) log: Arc<Log>,
    pub(crate) settings: ClientSettings,
    pub(crate) state: watch::Sender<ServerState>,
}

/// A request to the supervisor.
pub(crate) enum SupervisorCommand {
    /// A connection to a running server other than `instead_of`.
    Connection {
        instead_of: Option<Arc<ServerConnection>>,
        reply: oneshot::Sender<Result<Arc<ServerConnection>, ServerFault>>,
    },
    /// Stop the server.
    Stop(oneshot::Sender<()>),
}

/// The supervisor of one server. It ends, and stops the server, once all senders of requests are dropped.
pub(crate) struct Supervisor {
    backoff: Backoff,
    demands: mpsc::Receiver<SupervisorCommand>,
    /// The fault that was last logged, so that repeated identical failures are not logged again.
    down: Option<ServerFault>,
    shared: Arc<ServerHandle>,
    waiting: Vec<oneshot::Sender<Result<Arc<ServerConnection>, ServerFault>>>,
}

/// The next action of the supervisor.
enum SupervisorStep {
    Leave,
    Start,
    Wait,
}

/// The result of a start.
enum StartResult {
    Left,
    Failed(ServerFault),
    Ready(Box<RunningServer>),
    Stopped,
}

impl Supervisor {
    pub(crate) fn new(
        shared: Arc<ServerHandle>,
        demands: mpsc::Receiver<SupervisorCommand>,
    ) -> Self {
        Self {
            backoff: Backoff::default(),
            demands,
            down: None,
            shared,
            waiting: Vec::new(),
        }
    }

    pub(crate) async fn run(mut self) {
        // The instant of an automatic restart, which happens once after the server had been running.
        let mut again: Option<Instant> = None;
        loop {
            let next = self.idle(again.take()).await;
            match next {
                SupervisorStep::Leave => return,
                SupervisorStep::Wait => continue,
                SupervisorStep::Start => {}
            }
            match self.start().await {
                StartResult::Left => return,
                StartResult::Stopped => self.tell(ServerState::Stopped),
                StartResult::Failed(fault) => self.failed(fault),
                StartResult::Ready(running) => match self.keep(*running).await {
                    SupervisorStep::Leave => return,
                    SupervisorStep::Start => again = Some(self.backoff.not_before(Instant::now())),
                    SupervisorStep::Wait => self.tell(ServerState::Stopped),
                },
            }
        }
    }

    /// Waits until a server is requested, or due to be restarted.
    async fn idle(&mut self, again: Option<Instant>) -> SupervisorStep {
        let at = again.unwrap_or_else(Instant::now);
        loop {
            let demand = tokio::select! {
                () = sleep_until(at), if again.is_some() => return SupervisorStep::Start,
                demand = self.demands.recv() => demand,
            };
            match demand {
                None => return SupervisorStep::Leave,
                Some(SupervisorCommand::Stop(reply)) => {
                    self.waiting.clear();
                    self.tell(ServerState::Stopped);
                    let _gone = reply.send(());
                    return SupervisorStep::Wait;
                }
                Some(SupervisorCommand::Connection { reply, .. }) => match self.too_early() {
                    Some(fault) => {
                        let _gone = reply.send(Err(fault));
                    }
                    None => {
                        self.waiting.push(reply);
                        if again.is_none() {
                            return SupervisorStep::Start;
                        }
                    }
                },
            }
        }
    }

    /// The fault to return while the pause after a failure lasts.
    fn too_early(&self) -> Option<ServerFault> {
        let left = self.backoff.not_before(Instant::now()) - Instant::now();
        if left <= PATIENCE {
            return None;
        }
        match &*self.shared.state.borrow() {
            ServerState::Failed { fault, .. } => Some(fault.clone()),
            ServerState::Ready { .. } | ServerState::Starting | ServerState::Stopped => None,
        }
    }

    /// Starts the server; requests that arrive meanwhile get the same result.
    async fn start(&mut self) -> StartResult {
        self.tell(ServerState::Starting);
        let shared = Arc::clone(&self.shared);
        let known = *shared.era.lock().unwrap_or_else(PoisonError::into_inner);
        let starting = RunningServer::start(&shared.config, &shared.settings, &shared.log, known);
        tokio::pin!(starting);
        loop {
            tokio::select! {
                started = &mut starting => return match started {
                    Ok(running) => StartResult::Ready(Box::new(running)),
                    Err(fault) => StartResult::Failed(fault),
                },
                demand = self.demands.recv() => match demand {
                    None => return StartResult::Left,
                    Some(SupervisorCommand::Connection { reply, .. }) => self.waiting.push(reply),
                    Some(SupervisorCommand::Stop(reply)) => {
                        self.waiting.clear();
                        let _gone = reply.send(());
                        return StartResult::Stopped;
                    }
                },
            }
        }
    }

    /// Supervises a running server until it ends or is to be stopped.
    async fn keep(&mut self, mut running: RunningServer) -> SupervisorStep {
        let connection = Arc::clone(&running.connection);
        self.remember(connection.era);
        if self.down.take().is_some() {
            tracing::info!(server = %self.shared.config.id, "an MCP server is there again");
        }
        self.tell(ready(&connection));
        for reply in self.waiting.drain(..) {
            let _gone = reply.send(Ok(Arc::clone(&connection)));
        }
        let since = Instant::now();
        loop {
            tokio::select! {
                // Check for the end first: a server that has ended is no answer to a request.
                biased;
                ended = running.ended() => {
                    running.end().await;
                    if since.elapsed() > self.shared.settings.longest_backoff {
                        self.backoff = Backoff::default();
                    }
                    self.failed(ServerFault::new(ended, crate::handshake::LOOK_AT_THE_LOG));
                    return SupervisorStep::Start;
                }
                demand = self.demands.recv() => match demand {
                    None => {
                        running.end().await;
                        return SupervisorStep::Leave;
                    }
                    Some(SupervisorCommand::Stop(reply)) => {
                        running.end().await;
                        let _gone = reply.send(());
                        return SupervisorStep::Wait;
                    }
                    Some(SupervisorCommand::Connection { instead_of, reply }) => {
                        let same = instead_of.is_some_and(|old| Arc::ptr_eq(&old, &connection));
                        if !same {
                            let _gone = reply.send(Ok(Arc::clone(&connection)));
                            continue;
                        }
                        running.end().await;
                        self.waiting.push(reply);
                        return SupervisorStep::Start;
                    }
                }
            }
        }
    }

    fn remember(&self, era: Era) {
        let mut known = self
            .shared
            .era
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *known = Some(era);
    }

    fn failed(&mut self, fault: ServerFault) {
        let pause = self.backoff.failed(&self.shared.settings);
        for reply in self.waiting.drain(..) {
            let _gone = reply.send(Err(fault.clone()));
        }
        let id = &self.shared.config.id;
        if self.down.as_ref() == Some(&fault) {
            tracing::debug!(server = %id, "an MCP server is down still: {fault}");
        } else {
            tracing::warn!(server = %id, "an MCP server is down: {fault}");
            self.down = Some(fault.clone());
        }
        self.tell(ServerState::Failed { fault, pause });
    }

    fn tell(&self, state: ServerState) {
        self.shared.state.send_replace(state);
    }
}

fn ready(connection: &ServerConnection) -> ServerState {
    let info = connection.info.server_info.as_ref();
    ServerState::Ready {
        era: connection.era,
        name: info.map(|info| format!("{} {}", info.name, info.version)),
        protocol: connection.info.protocol_version.as_str().to_owned(),
    }
}

/// The pauses between failures, doubled each time.
#[derive(Debug, Default)]
struct Backoff {
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    fn failed(&mut self, settings: &ClientSettings) -> Duration {
        let doubled = 2_u32.saturating_pow(self.failures);
        let pause = settings.backoff.saturating_mul(doubled);
        let pause = pause.min(settings.longest_backoff);
        self.failures = self.failures.saturating_add(1);
        self.until = Some(after(pause));
        pause
    }

    fn not_before(&self, now: Instant) -> Instant {
        self.until.unwrap_or(now)
    }
}

/// The longest pause that a request waits for; if more is left, the request fails at once.
const PATIENCE: Duration = Duration::from_secs(2);
