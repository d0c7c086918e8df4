//! Instants to come, whatever durations are configured.

use std::time::Duration;

use tokio::time::Instant;

/// The instant when this much time has passed. What is longer than ten years is ten years: adding
/// any duration to an instant could panic.
pub(crate) fn after(time: Duration) -> Instant {
    Instant::now() + time.min(LONGEST)
}

const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
