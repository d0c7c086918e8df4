//! The `jackfield` command with crash points: it kills itself at the point named by `JACKFIELD_CRASH`. For tests
//! only.

use std::process::ExitCode;

fn main() -> ExitCode {
    jackfield_cli::main()
}
