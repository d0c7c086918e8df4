//! The meters in memory, encoded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use jackfield_domain::quota::{Meter, MeterOperation, MeterOutcome};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::meters::Meters;

use super::MemoryJournal;

/// The meters by name, in their stored form.
pub(super) type MeterTable = Arc<Mutex<HashMap<Arc<str>, Vec<u8>>>>;

#[async_trait]
impl Meters for MemoryJournal {
    async fn perform(&self, operation: &MeterOperation) -> Result<MeterOutcome, JournalError> {
        self.perform_on_meters(operation)
    }
}

impl MemoryJournal {
    pub(super) fn perform_on_meters(
        &self,
        operation: &MeterOperation,
    ) -> Result<MeterOutcome, JournalError> {
        let mut table = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        let stored = operation.meters().map(|name| match table.get(name) {
            Some(record) => jackfield_record::decode_meter(record).map_err(unreachable),
            None => Ok(Meter::default()),
        });
        let mut meters = stored.collect::<Result<Vec<Meter>, _>>()?;
        let outcome = operation.apply(&mut meters);
        for (name, meter) in operation.meters().zip(&meters) {
            let record = jackfield_record::encode_meter(meter).map_err(unreachable)?;
            table.insert(Arc::clone(name), record);
        }
        Ok(outcome)
    }
}

pub(super) fn unreachable(error: impl std::error::Error + Send + Sync + 'static) -> JournalError {
    JournalError::Unreachable {
        source: error.into(),
    }
}
