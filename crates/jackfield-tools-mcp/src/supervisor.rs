//! The task of one server, which starts it on demand, restarts it after its end, and stops it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jackfield_ports::mcp_observer::McpObservers;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::clock::after;
use crate::config::{ClientSettings, ServerConfig};
use crate::connection::{HttpReach, RunningServer, ServerConnection};
use crate::era::Era;
use crate::error::ServerFault;
use crate::link::OF_A_PROCESS;
use crate::log::Log;
use crate::mapping::picture::picture;
use crate::state::ServerState;

/// The state that a server's supervisor shares with its users.
pub(crate) struct ServerHandle {
    pub(crate) config: ServerConfig,
    pub(crate) era: Mutex<Option<Era>>,
    pub(crate) log: Arc<Log>,
    pub(crate) observers: McpObservers,
    pub(crate) settings: ClientSettings,
    pub(crate) state: watch::Sender<ServerState>,
    pub(crate) reach: HttpReach,
}

/// A request to the supervisor.
pub(crate) enum SupervisorCommand {
    /// A connection to a running server other than `instead_of`.
    Connection {
        instead_of: Option<Arc<ServerConnection>>,
        reply: oneshot::Sender<Result<Arc<ServerConnection>, ServerFault>>,
    },
    Stop(oneshot::Sender<()>),
}

/// The supervisor of one server. It ends, and stops the server, once all senders of requests are dropped.
pub(crate) struct Supervisor {
    backoff: Backoff,
    commands: mpsc::Receiver<SupervisorCommand>,
    /// The sessions that the server has forgotten, with their last requests in flight.
    draining: JoinSet<()>,
    /// The fault that was last logged, so that repeated identical failures are not logged again.
    last_fault: Option<ServerFault>,
    shared: Arc<ServerHandle>,
    /// Ends the sessions that the server has forgotten.
    stop_draining: CancellationToken,
    waiters: Vec<oneshot::Sender<Result<Arc<ServerConnection>, ServerFault>>>,
}

/// The next action of the supervisor.
enum SupervisorStep {
    Shutdown,
    Start,
    Wait,
}

enum StartResult {
    Shutdown,
    Failed(ServerFault),
    Ready(Box<RunningServer>),
    Stopped,
}

impl Supervisor {
    pub(crate) fn new(
        shared: Arc<ServerHandle>,
        commands: mpsc::Receiver<SupervisorCommand>,
    ) -> Self {
        Self {
            backoff: Backoff::default(),
            commands,
            draining: JoinSet::new(),
            last_fault: None,
            shared,
            stop_draining: CancellationToken::new(),
            waiters: Vec::new(),
        }
    }

    pub(crate) async fn run(mut self) {
        self.serve().await;
        self.end_draining().await;
    }

    async fn serve(&mut self) {
        // The instant of an automatic restart, which happens once after the server had been running.
        let mut restart_at: Option<Instant> = None;
        loop {
            let next = self.wait_for_command(restart_at.take()).await;
            match next {
                SupervisorStep::Shutdown => return,
                SupervisorStep::Wait => continue,
                SupervisorStep::Start => {}
            }
            match self.start().await {
                StartResult::Shutdown => return,
                StartResult::Stopped => self.set_state(ServerState::Stopped),
                StartResult::Failed(fault) => self.report_failure(fault),
                StartResult::Ready(running) => match self.supervise(*running).await {
                    SupervisorStep::Shutdown => return,
                    SupervisorStep::Start => {
                        restart_at = Some(self.backoff.next_attempt(Instant::now()));
                    }
                    SupervisorStep::Wait => self.set_state(ServerState::Stopped),
                },
            }
        }
    }

    /// Waits until a server is requested, or due to be restarted.
    async fn wait_for_command(&mut self, restart_at: Option<Instant>) -> SupervisorStep {
        let wake_at = restart_at.unwrap_or_else(Instant::now);
        loop {
            let command = tokio::select! {
                () = sleep_until(wake_at), if restart_at.is_some() => return SupervisorStep::Start,
                demand = self.commands.recv() => demand,
            };
            match command {
                None => return SupervisorStep::Shutdown,
                Some(SupervisorCommand::Stop(reply)) => {
                    self.set_state(ServerState::Stopped);
                    self.finish_stop(reply).await;
                    return SupervisorStep::Wait;
                }
                Some(SupervisorCommand::Connection { reply, .. }) => match self.backoff_fault() {
                    Some(fault) => {
                        let _gone = reply.send(Err(fault));
                    }
                    None => {
                        self.waiters.push(reply);
                        if restart_at.is_none() {
                            return SupervisorStep::Start;
                        }
                    }
                },
            }
        }
    }

    /// The fault to return while the pause after a failure lasts.
    fn backoff_fault(&self) -> Option<ServerFault> {
        let remaining = self.backoff.next_attempt(Instant::now()) - Instant::now();
        if remaining <= MAX_BACKOFF_WAIT {
            return None;
        }
        match &*self.shared.state.borrow() {
            ServerState::Failed { fault, .. } => Some(fault.clone()),
            ServerState::Ready { .. } | ServerState::Starting | ServerState::Stopped => None,
        }
    }

