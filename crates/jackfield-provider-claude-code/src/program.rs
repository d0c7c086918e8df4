//! A running process of Claude Code: its start, its lines, and its end.

use std::io;
use std::sync::Arc;

use jackfield_guard::{Child, ChildProgram, Output, StartFault, Streams};
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::config::ClaudeCodeConfig;
use crate::setup::{ProgramSetup, SessionPoint};
use crate::stderr::Tail;
use crate::wire::Line;

/// A running process. Dropping it ends the process without waiting.
pub(crate) struct Program {
    /// Its place among the processes that there may be, until it has ended.
    _slot: Option<OwnedSemaphorePermit>,
    child: Child,
    /// Dropped to end the standard input.
    input: mpsc::UnboundedSender<Vec<u8>>,
    lines: Lines<BufReader<Output<ChildStdout>>>,
    /// Lines that are not of the protocol.
    noise: usize,
    stderr: Tail,
    follower: JoinHandle<()>,
}

/// Why no further line comes.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The output, or the process, has ended.
    Ended,
    /// The output is not the protocol.
    NotTheProtocol,
}

impl Program {
    /// Starts a process for a new session, which continues from this point if there is one.
    pub(crate) fn start(
        config: &Arc<ClaudeCodeConfig>,
        setup: &ProgramSetup,
        session: &str,
        from: Option<&SessionPoint>,
        slot: Option<OwnedSemaphorePermit>,
    ) -> Result<Self, StartFault> {
        let unusable = |error: io::Error| StartFault {
            reason: format!(
                "its folder {} cannot be made: {error}",
                config.folder.display()
            ),
            advice: "give it another `folder`".to_owned(),
        };
        std::fs::create_dir_all(&config.folder).map_err(unusable)?;
        let (child, streams) = Child::start(&ChildProgram {
            arguments: &setup.command_line(session, from),
            command: &config.command,
            environment: &setup.environment,
            folder: Some(&config.folder),
            grace: config.grace,
            guard: config.guard.as_ref(),
        })?;
        let Streams {
            stderr,
            stdin,
            stdout,
        } = streams;
        let tail = Tail::default();
        let follower = tokio::spawn(tail.clone().follow(stderr));
        let (input, queue) = mpsc::unbounded_channel();
        tokio::spawn(write(stdin, queue));
        Ok(Self {
            _slot: slot,
            child,
            input,
            lines: Lines {
                buffer: Vec::new(),
                source: BufReader::with_capacity(64 << 10, stdout),
            },
            noise: 0,
            stderr: tail,
            follower,
        })
    }

    /// Sends a line. Where the process is gone, the end of its output tells.
    pub(crate) fn send(&self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let _gone = self.input.send(line);
    }

    /// The next line of the protocol. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<Line, Broken> {
        loop {
            let line = match self.child.watch(self.lines.next()).await {
                Ok(Some(line)) => line,
                Ok(None) => return Err(Broken::Ended),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Err(Broken::NotTheProtocol);
                }
                Err(_) => return Err(Broken::Ended),
            };
            if let Some(line) = Line::read(&line) {
                return Ok(line);
            }
            self.noise += 1;
            if self.noise > MAX_NOISE {
                return Err(Broken::NotTheProtocol);
            }
            tracing::debug!("claude code wrote a line that is not of the protocol");
        }
    }

    /// Whether the process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.has_ended()
    }

    /// How the process has ended, with the last line of its standard error, if it ends soon.
    pub(crate) async fn last_words(&mut self) -> String {
        let ended = timeout(EXIT_WAIT, self.child.wait_for_exit()).await;
        let _late = timeout(EXIT_WAIT, &mut self.follower).await;
        let ended = ended.unwrap_or_else(|_| "it closed its output".to_owned());
        match self.stderr.last_line() {
            Some(line) => format!("{ended}: {line}"),
            None => ended,
        }
    }

    /// Ends the standard input, and waits until the process has ended, for a bounded time.
    pub(crate) async fn end(self) {
        drop(self.input);
        self.child.shutdown().await;
        self.follower.abort();
    }
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(line) = queue.recv().await {
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

/// A reader of lines. [`Lines::next`] is cancel safe.
struct Lines<R> {
    buffer: Vec<u8>,
    source: R,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// The next line that is not blank; `None` at the end. A line that is too long is an error.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let piece = self.source.fill_buf().await?;
            if piece.is_empty() {
                let rest = std::mem::take(&mut self.buffer);
                return Ok((!rest.trim_ascii().is_empty()).then_some(rest));
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let taken = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            let read = taken.len() + usize::from(end.is_some());
            self.buffer.extend_from_slice(taken);
            self.source.consume(read);
            if self.buffer.len() > MAX_LINE {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if end.is_some() {
                let line = std::mem::take(&mut self.buffer);
                if !line.trim_ascii().is_empty() {
                    return Ok(Some(line));
                }
            }
        }
    }
}

/// How long to wait for the exit status after the output has ended.
const EXIT_WAIT: std::time::Duration = std::time::Duration::from_secs(1);
/// The longest line, in bytes: 32 MiB.
const MAX_LINE: usize = 32 << 20;
/// The most lines that are not of the protocol.
const MAX_NOISE: usize = 20;
