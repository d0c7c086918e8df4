//! A server that is a child process: its start, and how it ended.

use std::sync::Arc;
use std::time::Duration;

use jackfield_guard::{Child, ChildProgram, Streams};
use tokio::io::BufReader;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::config::{ClientSettings, ServerConfig};
use crate::container;
use crate::error::ServerFault;
use crate::handshake::{HandshakeError, ended_early};
use crate::lines::Lines;
use crate::link::Link;
use crate::log::Log;
use crate::pipes::PipeLink;
use crate::writer::ServerWriter;

pub(crate) struct ServerProcess {
    child: Child,
    follower: JoinHandle<()>,
}

impl ServerProcess {
    /// Starts the process of a server, and returns it with the link to it.
    pub(crate) fn start(
        config: &ServerConfig,
        settings: &ClientSettings,
        log: &Arc<Log>,
    ) -> Result<(Self, Box<dyn Link>), ServerFault> {
        let (child, streams) = Child::start(&ChildProgram {
            arguments: &config.arguments,
            command: &config.command,
            environment: &config.environment,
            folder: config.folder.as_deref(),
            grace: settings.grace,
            guard: settings.guard.as_ref(),
        })?;
        let Streams {
            stderr,
            stdin,
            stdout,
        } = streams;
        let log = Arc::clone(log);
        let follower = tokio::spawn(async move { log.follow(stderr).await });
        let source = BufReader::with_capacity(64 << 10, stdout);
        let link = PipeLink {
            lines: Lines::new(source, settings.max_message),
            writer: ServerWriter::new(stdin),
        };
        Ok((Self { child, follower }, Box::new(link)))
    }

    /// Ends a process whose handshake has failed, and explains the failure.
    pub(crate) async fn explain(
        mut self,
        missed: HandshakeError,
        link: Box<dyn Link>,
        config: &ServerConfig,
        log: &Log,
    ) -> HandshakeError {
        let ended = timeout(EXIT_WAIT, self.child.wait_for_exit()).await.ok();
        // It did not exit because of the probe, which it has not read; another start would end in the same way.
        let unread =
            matches!(missed, HandshakeError::EndedAtProbe) && link.was_read().await == Some(false);
        let missed = if unread {
            HandshakeError::Fault(ended_early())
        } else {
            missed
        };
        // The last lines of standard error may still be unread.
        let _late = timeout(EXIT_WAIT, self.follower).await;
        drop(link);
        let code = self.child.code();
        tokio::spawn(self.child.shutdown());
        if ended.is_some()
            && let Some(fault) = container::explain(config, code, &log.lines())
        {
            return HandshakeError::Container(fault);
        }
        match (missed, ended) {
            (HandshakeError::Fault(fault), Some(ended)) => HandshakeError::Fault(ServerFault::new(
                format!("{}: {ended}", fault.reason),
                fault.advice,
            )),
            (missed, _) => missed,
        }
    }

    /// Does this, and notices meanwhile if the process ends, so that the link ends with it.
    pub(crate) async fn watch<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.child.watch(work).await
    }

    /// Waits until the process has ended by itself, and returns how. Cancel safe.
    pub(crate) async fn wait_for_exit(&mut self) -> String {
        self.child.wait_for_exit().await
    }

    /// Waits for the process to end after its input was closed, then terminates it. The time is bounded.
    pub(crate) async fn shutdown(self) {
        self.child.shutdown().await;
        // Another process may have inherited standard error; do not wait for it.
        let _late = timeout(EXIT_WAIT, self.follower).await;
    }
}

/// How long to wait for the exit status after the output has ended.
pub(crate) const EXIT_WAIT: Duration = Duration::from_millis(500);
