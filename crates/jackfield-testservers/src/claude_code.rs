//! A strict stand-in for the `claude` program: Claude Code in stream-JSON mode, as seen from version 2.1.332 on
//! 2026-11-26.
//!
//! It is an agent like the real one: it asks the Messages API at `ANTHROPIC_BASE_URL`, passes the events of the stream
//! on, calls the tools of the SDK MCP server over the control channel, and keeps sessions in `CLAUDE_CONFIG_DIR`. It
//! ends with an error where the client breaks the protocol: an unknown argument, a line out of order, an answer that
//! answers nothing, a message whose last text may be a command.
//!
//! The variable `SCRIPTED_CLAUDE` makes it misbehave:
//!
//! | value | what happens |
//! |---|---|
//! | `garbage` | it writes something else |
//! | `old` | its version is 2.0.1 |
//! | `older` | it does not know `--include-partial-messages` |
//! | `silent` | it reads and says nothing |
//! | `dies-at-start` | it ends with code 3 before it says anything |
//! | `dies-mid-reply` | it ends after the first text of a reply |
//! | `dies-before-its-child` | the same, and a child of it holds its outputs open until the input ends |
//! | `dies-waiting` | it ends once it waits for the result of a call |
//! | `forgets` | it keeps no sessions |
//! | `logged-out` | it has no login |
//! | `odd-question` | it asks something that no client knows, and goes on with the refusal |
//! | `asks-permission` | it asks for the permission to use a tool of its own; one that is allowed "runs": its arguments go into the file that `SCRIPTED_CLAUDE_RAN` names |
//! | `asks-permission-and-dies` | the same, but it ends once a tool has run |
//! | `stops-reading` | it reads nothing after its first message |

mod api;
mod arguments;
mod channel;
mod sessions;
mod turn;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};

use self::arguments::Arguments;
use self::channel::Channel;
use self::turn::Turn;

/// Why it ended, in a line.
type Fault = String;

/// Runs with these arguments, over the standard streams.
///
/// # Errors
///
/// What the client did wrong, in a line.
pub fn run(arguments: impl Iterator<Item = String>) -> Result<ExitCode, String> {
    let mode = std::env::var("SCRIPTED_CLAUDE").unwrap_or_default();
    let arguments = Arguments::read(arguments, mode == "older")?;
    note_start(&arguments);
    match &*mode {
        "dies-at-start" => {
            return Ok(ExitCode::from(3));
        }
        "garbage" => {
            let mut channel = Channel::open();
            for n in 0..50 {
                channel.write_raw(&format!("Welcome to another program, line {n}"));
            }
            channel.read_to_end();
            return Ok(ExitCode::SUCCESS);
        }
        "silent" => {
            Channel::open().read_to_end();
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    check_environment()?;
    let mut channel = Channel::open();
    let system = channel.initialize(&mode)?;
    let tools = channel.handshake()?;
    let content = channel.user()?;
    if mode == "stops-reading" {
        loop {
            std::thread::park();
        }
    }
    let turn = Turn {
        arguments,
        channel,
        mode,
        system,
        tools,
    };
    turn.run(content)
}

/// Writes the start into the file of this variable, for tests that count processes.
fn note_start(arguments: &Arguments) {
    let Ok(path) = std::env::var("SCRIPTED_CLAUDE_STARTS") else {
        return;
    };
    let start = json!({
        "pid": std::process::id(),
        "session": arguments.session,
        "resume": arguments.resume,
        "at": arguments.resume_at,
    });
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path) {
        let _full = writeln!(file, "{start}");
    }
}

/// Without these variables, a text of a user could have a file read, and failures would be retried.
fn check_environment() -> Result<(), Fault> {
    for (name, wanted) in [
        ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1"),
        ("CLAUDE_CODE_DISABLE_FILE_MENTIONS", "1"),
        ("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "0"),
        ("ENABLE_TOOL_SEARCH", "false"),
    ] {
        if std::env::var(name).as_deref() != Ok(wanted) {
            return Err(format!("the variable {name} is not {wanted}"));
        }
    }
    Ok(())
}

fn version(mode: &str) -> &'static str {
    if mode == "old" { "2.0.1" } else { "2.1.332" }
}

/// The text of a field.
fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
