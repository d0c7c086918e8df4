//! Other processes: our own programs, how long they take, and how much memory.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

/// A program of this workspace, which is beside this one.
///
/// # Errors
///
/// If it is not there.
pub fn beside(name: &str) -> anyhow::Result<PathBuf> {
    let this = std::env::current_exe()?;
    let mut folders = this.ancestors().skip(1).take(2);
    let found = folders.find_map(|folder| {
        let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        program.is_file().then_some(program)
    });
    found.with_context(|| format!("`{name}` is not there: build the workspace in this profile"))
}

/// The provider, in a process of its own, so that its time is not ours.
#[derive(Debug)]
pub struct Provider {
    /// Where it is.
    pub base_url: String,
    child: Child,
}

impl Provider {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// If it does not start.
    pub fn start() -> anyhow::Result<Self> {
        let mut child = Command::new(beside("bench-provider")?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("no output")?;
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line)?;
        Ok(Self {
            base_url: line.trim().to_owned(),
            child,
        })
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// How a process ran.
#[derive(Debug)]
pub struct Ran {
    /// The most memory that was seen of it, where that can be known.
    pub memory: Memory,
    /// What it said.
    pub output: String,
    /// From its start to the last byte that it said.
    pub took: Duration,
}

/// The memory of a process in KiB, where that can be known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// All that is resident, the pages of the program's own file included, which others share.
    pub all: Option<u64>,
    /// What is its own, and would not be there without it.
    pub own: Option<u64>,
}

/// Runs a program to its end, which has to be a good one.
///
/// # Errors
///
/// If it cannot be started or fails.
pub fn run(command: &mut Command, watch_memory: bool) -> anyhow::Result<Ran> {
    let began = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let watcher = watch_memory.then(|| {
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        std::thread::spawn(move || most_memory(&status))
    });
    let mut said = child.stdout.take().context("no output")?;
    let mut output = Vec::new();
    let mut buffer = [0; 4096];
    let mut last = began;
    loop {
        let count = said.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        last = Instant::now();
        output.extend_from_slice(buffer.get(..count).unwrap_or_default());
    }
    let mut errors = String::new();
    child
        .stderr
        .take()
        .context("no standard error")?
        .read_to_string(&mut errors)?;
    let status = child.wait()?;
    ensure!(status.success(), "{command:?} failed: {errors}");
    let memory = watcher.and_then(|watcher| watcher.join().ok());
    let memory = memory.unwrap_or_default();
    Ok(Ran {
        memory,
        output: String::from_utf8(output)?,
        took: last - began,
    })
}

/// The most memory of a process, as Linux tells it, looked at until the process is gone.
fn most_memory(status: &Path) -> Memory {
    let mut most = Memory::default();
    while let Ok(text) = std::fs::read_to_string(status) {
        let field = |name: &str| -> Option<u64> {
            let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
            rest.trim().strip_suffix(" kB")?.parse().ok()
        };
        // A process that has ended and was not waited for has none any more.
        let Some(all) = field("VmHWM:") else {
            break;
        };
        most.all = Some(all);
        // Linux keeps no mark of this one.
        most.own = most.own.max(field("RssAnon:"));
        std::thread::sleep(Duration::from_millis(2));
    }
    most
}
