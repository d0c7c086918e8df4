//! The limits and the budget of a turn.

pub mod patience;

use std::time::Duration;

use crate::price::Money;

/// The limits of a turn. Reaching a limit never discards finished work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// How long a person has for an approval or another question; client tools have a limit of their own.
    pub approval: Duration,
    /// How long a client has for the result of its tool.
    pub client_tool: Duration,
    /// The maximum number of retries of a model call.
    pub model_retries: u32,
    /// How long a model may be silent.
    pub model_idle: Duration,
    /// What happens when a limit is reached.
    pub on_limit: OnLimit,
    /// The maximum number of tool calls that run at once.
    pub parallel_calls: u32,
    /// The maximum number of times that the same call may have the same outcome.
    pub repeats: u32,
    /// The longest pause that a server may ask for before a retry.
    pub retry_after: Duration,
    /// The maximum number of rounds; the last one is without tools.
    pub rounds: u32,
    /// The maximum size of a tool outcome that models see, in bytes.
    pub shown: usize,
    /// The maximum size of a tool outcome that is stored, in bytes.
    pub stored: usize,
    /// The time limit of a tool call.
    pub tool_call: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            approval: Duration::from_secs(24 * 60 * 60),
            client_tool: Duration::from_secs(120),
            model_idle: Duration::from_secs(120),
            model_retries: 2,
            on_limit: OnLimit::Answer,
            parallel_calls: 8,
            repeats: 3,
            retry_after: Duration::from_secs(60),
            rounds: 10,
            shown: 256 * 1024,
            stored: 4 * 1024 * 1024,
            tool_call: Duration::from_secs(30),
        }
    }
}

/// What happens when a limit is reached.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum OnLimit {
    /// A last round without tools answers with what is known.
    #[default]
    Answer,
    /// The turn ends with an error.
    Error,
}

crate::named! { OnLimit: Answer = "answer", Error = "error" }

/// The budget of a turn. `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Allowance {
    /// Active time, without waiting for people.
    pub active: Option<Duration>,
    /// Cost, in the currency of the model's price.
    pub cost: Option<Money>,
    /// Tokens, input and output together.
    pub tokens: Option<u64>,
    /// Whether a model without a price may be called all the same; its calls do not count as cost.
    pub unpriced: bool,
}

/// The limit that a turn reached.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum LimitKind {
    /// The budget of active time.
    ActiveTime,
    /// The budget of cost.
    Cost,
    /// The same call had the same outcome too often.
    NoProgress,
    /// The number of rounds.
    Rounds,
    /// The budget of tokens.
    Tokens,
}

crate::named! { LimitKind:
    ActiveTime = "active_time", Cost = "cost", NoProgress = "no_progress", Rounds = "rounds",
    Tokens = "tokens",
}
