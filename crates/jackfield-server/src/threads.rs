//! The async runtime of a gateway.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// A runtime with one worker per available core, as more workers would only wake each other. On a single core it
/// has no worker thread: everything runs on the calling thread, which saves a wake-up per connection.
///
/// # Errors
///
/// The system has no threads or descriptors left.
pub fn runtime() -> io::Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let mut builder = if cores == 1 {
        Builder::new_current_thread()
    } else {
        Builder::new_multi_thread()
    };
    builder.worker_threads(cores).enable_all().build()
}
