//! The right to show the ledger, which one of the processes with a journal has at a time.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::quota::{MeterOperation, MeterOutcome, Quota};
use jackfield_domain::time::WallTime;
use jackfield_engine::{Engine, EngineError};

/// The right of this process to show the ledger. It is a meter of the journal that has room for one: it ends by itself
/// if it is not renewed, so that a process that was killed gives it up, too.
#[derive(Debug)]
pub(super) struct LedgerRight {
    /// The name of this process among those with the journal; `None` without random numbers.
    id: Option<Arc<str>>,
}

impl Default for LedgerRight {
    fn default() -> Self {
        let mut random = [0; 16];
        let id = getrandom::fill(&mut random).ok();
        let id = id.map(|()| format!("{:032x}", u128::from_be_bytes(random)).into());
        Self { id }
    }
}

impl LedgerRight {
    /// Takes or renews the right, and says until when it holds; `None` if another process has it.
    ///
    /// A journal without meters has one process.
    ///
    /// # Errors
    ///
    /// The journal cannot be reached.
    pub(super) async fn take(
        &self,
        engine: &Engine,
        now: WallTime,
    ) -> Result<Option<WallTime>, EngineError> {
        let until = now.after(RIGHT_LASTS);
        if !engine.keeps_meters() {
            return Ok(Some(until));
        }
        let Some(id) = self.id.clone() else {
            return Ok(None);
        };
        let room = Quota {
            parallel: Some(1),
            ..Quota::default()
        };
        let operation = MeterOperation::Admit {
            id,
            now,
            quotas: vec![(METER.into(), room)],
            until,
        };
        match engine.perform_on_meters(&operation).await? {
            MeterOutcome::Done(_) => Ok(Some(until)),
            MeterOutcome::Exhausted(_) | MeterOutcome::Refused(_) | MeterOutcome::Seen(_) => {
                Ok(None)
            }
        }
    }

    /// Gives the right up, if this process has it.
    pub(super) async fn end(&self, engine: &Engine) {
        let Some(id) = self.id.clone().filter(|_| engine.keeps_meters()) else {
            return;
        };
        let operation = MeterOperation::Release {
            id,
            meters: vec![METER.into()],
        };
        // Otherwise it ends by itself.
        let _unreachable = engine.perform_on_meters(&operation).await;
    }
}

/// The name of the meter. Those of quotas begin with their kind and a colon.
const METER: &str = "ledger";
/// How long the right holds.
const RIGHT_LASTS: Duration = Duration::from_secs(10);
