//! `jackfield serve`: the gateway.

use std::error::Error as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;

use jackfield_assembly::{LogFormat, Registry, ServerFiles};
use jackfield_server::{
    RunError, RunningGateway, immediate_shutdown_signal, shutdown_signal, start_log,
};

use crate::args::{Page, Serve};
use crate::commands::browser::link::{base, link};
use crate::commands::gateway_doctor::GatewayDoctor;
use crate::commands::{ask, printed};
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
    let base = base(scheme, running.address);
    // A log is no place for a token.
    let token = running.page_token().filter(|_| !open.is_empty());
    let page = match token {
        Some(token) if io::stderr().is_terminal() && log == LogFormat::Text => link(&base, token),
        Some(_) => format!("{base}/ (`jackfield page` prints its link)"),
        None => format!("{base}/"),
    };
    let lines = [says].into_iter().chain(bases(&base, &page));
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
pub(super) fn bases(base: &str, page: &str) -> [String; 4] {
    [
        format!("  Page:              {page}"),
        format!("  OpenAI clients:    OPENAI_BASE_URL={base}/v1"),
        format!("  Anthropic clients: ANTHROPIC_BASE_URL={base}"),
        format!("  Jackfield API:     {base}/api/v1/docs"),
    ]
}

/// Prints the link to the page of the gateway on this machine.
///
/// # Errors
///
/// [`CommandError`]: the configuration is wrong, or the token cannot be kept.
pub fn page(page: &Page) -> Result<Exit, CommandError> {
    let surroundings = ask::surroundings()?;
    let config = ask::load_config_in(&ask::flags(&page.setup), &surroundings)?;
    let serve = &config.serve;
    let scheme = if serve.tls.is_some() { "https" } else { "http" };
    let base = base(scheme, page.bind.unwrap_or(serve.bind));
    let link = if serve.has_clients() {
        render::remark("the page asks for a key, or a sign-in, so its link needs no token");
        format!("{base}/")
    } else {
        let token = config.page_token().map_err(|error| {
            let fault = CommandError::new(
                Exit::Configuration,
                "the token of the page's link cannot be kept",
            );
            let help =
                "let this user write its folder for data, or set XDG_DATA_HOME to another one";
            fault.with_cause(&error).with_help(help)
        })?;
        link(&base, &token)
    };
    let mut out = io::stdout();
    let printed = writeln!(out, "{link}").and_then(|()| out.flush());
    printed::finish(printed, Exit::Answered)
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
            | RunError::PageToken(_)
            | RunError::Secrets(_) => {
                let mut fault = Self::new(Exit::Configuration, error.to_string());
                fault.causes.extend(error.source().map(ToString::to_string));
                fault
            }
            error @ (RunError::Opening(_) | _) => Self::new(Exit::Internal, error.to_string()),
        }
    }
}
