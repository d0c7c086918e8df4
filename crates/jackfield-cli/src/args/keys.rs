//! The arguments of `jackfield keys`.

use clap::Subcommand;

use super::Source;

/// `jackfield keys`
#[derive(Clone, Debug, Subcommand)]
pub enum Keys {
    /// Remove the key of a provider from the keyring.
    #[command(after_help = REMOVE_EXAMPLES)]
    Remove {
        /// The provider.
        provider: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// Store the key of a provider in the keyring, and use it from there.
    #[command(after_help = SET_EXAMPLES)]
    Set {
        /// The provider.
        provider: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield keys set claude
  jackfield keys remove claude

The keyring is the Secret Service on Linux (GNOME Keyring, KWallet), through `secret-tool`, and the
Keychain on macOS. Where each key is: `jackfield providers`.";

const SET_EXAMPLES: &str = "\
Examples:
  jackfield keys set claude
  pass show anthropic | jackfield keys set claude

The key is typed at the terminal without an echo, or read from standard input.";

const REMOVE_EXAMPLES: &str = "\
Examples:
  jackfield keys remove claude";
