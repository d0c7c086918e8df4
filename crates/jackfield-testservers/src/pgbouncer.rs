//! PgBouncer in transaction mode, in front of a [`PostgresServer`]: each transaction may get another connection.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::postgres::PostgresServer;

/// A running PgBouncer, on a Unix socket in the folder of its server. It ends with the process that started it.
#[derive(Debug)]
pub struct PgBouncer {
    folder: PathBuf,
    running: Child,
}

impl PgBouncer {
    /// Starts it with three connections to the server, which all clients share.
    ///
    /// # Errors
    ///
    /// Why there is none, and what to do.
    pub fn start(server: &PostgresServer) -> io::Result<Self> {
        let program = PLACES.iter().map(PathBuf::from).find(|path| path.is_file());
        let program = program.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, MISSING))?;
        let folder = server.folder().to_owned();
        let settings = folder.join("pgbouncer.ini");
        let host = folder.display();
        let text = format!(
            "[databases]\n* = host={host} port=5432 user=postgres\n\n[pgbouncer]\nlisten_addr =\n\
             unix_socket_dir = {host}\nlisten_port = 6432\nauth_type = any\npool_mode = transaction\n\
             default_pool_size = 3\nmax_client_conn = 1000\nlogfile = {host}/pgbouncer.log\n"
        );
        fs::write(&settings, text)?;
        let mut shell = server.as_user(Command::new("/bin/sh"));
        shell
            .args(["-c", WATCH, "watch"])
            .args([&program, &settings])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let running = shell.spawn()?;
        let began = Instant::now();
        while !folder.join(".s.PGSQL.6432").exists() {
            if began.elapsed() > START_LIMIT {
                let log = fs::read_to_string(folder.join("pgbouncer.log")).unwrap_or_default();
                return Err(io::Error::other(format!("PgBouncer does not start: {log}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Self { folder, running })
    }

    /// What it has logged.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub fn log(&self) -> io::Result<String> {
        fs::read_to_string(self.folder.join("pgbouncer.log"))
    }

    /// The address of a database behind it.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let host = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{host}:6432/{database}")
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        drop(self.running.stdin.take());
        let _ended = self.running.wait();
    }
}

/// Runs it until the input ends.
const WATCH: &str =
    "\"$1\" -q \"$2\" & bouncer=$!\nread -r line\nkill -INT \"$bouncer\"\nwait \"$bouncer\"";
const PLACES: &[&str] = &[
    "/usr/sbin/pgbouncer",
    "/usr/bin/pgbouncer",
    "/opt/homebrew/bin/pgbouncer",
    "/usr/local/bin/pgbouncer",
];
const MISSING: &str =
    "PgBouncer is not installed: install the package `pgbouncer` of Debian or Homebrew";
const START_LIMIT: Duration = Duration::from_secs(60);
