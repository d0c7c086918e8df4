//! A scripted MCP server over standard input and output: `scripted-mcp SCRIPT`.
//!
//! The script is JSON, or the path of a file with JSON; [`jackfield_testservers::mcp`] describes its fields.

#![expect(clippy::print_stderr, reason = "faults go to the error output")]

use std::process::ExitCode;

use jackfield_testservers::mcp;

fn main() -> ExitCode {
    let Some(script) = std::env::args().nth(1) else {
        eprintln!("usage: scripted-mcp SCRIPT");
        return ExitCode::FAILURE;
    };
    match mcp::serve(&script) {
        Ok(code) => code,
        Err(fault) => {
            eprintln!("scripted-mcp: {fault}");
            ExitCode::FAILURE
        }
    }
}
