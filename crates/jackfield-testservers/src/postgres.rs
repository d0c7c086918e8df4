//! A PostgreSQL server for tests: Debian's, Homebrew's or any other that is installed, in a folder of its own, on a
//! Unix socket alone.
//!
//! It ends with the process that started it, in whichever way that ends. It runs as another user than root, as
//! PostgreSQL refuses to. What it writes is not synced, unless it is asked to: it survives its own end, and not that of
//! the machine.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

#[derive(Debug)]
pub struct PostgresServer {
    binaries: PathBuf,
    folder: TempDir,
    /// The shell that watches the server; `None` while it is stopped.
    running: Option<Child>,
    /// The port of this machine that it listens on with encryption, too.
    port: Option<u16>,
    synced: bool,
    /// The user and group that it runs as, if not as we do.
    user: Option<(u32, u32)>,
}

impl PostgresServer {
    /// Makes a database cluster and starts a server on it. The role `postgres` needs no password, and `locked` has
    /// the password `secret`.
    ///
    /// # Errors
    ///
    /// Why there is none, and what to do.
    pub fn start() -> io::Result<Self> {
        Self::start_in(Path::new("/tmp"), false)
    }

    /// The same in this folder, with each commit synced, for measurements on its disk. The path of the folder is short,
    /// as sockets need it.
    ///
    /// # Errors
    ///
    /// Why there is none, and what to do.
    pub fn start_synced(folder: &Path) -> io::Result<Self> {
        Self::start_in(folder, true)
    }

    fn start_in(above: &Path, synced: bool) -> io::Result<Self> {
        let binaries = binaries()?;
        let folder = tempfile::Builder::new()
            .prefix("jackfield-pg-")
            .tempdir_in(above)?;
        let user = other_user()?;
        if let Some((user, group)) = user {
            chown(folder.path(), Some(user), Some(group))?;
        }
        let mut server = Self {
            binaries,
            folder,
            port: None,
            running: None,
            synced,
            user,
        };
        let data = server.data();
        let mut init = server.command("initdb");
        init.args(["--username=postgres", "--auth=trust", "--encoding=UTF8"])
            .args(["--locale=C", "--no-sync", "--pgdata"])
            .arg(&data);
        succeed(&mut init)?;
        fs::write(data.join("pg_hba.conf"), ACCESS)?;
        server.resume()?;
        server.sql("CREATE ROLE locked LOGIN PASSWORD 'secret'")?;
        Ok(server)
    }

