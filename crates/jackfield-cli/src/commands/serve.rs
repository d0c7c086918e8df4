//! `jackfield serve`: the gateway.

use std::error::Error as _;
use std::net::SocketAddr;
use std::sync::Arc;

use jackfield_assembly::{LogFormat, Registry, ServerFiles};
use jackfield_server::{
    RunError, RunningGateway, immediate_shutdown_signal, shutdown_signal, start_log,
};

use crate::args::Serve;
use crate::commands::ask;
use crate::commands::gateway_doctor::GatewayDoctor;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;

/// Serves until shutdown.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(serve: Serve, registry: &Registry) -> Result<Exit, CommandError> {
    let mut flags = ask::flags(&serve.setup);
    flags.model = serve.model;
    let surroundings = ask::surroundings()?;
    let environment = surroundings.environment.clone();
    let mut config = ask::load_config_in(&flags, &surroundings)?;
    let doctor = GatewayDoctor {
        flags: flags.clone(),
        registry: registry.clone(),
        surroundings: surroundings.clone(),
    };
    let files = ServerFiles::new(surroundings, flags, registry.clone(), &config);
    if let Some(bind) = serve.bind {
        config.serve.bind = bind;
    }
    let log = config.serve.log;
    start_log(log);
    let running = RunningGateway::start(config, &environment, registry).await?;
    let running = running.following(files).checked_by(Arc::new(doctor));
    let open = if running.is_open().await {
        "; open to every program on this machine"
    } else {
        ""
    };
    // Signal handlers are installed before the address is announced, so that a reader of it can end the process.
    let ends = shutdown_signal();
    let scheme = if running.has_tls() { "https" } else { "http" };
    let says = format!("listening on {scheme}://{}{open}", running.address);
    let lines = [says].into_iter().chain(bases(scheme, running.address));
    for line in lines {
        match log {
            // A collector of JSON logs cannot parse other lines.
            LogFormat::Json => tracing::info!("{line}"),
            LogFormat::Text => render::remark(&line),
        }
    }
    running.run_until(ends, immediate_shutdown_signal()).await;
    Ok(Exit::Answered)
}

/// The address of the page, and what clients are given as their base URL, a line each.
fn bases(scheme: &str, address: SocketAddr) -> [String; 4] {
    let port = address.port();
    // No client can connect to all addresses at once.
    let host = match address.ip() {
        ip if ip.is_unspecified() => format!("localhost:{port}"),
        _ => address.to_string(),
    };
    [
        format!("  Page:              {scheme}://{host}/"),
        format!("  OpenAI clients:    OPENAI_BASE_URL={scheme}://{host}/v1"),
        format!("  Anthropic clients: ANTHROPIC_BASE_URL={scheme}://{host}"),
        format!("  Jackfield API:     {scheme}://{host}/api/v1/docs"),
    ]
}

impl From<RunError> for CommandError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Config(error) => error.into(),
            RunError::Journal(error) => error.into(),
            RunError::CannotListen { .. } => {
                let mut fault = Self::new(Exit::Configuration, error.to_string());
                fault.causes.extend(error.source().map(ToString::to_string));
                fault.with_help("name another address with `--bind`, or `bind` under [serve]; port 0 takes a free one")
            }
            RunError::Damaged(damage) => {
                Self::new(Exit::Damaged, damage.to_string()).with_help(damage.help)
            }
            RunError::NeedsToken { .. } => Self::new(Exit::Configuration, error.to_string())
                .with_help("`openssl rand -hex 24` makes a token; docs/configuration.md shows where it belongs"),
            RunError::Tls(_)
            | RunError::Collector(_)
            | RunError::NoKeys { .. }
            | RunError::Secrets(_) => {
                let mut fault = Self::new(Exit::Configuration, error.to_string());
                fault.causes.extend(error.source().map(ToString::to_string));
                fault
            }
            error @ (RunError::Opening(_) | _) => Self::new(Exit::Internal, error.to_string()),
        }
    }
}
