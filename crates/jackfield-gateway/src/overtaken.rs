//! The wait for another process that begins the turn of an idempotency key.

use std::time::Duration;

use jackfield_dialect_kit::serve::ServeError;
use tokio::time::Instant;

use crate::failures;

/// The wait of a request with an idempotency key that was overtaken in its session: another process may be about to
/// begin the turn of the key.
#[derive(Debug, Default)]
pub struct OvertakenWait(Option<(u32, Instant)>);

impl OvertakenWait {
    /// Waits for a moment. Look for the turn of the key then, and if there is none, try again to begin it.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Unavailable`](jackfield_dialect_kit::serve::ServeErrorKind::Unavailable) if the session has had
    /// this number of turns for 15 seconds: the other process begins none, and still has the session.
    pub async fn pause(&mut self, turns: u32) -> Result<(), ServeError> {
        let now = Instant::now();
        let (known, since) = self.0.get_or_insert((turns, now));
        if *known != turns {
            (*known, *since) = (turns, now);
        }
        if since.elapsed() >= KEY_LIMIT {
            return Err(failures::begins_elsewhere());
        }
        tokio::time::sleep(KEY_POLL).await;
        Ok(())
    }
}

/// Longer than the default lease. Where the lease is longer, and the other process was lost before it began the turn, the
/// client has to come again.
const KEY_LIMIT: Duration = Duration::from_secs(15);
const KEY_POLL: Duration = Duration::from_millis(50);
