//! The whole `jackfield` command, gateway included, with the shelf.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use jackfield_cli::Registry;
use jackfield_toolbox_shelf::Shelf;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let registry = Registry::default().toolbox(Arc::new(Shelf::new()?));
    Ok(jackfield_cli::main_with(&registry))
}
