//! The log of a server: on standard error, in lines for people or as JSON.

use jackfield_assembly::LogFormat;
use tracing_subscriber::EnvFilter;

/// Starts the log. `JACKFIELD_LOG` says what is in it; a filter that cannot be read logs everything at
/// `info`, which is also what holds without one.
pub fn start_log(format: LogFormat) {
    let asked = std::env::var("JACKFIELD_LOG").ok();
    let filter = asked.and_then(|filter| EnvFilter::try_new(filter).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // Somebody else's log is as good as ours.
    let _started = match format {
        LogFormat::Json => log.json().flatten_event(true).try_init(),
        LogFormat::Text => log.try_init(),
    };
}
