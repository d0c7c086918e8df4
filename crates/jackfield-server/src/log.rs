//! The log of a server, on standard error: as text or as JSON.

use std::fmt::Debug;
use std::io::IsTerminal as _;
use std::sync::OnceLock;

use jackfield_assembly::LogFormat;
use jackfield_telemetry::LogLayer;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Starts the log. `JACKFIELD_LOG` is its filter. Without it, or if it is invalid, everything from `info` up is
/// logged, except for the MCP library's lines about each connection.
pub fn start_log(format: LogFormat) {
    let asked = std::env::var("JACKFIELD_LOG").ok();
    let filter = asked.and_then(|filter| EnvFilter::try_new(filter).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new(USUAL));
    // Colors only for a terminal, not for a file or a log collector.
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colored = std::io::stderr().is_terminal() && !no_color;
    let log = tracing_subscriber::fmt()
        .with_ansi(colored)
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // A subscriber that the embedding program installed is kept.
    let sent = LAYER.get_or_init(LogLayer::default).clone();
    let _started = match format {
        LogFormat::Json => log
            .json()
            .flatten_event(true)
            .finish()
            .with(sent)
            .try_init(),
        LogFormat::Text if colored => log.finish().with(sent).try_init(),
        LogFormat::Text => log.fmt_fields(plain()).finish().with(sent).try_init(),
    };
}

/// The layer that can pass the log on to a collector, if [`start_log`] was called.
pub(crate) fn layer() -> Option<&'static LogLayer> {
    LAYER.get()
}

/// The log belongs to the process, and so does this.
static LAYER: OnceLock<LogLayer> = OnceLock::new();

/// Formats fields as by default but without colors. The default computes them for every field even when colors
/// are off, and nearly every request has a dozen fields.
fn plain() -> impl for<'w> FormatFields<'w> + 'static {
    let write = |writer: &mut Writer<'_>, field: &Field, value: &dyn Debug| match field.name() {
        "message" => write!(writer, "{value:?}"),
        name => write!(writer, "{name}={value:?}"),
    };
    debug_fn(write).delimited(" ")
}

const USUAL: &str = "info,rmcp=warn";
