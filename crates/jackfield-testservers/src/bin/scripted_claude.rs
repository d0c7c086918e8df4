//! A scripted Claude as a process: `scripted-claude SCRIPT.json [--until-stdin-ends]`.
//!
//! Prints its base URL as the first line of its output, and serves until it is killed or, if asked to,
//! until its input ends: so it dies with whoever started it.
//! What came and what was wrong with it is told at `/scripted/requests` and `/scripted/violations`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the address is told on the output, and faults on the error output"
)]

use std::io::Read as _;
use std::process::ExitCode;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::json;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("scripted-claude: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: scripted-claude SCRIPT.json [--until-stdin-ends]";
    let (Some(path), option) = (arguments.next(), arguments.next()) else {
        return Err(usage.into());
    };
    let until_stdin_ends = match option.as_deref() {
        None => false,
        Some("--until-stdin-ends") => true,
        Some(_) => return Err(usage.into()),
    };
    let script = std::fs::read_to_string(&path).map_err(|fault| format!("{path}: {fault}"))?;
    let script = json::parse(&script).map_err(|fault| format!("{path}: {fault}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let server = ScriptedClaude::start(script).await;
        println!("{}", server.base_url());
        if until_stdin_ends {
            // A thread, because reading a terminal cannot be cancelled.
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
            eprintln!("scripted-claude: {line}");
        }
    });
    Ok(())
}
