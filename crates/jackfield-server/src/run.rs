//! Runs a server from the configuration: journal, recovery, listener and graceful shutdown.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::uri::InvalidUri;
use jackfield_assembly::{
    Condition, Config, ConfigError, Damage, Environment, JournalOpenError, OpenJournal, PageToken,
    Registry, ServerFiles, ServerSet, ServerToolbox, restored_help,
};
use jackfield_domain::request::ModelRef;
use jackfield_engine::{
    DriveOutcome, Engine, EngineError, Keeper, KeeperOptions, KeptSession, McpObserver, Pruner,
    Retention, SecretError, TurnObserver, chain,
};
use jackfield_gateway::{Doctor, Gateway, GatewayMetrics};
use jackfield_http::Certificate;
use jackfield_telemetry::Metrics;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::certificate::{CertificateFiles, TlsError};
use crate::exporters::Exporters;
use crate::gateway::gateway;

/// Why a gateway does not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The address cannot be bound.
    #[error("the gateway cannot listen on {address}")]
    CannotListen {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    /// The address of the collector of OpenTelemetry data is none.
    #[error("the address of the collector in [serve.otlp] cannot be read")]
    Collector(#[source] InvalidUri),
    /// The file of the journal is damaged. Further writes could be lost, or make it worse.
    #[error("{0}")]
    Damaged(Damage),
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The journal cannot be opened.
    #[error(transparent)]
    Journal(#[from] JournalOpenError),
    /// The address is public, and there is neither a token in the configuration nor a key in the journal.
    #[error(
        "{address} can be reached from elsewhere, and no token is configured: \
         make a key with `jackfield keys create`, add a token under [serve.tokens], or listen on 127.0.0.1"
    )]
    NeedsToken { address: SocketAddr },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The journal cannot be used, so it may have keys that the gateway does not know, and no token is configured.
    #[error(
        "the journal cannot be used, and with it the keys that it may have: {why}. Mend it, or add a token under \
         [serve.tokens]"
    )]
    NoKeys {
        /// Why it cannot be used.
        why: String,
    },
    /// The journal has secrets that cannot be opened.
    #[error(transparent)]
    Secrets(#[from] SecretError),
    /// There can be no token for the page's link.
    #[error("the gateway cannot make a token for its page")]
    PageToken(#[source] io::Error),
    /// The task that opens the journal failed.
    #[error("the journal cannot be opened")]
    Opening(#[from] tokio::task::JoinError),
}

#[derive(Debug)]
#[non_exhaustive]
pub struct RunningGateway {
    pub address: SocketAddr,
    certificate: Option<(CertificateFiles, Certificate)>,
    exporters: Option<Exporters>,
    gateway: Gateway,
    journal: OpenJournal,
    keeper: Keeper,
    listener: TcpListener,
    metrics: Option<Arc<Metrics>>,
    page_token: Option<PageToken>,
    pruner: Option<Pruner>,
    server_files: Option<ServerFiles>,
    servers: ServerSet,
    tasks: JoinSet<()>,
}

impl RunningGateway {
    /// Opens the journal, recovers the turns in it, and binds the address. [`run_until`](Self::run_until) accepts
    /// connections.
    ///
    /// # Errors
    ///
    /// [`RunError`], before any conversation was touched.
    pub async fn start(
        config: Config,
        environment: &Environment,
        registry: &Registry,
    ) -> Result<Self, RunError> {
        let bind = config.serve.bind;
        raise_open_files();
        let collector = config.otlp_collector(environment)?;
        let exporters = collector.map(Exporters::to).transpose();
        let mut exporters = exporters.map_err(RunError::Collector)?;
        let otlp = &config.serve.otlp;
        let has_metrics = config.serve.metrics || (exporters.is_some() && otlp.metrics);
        let metrics = has_metrics.then(|| {
            let version = env!("CARGO_PKG_VERSION");
            let metrics = Metrics::new(version).expecting(&named_models(&config));
            Arc::new(metrics.by_tags(&config.tags))
        });
        let traces = exporters.as_mut().filter(|_| otlp.traces);
        let traces = traces.map(|exporters| Arc::new(exporters.send_traces()));
        let of_metrics = metrics
            .clone()
            .map(|metrics| metrics as Arc<dyn McpObserver>);
        let of_traces = traces.clone().map(|traces| traces as Arc<dyn McpObserver>);
        let mut prepared = registry
            .clone()
            .redact_host_details()
            .mcp_observers(of_metrics.into_iter().chain(of_traces).collect())
            .prepare(&config, environment)?;
        let of_metrics = metrics
            .clone()
            .map(|metrics| metrics as Arc<dyn TurnObserver>);
        let of_traces = traces.map(|traces| traces as Arc<dyn TurnObserver>);
        for observer in of_metrics.into_iter().chain(of_traces) {
            prepared = prepared.turn_observer(observer);
        }
        let (reading, surroundings) = (config.clone(), environment.clone());
        let keys = tokio::task::spawn_blocking(move || reading.master_keys(&surroundings));
        prepared = prepared.master_keys(keys.await??);
        let tls = config.serve.tls.clone();
        let certificate = tls.map(CertificateFiles::open).transpose()?;
        let cannot = |source| RunError::CannotListen {
            address: bind,
            source,
        };
        // The address is bound early, and connections are refused until the journal is open.
        let socket = bind_socket(bind).map_err(cannot)?;
        let address = socket.local_addr().map_err(cannot)?;
        let (opening, kinds) = (config.clone(), registry.clone());
        let journal = tokio::task::spawn_blocking(move || kinds.open_journal(&opening)).await??;
        let Condition {
            damage, restored, ..
        } = journal.condition(CHECK_TIME_LIMIT).await;
        if let Some(damage) = damage {
            let _late = tokio::time::timeout(SHUTDOWN_TIME_LIMIT, journal.close()).await;
            return Err(RunError::Damaged(damage));
        }
        if !bind.ip().is_loopback() && !config.serve.has_clients() {
            let engine = Engine::builder(Arc::clone(&journal.journal)).build();
            if !has_keys(&engine).await {
                journal.close().await;
                return Err(RunError::NeedsToken { address: bind });
            }
        }
        if let Some(restored) = &restored {
            let help = restored_help(restored);
            tracing::error!(why = %restored, help, "the journal is older than what was written to it");
        }
        if let Some(unkept) = &journal.not_persisted {
            let why = unkept.causes.join(": ");
            // The file may have keys, without which the gateway would be open.
            if unkept.has_file && !config.serve.has_clients() {
                return Err(RunError::NoKeys { why });
            }
            tracing::warn!(why, help = unkept.help, "nothing is kept");
        }
        if let Some(exporters) = exporters.as_mut().filter(|_| config.serve.otlp.logs) {
            exporters.send_log();
        }
        let assembled = prepared.with_journal(Arc::clone(&journal.journal));
        // Without a look, secrets may be there that this process cannot open.
        if let Err(error) = assembled.engine.check_secrets().await {
            journal.close().await;
            return Err(error.into());
        }
        for (provider, missing) in &assembled.missing_keys {
            // Many providers are configured by default. Only the one of the default model deserves a warning.
            if *provider == assembled.options.model.provider {
                tracing::warn!(%provider, why = missing.reason, "the provider of the model has no key");
            } else {
                tracing::debug!(%provider, why = missing.reason, "a provider has no key");
            }
        }
        let retention = Retention {
            min_age: RECENT,
            ..config.journal.retention()
        };
        let servers = assembled.servers.clone();
        let recovered_turns = config.serve.limits.recovered_turns;
        let shown = metrics
            .clone()
            .map(|metrics| metrics as Arc<dyn GatewayMetrics>);
        let page_token = page_token(&config).await;
        let page_token = page_token.map_err(RunError::PageToken)?;
        let token = page_token.as_ref();
        let gateway = gateway(assembled, &config, environment, shown, token)?;
        let mut tasks = JoinSet::new();
        if let Some(metrics) = metrics.clone() {
            let engine = gateway.engine().clone();
            if let Some(exporters) = exporters.as_mut().filter(|_| config.serve.otlp.metrics) {
                exporters.send_metrics(Arc::clone(&metrics), engine.clone());
            }
            tasks.spawn(async move { metrics.follow_journal(&engine).await });
        }
        let pruner =
            (!retention.keeps_everything()).then(|| gateway.engine().spawn_pruner(retention));
        let listener = socket.listen(BACKLOG).map_err(cannot)?;
        let keeper = spawn_keeper(&gateway, recovered_turns);
        Ok(Self {
            address,
            certificate,
            exporters,
            gateway,
            journal,
            keeper,
            listener,
            metrics,
            page_token,
            pruner,
            server_files: None,
            servers,
            tasks,
        })
    }

    /// Follows these files while it serves: MCP servers that are changed there replace the present ones.
    #[must_use]
    pub fn following(mut self, files: ServerFiles) -> Self {
        self.server_files = Some(files);
        self
    }

    /// Lets admins run these checks of the installation.
    #[must_use]
    pub fn checked_by(self, doctor: Arc<dyn Doctor>) -> Self {
        self.gateway.set_doctor(doctor);
        self
    }

    /// Whether the gateway accepts requests without a token. One whose journal cannot be read does not.
    #[must_use]
    pub async fn is_open(&self) -> bool {
        self.gateway.is_open().await.unwrap_or(false)
    }

    /// The token of the page's link, if the page needs one.
    #[must_use]
    pub const fn page_token(&self) -> Option<&PageToken> {
        self.page_token.as_ref()
    }

    #[must_use]
    pub const fn has_tls(&self) -> bool {
        self.certificate.is_some()
    }

    /// The engine that the gateway answers with.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        self.gateway.engine()
    }

    /// Serves until `shutdown`, then shuts down gracefully: work in flight has the drain time, but no longer than
    /// until `at_once`. The rest is recovered at the next start.
    pub async fn run_until(
        self,
        shutdown: impl Future<Output = ()>,
        at_once: impl Future<Output = ()>,
    ) {
        let Self {
            certificate,
            exporters,
            gateway,
            journal,
            keeper,
            listener,
            metrics,
            pruner,
            server_files,
            servers,
            tasks,
            ..
        } = self;
        let following = server_files.map(|files| tokio::spawn(files.follow(servers.clone())));
        let mut renewing = None;
        let certificate = certificate.map(|(files, certificate)| {
            let (sender, present) = watch::channel(certificate);
            renewing = Some(tokio::spawn(files.follow(sender)));
            present
        });
        jackfield_http::serve(listener, certificate, gateway.clone(), shutdown, at_once).await;
        for task in [following, renewing].into_iter().flatten() {
            task.abort();
        }
        drop((keeper, pruner, tasks));
        let _late =
            tokio::time::timeout(SHUTDOWN_TIME_LIMIT, gateway.engine().flush_receipts()).await;
        if let Some(exporters) = exporters {
            let _late = tokio::time::timeout(SHUTDOWN_TIME_LIMIT, exporters.end()).await;
        }
        if let Some(metrics) = metrics {
            let leaving = metrics.leave_journal(gateway.engine());
            let _late = tokio::time::timeout(SHUTDOWN_TIME_LIMIT, leaving).await;
        }
        stop(servers.all()).await;
        let _late = tokio::time::timeout(SHUTDOWN_TIME_LIMIT, journal.close()).await;
        tracing::info!("ended");
    }
}

/// A socket bound to this address, which refuses connections.
fn bind_socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // Lets a restarted gateway bind at once. Elsewhere than on Unix, the option permits more.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Raises the limit of open files as far as allowed, up to [`MAX_OPEN_FILES`]. Each client needs one descriptor, and
/// so does its request to the provider.
fn raise_open_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = maximum.unwrap_or(MAX_OPEN_FILES).min(MAX_OPEN_FILES);
        if current.is_some_and(|current| current < wanted) {
            let limit = Rlimit {
                current: Some(wanted),
                maximum,
            };
            if let Err(error) = setrlimit(Resource::Nofile, limit) {
                tracing::debug!(%error, "no more files can be open than before");
            }
        }
    }
}

