//! Limits of a turn, and what it may spend.

use std::time::Duration;

use crate::price::Money;

/// Limits of a turn. A limit never throws work away.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// How long a person has for an approval, or for any other question but a client's tool.
    pub approval: Duration,
    /// How long a caller has for the result of its own tool.
    pub client_tool: Duration,
    /// How many times a model call is tried again.
    pub model_retries: u32,
    /// How long a model may say nothing.
    pub model_idle: Duration,
    /// What happens at a limit.
    pub on_limit: OnLimit,
    /// How many tool calls run at once.
    pub parallel_calls: u32,
    /// How often the same call may have the same outcome.
    pub repeats: u32,
    /// The longest that a server may tell us to wait before trying again.
    pub retry_after: Duration,
    /// Rounds of a turn, the last one without tools.
    pub rounds: u32,
    /// How much of a tool's outcome a model is shown, in bytes.
    pub shown: usize,
    /// How much of a tool's outcome is kept, in bytes.
    pub stored: usize,
    /// How long a tool call may take.
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

/// What happens at a limit.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum OnLimit {
    /// One last round without tools gives an answer of what is known.
    #[default]
    Answer,
    /// The turn ends in an error.
    Error,
}

/// What a turn may spend. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Allowance {
    /// Time in which something was under way, waiting for people not included.
    pub active: Option<Duration>,
    /// Money, in the currency of the model's price.
    pub cost: Option<Money>,
    /// Tokens, input and output together.
    pub tokens: Option<u64>,
}

/// Which limit a turn met.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum LimitKind {
    /// The allowance of active time.
    ActiveTime,
    /// The allowance of money.
    Cost,
    /// The same call had the same outcome too often.
    NoProgress,
    /// The number of rounds.
    Rounds,
    /// The allowance of tokens.
    Tokens,
}
