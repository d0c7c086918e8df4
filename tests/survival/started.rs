//! The program while it runs.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::deaths::{Life, TIME_LIMIT, over};

/// A process, and what it tells.
pub(crate) struct Started {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    told: Vec<Value>,
    wrong: JoinHandle<String>,
}

impl Started {
    /// Starts it.
    pub(crate) fn new(mut program: Command) -> Self {
        let mut child = program.spawn().expect("the program starts");
        let out = child.stdout.take().expect("standard output is piped");
        let mut err = child.stderr.take().expect("standard error is piped");
        let wrong = tokio::spawn(async move {
            let mut wrong = Vec::new();
            let _read = err.read_to_end(&mut wrong).await;
            String::from_utf8_lossy(&wrong).into_owned()
        });
        Self {
            child,
            lines: BufReader::new(out).lines(),
            told: Vec::new(),
            wrong,
        }
    }

    /// The next thing that it tells; nothing when it has ended.
    pub(crate) async fn next(&mut self) -> Option<&Value> {
        loop {
            let line = self.lines.next_line().await.ok()??;
            // What was cut off in the middle was not told.
            if let Ok(event) = serde_json::from_str(&line) {
                self.told.push(event);
                return self.told.last();
            }
        }
    }

    /// Waits until it has told this so often.
    pub(crate) async fn until(&mut self, event: &str, times: usize) {
        let told = timeout(TIME_LIMIT, async {
            let mut left = times;
            while left > 0 {
                let next = self.next().await.unwrap_or_else(|| panic!("never {event}"));
                left -= usize::from(next["event"] == event);
            }
        });
        told.await.unwrap_or_else(|_| panic!("never {event}"));
    }

    /// The id of its process.
    #[cfg(target_os = "linux")]
    pub(crate) fn process(&self) -> u32 {
        self.child.id().expect("the process has not ended")
    }

    /// Sends it a signal, with its dash.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().expect("the process has not ended");
        let kill = std::process::Command::new("kill")
            .args([signal, &id.to_string()])
            .status();
        assert!(kill.expect("there is a `kill`").success());
    }

    /// Kills it, unless it has ended by itself.
    pub(crate) fn kill(&mut self) {
        let _dead = self.child.start_kill();
    }

    /// Waits for the end.
    pub(crate) async fn end(mut self) -> Life {
        let ended = timeout(TIME_LIMIT, async {
            while self.next().await.is_some() {}
            self.child.wait().await.expect("a child can be waited for")
        });
        let status = ended.await.expect("it ends");
        over(status, self.told, self.wrong.await.unwrap_or_default())
    }
}
