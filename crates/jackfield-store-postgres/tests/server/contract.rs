//! The contract of a journal, all of it: on a server, and behind PgBouncer in transaction mode.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal;
use jackfield_store_postgres::PostgresJournal;
use jackfield_testkit::contract::journal::JournalHarness;

use crate::harness::Place;

mod direct {
    jackfield_testkit::journal_contract!(super::Postgres<false>);

    mod directory {
        jackfield_testkit::directory_contract!(super::super::Postgres<false>);
    }

    mod logins {
        jackfield_testkit::logins_contract!(super::super::Postgres<false>);
    }

    mod upstream_responses {
        jackfield_testkit::upstream_responses_contract!(super::super::Postgres<false>);
    }

    mod meters {
        jackfield_testkit::meters_contract!(super::super::Postgres<false>);
    }

    mod secrets {
        jackfield_testkit::secrets_contract!(super::super::Postgres<false>);
    }
}

mod pooled {
    jackfield_testkit::journal_contract!(super::Postgres<true>);

    mod directory {
        jackfield_testkit::directory_contract!(super::super::Postgres<true>);
    }

    mod logins {
        jackfield_testkit::logins_contract!(super::super::Postgres<true>);
    }

    mod upstream_responses {
        jackfield_testkit::upstream_responses_contract!(super::super::Postgres<true>);
    }

    mod meters {
        jackfield_testkit::meters_contract!(super::super::Postgres<true>);
    }

    mod secrets {
        jackfield_testkit::secrets_contract!(super::super::Postgres<true>);
    }
}

struct Postgres<const IS_POOLED: bool> {
    journal: Arc<PostgresJournal>,
    place: Place,
}

#[async_trait]
impl<const IS_POOLED: bool> JournalHarness for Postgres<IS_POOLED> {
    async fn fresh() -> Self {
        let place = if IS_POOLED {
            Place::pooled()
        } else {
            Place::new()
        };
        Self {
            journal: Arc::new(place.open()),
            place,
        }
    }

    fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.journal) as _
    }

    fn set_clock(&self, now: WallTime) {
        self.place.clock.store(now.as_millis(), Ordering::Relaxed);
    }

    async fn reopened(&self) -> Arc<dyn Journal> {
        self.journal.close().await;
        Arc::new(self.place.open())
    }

    async fn another_process(&self) -> Option<Arc<dyn Journal>> {
        Some(Arc::new(self.place.open()))
    }

    /// The database has this process as dead, which the process learns by its next renewal.
    async fn pass_leases(&self) {
        self.place
            .sql("UPDATE @.processes SET alive_until = now() - interval '1 second'");
        // One that holds a session begins again at once, under another name.
        let again = "SELECT count(*) FROM @.processes WHERE alive_until > clock_timestamp()";
        let learnt = async {
            while self.journal.has_lease() && self.place.sql(again) == "0" {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let learnt = tokio::time::timeout(Duration::from_secs(60), learnt).await;
        learnt.expect("the process learns that its lease has passed");
    }
}
