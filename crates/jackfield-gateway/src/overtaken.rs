//! The wait for another process that begins the turn of an idempotency key.

use std::time::Duration;

use jackfield_dialect_kit::serve::ServeError;
use tokio::time::Instant;

use crate::failures;

/// The wait of a request with an idempotency key that was overtaken in its session: another process may be about to
/// begin the turn of the key.
#[derive(Debug, Default)]
pub struct OvertakenWait {
    began: Option<Instant>,
    /// The number of turns of the session, and since when it has had it.
    seen: Option<(u32, Instant)>,
}

impl OvertakenWait {
    /// Waits for a moment. Look for the turn of the key then, and if there is none, try again to begin it.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Unavailable`](jackfield_dialect_kit::serve::ServeErrorKind::Unavailable) if the session has had
    /// this number of turns for 15 seconds: the other process begins none, and still has the session. The same after a minute
    /// in which other messages were always first.
    pub async fn pause(&mut self, turns: u32) -> Result<(), ServeError> {
        let now = Instant::now();
        let began = *self.began.get_or_insert(now);
        let (known, since) = self.seen.get_or_insert((turns, now));
        if *known != turns {
            (*known, *since) = (turns, now);
        }
        if since.elapsed() >= KEY_LIMIT || began.elapsed() >= LONGEST {
            return Err(failures::begins_elsewhere());
        }
        tokio::time::sleep(KEY_POLL).await;
        Ok(())
    }
}

/// Longer than the default lease. Where the lease is longer, and the other process was lost before it began the turn, the
/// client has to come again.
const KEY_LIMIT: Duration = Duration::from_secs(15);
/// The longest wait, where other messages are always first.
const LONGEST: Duration = Duration::from_secs(60);
const KEY_POLL: Duration = Duration::from_millis(50);
