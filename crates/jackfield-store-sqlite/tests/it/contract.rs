//! The contract of a journal.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal;
use jackfield_store_sqlite::SqliteJournal;
use jackfield_testkit::contract::journal::JournalHarness;

use crate::harness::Place;

jackfield_testkit::journal_contract!(Sqlite);

struct Sqlite {
    journal: Mutex<Arc<SqliteJournal>>,
    place: Place,
}

impl Sqlite {
    fn current(&self) -> Arc<SqliteJournal> {
        let journal = self.journal.lock();
        Arc::clone(&journal.unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl JournalHarness for Sqlite {
    async fn fresh() -> Self {
        let place = Place::new();
        Self {
            journal: Mutex::new(Arc::new(place.open())),
            place,
        }
    }

    fn journal(&self) -> Arc<dyn Journal> {
        self.current()
    }

    async fn reopened(&self) -> Arc<dyn Journal> {
        self.current().close().await;
        let again = Arc::new(self.place.open());
        *self.journal.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&again);
        again
    }

    fn set_clock(&self, now: WallTime) {
        self.place.clock.store(now.as_millis(), Ordering::Relaxed);
    }
}
