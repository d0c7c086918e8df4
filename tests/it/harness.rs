//! The real binary, in a world of its own: an empty home, an empty project, no environment.

mod gateway;
mod mcp;
mod ran;
mod running;
mod signals;
mod terminal;
mod users;

pub(crate) use self::gateway::{Answer, Asking, Gateway, Kept, offered};
pub(crate) use self::mcp::{MAX_SHUTDOWN_TIME, McpEndpoint, McpServer, is_alive, tool};
pub(crate) use self::ran::Ran;
pub(crate) use self::running::Running;
pub(crate) use self::terminal::{Size, Terminal};
pub(crate) use self::users::MASTER;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) use jackfield_testkit::laws::beginnings::without_cache_points;
use jackfield_testservers::built;
use jackfield_testservers::scripted::ScriptedServer;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The key of every world. No output may have it.
pub(crate) const KEY: &str = "sk-slice-9b1f44e07c-never-to-be-seen";

/// The binary with its arguments, before it runs.
pub(crate) struct Jackfield {
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    /// Whether its input stays open for what is said later.
    held: bool,
    home: TempDir,
    /// Whether the configuration has `serve.offer = "all"`.
    offers_all: bool,
    /// What its configuration begins with, in every case.
    pub(crate) preamble: &'static str,
    program: PathBuf,
    stdin: Option<Vec<u8>>,
}

/// Waits for the next day (UTC) if this one ends within a minute: budgets of a day begin anew with it.
pub(crate) async fn early_in_a_day() {
    let left = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        86_400 - since.expect("a clock").as_secs() % 86_400
    };
    while left() < 60 {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The binary with these arguments.
pub(crate) fn jackfield<const N: usize>(arguments: [&str; N]) -> Jackfield {
    Jackfield {
        arguments: arguments.map(OsString::from).into(),
        environment: Vec::new(),
        held: false,
        home: world(),
        offers_all: false,
        preamble: "",
        program: binary(),
        stdin: None,
    }
}

/// A line of the shell, in which `$jackfield` is the binary.
pub(crate) fn shell(line: &str) -> Jackfield {
    let mut run = jackfield(["-c", line]);
    let binary = std::mem::replace(&mut run.program, "sh".into());
    run.env("jackfield", binary)
}

impl Jackfield {
    /// Has a key, and this as the user's configuration.
    pub(crate) fn configured(self, text: impl AsRef<[u8]>) -> Self {
        let file = self.user_file();
        let text = match (self.offers_all, std::str::from_utf8(text.as_ref())) {
            (true, Ok(text)) => gateway::offering_all(text).into_bytes(),
            (true, Err(_)) | (false, _) => text.as_ref().to_vec(),
        };
        let text = [self.preamble.as_bytes(), &text].concat();
        self.file(&file, text).env("ANTHROPIC_API_KEY", KEY)
    }

    /// Offers plain models no tools that the request does not name, as a gateway does by default.
    pub(crate) fn plain(mut self) -> Self {
        self.offers_all = false;
        self
    }

    /// Has a key, and Claude at this address.
    pub(crate) fn at(self, base_url: &str) -> Self {
        self.at_with(base_url, "")
    }

    /// The same, with more in the configuration.
    pub(crate) fn at_with(self, base_url: &str, more: &str) -> Self {
        self.configured(format!(
            "providers.claude.base_url = \"{base_url}\"\n{more}"
        ))
    }

    /// Has these MCP servers, by id.
    pub(crate) fn servers<const N: usize>(self, servers: [(&str, Value); N]) -> Self {
        let servers = servers.map(|(id, server)| (id.to_owned(), server));
        let table: serde_json::Map<String, Value> = servers.into_iter().collect();
        let file = self.user_file().with_file_name("mcp-servers.json");
        self.file(&file, json!({ "mcpServers": table }).to_string())
    }

    /// Has itself, with these arguments, as an MCP server.
    pub(crate) fn serving<const N: usize>(self, id: &str, arguments: [&str; N]) -> Self {
        let entry = json!({ "command": binary(), "args": Vec::from(arguments), "trust": true });
        self.servers([(id, entry)])
    }

    /// Has this file in its project.
    pub(crate) fn in_project(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let file = self.home.path().join(PROJECT).join(name);
        self.file(&file, text)
    }

    /// Has these arguments, too.
    pub(crate) fn more(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(OsString::from));
        self
    }

    /// Has this variable in its environment.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let value = value.as_ref().to_owned();
        self.environment.push((name.into(), value));
        self
    }

    /// Has this on standard input, which is nothing otherwise.
    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Hears what it is told while it runs.
    pub(crate) fn held(mut self) -> Self {
        self.held = true;
        self
    }

    /// Lets it use one core alone.
    #[cfg(target_os = "linux")]
    pub(crate) fn on_one_core(mut self) -> Self {
        let status = fs::read_to_string("/proc/self/status").expect("a process has a status");
        let cores = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let first = cores.unwrap_or_default().trim().split([',', '-']).next();
        let core = first.unwrap_or_default().to_owned();
        let program = std::mem::replace(&mut self.program, "taskset".into());
        let before = ["-c".into(), core.into(), program.into()];
        self.arguments.splice(0..0, before);
        self
    }

    /// Starts it.
    pub(crate) fn start(self) -> Running {
        let Self {
            arguments,
            environment,
            held,
            home,
            offers_all: _,
            preamble: _,
            program,
            stdin,
        } = self;
        signals::hear();
        let mut command = tokio::process::Command::new(program);
        command
            .args(arguments)
            .current_dir(home.path().join(PROJECT))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("USERPROFILE", home.path())
            .env("XDG_CONFIG_HOME", home.path().join(CONFIG))
            .envs(environment);
        Running::start(command, (stdin, held), home)
    }

    /// Starts it at a terminal.
    pub(crate) fn at_terminal(self, size: Size) -> Terminal {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let command = pty_process::Command::new(self.program)
            .args(self.arguments)
            .current_dir(self.home.path().join(PROJECT))
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.home.path())
            .env("XDG_CONFIG_HOME", self.home.path().join(CONFIG))
            .env("TERM", "xterm-256color")
            .envs(self.environment);
        Terminal::start(command, size, self.home)
    }

    /// The home, before it is anybody's.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Runs it to its end.
    pub(crate) async fn run(self) -> Ran {
        self.start().end().await
    }

    fn file(self, file: &Path, text: impl AsRef<[u8]>) -> Self {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).expect("the home can be written");
        }
        fs::write(file, text).expect("the home can be written");
        self
    }

    fn user_file(&self) -> PathBuf {
        self.home
            .path()
            .join(CONFIG)
            .join("jackfield/jackfield.toml")
    }
}

