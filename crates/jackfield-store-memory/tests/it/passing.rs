//! The contract of a journal for sessions in passing, which nobody lists or searches.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::contract::journal::{JournalHarness, START};

jackfield_testkit::journal_contract!(Passing, except: {
    a_large_text_comes_back_whole => "a value is shared as it is, and has no size",
    a_large_text_stays_as_long_as_a_session_has_it => "a value is shared as it is, and has no size",
    a_row_says_when_and_how_much => "nobody lists them: a value has no size",
    sessions_are_found_by_their_words => "nobody searches them: no words are kept",
});

struct Passing {
    clock: Arc<AtomicI64>,
    journal: Arc<MemoryJournal>,
}

#[async_trait]
impl JournalHarness for Passing {
    async fn fresh() -> Self {
        let clock = Arc::new(AtomicI64::new(START.as_millis()));
        let told = Arc::clone(&clock);
        let now = move || WallTime::from_millis(told.load(Ordering::Relaxed));
        Self {
            clock,
            journal: Arc::new(MemoryJournal::with_clock(now).ephemeral()),
        }
    }

    fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.journal) as _
    }

    fn set_clock(&self, now: WallTime) {
        self.clock.store(now.as_millis(), Ordering::Relaxed);
    }
}