    /// Starts the server; requests that arrive meanwhile get the same result.
    async fn start(&mut self) -> StartResult {
        self.set_state(ServerState::Starting);
        let shared = Arc::clone(&self.shared);
        let known_era = *shared.era.lock().unwrap_or_else(PoisonError::into_inner);
        let (config, settings) = (&shared.config, &shared.settings);
        let (reach, observers) = (&shared.reach, &shared.observers);
        let starting =
            RunningServer::start(config, settings, &shared.log, known_era, reach, observers);
        tokio::pin!(starting);
        loop {
            tokio::select! {
                started = &mut starting => return match started {
                    Ok(running) => StartResult::Ready(Box::new(running)),
                    Err(fault) => StartResult::Failed(fault),
                },
                demand = self.commands.recv() => match demand {
                    None => return StartResult::Shutdown,
                    Some(SupervisorCommand::Connection { reply, .. }) => self.waiters.push(reply),
                    Some(SupervisorCommand::Stop(reply)) => {
                        self.finish_stop(reply).await;
                        return StartResult::Stopped;
                    }
                },
            }
        }
    }

    /// Supervises a running server until it ends or is to be stopped.
    async fn supervise(&mut self, mut running: RunningServer) -> SupervisorStep {
        let connection = Arc::clone(&running.connection);
        self.remember_era(connection.era);
        if self.last_fault.take().is_some() {
            tracing::info!(server = %self.shared.config.id, "an MCP server is there again");
        }
        self.set_state(ready_state(&connection));
        for reply in self.waiters.drain(..) {
            let _gone = reply.send(Ok(Arc::clone(&connection)));
        }
        let since = Instant::now();
        loop {
            tokio::select! {
                // Check for the end first: a server that has ended is no answer to a request.
                biased;
                ended = running.wait_for_exit() => {
                    if connection.has_lost_session() {
                        // The server is there, and sessions end: the next request begins another one.
                        tracing::debug!(server = %self.shared.config.id, "an MCP server has ended its session");
                        while self.draining.try_join_next().is_some() {}
                        self.draining.spawn(running.drain(self.stop_draining.clone()));
                        return SupervisorStep::Wait;
                    }
                    running.shutdown().await;
                    if since.elapsed() > self.shared.settings.longest_backoff {
                        self.backoff = Backoff::default();
                    }
                    self.report_failure(ServerFault::new(ended, OF_A_PROCESS.ended));
                    return SupervisorStep::Start;
                }
                demand = self.commands.recv() => match demand {
                    None => {
                        running.shutdown().await;
                        return SupervisorStep::Shutdown;
                    }
                    Some(SupervisorCommand::Stop(reply)) => {
                        running.shutdown().await;
                        self.finish_stop(reply).await;
                        return SupervisorStep::Wait;
                    }
                    Some(SupervisorCommand::Connection { instead_of, reply }) => {
                        let same = instead_of.is_some_and(|old| Arc::ptr_eq(&old, &connection));
                        if !same {
                            let _gone = reply.send(Ok(Arc::clone(&connection)));
                            continue;
                        }
                        running.shutdown().await;
                        self.waiters.push(reply);
                        return SupervisorStep::Start;
                    }
                }
            }
        }
    }

    /// Ends what is left of the server, and says so.
    async fn finish_stop(&mut self, reply: oneshot::Sender<()>) {
        self.waiters.clear();
        self.end_draining().await;
        let _gone = reply.send(());
    }

    /// Ends the sessions that the server has forgotten, with their last requests in flight.
    async fn end_draining(&mut self) {
        std::mem::take(&mut self.stop_draining).cancel();
        while self.draining.join_next().await.is_some() {}
    }

    fn remember_era(&self, era: Era) {
        let mut known_era = self
            .shared
            .era
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *known_era = Some(era);
    }

    fn report_failure(&mut self, fault: ServerFault) {
        let pause = self.backoff.record_failure(&self.shared.settings);
        for reply in self.waiters.drain(..) {
            let _gone = reply.send(Err(fault.clone()));
        }
        let id = &self.shared.config.id;
        if self.last_fault.as_ref() == Some(&fault) {
            tracing::debug!(server = %id, "an MCP server is down still: {fault}");
        } else {
            tracing::warn!(server = %id, "an MCP server is down: {fault}");
            self.last_fault = Some(fault.clone());
        }
        self.set_state(ServerState::Failed { fault, pause });
    }

    fn set_state(&self, state: ServerState) {
        self.shared.state.send_replace(state);
    }
}

fn ready_state(connection: &ServerConnection) -> ServerState {
    let info = connection.info.server_info.as_ref();
    ServerState::Ready {
        era: connection.era,
        icon: info
            .and_then(|info| info.icons.as_deref())
            .and_then(picture),
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
    fn record_failure(&mut self, settings: &ClientSettings) -> Duration {
        let doubled = 2_u32.saturating_pow(self.failures);
        let pause = settings.backoff.saturating_mul(doubled);
        let pause = pause.min(settings.longest_backoff);
        self.failures = self.failures.saturating_add(1);
        self.until = Some(after(pause));
        pause
    }

    fn next_attempt(&self, now: Instant) -> Instant {
        self.until.unwrap_or(now)
    }
}

/// The longest pause that a request waits for; if more is left, the request fails at once.
const MAX_BACKOFF_WAIT: Duration = Duration::from_secs(2);
