//! Chromium, as `page.mjs` drives it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::harness::PAGE_TOKEN;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// A browser that runs a scenario.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    scenario: &'static str,
}

impl Browser {
    /// Starts a scenario on the page of the gateway at this address.
    pub(crate) fn start(scenario: &'static str, address: &str) -> Self {
        Self::start_with_key(scenario, address, "")
    }

    /// The same for a person with this key.
    pub(crate) fn start_with_key(scenario: &'static str, address: &str, key: &str) -> Self {
        let shots = installed("JACKFIELD_PAGE_SHOTS");
        std::fs::create_dir_all(&shots).expect("a folder for the screenshots can be made");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("page/page.mjs");
        let mut command = Command::new("node");
        command
            .arg(script)
            .arg(scenario)
            .env("JACKFIELD_CHROMIUM", installed("JACKFIELD_PAGE_CHROMIUM"))
            .env("JACKFIELD_KEY", key)
            .env("JACKFIELD_PAGE_TOKEN", PAGE_TOKEN)
            .env("JACKFIELD_MODULES", installed("JACKFIELD_PAGE_NODE"))
            .env("JACKFIELD_SHOTS", shots)
            .env("JACKFIELD_URL", format!("http://{address}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().expect("Node.js starts");
        let input = child.stdin.take().expect("its input is a pipe");
        let output = child.stdout.take().expect("its output is a pipe");
        Self {
            child,
            input,
            lines: BufReader::new(output).lines(),
            scenario,
        }
    }

    /// The next line of the script, at the latest when it ends.
    async fn line(&mut self) -> Option<String> {
        let line = timeout(TIME_LIMIT, self.lines.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("`{}` is stuck", self.scenario));
        line.expect("its output is text")
    }

    /// Waits until the script asks for this.
    pub(crate) async fn asks_for(&mut self, wish: &str) {
        loop {
            match self.line().await {
                Some(line) if line == wish => return,
                Some(line) => println!("{}: {line}", self.scenario),
                None => self.fail(&format!("it never asks for `{wish}`")).await,
            }
        }
    }

    /// Tells the script that what it asked for is done.
    pub(crate) async fn done(&mut self) {
        let written = self.input.write_all(b"done\n").await;
        written.expect("the script reads");
    }

    /// Waits for the end of the scenario, which went well.
    pub(crate) async fn ends(mut self) {
        while let Some(line) = self.line().await {
            println!("{}: {line}", self.scenario);
        }
        let status = self.child.wait().await.expect("it ends");
        if !status.success() {
            self.fail("it failed").await;
        }
    }

    async fn fail(&mut self, why: &str) -> ! {
        let mut complaint = String::new();
        if let Some(mut pipe) = self.child.stderr.take() {
            let read = timeout(TIME_LIMIT, pipe.read_to_string(&mut complaint)).await;
            let _length = read.expect("it ends").expect("it is text");
        }
        panic!("`{}`: {why}\n{complaint}", self.scenario);
    }
}

/// A place that `cargo xtask slices` names.
fn installed(variable: &str) -> PathBuf {
    let place = std::env::var_os(variable);
    let place = place.unwrap_or_else(|| panic!("there is no {variable}: run `cargo xtask slices`"));
    place.into()
}

/// How long the browser may take from one line to the next, which may be the whole scenario.
const TIME_LIMIT: Duration = Duration::from_mins(10);
