//! Servers in containers: what went wrong outside of them, told by what the program says that runs them.
//!
//! `docker run` ends with 125 where there is no container, with 126 or 127 where the container has no such
//! program to run, and otherwise as the server does; `docker exec` ends with 1 and says why (Docker's
//! reference of `docker container run`, "Exit status", read 2026-11-22; the words are those of Docker 28
//! and of what is like it). What a server in a container says reaches us the same way, so only whole
//! phrases of theirs count.

use std::path::Path;

use crate::config::ServerConfig;
use crate::error::ServerFault;

/// Why a server in a container never answered, if that is not the server's own doing: how its command
/// ended, and what was said on standard error.
pub(crate) fn explain(
    config: &ServerConfig,
    code: Option<i32>,
    said: &[String],
) -> Option<ServerFault> {
    let runner = Runner::of(config)?;
    let name = &runner.name;
    // What it said last is of this start, and not of one before.
    let recent = || said.iter().rev().take(RECENT).map(|line| line.trim());
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
    let words: String = words.unwrap_or("nothing").chars().take(LONGEST).collect();
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

/// The program that runs a server in a container, as far as it matters here.
struct Runner {
    /// Whether the container is there already.
    attaches: bool,
    /// Whether the container gets our input.
    keeps_input: bool,
    name: String,
    verb: String,
}

impl Runner {
    /// What this command is, if it is one.
    fn of(config: &ServerConfig) -> Option<Self> {
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

/// Whether a daemon says that a container is not running; a server may say so of anything else.
fn is_stopped(line: &str) -> bool {
    let line = line.to_lowercase();
    let container = line.split_once("error response from daemon: container ");
    container.is_some_and(|(_, rest)| rest.contains("is not running"))
}

/// Whether it only says where help is, as Docker does last of all.
fn is_hint(line: &str) -> bool {
    let begins = line.starts_with("Run '") || line.starts_with("See '");
    begins && line.contains("--help")
}

/// What `docker exec`, `podman exec` and `nerdctl exec` say where there is no such container.
const NO_CONTAINER: &[&str] = &[
    "error response from daemon: no such container",
    "error: no such container",
    "level=fatal msg=\"no such container",
    "fata[0000] no such container",
    "no container with name or id",
];
/// What each says that does not reach its daemon. A server may say the beginning of it of its database.
const NO_DAEMON: &[&str] = &[
    "cannot access containerd socket",
    "cannot connect to podman",
    "cannot connect to the docker daemon",
    "containerd not running?",
    "failed to connect to the docker api",
    "permission denied while trying to connect to the docker",
];
/// What `podman exec` and `nerdctl exec` say where a container is not running.
const NOT_RUNNING: &[&str] = &["container state improper", "no running task found"];
/// What is said where a terminal was asked for.
const NO_TERMINAL: &[&str] = &[
    "the input device is not a tty",
    "cannot attach stdin to a tty-enabled container",
];
/// The most characters of what was said.
const LONGEST: usize = 300;
/// How many lines are looked at.
const RECENT: usize = 20;
