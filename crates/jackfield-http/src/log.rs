//! The log of a server: on standard error, in lines for people or as JSON.

use std::io::IsTerminal as _;

use jackfield_assembly::LogFormat;
use tracing_subscriber::EnvFilter;

/// Starts the log. `JACKFIELD_LOG` says what is in it; a filter that cannot be read is as good as none, and
/// then everything at `info` is logged but for what a library says of each connection to an MCP server.
pub fn start_log(format: LogFormat) {
    let asked = std::env::var("JACKFIELD_LOG").ok();
    let filter = asked.and_then(|filter| EnvFilter::try_new(filter).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new(USUAL));
    // A file, or what collects the log, is no terminal.
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let log = tracing_subscriber::fmt()
        .with_ansi(std::io::stderr().is_terminal() && !no_color)
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // Somebody else's log is as good as ours.
    let _started = match format {
        LogFormat::Json => log.json().flatten_event(true).try_init(),
        LogFormat::Text => log.try_init(),
    };
}

/// What is logged where nothing is said.
const USUAL: &str = "info,rmcp=warn";
