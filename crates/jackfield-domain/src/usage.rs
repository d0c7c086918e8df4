//! What a reply used.

use std::ops::AddAssign;

/// Tokens of one or more replies.
///
/// `input` and `output` are totals: cached input is part of `input`, reasoning is part of `output`,
/// and what nobody counted is part of both, as an estimate that a total goes on naming.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Usage {
    /// Input tokens that were read from a cache; part of `input`.
    pub cache_read: u64,
    /// Input tokens that were written to a cache; part of `input`.
    pub cache_write: u64,
    /// Input tokens that are an estimate; part of `input`, never cached.
    pub estimated_input: u64,
    /// Output tokens that are an estimate; part of `output`.
    pub estimated_output: u64,
    /// All input tokens.
    pub input: u64,
    /// All output tokens.
    pub output: u64,
    /// Output tokens that were reasoning; part of `output`.
    pub reasoning: u64,
}

impl Usage {
    /// An estimate, of something that nobody counted.
    #[must_use]
    pub fn estimate(input: u64, output: u64) -> Self {
        Self {
            estimated_input: input,
            estimated_output: output,
            input,
            output,
            ..Self::default()
        }
    }

    /// Input and output together.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// What holds when a call that used this is told of again: a count stays, and takes the place of an
    /// estimate.
    #[must_use]
    pub const fn settled(self, later: Self) -> Self {
        if self.estimated() > 0 { later } else { self }
    }

    /// The part of it that was counted.
    #[must_use]
    pub const fn counted(&self) -> Self {
        Self {
            estimated_input: 0,
            estimated_output: 0,
            input: self.input.saturating_sub(self.estimated_input),
            output: self.output.saturating_sub(self.estimated_output),
            ..*self
        }
    }

    /// How much of the total is an estimate.
    #[must_use]
    pub const fn estimated(&self) -> u64 {
        self.estimated_input.saturating_add(self.estimated_output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.cache_read, more.cache_read);
        add(&mut self.cache_write, more.cache_write);
        add(&mut self.estimated_input, more.estimated_input);
        add(&mut self.estimated_output, more.estimated_output);
        add(&mut self.input, more.input);
        add(&mut self.output, more.output);
        add(&mut self.reasoning, more.reasoning);
    }
}
