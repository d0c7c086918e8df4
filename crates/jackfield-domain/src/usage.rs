//! What a reply used.

use std::ops::AddAssign;

/// Tokens of one or more replies.
///
/// `input` and `output` are totals: cached input is part of `input`, reasoning is part of `output`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Usage {
    /// Input tokens that were read from a cache; part of `input`.
    pub cache_read: u64,
    /// Input tokens that were written to a cache; part of `input`.
    pub cache_write: u64,
    /// All input tokens.
    pub input: u64,
    /// All output tokens.
    pub output: u64,
    /// Output tokens that were reasoning; part of `output`.
    pub reasoning: u64,
}

impl Usage {
    /// Input and output together.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.cache_read = self.cache_read.saturating_add(more.cache_read);
        self.cache_write = self.cache_write.saturating_add(more.cache_write);
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.reasoning = self.reasoning.saturating_add(more.reasoning);
    }
}
