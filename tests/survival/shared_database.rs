//! A database that several gateways share: a PostgreSQL server for all tests, and a schema of it for each world.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use jackfield_store_postgres::{Address, Options, PostgresJournal};
use jackfield_testservers::postgres::PostgresServer;

/// A server that no test harms.
static SERVER: LazyLock<PostgresServer> =
    LazyLock::new(|| PostgresServer::start().expect("a server"));

/// A schema.
pub(crate) struct SharedDatabase {
    listens: bool,
    schema: String,
    url: String,
}

impl SharedDatabase {
    /// A schema of its own. Of two, one has notifications.
    pub(crate) fn new() -> Self {
        Self::at(&SERVER.url("postgres", "postgres"))
    }

    /// One on this server.
    pub(crate) fn at(url: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self {
            listens: number.is_multiple_of(2),
            schema: format!("world_{number}"),
            url: url.to_owned(),
        }
    }

    /// What the gateways are configured with.
    pub(crate) fn configuration(&self) -> String {
        let Self { url, schema, .. } = self;
        let listen = if self.listens {
            format!("journal.listen_url = \"{url}\"\n")
        } else {
            String::new()
        };
        format!(
            "journal.url = \"{url}\"\njournal.schema = \"{schema}\"\njournal.lease = \"2s\"\n{listen}"
        )
    }

    /// The socket of the server that no test harms.
    pub(crate) fn socket() -> std::path::PathBuf {
        SERVER.socket()
    }

    /// Without notifications, whose connection would go past a proxy.
    pub(crate) fn unheard(self) -> Self {
        Self {
            listens: false,
            ..self
        }
    }

    /// The journal, as one more process has it.
    pub(crate) fn open(&self) -> PostgresJournal {
        let address = Address::parse(&self.url).expect("an address");
        let mut options = Options::default();
        options.connections = 2;
        options.schema.clone_from(&self.schema);
        PostgresJournal::open(address, options).expect("the journal opens")
    }
}
