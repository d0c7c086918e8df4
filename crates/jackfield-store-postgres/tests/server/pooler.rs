//! A pooler that several programs share, and a process that ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_ports::journal::Journal as _;
use jackfield_store_postgres::{Options, PostgresJournal};
use jackfield_testservers::pgbouncer::PgBouncer;
use jackfield_testservers::postgres::PostgresServer;

use crate::harness::{address, session};

/// PgBouncer 1.18 ends, with the connections of all its clients, where a client goes while it asks for a cancellation
/// (its issues 801 and 822).
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_ends_cancels_nothing_at_the_pooler() {
    let server = Arc::new(PostgresServer::start().expect("a server"));
    let pooler = PgBouncer::start(&server).expect("a pooler");
    let pooled = address(&pooler.url("postgres"));
    let journal = PostgresJournal::open(pooled, Options::default()).expect("a journal");
    let journal = Arc::new(journal);
    let id = session("s");
    journal.own(&id).await.expect("a lease");
    let following = tokio::spawn({
        let journal = Arc::clone(&journal);
        async move { journal.follow(&id, 1).await }
    });

    let locking = {
        let server = Arc::clone(&server);
        std::thread::spawn(move || server.sql(LOCK))
    };
    let began = Instant::now();
    while server.sql(WAITING).expect("asked") == "0" {
        assert!(began.elapsed() < LIMIT, "no look waits");
    }
    let freeing = Arc::clone(&server);
    let freeing = tokio::task::spawn_blocking(move || freeing.sql(FREE).expect("freed"));
    let ((), freed) = tokio::join!(journal.close(), freeing);
    assert_eq!(freed.expect("freed"), "t");
    let _closed = following.await.expect("joined");
    let _terminated = locking.join().expect("joined");

    let log = pooler.log().expect("a log");
    assert!(log.contains("login attempt"), "{log}");
    assert!(!log.contains("cancel"), "{log}");
    assert_eq!(server.sql(PROCESSES).expect("asked"), "0");
}

const LOCK: &str = "BEGIN; LOCK TABLE jackfield.sessions; SELECT pg_sleep(60); COMMIT";
const WAITING: &str =
    "SELECT count(*) FROM pg_locks WHERE NOT granted AND EXISTS (SELECT FROM pg_class
    WHERE oid = relation AND relname = 'sessions')";
const FREE: &str = "SELECT pg_terminate_backend(pid) FROM pg_locks, pg_class
    WHERE granted AND mode = 'AccessExclusiveLock' AND pg_class.oid = relation AND relname = 'sessions'";
const PROCESSES: &str = "SELECT count(*) FROM jackfield.processes";
const LIMIT: Duration = Duration::from_secs(60);
