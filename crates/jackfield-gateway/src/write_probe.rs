//! Whether the journal can be written.

use std::time::Duration;

use jackfield_engine::{Engine, chain};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Caches whether the journal is writable. The endpoint is public, so frequent probes must not cause frequent
/// writes.
#[derive(Debug, Default)]
pub(crate) struct WriteProbe(Mutex<Option<(Instant, bool)>>);

impl WriteProbe {
    pub(crate) async fn is_writable(&self, engine: &Engine) -> bool {
        let mut last = self.0.lock().await;
        if let Some((at, is_writable)) = *last
            && at.elapsed() < GOOD_FOR
        {
            // A write failure of a turn since then is newer than the cached result.
            return is_writable && !engine.is_journal_failing();
        }
        let tried = engine.check_writable().await;
        if let Err(error) = &tried {
            tracing::warn!(error = %chain(error), "the journal cannot be written");
        }
        *last = Some((Instant::now(), tried.is_ok()));
        tried.is_ok()
    }
}

/// How long a result stays valid.
const GOOD_FOR: Duration = Duration::from_secs(2);
