//! A journal of a program's own, for one process and in memory: the adapter to copy for a database.
//!
//! What it stores are records, and one [`SessionFold`] per session, from which every answer but the records comes.

mod ledger;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use jackfield_assembly::{JournalFactory, JournalSettings};
use jackfield_domain::time::WallTime;
use jackfield_ports::chat_model::BoxError;
use jackfield_ports::journal::Journal;
#[cfg(doc)]
use jackfield_ports::journal::fold::SessionFold;

pub use self::ledger::Ledger;

/// Opens journals of the kind `ledger`.
#[derive(Debug)]
pub struct LedgerFactory;

impl JournalFactory for LedgerFactory {
    fn options(&self) -> &[&str] {
        &["label"]
    }

    fn open(&self, settings: JournalSettings) -> Result<Arc<dyn Journal>, BoxError> {
        match settings.options.get("label") {
            Some(label) if !label.is_string() => Err("`label` is a string".into()),
            _ => Ok(Arc::new(Ledger::new(now))),
        }
    }
}

fn now() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    WallTime::from_millis(0).after(since.unwrap_or_default())
}
