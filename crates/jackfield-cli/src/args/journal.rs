//! The arguments of `jackfield journal`.

use std::path::PathBuf;

use clap::Subcommand;

/// `jackfield journal`
#[derive(Clone, Debug, Subcommand)]
pub enum JournalCommand {
    /// Copy all sessions and spending records into another journal, and compare both.
    #[command(after_help = COPY_EXAMPLES)]
    Copy {
        /// The journal that is copied: a file, a postgres:// address, or env:NAME for a variable with one.
        #[arg(value_name = "FROM")]
        from: PathBuf,
        /// The journal that is written: the same; a file that does not exist is made.
        #[arg(value_name = "TO")]
        to: PathBuf,
        /// Read this configuration file and no other (also: JACKFIELD_CONFIG).
        #[arg(long, value_name = "FILE", hide_short_help = true)]
        config: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield journal copy ~/.local/share/jackfield/jackfield.db env:DATABASE_URL";

const COPY_EXAMPLES: &str = "\
Examples:
  jackfield journal copy ~/.local/share/jackfield/jackfield.db env:DATABASE_URL
  jackfield journal copy postgres://me@db.example/jackfield copy.db

End everything that uses FROM or TO first: a session in use is not copied, and one that is taken
up in TO meanwhile counts as different. What is in TO already stays
as it is; the same command again goes on with what is missing. An address has no password in it:
it is in the variable, or in the one that `password_env` under [journal] names. The exit code is 1
if something was not copied, or is not the same in both.";
