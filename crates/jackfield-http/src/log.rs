//! The log of a server: on standard error, in lines for people or as JSON.

use std::fmt::Debug;
use std::io::IsTerminal as _;

use jackfield_assembly::LogFormat;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

/// Starts the log. `JACKFIELD_LOG` says what is in it; a filter that cannot be read is as good as none, and
/// then everything at `info` is logged but for what a library says of each connection to an MCP server.
pub fn start_log(format: LogFormat) {
    let asked = std::env::var("JACKFIELD_LOG").ok();
    let filter = asked.and_then(|filter| EnvFilter::try_new(filter).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new(USUAL));
    // A file, or what collects the log, is no terminal.
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colored = std::io::stderr().is_terminal() && !no_color;
    let log = tracing_subscriber::fmt()
        .with_ansi(colored)
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // Somebody else's log is as good as ours.
    let _started = match format {
        LogFormat::Json => log.json().flatten_event(true).try_init(),
        LogFormat::Text if colored => log.try_init(),
        LogFormat::Text => log.fmt_fields(plain()).try_init(),
    };
}

/// Fields as they are written by default, but for the colours: those are made out for each of them, and nearly
/// every request has a dozen, even where there are none.
fn plain() -> impl for<'w> FormatFields<'w> + 'static {
    let write = |writer: &mut Writer<'_>, field: &Field, value: &dyn Debug| match field.name() {
        "message" => write!(writer, "{value:?}"),
        name => write!(writer, "{name}={value:?}"),
    };
    debug_fn(write).delimited(" ")
}

/// What is logged where nothing is said.
const USUAL: &str = "info,rmcp=warn";