    /// Starts a standby of it on a copy of its data, for which each of its commits then waits: what is committed is in
    /// both.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn standby(&self) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("jackfield-pg-")
            .tempdir_in("/tmp")?;
        if let Some((user, group)) = self.user {
            chown(folder.path(), Some(user), Some(group))?;
        }
        let mut standby = Self {
            binaries: self.binaries.clone(),
            folder,
            port: None,
            running: None,
            synced: self.synced,
            user: self.user,
        };
        let mut copy = self.command("pg_basebackup");
        copy.arg("--host").arg(self.folder.path());
        copy.args(["--username=postgres", "--checkpoint=fast", "--no-sync"])
            .args(["--write-recovery-conf", "--pgdata"])
            .arg(standby.data());
        succeed(&mut copy)?;
        standby.resume()?;
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")?;
        self.sql("SELECT pg_reload_conf()")?;
        let begun = Instant::now();
        while self.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")? != "1"
        {
            if begun.elapsed() > START_LIMIT {
                return Err(io::Error::other("the standby does not follow"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(standby)
    }

    /// Makes a standby take writes. It waits for no standby of its own.
    ///
    /// # Errors
    ///
    /// What `psql` says.
    pub fn promote(&self) -> io::Result<()> {
        self.sql("SELECT pg_promote()")?;
        self.sql("ALTER SYSTEM RESET synchronous_standby_names")?;
        self.sql("SELECT pg_reload_conf()")?;
        Ok(())
    }

    /// Starts it again with this certificate and key in PEM, on a free port of this machine, too, and returns the port.
    ///
    /// # Errors
    ///
    /// Why it does not start.
    pub fn encrypt(&mut self, certificate: &str, key: &str) -> io::Result<u16> {
        self.crash()?;
        let data = self.data();
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let file = data.join(name);
            fs::write(&file, text)?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
            if let Some((user, group)) = self.user {
                chown(&file, Some(user), Some(group))?;
            }
        }
        let access = fs::read_to_string(data.join("pg_hba.conf"))?;
        fs::write(data.join("pg_hba.conf"), format!("{access}{ENCRYPTED}"))?;
        let free = std::net::TcpListener::bind("127.0.0.1:0")?;
        let port = free.local_addr()?.port();
        drop(free);
        self.port = Some(port);
        self.resume()?;
        Ok(port)
    }

    /// The address of a database of it, for this role.
    #[must_use]
    pub fn url(&self, role: &str, database: &str) -> String {
        let host = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://{role}@{host}/{database}")
    }

    /// The address of a database of it or of another server, whichever takes writes.
    #[must_use]
    pub fn url_of_either(&self, other: &Self, database: &str) -> String {
        let host = |one: &Self| one.folder.path().display().to_string().replace('/', "%2F");
        format!(
            "postgres://postgres@{},{}/{database}",
            host(self),
            host(other)
        )
    }

    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(".s.PGSQL.5432")
    }

    /// Executes statements in the database `postgres` and returns what `psql` prints, without decoration.
    ///
    /// # Errors
    ///
    /// What `psql` says.
    pub fn sql(&self, statements: &str) -> io::Result<String> {
        self.sql_in("postgres", statements)
    }

    /// Executes statements in a database and returns what `psql` prints, without decoration.
    ///
    /// # Errors
    ///
    /// What `psql` says.
    pub fn sql_in(&self, database: &str, statements: &str) -> io::Result<String> {
        let mut psql = self.psql(database);
        psql.args(["--command", statements]);
        Ok(succeed(&mut psql)?.trim().to_owned())
    }

    /// Everything in a database, as statements that any version of a server executes: without what only `psql` knows, and
    /// without the settings of a session.
    ///
    /// # Errors
    ///
    /// What `pg_dump` says.
    pub fn dump(&self, database: &str) -> io::Result<String> {
        let mut dump = self.command("pg_dump");
        dump.arg("--host").arg(self.folder.path());
        dump.args(["--username=postgres", "--inserts", "--no-owner"])
            .args(["--no-privileges", database]);
        let dumped = succeed(&mut dump)?;
        let is_kept = |line: &&str| {
            let others = ["--", "\\", "SET ", "SELECT pg_catalog.set_config("];
            !line.is_empty() && !others.iter().any(|begin| line.starts_with(begin))
        };
        let lines = dumped.lines().filter(is_kept);
        Ok(lines.flat_map(|line| [line, "\n"]).collect())
    }

    /// Executes the statements of a dump in a database, all or none.
    ///
    /// # Errors
    ///
    /// What `psql` says.
    pub fn restore(&self, database: &str, dump: &str) -> io::Result<()> {
        let file = self.folder.path().join(format!("{database}.sql"));
        fs::write(&file, dump)?;
        if let Some((user, group)) = self.user {
            chown(&file, Some(user), Some(group))?;
        }
        let mut psql = self.psql(database);
        psql.arg("--single-transaction").arg("--file").arg(&file);
        succeed(&mut psql)?;
        fs::remove_file(file)
    }

    /// Ends it as if it had crashed: connections break, and what was committed stays.
    ///
    /// # Errors
    ///
    /// If its end cannot be waited for.
    pub fn crash(&mut self) -> io::Result<()> {
        if let Some(mut shell) = self.running.take() {
            if let Some(mut input) = shell.stdin.take() {
                input.write_all(b"keep\n")?;
            }
            shell.wait()?;
        }
        Ok(())
    }

    /// Starts it again, and waits until it accepts connections.
    ///
    /// # Errors
    ///
    /// Why it does not start.
    pub fn resume(&mut self) -> io::Result<()> {
        let data = self.data();
        // Left by a server that crashed.
        let _absent = fs::remove_file(data.join("postmaster.pid"));
        let log = fs::File::create(self.folder.path().join("log"))?;
        let mut shell = self.as_user(Command::new("/bin/sh"));
        shell
            .args(["-c", WATCH, "watch"])
            .arg(self.binaries.join("postgres"))
            .args([&data, &self.folder.path().to_owned()])
            .args(
                self.synced
                    .then_some(["-c", "fsync=on"])
                    .into_iter()
                    .flatten(),
            )
            .args(self.port.map(encrypted).unwrap_or_default())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log);
        self.running = Some(shell.spawn()?);
        let begun = Instant::now();
        loop {
            let status = fs::read_to_string(data.join("postmaster.pid"));
            if status.is_ok_and(|status| status.lines().nth(7).is_some_and(is_ready)) {
                return Ok(());
            }
            if begun.elapsed() > START_LIMIT {
                let log = fs::read_to_string(self.folder.path().join("log"))?;
                return Err(io::Error::other(format!(
                    "PostgreSQL does not start: {log}"
                )));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A `psql` that stops at the first error, and prints without decoration.
    fn psql(&self, database: &str) -> Command {
        let mut psql = self.command("psql");
        psql.arg("--host").arg(self.folder.path());
        if let Some(port) = self.port {
            psql.arg(format!("--port={port}"));
        }
        psql.args(["--username=postgres", "--dbname", database, "--no-psqlrc"])
            .args(["--quiet", "--tuples-only", "--no-align"])
            .arg("--set=ON_ERROR_STOP=1");
        psql
    }

    /// One of its programs, as its user.
    fn command(&self, program: &str) -> Command {
        let mut command = self.as_user(Command::new(self.binaries.join(program)));
        command.current_dir("/").stdin(Stdio::null());
        command
    }

    pub(crate) fn as_user(&self, mut command: Command) -> Command {
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let _gone = self.crash();
    }
}

/// The options of a server that also listens on a port. The name of its socket has that port, so it has another socket, too.
fn encrypted(port: u16) -> Vec<String> {
    let port = format!("port={port}");
    let settings = ["ssl=on", "listen_addresses=127.0.0.1", &port];
    settings
        .iter()
        .flat_map(|one| ["-c".to_owned(), (*one).to_owned()])
        .collect()
}

fn is_ready(line: &str) -> bool {
    matches!(line.trim(), "ready" | "standby")
}

/// The folder with the programs of the newest server that is installed.
fn binaries() -> io::Result<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    if let Some(path) = std::env::var_os("PATH") {
        folders.extend(std::env::split_paths(&path));
    }
    for (above, below) in PLACES {
        let mut found: Vec<PathBuf> = fs::read_dir(above)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|folder| is_version(folder))
            .map(|folder| folder.join(below))
            .collect();
        found.sort();
        folders.extend(found.into_iter().rev());
    }
    let is_whole = |folder: &PathBuf| {
        ["initdb", "postgres", "psql"]
            .iter()
            .all(|program| folder.join(program).is_file())
    };
    folders
        .into_iter()
        .find(is_whole)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, MISSING))
}

