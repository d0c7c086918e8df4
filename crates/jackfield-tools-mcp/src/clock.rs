//! Instants in the future, safe for every configured duration.

use std::time::Duration;

use tokio::time::Instant;

/// The instant after this duration, capped at ten years: adding an arbitrary duration to an instant could panic.
pub(crate) fn after(time: Duration) -> Instant {
    Instant::now() + time.min(MAX_TIME)
}

const MAX_TIME: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
