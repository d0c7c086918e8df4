//! The threads of a gateway.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// A runtime for a gateway: a worker for each core that it may use, as more would only wake each other. Where
/// that is one core there is no worker at all but the thread that calls: it would have to be woken for every
/// connection.
///
/// # Errors
///
/// If the system has no threads or descriptors left.
pub fn runtime() -> io::Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let mut builder = if cores == 1 {
        Builder::new_current_thread()
    } else {
        Builder::new_multi_thread()
    };
    builder.worker_threads(cores).enable_all().build()
}
