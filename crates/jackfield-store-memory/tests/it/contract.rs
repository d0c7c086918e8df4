//! The contract of a journal, and what holds for this one besides.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_ports::journal::{Delivered, Journal};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::contract::journal::{JournalHarness, START};

jackfield_testkit::journal_contract!(Memory);

struct Memory {
    clock: Arc<AtomicI64>,
    journal: Arc<MemoryJournal>,
}

#[async_trait]
impl JournalHarness for Memory {
    async fn fresh() -> Self {
        let clock = Arc::new(AtomicI64::new(START.as_millis()));
        let told = Arc::clone(&clock);
        let now = move || WallTime::from_millis(told.load(Ordering::Relaxed));
        Self {
            clock,
            journal: Arc::new(MemoryJournal::with_clock(now)),
        }
    }

    fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.journal) as _
    }

    fn set_clock(&self, now: WallTime) {
        self.clock.store(now.as_millis(), Ordering::Relaxed);
    }
}

#[tokio::test]
async fn without_a_clock_of_its_own_a_journal_takes_the_time_from_the_system() {
    let journal = MemoryJournal::new();
    let session = SessionId::parse("s").expect("a valid id");
    journal.own(&session).await.expect("an epoch");
    let body = DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: jackfield_domain::ids::TurnId::derive(&session, 1),
    };
    let id = jackfield_domain::ids::DeliveryId::parse("d").expect("a valid id");
    let delivered = journal.deliver(&session, id, "test".into(), body).await;
    assert_eq!(delivered.expect("an answer"), Delivered::Accepted);
    let deliveries = journal.inbox(&session, 0).await.expect("the inbox");
    // Some time after this was written.
    assert!(deliveries[0].at > WallTime::from_millis(1_750_000_000_000));
}
