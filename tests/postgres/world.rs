//! A server for all slices, and a database of it for each.

use std::sync::LazyLock;

use jackfield_testservers::postgres::PostgresServer;

use crate::harness::{Jackfield, jackfield};

static SERVER: LazyLock<PostgresServer> =
    LazyLock::new(|| PostgresServer::start().expect("a server"));

/// A database.
#[derive(Clone)]
pub(crate) struct Database(String);

impl Database {
    /// A new one of this name.
    pub(crate) fn new(name: &str) -> Self {
        let make = format!("CREATE DATABASE {name}");
        SERVER.sql(&make).expect("made");
        Self(name.to_owned())
    }

    /// Its address for this role.
    pub(crate) fn url(&self, role: &str) -> String {
        SERVER.url(role, &self.0)
    }

    /// The binary with these arguments, on this database.
    pub(crate) fn run(&self, arguments: &[&str]) -> Jackfield {
        let run = jackfield([]).more(arguments);
        run.env("JACKFIELD_DB", self.url("postgres"))
    }

    /// A gateway before it runs, on a free port.
    pub(crate) fn gateway(&self) -> Jackfield {
        self.run(&["serve", "--bind", "127.0.0.1:0"])
    }

    /// Executes statements in this database.
    pub(crate) fn inside(&self, statements: &str) -> String {
        SERVER.sql_in(&self.0, statements).expect("executed")
    }

    /// Everything in it, as statements.
    pub(crate) fn dumped(&self) -> String {
        SERVER.dump(&self.0).expect("dumped")
    }

    /// Executes the statements of a dump in it.
    pub(crate) fn restore(&self, dump: &str) {
        SERVER.restore(&self.0, dump).expect("restored");
    }

    /// Executes statements as the administrator, of whichever database.
    pub(crate) fn sql(statements: &str) -> String {
        SERVER.sql(statements).expect("executed")
    }
}
