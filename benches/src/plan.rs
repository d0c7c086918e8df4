//! What a turn is to be like: said in its user message, read by the provider.

use std::fmt;

/// A number of rounds with calls in each, and an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Plan {
    /// How many calls a round has.
    pub calls: u32,
    /// How many rounds there are before the answer.
    pub rounds: u32,
    /// How long each call takes, in milliseconds.
    pub sleep: u64,
}

impl Plan {
    /// The turn that everyone can compare: 3 rounds of 5 parallel calls, and an answer.
    pub const COMPARED: Self = Self {
        calls: 5,
        rounds: 3,
        sleep: 0,
    };

    /// One round of calls that take a while, and an answer.
    #[must_use]
    pub const fn one_round(calls: u32, sleep: u64) -> Self {
        Self {
            calls,
            rounds: 1,
            sleep,
        }
    }

    /// Reads a plan out of a message; `None` if it has none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let value = text
                .split_whitespace()
                .find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            value?.parse::<u64>().ok()
        };
        Some(Self {
            calls: u32::try_from(field("calls")?).ok()?,
            rounds: u32::try_from(field("rounds")?).ok()?,
            sleep: field("sleep")?,
        })
    }

    /// How many calls there are in all.
    #[must_use]
    pub const fn all_calls(self) -> u32 {
        self.calls * self.rounds
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            calls,
            rounds,
            sleep,
        } = self;
        write!(
            f,
            "Do this: rounds={rounds} calls={calls} sleep={sleep} and answer."
        )
    }
}