/// The models that the configuration names.
fn named_models(config: &Config) -> Vec<ModelRef> {
    let assistants = config.assistants.values();
    let assistants = assistants.map(|assistant| &assistant.options.model);
    let targets = config.routes.values().flat_map(|route| &route.targets);
    let models = targets.map(|target| &target.model).chain(assistants);
    let models = models.chain(config.aliases.values());
    let models = models.chain([&config.options.model]);
    models.cloned().collect()
}

/// The token of the page's link, where no token is configured. One that cannot be kept is good for this process alone.
async fn page_token(config: &Config) -> io::Result<Option<PageToken>> {
    if config.serve.has_clients() {
        return Ok(None);
    }
    let reading = config.clone();
    let kept = tokio::task::spawn_blocking(move || reading.page_token()).await;
    match kept.map_err(io::Error::other).and_then(|kept| kept) {
        Ok(token) => Ok(Some(token)),
        Err(error) => {
            tracing::warn!(%error, "the token of the page's link is not kept");
            PageToken::new().map(Some)
        }
    }
}

fn spawn_keeper(gateway: &Gateway, recovered_turns: usize) -> Keeper {
    let options = KeeperOptions {
        max_concurrent: recovered_turns,
        ..KeeperOptions::new(gateway.policy().clone())
    };
    gateway.engine().spawn_keeper(options, |kept| {
        let KeptSession { outcome, session } = kept;
        match outcome {
            Ok(driven) => {
                let turn = match &driven {
                    DriveOutcome::Finished(report) => &report.turn,
                    DriveOutcome::Waiting(waiting) => &waiting.turn,
                };
                tracing::info!(%session, %turn, "a turn was taken up");
            }
            // Recovered at the next start, which is logged once for all turns.
            Err(EngineError::Draining) => {}
            // Another driver was faster, such as the turn's own client. The turn continues all the same.
            Err(error @ EngineError::Busy { .. }) => {
                tracing::debug!(%error, "another process took up the turn");
            }
            Err(error) => {
                tracing::warn!(%session, error = %chain(&error), "a turn cannot be taken up");
            }
        }
    })
}

/// Whether the journal has a key of a client. A journal that cannot be read counts as one without.
async fn has_keys(engine: &Engine) -> bool {
    match engine.directory() {
        Some(directory) => directory.has_keys().await.unwrap_or(false),
        None => false,
    }
}

/// Stops all servers concurrently. Slow ones are left to their guards.
async fn stop(servers: Vec<ServerToolbox>) {
    let mut stopping = JoinSet::new();
    for server in servers {
        stopping.spawn(async move { server.stop().await });
    }
    let _in_time = tokio::time::timeout(SHUTDOWN_TIME_LIMIT, stopping.join_all()).await;
}

/// The maximum number of open files.
#[cfg(unix)]
const MAX_OPEN_FILES: u64 = 65_536;

/// The time limit of the integrity check before connections are accepted.
const CHECK_TIME_LIMIT: Duration = Duration::from_secs(1);
/// The listen backlog: connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// How long the shutdown waits for servers, and for the journal.
const SHUTDOWN_TIME_LIMIT: Duration = Duration::from_secs(1);

/// How long a recently used session is retained in any case: its client may still fetch the reply.
const RECENT: Duration = Duration::from_secs(15 * 60);
