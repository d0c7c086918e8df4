//! The contract, kept by the ledger, and the whole command line with it.
#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

mod command;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use jackfield_domain::time::WallTime;
use jackfield_journal_ledger::Ledger;
use jackfield_ports::journal::Journal;
use jackfield_testkit::contract::journal::{JournalHarness, START};

jackfield_testkit::journal_contract!(LedgerHarness);

struct LedgerHarness {
    clock: Arc<AtomicI64>,
    journal: Arc<Ledger>,
}

#[async_trait]
impl JournalHarness for LedgerHarness {
    async fn fresh() -> Self {
        let clock = Arc::new(AtomicI64::new(START.as_millis()));
        let told = Arc::clone(&clock);
        let now = move || WallTime::from_millis(told.load(Ordering::Relaxed));
        Self {
            clock,
            journal: Arc::new(Ledger::new(now)),
        }
    }

    fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.journal) as _
    }

    fn set_clock(&self, now: WallTime) {
        self.clock.store(now.as_millis(), Ordering::Relaxed);
    }
}
