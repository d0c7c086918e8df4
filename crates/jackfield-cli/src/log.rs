//! The log: on standard error, and only where `JACKFIELD_LOG` asks for it.

use tracing_subscriber::EnvFilter;

/// Starts the log, if it is asked for. A filter that cannot be read logs everything at `info`.
pub(crate) fn start() {
    let Ok(filter) = std::env::var("JACKFIELD_LOG") else {
        return;
    };
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // Somebody else's log is as good as ours.
    let _started = log.try_init();
}
