//! The `jackfield` command, which kills itself where `JACKFIELD_CRASH` says: for tests alone.

use std::process::ExitCode;

fn main() -> ExitCode {
    jackfield_cli::main()
}
