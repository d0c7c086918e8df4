//! The whole `jackfield` command, with the ledger: `[journal] kind = "ledger"` selects it.

use std::process::ExitCode;
use std::sync::Arc;

use jackfield_cli::Registry;
use jackfield_journal_ledger::LedgerFactory;

fn main() -> ExitCode {
    jackfield_cli::main_with(&Registry::default().journal("ledger", Arc::new(LedgerFactory)))
}
