//! A server for all tests of this binary, and a schema of it for each.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::ids::{DeliveryId, SessionId, TurnId};
use jackfield_domain::time::{Now, WallTime};
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_ports::journal::{Append, Epoch};
use jackfield_store_postgres::{Address, Options, PostgresJournal};
use jackfield_testkit::contract::journal::START;
use jackfield_testservers::pgbouncer::PgBouncer;
use jackfield_testservers::postgres::PostgresServer;

/// The server of tests that do it no harm.
pub(crate) static SERVER: LazyLock<PostgresServer> =
    LazyLock::new(|| PostgresServer::start().expect("a server"));

/// A pooler in front of it.
static BOUNCER: LazyLock<PgBouncer> =
    LazyLock::new(|| PgBouncer::start(&SERVER).expect("a pooler"));

/// A schema of its own, and the journal's clock.
pub(crate) struct Place {
    pub(crate) address: Address,
    pub(crate) clock: Arc<AtomicI64>,
    pub(crate) schema: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self {
            address: address(&SERVER.url("postgres", "postgres")),
            clock: Arc::new(AtomicI64::new(START.as_millis())),
            schema: format!("test_{number}"),
        }
    }

    /// The same, reached through the pooler.
    pub(crate) fn pooled() -> Self {
        Self {
            address: address(&BOUNCER.url("postgres")),
            ..Self::new()
        }
    }

    pub(crate) fn options(&self) -> Options {
        let told = Arc::clone(&self.clock);
        let mut options = Options::default();
        options.clock = Some(Arc::new(move || {
            WallTime::from_millis(told.load(Ordering::Relaxed))
        }));
        options.connections = 4;
        options.schema.clone_from(&self.schema);
        options
    }

    /// The journal, as one more process has it.
    pub(crate) fn open(&self) -> PostgresJournal {
        PostgresJournal::open(self.address.clone(), self.options()).expect("a journal")
    }

    /// Executes statements, in which `@` is the schema.
    pub(crate) fn sql(&self, statements: &str) -> String {
        let statements = statements.replace('@', &self.schema);
        SERVER.sql(&statements).expect("executed")
    }
}

pub(crate) fn address(url: &str) -> Address {
    Address::parse(url).expect("an address")
}

pub(crate) fn session(id: &str) -> SessionId {
    SessionId::parse(id).expect("a valid id")
}

pub(crate) fn delivery(id: &str) -> DeliveryId {
    DeliveryId::parse(id).expect("a valid id")
}

pub(crate) fn cancel(session: &SessionId) -> DeliveryBody {
    DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: TurnId::derive(session, 1),
    }
}

/// A step at this place that says nothing of waits.
pub(crate) fn step(number: u64) -> Envelope {
    Envelope {
        facts: vec![Fact::TurnResumed {
            nth: u32::try_from(number).unwrap_or(u32::MAX),
            restrictions: None,
        }],
        input: InputKind::Recovered,
        now: Now::default(),
        step: number,
        version: 1,
    }
}

pub(crate) fn append(session: &SessionId, epoch: Epoch, position: u64) -> Append {
    Append {
        epoch,
        position,
        seen: 0,
        session: session.clone(),
        steps: vec![step(position)],
    }
}
