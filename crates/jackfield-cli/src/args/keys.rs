//! The arguments of `jackfield keys`.

use std::str::FromStr;

use clap::Subcommand;
use jackfield_domain::price::Money;

use super::Source;

/// `jackfield keys`
#[derive(Clone, Debug, Subcommand)]
pub enum Keys {
    /// Make a key for a client of the gateway; it is shown once.
    #[command(after_help = CREATE_EXAMPLES)]
    Create(KeyCreate),
    /// Limit a client's key. What is not named stays as it is.
    #[command(after_help = LIMIT_EXAMPLES)]
    Limit {
        /// The id of the key, as `keys list` shows it.
        id: String,
        /// What changes.
        #[command(flatten)]
        limits: LimitChanges,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// List the keys of the gateway's clients.
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// Only those of this user.
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove the key of a provider from the keyring.
    #[command(after_help = REMOVE_EXAMPLES)]
    Remove {
        /// The provider.
        provider: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// Revoke a client's key: its next request is refused, on every gateway with this journal.
    #[command(after_help = REVOKE_EXAMPLES)]
    Revoke {
        /// The id of the key, as `keys list` shows it.
        id: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
    },
    /// Give a client's key a new secret; the old one is accepted for a while longer.
    #[command(after_help = ROTATE_EXAMPLES)]
    Rotate {
        /// The id of the key, as `keys list` shows it.
        id: String,
        /// How long the old secret is accepted, such as 1h or 7d; 0s for not at all.
        #[arg(long, value_name = "TIME", default_value = "24h")]
        overlap: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
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

/// Limits of a key, a user or a team.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct LimitArgs {
    /// At most this many requests per minute, which may also come all at once.
    #[arg(long, value_name = "N|none", value_parser = limit(count::<u32>))]
    pub requests_per_minute: Option<Limit<u32>>,
    /// At most this many requests at once.
    #[arg(long, value_name = "N|none", value_parser = limit(count::<u32>))]
    pub parallel: Option<Limit<u32>>,
    /// At most this many tokens of model calls per minute, input and output.
    #[arg(long, value_name = "N|none", value_parser = limit(count::<u64>))]
    pub tokens_per_minute: Option<Limit<u64>>,
    /// At most this cost of model calls per day (UTC), in US dollars, such as 2.50.
    #[arg(long, value_name = "USD|none", value_parser = limit(money))]
    pub cost_per_day: Option<Limit<Money>>,
    /// At most this cost of model calls per calendar month (UTC), in US dollars.
    #[arg(long, value_name = "USD|none", value_parser = limit(money))]
    pub cost_per_month: Option<Limit<Money>>,
    /// At most this many tokens of model calls per day (UTC), input and output.
    #[arg(long, value_name = "N|none", value_parser = limit(count::<u64>))]
    pub tokens_per_day: Option<Limit<u64>>,
    /// At most this many tokens of model calls per calendar month (UTC).
    #[arg(long, value_name = "N|none", value_parser = limit(count::<u64>))]
    pub tokens_per_month: Option<Limit<u64>>,
    /// What becomes of calls of models without a price under a budget of money.
    #[arg(
        long,
        value_enum,
        value_name = "allow|refuse",
        hide_possible_values = true
    )]
    pub unpriced: Option<Unpriced>,
}

/// What becomes of calls of models without a price.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub enum Unpriced {
    /// They are made, and count for no budget of money.
    Allow,
    /// They are refused.
    Refuse,
}

/// What changes of the limits of what has some.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct LimitChanges {
    /// The limits that are named.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Take all limits away.
    #[arg(long, conflicts_with = "LimitArgs")]
    pub none: bool,
}

/// A limit as it is given.
#[derive(Clone, Copy, Debug)]
pub enum Limit<T> {
    /// There is none any more.
    None,
    /// At most this.
    Most(T),
}

impl<T> From<Limit<T>> for Option<T> {
    fn from(limit: Limit<T>) -> Self {
        match limit {
            Limit::None => None,
            Limit::Most(most) => Some(most),
        }
    }
}

