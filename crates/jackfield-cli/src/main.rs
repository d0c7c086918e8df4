//! The `jackfield` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    jackfield_cli::main()
}
