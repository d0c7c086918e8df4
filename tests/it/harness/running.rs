//! The binary while it runs.

use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::Ran;

/// A process that is killed, by its id, if the test loses patience or interest.
pub(crate) struct Running {
    child: Child,
    /// Goes away after the process.
    _home: TempDir,
    pub(crate) err: Stream,
    input: Option<ChildStdin>,
    pub(crate) out: Stream,
}

/// What a process says on one of its streams.
pub(crate) struct Stream {
    name: &'static str,
    reading: JoinHandle<()>,
    said: watch::Receiver<Vec<u8>>,
}

impl Running {
    pub(super) fn start(
        mut command: Command,
        (stdin, held): (Option<Vec<u8>>, bool),
        home: TempDir,
    ) -> Self {
        let input = if stdin.is_some() || held {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        let mut child = command
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the binary starts");
        let mut input = child.stdin.take();
        if let Some(bytes) = stdin
            && let Some(mut pipe) = input.take()
        {
            tokio::spawn(async move {
                // A program that has read enough closes the pipe.
                let _written = pipe.write_all(&bytes).await;
            });
        }
        let err = child.stderr.take().expect("standard error is piped");
        let out = child.stdout.take().expect("standard output is piped");
        Self {
            _home: home,
            err: Stream::of("standard error", err),
            input,
            out: Stream::of("standard output", out),
            child,
        }
    }

    /// Says this line to it.
    pub(crate) async fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("its input is held");
        let line = format!("{line}\n");
        input.write_all(line.as_bytes()).await.expect("it reads");
        input.flush().await.expect("it reads");
    }

    /// Says nothing more.
    pub(crate) fn hang_up(&mut self) {
        self.input = None;
    }

    /// Presses Ctrl-C.
    pub(crate) fn interrupt(&self) {
        self.signal("-INT");
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Ends it without a word.
    pub(crate) fn kill(&self) {
        self.signal("-KILL");
    }

    /// Its id, while it runs.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("the process has not ended")
    }

    /// Sends it a signal, with its dash.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.id();
        let kill = std::process::Command::new("kill")
            .args([signal, &id.to_string()])
            .status();
        assert!(kill.expect("there is a `kill`").success());
    }

    /// Waits for the end, and for everything that is said before it.
    pub(crate) async fn end(mut self) -> Ran {
        let ended = tokio::time::timeout(TIME_LIMIT, async {
            let status = self.child.wait().await.expect("a child can be waited for");
            (status, self.out.end().await, self.err.end().await)
        });
        let Ok((status, out, err)) = ended.await else {
            panic!(
                "it does not end\nstandard output:\n{}\nstandard error:\n{}",
                self.out.so_far(),
                self.err.so_far()
            );
        };
        Ran::new(status.code(), out, err)
    }
}

impl Stream {
    fn of(name: &'static str, mut pipe: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let (saying, said) = watch::channel(Vec::new());
        let reading = tokio::spawn(async move {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = pipe.read(&mut piece).await {
                saying.send_modify(|said| said.extend_from_slice(&piece[..length]));
            }
        });
        Self {
            name,
            reading,
            said,
        }
    }

    /// Waits until this was said.
    pub(crate) async fn until(&mut self, text: &str) {
        let saying = self
            .said
            .wait_for(|said| String::from_utf8_lossy(said).contains(text));
        let heard = matches!(tokio::time::timeout(TIME_LIMIT, saying).await, Ok(Ok(_)));
        assert!(
            heard,
            "{} never says {text:?}:\n{}",
            self.name,
            self.so_far()
        );
    }

    /// Goes away, as `head` does.
    pub(crate) async fn close(&mut self) {
        self.reading.abort();
        // The pipe is closed when the task is gone.
        let _aborted = (&mut self.reading).await;
    }

    async fn end(&mut self) -> String {
        if !self.reading.is_finished() {
            let _read = (&mut self.reading).await;
        }
        self.so_far()
    }

    pub(crate) fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.said.borrow()).into_owned()
    }
}

/// How long anything may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);
