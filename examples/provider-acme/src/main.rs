//! The whole `jackfield` command, with acme.

use std::process::ExitCode;
use std::sync::Arc;

use jackfield_cli::Registry;
use jackfield_provider_acme::AcmeFactory;

fn main() -> ExitCode {
    jackfield_cli::main_with(&Registry::default().provider("acme", Arc::new(AcmeFactory)))
}
