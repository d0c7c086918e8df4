//! The guard: a separate process between us and one child, the server. It ends it and all of its descendants
//! when we are gone, for any cause.
//!
//! It needs no signal and no message from us: it holds the reading end of the pipe that is the server's standard
//! input, and the kernel reports when no process holds the writing end any more. It reads none of the three streams
//! and copies no byte; the server inherits them.
//!
//! A program that starts servers calls [`main`] when its first argument says so, before anything else (see
//! [`GuardProgram`](crate::GuardProgram)).

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

mod descendants;
pub(crate) mod hangup;

/// The guard's own arguments, which precede the server's command.
pub(crate) fn arguments(grace: Duration) -> [OsString; 1] {
    [grace.min(MAX_GRACE).as_millis().to_string().into()]
}

/// Starts the server that these arguments name, waits until it or we end, and ends all remaining processes.
///
/// Returns the server's exit code, or 128 plus the number of the signal that ended it; 127 if it could not be
/// started.
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let grace = arguments
        .next()
        .and_then(|text| text.to_str()?.parse().ok())
        .map(Duration::from_millis);
    let (Some(grace), Some(program)) = (grace, arguments.next()) else {
        return ExitCode::from(NOT_STARTED);
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return ExitCode::from(NOT_STARTED);
    };
    let code = runtime.block_on(guard(command, grace));
    // The thread that watches the input may still be blocked.
    runtime.shutdown_background();
    ExitCode::from(code.unwrap_or(NOT_STARTED))
}

async fn guard(mut command: Command, grace: Duration) -> io::Result<u8> {
    set_process_name();
    // Before the child starts, so that no end is missed and no descendant is lost.
    let mut ends = EndSignals::new()?;
    descendants::adopt();
    // A separate process group can be signalled without the guard.
    let server = command.process_group(0).spawn().inspect_err(|error| {
        // The guard's only output; the supervisor reads it as the server's last line.
        let _unheard = writeln!(io::stderr(), "it cannot be started: {error}");
    })?;
    let server = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
    let server = server.ok_or_else(|| io::Error::other("the server has no process"))?;
    // Only the server holds its output from here on, so the output ends with the server.
    let nothing = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    drop(nothing);
    let mut tree = ProcessTree {
        server,
        status: None,
    };
    if ends.wait_first(&mut tree).await == FirstEnd::Input {
        // The input has ended; a well-behaved server exits by itself.
        tree.wait(&mut ends, grace).await;
    }
    // In any case, the descendants are ended as well.
    tree.signal(Signal::TERM);
    tree.wait(&mut ends, grace).await;
    tree.kill(&mut ends).await;
    Ok(tree.status.map_or(NOT_STARTED, code))
}

/// The server and its descendants.
struct ProcessTree {
    server: Pid,
    status: Option<WaitStatus>,
}

impl ProcessTree {
    /// Reaps all processes that have ended.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.server {
                self.status = Some(status);
            }
        }
    }

    fn is_gone(&self) -> bool {
        self.status.is_some() && descendants::all().is_empty()
    }

    /// Waits until all processes have ended, for at most this time.
    async fn wait(&mut self, ends: &mut EndSignals, grace: Duration) {
        let deadline = after(grace);
        loop {
            self.reap();
            if self.is_gone() || Instant::now() >= deadline {
                return;
            }
            // Grandchildren do not report their end, so it is also polled.
            let next = deadline.min(after(POLL_INTERVAL));
            tokio::select! {
                _ = ends.child.recv() => {}
                // A second signal asks for an immediate end.
                _ = ends.terminate.recv() => return,
                () = tokio::time::sleep_until(next) => {}
            }
        }
    }

    fn signal(&self, signal: Signal) {
        if self.status.is_none() {
            let _gone = kill_process_group(self.server, signal);
        }
        for pid in descendants::all() {
            let _gone = rustix::process::kill_process(pid, signal);
        }
    }

    /// Kills repeatedly until no process is left; bounded, as some processes cannot be killed.
    async fn kill(&mut self, ends: &mut EndSignals) {
        let deadline = after(KILLING);
        loop {
            self.reap();
            if self.is_gone() || Instant::now() >= deadline {
                return;
            }
            // Repeated, as one of them may have started another process meanwhile.
            self.signal(Signal::KILL);
            let _late = timeout_at(after(KILL_INTERVAL), ends.child.recv()).await;
        }
    }
}

#[derive(Eq, PartialEq)]
enum FirstEnd {
    /// The guard got a signal to end.
    Signal,
    Input,
    Server,
}

/// The signals that can end the run of a server.
struct EndSignals {
    child: Signals,
    hangup: Signals,
    input: oneshot::Receiver<()>,
    interrupt: Signals,
    terminate: Signals,
}

impl EndSignals {
    fn new() -> io::Result<Self> {
        let (closed, input) = oneshot::channel();
        let watch = move || {
            hangup::wait(io::stdin().as_fd());
            let _gone = closed.send(());
        };
        std::thread::Builder::new()
            .name("input".to_owned())
            .spawn(watch)?;
        Ok(Self {
            child: signal(SignalKind::child())?,
            hangup: signal(SignalKind::hangup())?,
            input,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn wait_first(&mut self, tree: &mut ProcessTree) -> FirstEnd {
        loop {
            tree.reap();
            if tree.status.is_some() {
                return FirstEnd::Server;
            }
            tokio::select! {
                _ = self.child.recv() => {}
                _ = &mut self.input => return FirstEnd::Input,
                _ = self.hangup.recv() => return FirstEnd::Signal,
                _ = self.interrupt.recv() => return FirstEnd::Signal,
                _ = self.terminate.recv() => return FirstEnd::Signal,
            }
        }
    }
}

/// The exit code that stands for this status.
fn code(status: WaitStatus) -> u8 {
    let code = status
        .exit_status()
        .or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

fn after(time: Duration) -> Instant {
    Instant::now() + time.min(MAX_GRACE)
}

/// Sets a process name of the guard's own. Killing all processes with our name must not end the guards, too: they
/// would leave the servers behind.
fn set_process_name() {
    #[cfg(target_os = "linux")]
    let _unnamed = rustix::thread::set_name(c"mcp-guard");
}

/// The interval between two rounds of kills.
const KILL_INTERVAL: Duration = Duration::from_millis(20);
/// The longest time that a guard needs to end, beyond the server's grace period, even on a busy machine.
pub(crate) const MAX_END: Duration = Duration::from_secs(5);
/// The time limit for killing the remaining processes.
const KILLING: Duration = Duration::from_secs(2);
/// The longest grace period of a server.
const MAX_GRACE: Duration = Duration::from_secs(3600);
/// The polling interval for the end of all processes.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The exit code with which a shell reports a program that it cannot start.
const NOT_STARTED: u8 = 127;
