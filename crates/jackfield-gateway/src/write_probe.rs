//! Whether the journal can be written.

use std::time::Duration;

use jackfield_engine::{Engine, Outage, chain};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Caches whether the journal is writable. The endpoint is public, so frequent probes must not cause frequent
/// writes.
#[derive(Debug, Default)]
pub(crate) struct WriteProbe(Mutex<Option<(Instant, Result<(), Unwritable>)>>);

/// The journal cannot be written, for this reason if it is known.
pub(crate) type Unwritable = Option<Outage>;

impl WriteProbe {
    pub(crate) async fn check(&self, engine: &Engine) -> Result<(), Unwritable> {
        let mut last = self.0.lock().await;
        if let Some((at, checked)) = *last
            && at.elapsed() < GOOD_FOR
        {
            // A write failure of a turn since then is newer than the cached result.
            return match checked {
                Ok(()) if engine.is_journal_failing() => Err(None),
                checked => checked,
            };
        }
        let tried = engine.check_writable().await;
        let checked = tried.map_err(|error| {
            tracing::warn!(error = %chain(&error), "the journal cannot be written");
            Outage::of(&error)
        });
        *last = Some((Instant::now(), checked));
        checked
    }
}

/// How long a result stays valid.
const GOOD_FOR: Duration = Duration::from_secs(2);
