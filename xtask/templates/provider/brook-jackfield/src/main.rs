//! The whole `jackfield` command, gateway included, with Brook.

mod factory;

use std::process::ExitCode;
use std::sync::Arc;

use jackfield_cli::Registry;

use crate::factory::BrookFactory;

fn main() -> ExitCode {
    jackfield_cli::main_with(&Registry::default().provider("brook", Arc::new(BrookFactory)))
}
