//! The contract of a journal whose leases end.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::contract::journal::{JournalHarness, START};

jackfield_testkit::journal_contract!(Leased);

struct Leased {
    clock: Arc<AtomicI64>,
    journal: Arc<MemoryJournal>,
}

#[async_trait]
impl JournalHarness for Leased {
    async fn fresh() -> Self {
        let clock = Arc::new(AtomicI64::new(START.as_millis()));
        let told = Arc::clone(&clock);
        let now = move || WallTime::from_millis(told.load(Ordering::Relaxed));
        Self {
            clock,
            journal: Arc::new(MemoryJournal::with_clock(now).leased(AN_HOUR)),
        }
    }

    fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.journal) as _
    }

    fn set_clock(&self, now: WallTime) {
        self.clock.store(now.as_millis(), Ordering::Relaxed);
    }

    async fn reopened(&self) -> Arc<dyn Journal> {
        self.journal.close().await;
        Arc::new(self.journal.another_process())
    }

    async fn another_process(&self) -> Option<Arc<dyn Journal>> {
        Some(Arc::new(self.journal.another_process()))
    }

    async fn pass_leases(&self) {
        self.journal.pass_leases();
    }
}

#[tokio::test]
async fn a_session_whose_lease_has_passed_has_no_owner() {
    let journal = MemoryJournal::new().leased(AN_HOUR);
    let session = SessionId::parse("s").expect("a valid id");
    let lease = journal.own(&session).await.expect("a lease");
    assert!(journal.delete(&session).await.is_err());
    journal.pass_leases();
    assert!(lease.deadline.has_passed());
    journal.delete(&session).await.expect("deleted");
}

const AN_HOUR: Duration = Duration::from_secs(60 * 60);
