//! The arguments of `jackfield secrets`.

use clap::Subcommand;

use super::Source;

/// `jackfield secrets`
#[derive(Clone, Debug, Subcommand)]
pub enum Secrets {
    /// Print a new master key.
    #[command(after_help = EXAMPLES)]
    NewKey {
        /// Put it into the keyring of the operating system instead, before those that are there.
        #[arg(long)]
        keyring: bool,
    },
    /// Encrypt all secrets under the newest master key.
    #[command(after_help = EXAMPLES)]
    Rotate {
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// Show how many secrets there are under which master key, and whether it is there.
    #[command(after_help = EXAMPLES)]
    Status {
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield secrets new-key > /run/secrets/jackfield-secrets
  jackfield secrets status
  jackfield secrets rotate

`key_file`, `key_env` or `key_keyring` under [secrets] says where the master key is. To change it, put a
new key on a line above the old one, restart the gateways, and run `jackfield secrets rotate`; then
remove the old line.";
