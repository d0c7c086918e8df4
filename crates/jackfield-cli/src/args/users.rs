//! The arguments of `jackfield users` and `jackfield teams`.

use clap::Subcommand;

use super::Source;
use super::keys::LimitChanges;
use super::own_servers::OwnServerCommand;

/// `jackfield users`
#[derive(Clone, Debug, Subcommand)]
pub enum Users {
    /// Add a user.
    #[command(after_help = ADD_EXAMPLES)]
    Add {
        /// The name: lower-case letters, digits, `.`, `_`, `-`, `@` and `+`.
        name: String,
        /// The team.
        #[arg(long, value_name = "TEAM")]
        team: Option<String>,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// Refuse all keys of a user.
    #[command(after_help = DISABLE_EXAMPLES)]
    Disable {
        /// The user.
        name: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// Accept the keys of a disabled user again.
    #[command(after_help = DISABLE_EXAMPLES)]
    Enable {
        /// The user.
        name: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// Limit what all keys of a user together may use. What is not named stays as it is.
    #[command(after_help = LIMIT_EXAMPLES)]
    Limit {
        /// The user.
        name: String,
        /// What changes.
        #[command(flatten)]
        limits: LimitChanges,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// List the keys of a user at providers, without the keys themselves.
    #[command(after_help = PROVIDER_KEY_EXAMPLES)]
    ListKeys {
        /// The user.
        name: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// List the users.
    #[command(after_help = EXAMPLES)]
    List {
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List who changed which user, team or key, and when.
    #[command(after_help = LOG_EXAMPLES)]
    Log {
        /// At most this many changes, the newest.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        most: u32,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Take the key of a user at a provider away.
    #[command(after_help = PROVIDER_KEY_EXAMPLES)]
    RemoveKey {
        /// The user.
        name: String,
        /// The provider.
        provider: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// Set the key of a user at a provider, from standard input or the terminal.
    #[command(after_help = PROVIDER_KEY_EXAMPLES)]
    SetKey {
        /// The user.
        name: String,
        /// The provider.
        provider: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// The servers of a user.
    #[command(flatten)]
    Servers(OwnServerCommand),
    /// Put a user into a team, or out of it.
    #[command(after_help = MOVE_EXAMPLES)]
    Move {
        /// The user.
        name: String,
        /// The team; no team without this.
        #[arg(long, value_name = "TEAM")]
        team: Option<String>,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
}

/// `jackfield teams`
#[derive(Clone, Debug, Subcommand)]
pub enum Teams {
    /// Add a team.
    #[command(after_help = TEAM_EXAMPLES)]
    Add {
        /// The name: lower-case letters, digits, `.`, `_`, `-`, `@` and `+`.
        name: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// Limit what all users of a team together may use. What is not named stays as it is.
    #[command(after_help = LIMIT_EXAMPLES)]
    Limit {
        /// The team.
        name: String,
        /// What changes.
        #[command(flatten)]
        limits: LimitChanges,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// The servers of a team.
    #[command(flatten)]
    Servers(OwnServerCommand),
    /// List the teams.
    #[command(after_help = TEAM_EXAMPLES)]
    List {
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

const PROVIDER_KEY_EXAMPLES: &str = "\
Examples:
  jackfield users set-key ann openai < key.txt
  jackfield users list-keys ann
  jackfield users remove-key ann openai

Requests of the user to the provider are made with that key. It is kept encrypted, under the master key
that [secrets] names; a user may do the same by the API.";

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield users add ann --team research
  jackfield users list
  jackfield users disable ann
  jackfield users log

Users, teams and keys are in the journal, and hold for every gateway with it: `jackfield keys create`
makes a key for a user.";

pub(super) const TEAM_EXAMPLES: &str = "\
Examples:
  jackfield teams add research
  jackfield users move ann --team research
  jackfield teams list";

const ADD_EXAMPLES: &str = "\
Examples:
  jackfield users add ann
  jackfield users add ben@example.com --team research";

const DISABLE_EXAMPLES: &str = "\
Examples:
  jackfield users disable ann
  jackfield users enable ann";

const LIMIT_EXAMPLES: &str = "\
Examples:
  jackfield users limit ann --requests-per-minute 60 --parallel 4
  jackfield teams limit research --requests-per-minute 600 --cost-per-month 500
  jackfield users limit ann --parallel none
  jackfield users limit ann --none";

const LOG_EXAMPLES: &str = "\
Examples:
  jackfield users log
  jackfield users log --most 1000 --json | jq '.[] | select(.action == \"revoked\")'";

const MOVE_EXAMPLES: &str = "\
Examples:
  jackfield users move ann --team research
  jackfield users move ann";
