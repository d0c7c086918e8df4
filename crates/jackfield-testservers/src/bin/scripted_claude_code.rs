//! A strict stand-in for the `claude` program; see [`jackfield_testservers::claude_code`].

#![expect(clippy::print_stderr, reason = "faults go to the error output")]

use std::process::ExitCode;

use jackfield_testservers::claude_code;

fn main() -> ExitCode {
    match claude_code::run(std::env::args().skip(1)) {
        Ok(code) => code,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}
