//! The contract of a journal: written to by its thread alone, and by whoever asks wherever that may be.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal;
use jackfield_store_sqlite::SqliteJournal;
use jackfield_testkit::contract::journal::JournalHarness;

use crate::harness::Place;

mod by_its_thread {
    jackfield_testkit::journal_contract!(super::Sqlite<0>);

    mod directory {
        jackfield_testkit::directory_contract!(super::super::Sqlite<0>);
    }

    mod logins {
        jackfield_testkit::logins_contract!(super::super::Sqlite<0>);
    }

    mod upstream_responses {
        jackfield_testkit::upstream_responses_contract!(super::super::Sqlite<0>);
    }

    mod meters {
        jackfield_testkit::meters_contract!(super::super::Sqlite<0>);
    }

    mod secrets {
        jackfield_testkit::secrets_contract!(super::super::Sqlite<0>);
    }
}

mod by_whoever_asks {
    jackfield_testkit::journal_contract!(super::Sqlite<3600>);

    mod directory {
        jackfield_testkit::directory_contract!(super::super::Sqlite<3600>);
    }

    mod logins {
        jackfield_testkit::logins_contract!(super::super::Sqlite<3600>);
    }

    mod upstream_responses {
        jackfield_testkit::upstream_responses_contract!(super::super::Sqlite<3600>);
    }

    mod meters {
        jackfield_testkit::meters_contract!(super::super::Sqlite<3600>);
    }

    mod secrets {
        jackfield_testkit::secrets_contract!(super::super::Sqlite<3600>);
    }
}

/// A journal that leaves to its thread what takes longer than so many seconds.
struct Sqlite<const AT_ONCE: u64> {
    journal: Mutex<Arc<SqliteJournal>>,
    place: Place,
}

impl<const AT_ONCE: u64> Sqlite<AT_ONCE> {
    fn open(place: &Place) -> Arc<SqliteJournal> {
        let mut options = place.options();
        options.inline_limit = Duration::from_secs(AT_ONCE);
        Arc::new(SqliteJournal::open(place.file(), options).expect("a journal"))
    }

    fn current(&self) -> Arc<SqliteJournal> {
        let journal = self.journal.lock();
        Arc::clone(&journal.unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl<const AT_ONCE: u64> JournalHarness for Sqlite<AT_ONCE> {
    async fn fresh() -> Self {
        let place = Place::new();
        Self {
            journal: Mutex::new(Self::open(&place)),
            place,
        }
    }

    fn journal(&self) -> Arc<dyn Journal> {
        self.current()
    }

    async fn reopened(&self) -> Arc<dyn Journal> {
        self.current().close().await;
        let again = Self::open(&self.place);
        *self.journal.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&again);
        again
    }

    async fn another_process(&self) -> Option<Arc<dyn Journal>> {
        Some(Self::open(&self.place))
    }

    fn set_clock(&self, now: WallTime) {
        self.place.clock.store(now.as_millis(), Ordering::Relaxed);
    }
}
