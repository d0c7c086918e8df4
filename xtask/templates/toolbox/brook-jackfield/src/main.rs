//! The whole `jackfield` command, gateway included, with the toolbox Brook.

use std::process::ExitCode;
use std::sync::Arc;

use jackfield_cli::Registry;
use toolbox_brook::BrookToolbox;

fn main() -> ExitCode {
    jackfield_cli::main_with(&Registry::default().toolbox(Arc::new(BrookToolbox::default())))
}
