//! Servers in containers: recognizes failures outside of the server by the exit code and messages of the program
//! that runs the container.
//!
//! `docker run` exits with 125 if the container cannot be created, with 126 or 127 if the program in the container
//! cannot be run, and otherwise with the server's code; `docker exec` exits with 1 and prints the reason (Docker's
//! reference of `docker container run`, "Exit status", read 2026-11-22; the messages are those of Docker 28 and
//! compatible programs). The output of a server in a container arrives on the same stream, so only whole phrases of
//! those programs count.

use std::path::Path;

use crate::config::ServerConfig;
use crate::error::ServerFault;

/// Explains why a server in a container never answered, if the cause lies outside of the server, from the exit code
/// and the lines on standard error.
pub(crate) fn explain(
    config: &ServerConfig,
    code: Option<i32>,
    log_lines: &[String],
) -> Option<ServerFault> {
    let runner = Runner::detect(config)?;
    let name = &runner.name;
    // The last lines belong to this start, and not to an earlier one.
    let recent = || log_lines.iter().rev().take(RECENT).map(|line| line.trim());
    let says = |words: &[&str]| {
        recent().any(|line| {
            let line = line.to_lowercase();
            words.iter().any(|words| line.contains(words))
        })
    };
    if says(NO_DAEMON) {
        return Some(ServerFault::new(
            format!("`{name}` does not reach its daemon, so there are no containers"),
            format!("start it, and see that `{name} ps` works for you"),
        ));
    }
    if runner.attaches && says(NO_CONTAINER) {
        return Some(ServerFault::new(
            "there is no such container",
            format!("correct its name in `args`; `{name} ps --all` shows those that there are"),
        ));
    }
    if runner.attaches && (says(NOT_RUNNING) || recent().any(is_stopped)) {
        return Some(ServerFault::new(
            "its container is not running",
            format!("start it with `{name} start`, or use `{name} run -i`, which makes one"),
        ));
    }
    if says(NO_TERMINAL) {
        return Some(ServerFault::new(
            format!("`{name}` wants a terminal, and there is none"),
            "take `-t` out of its `args`: a server needs `-i` alone",
        ));
    }
    let words = recent().find(|line| !line.is_empty() && !is_hint(line));
    let words: String = words
        .unwrap_or("nothing")
        .chars()
        .take(MAX_LENGTH)
        .collect();
    match code? {
        0 if !runner.keeps_input => Some(ServerFault::new(
            "it ended at once: its container has no input",
            format!("give `{name} {}` the argument `-i`", runner.verb),
        )),
        125 if !runner.attaches => Some(ServerFault::new(
            format!("its container failed to start: {words}"),
            "correct the options and the image in its `args`, or fetch the image by hand",
        )),
        126 | 127 => Some(ServerFault::new(
            format!("its container has no such program: {words}"),
            "correct what comes after the image or the container in its `args`",
        )),
        _ => None,
    }
}

/// The parts of a container runner's command that matter here.
struct Runner {
    /// Whether it runs in an existing container.
    attaches: bool,
    /// Whether the container gets our standard input.
    keeps_input: bool,
    name: String,
    verb: String,
}

impl Runner {
    /// Parses this command, if it runs a container.
    fn detect(config: &ServerConfig) -> Option<Self> {
        let name = Path::new(&config.command).file_name()?.to_str()?;
        if !["docker", "nerdctl", "podman"].contains(&name) {
            return None;
        }
        let mut arguments = config.arguments.iter().map(String::as_str);
        let verb = arguments.find(|argument| ["exec", "run"].contains(argument))?;
        let keeps_input = arguments.any(|argument| {
            let short = argument.starts_with('-') && !argument.starts_with("--");
            (short && argument.contains('i')) || argument.starts_with("--interactive")
        });
        Some(Self {
            attaches: verb == "exec",
            keeps_input,
            name: name.to_owned(),
            verb: verb.to_owned(),
        })
    }
}

/// Whether a daemon reports that a container is not running; a server may say "is not running" of other things.
fn is_stopped(line: &str) -> bool {
    let line = line.to_lowercase();
    let container = line.split_once("error response from daemon: container ");
    container.is_some_and(|(_, rest)| rest.contains("is not running"))
}

/// Whether the line is only a hint at the help, which Docker prints last.
fn is_hint(line: &str) -> bool {
    let begins = line.starts_with("Run '") || line.starts_with("See '");
    begins && line.contains("--help")
}

/// Messages of `docker exec`, `podman exec` and `nerdctl exec` for a missing container.
const NO_CONTAINER: &[&str] = &[
    "error response from daemon: no such container",
    "error: no such container",
    "level=fatal msg=\"no such container",
    "fata[0000] no such container",
    "no container with name or id",
];
/// Messages of each program that cannot reach its daemon. A server's messages about its database may begin alike.
const NO_DAEMON: &[&str] = &[
    "cannot access containerd socket",
    "cannot connect to podman",
    "cannot connect to the docker daemon",
    "containerd not running?",
    "failed to connect to the docker api",
    "permission denied while trying to connect to the docker",
];
/// Messages of `podman exec` and `nerdctl exec` for a container that is not running.
const NOT_RUNNING: &[&str] = &["container state improper", "no running task found"];
/// Messages after a terminal was requested.
const NO_TERMINAL: &[&str] = &[
    "the input device is not a tty",
    "cannot attach stdin to a tty-enabled container",
];
/// The most characters of a quoted message.
const MAX_LENGTH: usize = 300;
/// How many of the last lines are examined.
const RECENT: usize = 20;
