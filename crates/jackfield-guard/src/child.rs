//! A child process: its start, and its guaranteed end.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::environment::variables;
use crate::guard;
use crate::output::Output;
use crate::program::{ChildProgram, GuardProgram, StartFault};

/// A child process, behind its guard if there is one. Dropping it also ends the process, without waiting.
#[derive(Debug)]
pub struct Child {
    grace: Duration,
    guarded: bool,
    /// Dropped when the process has ended, which ends its outputs.
    outputs: Option<[oneshot::Sender<Infallible>; 2]>,
    process: tokio::process::Child,
}

/// The standard streams of a child.
pub struct Streams {
    pub stderr: Output<ChildStderr>,
    pub stdin: ChildStdin,
    pub stdout: Output<ChildStdout>,
}

impl Child {
    /// Starts a program.
    ///
    /// # Errors
    ///
    /// [`StartFault`] if there is no such program, or it cannot be started.
    pub fn start(program: &ChildProgram<'_>) -> Result<(Self, Streams), StartFault> {
        let environment = variables(std::env::vars_os(), program.environment);
        let path = environment.iter().find(|(name, _)| name == "PATH");
        let found = find(program, path.map(|(_, value)| value.as_os_str()))?;
        let mut command = command(&found, program);
        command
            .env_clear()
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C at our terminal is meant for us and must not also reach the child.
            .process_group(0)
            // A guard ends by itself and ends the child; a killed guard could not.
            .kill_on_drop(program.guard.is_none());
        if let Some(folder) = program.folder {
            command.current_dir(folder);
        }
        let cannot = |error: &io::Error| {
            StartFault::new(
                format!("`{}` cannot be started: {error}", program.command),
                "check the command",
            )
        };
        let mut process = command.spawn().map_err(|error| cannot(&error))?;
        let streams = (
            process.stdin.take(),
            process.stdout.take(),
            process.stderr.take(),
        );
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(cannot(&io::Error::other("it has no pipes")));
        };
        let (stdout_ends, stdout_ended) = oneshot::channel();
        let (stderr_ends, stderr_ended) = oneshot::channel();
        let child = Self {
            grace: program.grace,
            guarded: program.guard.is_some(),
            outputs: Some([stdout_ends, stderr_ends]),
            process,
        };
        let streams = Streams {
            stderr: Output::new(stderr, stderr_ended),
            stdin,
            stdout: Output::new(stdout, stdout_ended),
        };
        Ok((child, streams))
    }

    /// Waits for the process to end and describes how it did. Cancel safe.
    pub async fn wait_for_exit(&mut self) -> String {
        let ended = self.process.wait().await;
        self.outputs = None;
        match ended {
            Ok(status) => self.describe(status),
            Err(error) => format!("its process is lost: {error}"),
        }
    }

    /// Does this, and notices meanwhile if the process ends, so that its outputs end with it. As cancel safe as `work`.
    pub async fn watch<T>(&mut self, work: impl Future<Output = T>) -> T {
        let exit = async {
            self.wait_for_exit().await;
            std::future::pending().await
        };
        tokio::select! {
            done = work => done,
            never = exit => never,
        }
    }

    /// Whether the process has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// The exit code, once the process has ended.
    pub fn code(&mut self) -> Option<i32> {
        self.process.try_wait().ok().flatten()?.code()
    }

    /// Waits for the process to end after its input was closed, then terminates it. The time is bounded.
    pub async fn shutdown(mut self) {
        if timeout(self.grace, self.process.wait()).await.is_ok() {
            return;
        }
        self.signal(Signal::TERM);
        // A killed guard would leave the child behind, so it gets the time for all of its steps.
        let patience = if self.guarded {
            self.grace.saturating_mul(2).saturating_add(guard::MAX_END)
        } else {
            self.grace
        };
        if timeout(patience, self.process.wait()).await.is_ok() {
            return;
        }
        self.signal(Signal::KILL);
        let _reaped = timeout(self.grace, self.process.wait()).await;
    }

    /// Sends a signal to the guard, or to the child's process group.
    fn signal(&self, signal: Signal) {
        let Some(pid) = self.pid() else {
            return;
        };
        let sent = if self.guarded {
            kill_process(pid, signal)
        } else {
            kill_process_group(pid, signal)
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "a child process cannot be sent a signal");
        }
    }

    /// The process id, unless the process was already reaped.
    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.process.id()?).ok()?)
    }

    fn describe(&self, status: ExitStatus) -> String {
        use std::os::unix::process::ExitStatusExt as _;
        let by_guard = status.code().filter(|_| self.guarded);
        let behind_guard = by_guard.filter(|code| *code > 128).map(|code| code - 128);
        match (status.signal().or(behind_guard), status.code()) {
            (Some(signal), _) => format!("it was ended by signal {signal}"),
            (None, Some(code)) => format!("it ended with code {code}"),
            (None, None) => "it ended".to_owned(),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Nothing to do if the process was already reaped. Otherwise the runtime reaps it.
        self.signal(if self.guarded {
            Signal::TERM
        } else {
            Signal::KILL
        });
    }
}

fn command(found: &Path, program: &ChildProgram<'_>) -> Command {
    match program.guard {
        None => {
            let mut command = Command::new(found);
            command.args(program.arguments);
            command
        }
        Some(GuardProgram {
            arguments,
            program: guard,
        }) => {
            let mut command = Command::new(guard);
            command
                .args(arguments)
                .args(guard::arguments(program.grace))
                .arg(found)
                .args(program.arguments);
            command
        }
    }
}

/// Finds the program before the start, so that an error can name what is missing.
fn find(program: &ChildProgram<'_>, path: Option<&OsStr>) -> Result<PathBuf, StartFault> {
    let name = Path::new(program.command);
    if program.command.trim().is_empty() {
        return Err(StartFault::new("it has no command", "give it one"));
    }
    let folder = match program.folder {
        Some(folder) if !folder.is_dir() => {
            return Err(StartFault::new(
                format!("its folder {} does not exist", folder.display()),
                "correct its `cwd`",
            ));
        }
        Some(folder) => std::path::absolute(folder),
        None => std::env::current_dir(),
    };
    if name.components().count() > 1 || name.is_absolute() {
        let path = folder.map_or_else(|_| name.to_owned(), |folder| folder.join(name));
        return if is_program(&path) {
            Ok(path)
        } else {
            Err(StartFault::new(
                format!("{} is not a program that can be run", path.display()),
                "correct its `command`",
            ))
        };
    }
    let places = std::env::split_paths(path.unwrap_or_default());
    let mut found = places
        .map(|place| place.join(name))
        .filter(|path| is_program(path));
    found.next().ok_or_else(|| {
        StartFault::new(
            format!("there is no program `{}` in PATH", program.command),
            "install it, or give its whole path",
        )
    })
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