/// A limit, or `none`.
fn limit<T>(
    parse: impl Fn(&str) -> Result<T, String> + Clone,
) -> impl Fn(&str) -> Result<Limit<T>, String> + Clone {
    move |text| match text.trim() {
        "none" => Ok(Limit::None),
        text => parse(text)
            .map(Limit::Most)
            .map_err(|why| format!("{why}; `none` takes the limit away")),
    }
}

/// A number from 1 on.
fn count<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number >= T::from(1));
    number.ok_or_else(|| "this has to be a whole number from 1 on".to_owned())
}

/// An amount of US dollars.
fn money(text: &str) -> Result<Money, String> {
    Money::parse(text.trim()).map_err(|error| error.to_string())
}

/// `jackfield keys create`
#[derive(Clone, Debug, clap::Args)]
pub struct KeyCreate {
    /// The user to which it belongs.
    pub user: String,
    /// What it is for, such as "laptop".
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
    /// When it ends: a day, such as 2027-01-31, or after a time, such as 90d; never without this.
    #[arg(long, value_name = "WHEN")]
    pub expires: Option<String>,
    /// A model, route or assistant that it may use, such as 'openai/*'; all without this.
    #[arg(long, value_name = "PATTERN")]
    pub model: Vec<String>,
    /// Server tools that it may use, such as 'files/*'; those of the gateway without this.
    #[arg(long, value_name = "PATTERN", conflicts_with = "no_tools")]
    pub tool: Vec<String>,
    /// It may use no server tools.
    #[arg(long)]
    pub no_tools: bool,
    /// For a program: it may neither list nor answer what waits for a person.
    #[arg(long, conflicts_with = "admin")]
    pub no_approvals: bool,
    /// What it may use.
    #[command(flatten)]
    pub quota: LimitArgs,
    /// It sees the sessions of all, and may change users and keys by the API.
    #[arg(long)]
    pub admin: bool,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield keys create ann --label laptop --expires 90d
  jackfield keys list
  jackfield keys limit k3f9a2b8c1d04 --requests-per-minute 60
  jackfield keys rotate k3f9a2b8c1d04
  jackfield keys revoke k3f9a2b8c1d04
  jackfield keys set claude
  jackfield keys remove claude

`create`, `limit`, `list`, `revoke` and `rotate` are for keys of the gateway's clients, in the
journal; `jackfield users` has their users. `set` and `remove` are for keys of providers, in the
keyring: the Secret Service on Linux (GNOME Keyring, KWallet), through `secret-tool`, and the
Keychain on macOS. Where each key of a provider is: `jackfield providers`.";

const CREATE_EXAMPLES: &str = "\
Examples:
  jackfield users add ann
  jackfield keys create ann --label laptop --expires 90d
  jackfield keys create ann --model 'openai/*' --model fast --no-tools
  jackfield keys create ci --no-approvals --requests-per-minute 60 --parallel 4
  jackfield keys create ben --cost-per-day 2.50 --cost-per-month 40
  KEY=$(jackfield keys create ci --label build)

The key alone is on standard output. Only its digest is stored: nothing can show it again.
Once a journal has a key, a gateway with that journal refuses requests without one.";

const LIMIT_EXAMPLES: &str = "\
Examples:
  jackfield keys limit k3f9a2b8c1d04 --requests-per-minute 60 --parallel 4
  jackfield keys limit k3f9a2b8c1d04 --cost-per-day 2.50 --parallel none
  jackfield keys limit k3f9a2b8c1d04 --none

All gateways with this journal share the limits. A request has to fit the limits of its key, of the
key's user and of the user's team.";

const LIST_EXAMPLES: &str = "\
Examples:
  jackfield keys list
  jackfield keys list --user ann --json";

const REVOKE_EXAMPLES: &str = "\
Examples:
  jackfield keys revoke k3f9a2b8c1d04";

const ROTATE_EXAMPLES: &str = "\
Examples:
  jackfield keys rotate k3f9a2b8c1d04
  jackfield keys rotate k3f9a2b8c1d04 --overlap 0s

The new key alone is on standard output. Id, user and permissions stay.";

const SET_EXAMPLES: &str = "\
Examples:
  jackfield keys set claude
  pass show anthropic | jackfield keys set claude

The key is typed at the terminal without an echo, or read from standard input.";

const REMOVE_EXAMPLES: &str = "\
Examples:
  jackfield keys remove claude";
