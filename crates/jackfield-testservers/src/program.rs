//! A scripted server as a process: `scripted-VENDOR SCRIPT.json [--until-stdin-ends]`.
//!
//! Prints its base URL as the first line of its output, and serves until it is killed or, with the option, until
//! its input ends: so it ends with its parent process. The requests and violations so far are served at
//! `/scripted/requests` and `/scripted/violations`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the address is told on the output, and faults on the error output"
)]

use std::error::Error;
use std::io::Read as _;
use std::ops::Deref;
use std::process::ExitCode;

use crate::script::{Script, json};
use crate::scripted::ScriptedServer;

/// Runs a program of this name, with the script in its arguments.
///
/// `manners` are the permitted values of `--like`; `start` gets the given one.
pub fn run<S: Deref<Target = ScriptedServer>>(
    name: &str,
    manners: &[&str],
    start: impl AsyncFnOnce(Script, Option<&str>) -> S,
) -> ExitCode {
    match serve(name, manners, start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{name}: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn serve<S: Deref<Target = ScriptedServer>>(
    name: &str,
    manners: &[&str],
    start: impl AsyncFnOnce(Script, Option<&str>) -> S,
) -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(arguments) = Arguments::read(&arguments, manners) else {
        return Err(usage(name, manners).into());
    };
    let path = arguments.script;
    let script = std::fs::read_to_string(path).map_err(|fault| format!("{path}: {fault}"))?;
    let script = json::parse(&script).map_err(|fault| format!("{path}: {fault}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let server = start(script, arguments.like).await;
        println!("{}", server.base_url());
        if arguments.until_stdin_ends {
            // On a thread, because reading from a terminal cannot be cancelled.
            let (ended, end) = tokio::sync::oneshot::channel();
            std::thread::spawn(move || {
                let mut sink = Vec::new();
                let _read = std::io::stdin().read_to_end(&mut sink);
                let _gone = ended.send(());
            });
            let _ended = end.await;
        } else {
            std::future::pending::<()>().await;
        }
        for line in server.violations() {
            eprintln!("{name}: {line}");
        }
    });
    Ok(())
}

struct Arguments<'a> {
    like: Option<&'a str>,
    script: &'a str,
    until_stdin_ends: bool,
}

impl<'a> Arguments<'a> {
    /// Parses the arguments; `None` if they are invalid.
    fn read(arguments: &'a [String], manners: &[&str]) -> Option<Self> {
        let (script, options) = arguments.split_first()?;
        let mut read = Self {
            like: None,
            script,
            until_stdin_ends: false,
        };
        let mut options = options.iter().map(String::as_str);
        while let Some(option) = options.next() {
            match option {
                "--like" => read.like = options.next().filter(|like| manners.contains(like)),
                "--until-stdin-ends" => read.until_stdin_ends = true,
                _ => return None,
            }
            if option == "--like" && read.like.is_none() {
                return None;
            }
        }
        Some(read)
    }
}

fn usage(name: &str, manners: &[&str]) -> String {
    let like = match manners {
        [] => String::new(),
        manners => format!(" [--like {}]", manners.join("|")),
    };
    format!("usage: {name} SCRIPT.json{like} [--until-stdin-ends]")
}