/// Every request kept the vendor's rules, and the script was said to its end.
#[track_caller]
pub(crate) fn kept(server: &ScriptedServer) {
    assert_eq!(server.violations(), [""; 0]);
    assert_eq!(server.unused(), 0, "the script was not said to its end");
}

fn world() -> TempDir {
    let home = tempfile::tempdir().expect("a folder can be made");
    fs::create_dir(home.path().join(PROJECT)).expect("a folder can be made");
    let data = home.path().join(".local/share/jackfield");
    fs::create_dir_all(&data).expect("a folder can be made");
    fs::write(data.join("page-token"), PAGE_TOKEN).expect("a file can be written");
    home
}

/// The binary beside the tests; `cargo test --workspace` builds it before they run.
pub(crate) fn binary() -> PathBuf {
    beside("jackfield", "jackfield-cli")
}

/// The stand-in for the `claude` program.
pub(crate) fn scripted_claude_code() -> PathBuf {
    beside("scripted-claude-code", SERVERS)
}

/// A binary beside the tests, of this package.
fn beside(name: &str, package: &str) -> PathBuf {
    let this = std::env::current_exe().expect("a process knows its program");
    let folder = this.ancestors().nth(2).unwrap_or_else(|| Path::new("."));
    let binary = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        binary.is_file(),
        "{} is not there: run `cargo build -p {package}` first",
        binary.display()
    );
    assert!(
        package != SERVERS || !built::is_stale(&binary),
        "{} is older than its source: run `cargo build -p {package}` first",
        binary.display()
    );
    binary
}

/// The package of the scripted servers.
pub(crate) const SERVERS: &str = "jackfield-testservers";
/// The token of the page's link, in every home.
pub(crate) const PAGE_TOKEN: &str =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const CONFIG: &str = ".config";
const PROJECT: &str = "project";