/// Whether a folder is one of a version of PostgreSQL: `15`, `postgresql@17`.
fn is_version(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let version = name.strip_prefix("postgresql@").unwrap_or(&name);
    version.parse::<u32>().is_ok()
}

/// The user to run as, if we are root: `postgres` if there is one, or `nobody`.
fn other_user() -> io::Result<Option<(u32, u32)>> {
    let id = |arguments: &[&str]| -> io::Result<u32> {
        let said = succeed(Command::new("id").args(arguments))?;
        said.trim().parse().map_err(io::Error::other)
    };
    if id(&["-u"])? != 0 {
        return Ok(None);
    }
    for name in ["postgres", "nobody"] {
        if let (Ok(user), Ok(group)) = (id(&["-u", name]), id(&["-g", name])) {
            return Ok(Some((user, group)));
        }
    }
    Err(io::Error::other(
        "there is no user but root, and PostgreSQL does not run as root",
    ))
}

/// Runs a program to its end and returns what it printed.
fn succeed(command: &mut Command) -> io::Result<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let program = command.get_program().to_string_lossy();
    Err(io::Error::other(format!("{program}: {said}")))
}

/// Runs the server until its input ends or has a line. If it ends, so has the process that started it.
const WATCH: &str = r#"
program=$1 data=$2 folder=$3
shift 3
"$program" -D "$data" -k "$folder" -h '' -F -c full_page_writes=off -c shared_buffers=32MB -c max_connections=200 "$@" &
server=$!
if ! read -r line; then line=gone; fi
kill -QUIT "$server"
wait "$server"
if [ "$line" = gone ]; then rm -rf "$folder"; fi
"#;

/// Where else than on the path programs are: the folder above those of the versions, and the one below.
const PLACES: &[(&str, &str)] = &[
    ("/usr/lib/postgresql", "bin"),
    ("/opt/homebrew/opt", "bin"),
    ("/usr/local/opt", "bin"),
];

const ENCRYPTED: &str = "hostssl all all 127.0.0.1/32 trust\n";
const ACCESS: &str =
    "local all locked scram-sha-256\nlocal all all trust\nlocal replication all trust\n";
const MISSING: &str = "PostgreSQL is not installed: install Debian's package `postgresql`, or `postgresql@17` of Homebrew";
const START_LIMIT: Duration = Duration::from_secs(60);
