//! A world with real servers in it: folders of its own, and a look at what runs there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Jackfield, jackfield, shell};

/// A home, a folder for temporary files, and one for the servers' own.
pub(crate) struct World {
    folder: TempDir,
}

/// A process of a world.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) command: String,
    pub(crate) id: u32,
}

impl World {
    /// An empty one.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        for name in ["data", "home", "tmp"] {
            fs::create_dir(folder.path().join(name)).expect("a folder can be made");
        }
        Self { folder }
    }

    /// The binary with these arguments, at home here.
    pub(crate) fn jackfield<const N: usize>(&self, arguments: [&str; N]) -> Jackfield {
        self.home_of(jackfield(arguments))
    }

    /// A line of the shell, in which `$jackfield` is the binary, at home here.
    pub(crate) fn shell(&self, line: &str) -> Jackfield {
        self.home_of(shell(line))
    }

    /// The path of a file of the servers.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("data").join(name)
    }

    /// The same as text, which it is here.
    pub(crate) fn said(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Writes a file of the servers, in a folder of its own if it names one.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.path(name);
        fs::create_dir_all(file.parent().unwrap_or(&file)).expect("a folder can be made");
        fs::write(file, text).expect("a file can be written");
    }

    /// Reads one.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there")
    }

    /// Makes a repository of one commit, and returns what it is called.
    pub(crate) fn repository(&self, name: &str, message: &str) -> String {
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]);
            git.arg("-C").arg(self.path(name)).args(arguments);
            git.env("HOME", self.home()).env("GIT_CONFIG_NOSYSTEM", "1");
            let output = git.output().expect("there is a `git`");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", message]);
        git(&["rev-parse", "HEAD"])
    }

    /// `@modelcontextprotocol/server-everything`: something of each kind that the protocol has.
    pub(crate) fn everything(&self) -> Value {
        node("mcp-server-everything", &[])
    }

    /// `@modelcontextprotocol/server-filesystem` over this folder, which it makes.
    pub(crate) fn filesystem(&self, name: &str) -> Value {
        fs::create_dir_all(self.path(name)).expect("a folder can be made");
        node("mcp-server-filesystem", &[&self.said(name)])
    }

    /// `@modelcontextprotocol/server-memory` with its graph in this file.
    pub(crate) fn memory(&self, name: &str) -> Value {
        let file = json!({ "env": { "MEMORY_FILE_PATH": self.path(name) } });
        with(&node("mcp-server-memory", &[]), &file)
    }

    /// `mcp-server-git` for this repository.
    pub(crate) fn git(&self, name: &str) -> Value {
        python("mcp-server-git", &["--repository", &self.said(name)])
    }

    /// `mcp-server-time`.
    pub(crate) fn time(&self) -> Value {
        python("mcp-server-time", &["--local-timezone", "UTC"])
    }

    /// The processes that are at home here and have not ended: the binary, its servers and theirs.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let home = format!("HOME={}", self.home().display());
        let all = fs::read_dir("/proc").expect("there is /proc");
        let all = all.filter_map(|entry| Some(entry.ok()?.path()));
        let processes = all.filter_map(|folder| {
            let id = folder.file_name()?.to_str()?.parse().ok()?;
            let environment = fs::read(folder.join("environ")).ok()?;
            let mut variables = environment.split(|byte| *byte == 0);
            let is_here = variables.any(|variable| variable == home.as_bytes());
            let stat = fs::read_to_string(folder.join("stat")).ok()?;
            let state = stat.rsplit_once(") ").map(|(_, state)| state);
            let ended = state.is_none_or(|state| state.starts_with('Z'));
            let command = fs::read(folder.join("cmdline")).ok()?;
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            (is_here && !ended).then_some(Process { command, id })
        });
        processes.collect()
    }

    /// The one process whose command line has this, and is no guard's.
    pub(crate) fn process(&self, command: &str) -> u32 {
        let all = self.processes();
        let mut found = all.iter().filter(|process| {
            // The checkout may be called as the program is.
            process.command.contains(command) && !process.command.contains(" __mcp-guard ")
        });
        let process = found.next();
        process
            .unwrap_or_else(|| panic!("no {command:?}: {all:?}"))
            .id
    }

    /// Waits until no process is here any more, and sees that none has left a temporary file.
    pub(crate) async fn is_left(&self) {
        let gone = tokio::time::timeout(MAX_SHUTDOWN_TIME, async {
            while !self.processes().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert!(gone.await.is_ok(), "these stay: {:?}", self.processes());
        let files = fs::read_dir(self.folder.path().join("tmp")).expect("the folder is there");
        let files: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
        assert!(files.is_empty(), "{files:?}");
    }

    fn home_of(&self, mut run: Jackfield) -> Jackfield {
        // A server in Python may take several seconds to start on a busy machine.
        run.preamble = "mcp.start_wait = \"60s\"\n";
        run.env("HOME", self.home())
            .env("TMPDIR", self.folder.path().join("tmp"))
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }
}

/// A program of the installed packages of npm.
pub(crate) fn node(program: &str, arguments: &[&str]) -> Value {
    let program = node_folder().join("node_modules/.bin").join(program);
    json!({ "command": program, "args": arguments })
}

/// The folder that has the packages of npm.
pub(crate) fn node_folder() -> PathBuf {
    installed("JACKFIELD_REAL_NODE")
}

/// The folder that has the packages of `tests/sign-in`.
pub(crate) fn sign_in_folder() -> PathBuf {
    installed("JACKFIELD_REAL_SIGN_IN")
}

/// The folder of the Python environment.
pub(crate) fn python_folder() -> PathBuf {
    installed("JACKFIELD_REAL_PYTHON")
}

/// A server as it is configured, with more.
pub(crate) fn with(entry: &Value, more: &Value) -> Value {
    let mut entry = entry.clone();
    for (name, value) in more.as_object().into_iter().flatten() {
        entry[name] = value.clone();
    }
    entry
}

/// The same, trusted.
pub(crate) fn trusted(entry: &Value) -> Value {
    with(entry, &json!({ "trust": true }))
}

/// A program of the Python environment.
fn python(program: &str, arguments: &[&str]) -> Value {
    let program = python_folder().join("bin").join(program);
    json!({ "command": program, "args": arguments })
}

/// A folder that `cargo xtask slices` made.
fn installed(variable: &str) -> PathBuf {
    let folder = std::env::var_os(variable).unwrap_or_else(|| {
        panic!("{variable} does not say where the servers are: run `cargo xtask slices`")
    });
    assert!(
        Path::new(&folder).is_dir(),
        "{variable} names no folder: run `cargo xtask slices`"
    );
    folder.into()
}

/// No process of a server lives longer than this after ours.
const MAX_SHUTDOWN_TIME: Duration = Duration::from_secs(5);
