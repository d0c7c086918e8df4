//! The guard: a process of its own between us and one server, which ends the server and whatever the
//! server has started when we are gone, by whatever way.
//!
//! It needs no signal and no message from us: it holds the reading end of the pipe that is the
//! server's standard input, and the kernel tells it when nobody holds the writing end any more. It
//! reads none of the three streams and copies no byte; the server inherits them.
//!
//! A program that starts servers calls [`main`] when its first argument says so, before anything else
//! (see [`GuardProgram`](crate::GuardProgram)).

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::clock::after;

mod descendants;

/// What a guard is told, before the server's command.
pub(crate) fn arguments(grace: Duration) -> [OsString; 1] {
    [grace.min(LONGEST_GRACE).as_millis().to_string().into()]
}

/// Starts the server that these arguments name, waits for its end or ours, and leaves nothing behind.
///
/// Returns what the server ended with, 128 and the number of the signal if it was one; 127 if it could
/// not be started.
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
    // The thread that watches the input may still be watching.
    runtime.shutdown_background();
    ExitCode::from(code.unwrap_or(NOT_STARTED))
}

async fn guard(mut command: Command, grace: Duration) -> io::Result<u8> {
    take_a_name();
    // Before there is a child: none may be missed, none may be lost.
    let mut ends = EndSignals::new()?;
    descendants::adopt();
    // A group of its own, which can be sent signals without the guard getting them.
    let server = command.process_group(0).spawn().inspect_err(|error| {
        // The one word of the guard's own; whoever keeps the server reads it as the server's last.
        let _unheard = writeln!(io::stderr(), "it cannot be started: {error}");
    })?;
    let server = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
    let server = server.ok_or_else(|| io::Error::other("the server has no process"))?;
    // The server alone holds its output from here on, so that its end is the end of the output.
    let nothing = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    drop(nothing);
    let mut family = ProcessTree {
        server,
        status: None,
    };
    if ends.first(&mut family).await == FirstEnd::OurEnd {
        // The input has ended; a good server ends by itself.
        family.wait(&mut ends, grace).await;
    }
    // Whether the server is gone or not: what it has started goes, too.
    family.signal(Signal::TERM);
    family.wait(&mut ends, grace).await;
    family.kill(&mut ends).await;
    Ok(family.status.map_or(NOT_STARTED, code))
}

/// The server, and what it has started.
struct ProcessTree {
    server: Pid,
    status: Option<WaitStatus>,
}

impl ProcessTree {
    /// Takes note of what has ended.
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

    /// Waits until everything has ended, within this time.
    async fn wait(&mut self, ends: &mut EndSignals, grace: Duration) {
        let deadline = after(grace);
        loop {
            self.reap();
            if self.is_gone() || Instant::now() >= deadline {
                return;
            }
            // Children of children do not tell when they end, so it is also looked from time to time.
            let next = deadline.min(after(LOOK));
            tokio::select! {
                _ = ends.child.recv() => {}
                // Whoever asks now does not want to wait.
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

    /// Kills until nothing is left; bounded, because what cannot be killed is not waited for.
    async fn kill(&mut self, ends: &mut EndSignals) {
        let deadline = after(KILLING);
        loop {
            self.reap();
            if self.is_gone() || Instant::now() >= deadline {
                return;
            }
            // Again each time: one of them may have started another one meanwhile.
            self.signal(Signal::KILL);
            let _late = timeout_at(after(AGAIN), ends.child.recv()).await;
        }
    }
}

/// Which end came first.
#[derive(Eq, PartialEq)]
enum FirstEnd {
    /// Somebody ends the guard.
    Asked,
    OurEnd,
    Server,
}

/// What can end a server's life.
struct EndSignals {
    child: Signals,
    hangup: Signals,
    input: oneshot::Receiver<()>,
    interrupt: Signals,
    terminate: Signals,
}

impl EndSignals {
    fn new() -> io::Result<Self> {
        let (told, input) = oneshot::channel();
        let watch = move || {
            let stdin = io::stdin();
            // Nothing is asked for, so only the end is told, however much there is to read.
            let mut watched = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::empty())];
            while matches!(poll(&mut watched, None), Err(error) if error == rustix::io::Errno::INTR)
            {
            }
            let _gone = told.send(());
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

    async fn first(&mut self, family: &mut ProcessTree) -> FirstEnd {
        loop {
            family.reap();
            if family.status.is_some() {
                return FirstEnd::Server;
            }
            tokio::select! {
                _ = self.child.recv() => {}
                _ = &mut self.input => return FirstEnd::OurEnd,
                _ = self.hangup.recv() => return FirstEnd::Asked,
                _ = self.interrupt.recv() => return FirstEnd::Asked,
                _ = self.terminate.recv() => return FirstEnd::Asked,
            }
        }
    }
}

/// What a program that ended like this says to its parent.
fn code(status: WaitStatus) -> u8 {
    let code = status
        .exit_status()
        .or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

/// Whoever ends all processes of our name must not end the guards with us: they would leave the
/// servers behind.
fn take_a_name() {
    #[cfg(target_os = "linux")]
    let _unnamed = rustix::thread::set_name(c"mcp-guard");
}

/// How soon what was killed is looked for again.
const AGAIN: Duration = Duration::from_millis(20);
/// How long a guard takes at most, beyond what the server is given to end by itself, however busy
/// the machine is.
pub(crate) const LONGEST_END: Duration = Duration::from_secs(5);
/// How long it is tried to kill what is left.
const KILLING: Duration = Duration::from_secs(2);
/// No server is given longer.
const LONGEST_GRACE: Duration = Duration::from_secs(3600);
/// How often it is looked whether everything has ended.
const LOOK: Duration = Duration::from_millis(50);
/// What a shell says of a program that it cannot start.
const NOT_STARTED: u8 = 127;
