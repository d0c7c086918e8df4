//! The log, on standard error, if `JACKFIELD_LOG` is set.

use tracing_subscriber::EnvFilter;

/// Starts the log if it is enabled. With an invalid filter, everything from `info` up is logged.
pub(crate) fn start() {
    let Ok(filter) = std::env::var("JACKFIELD_LOG") else {
        return;
    };
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // A subscriber that the embedding program installed is kept.
    let _started = log.try_init();
}
