//! The token usage of replies.

use std::ops::AddAssign;

use crate::money::Money;

/// The tokens of one or more replies.
///
/// `input` and `output` are totals: cached input is part of `input`, reasoning is part of `output`, and
/// estimated tokens are part of both; totals keep track of the estimated part. No token of audio or of an image is also
/// counted as cached.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Usage {
    /// Input tokens of audio; part of `input`.
    pub audio_input: u64,
    /// Output tokens of audio; part of `output`.
    pub audio_output: u64,
    /// What the provider itself says that it costs, in US dollars; `None` if it does not say.
    pub billed: Option<Money>,
    /// Input tokens that were read from a cache; part of `input`.
    pub cache_read: u64,
    /// Input tokens that were written to a cache; part of `input`.
    pub cache_write: u64,
    /// Those that were written for longer than the vendor keeps them by default; part of `cache_write`.
    pub cache_write_long: u64,
    /// Estimated input tokens; part of `input`, never cached.
    pub estimated_input: u64,
    /// Estimated output tokens; part of `output`.
    pub estimated_output: u64,
    /// Input tokens of images; part of `input`.
    pub image_input: u64,
    /// Output tokens of images; part of `output`.
    pub image_output: u64,
    /// All input tokens.
    pub input: u64,
    /// All output tokens.
    pub output: u64,
    /// Reasoning tokens; part of `output`.
    pub reasoning: u64,
    /// The service tier of a reply, if it is not the usual one. A sum has none.
    pub tier: Option<ServiceTier>,
}

impl Usage {
    /// An estimated usage.
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

    /// Merges a later report about the same call: a count is kept, and replaces an estimate.
    #[must_use]
    pub const fn merge(self, later: Self) -> Self {
        if self.estimated() > 0 { later } else { self }
    }

    /// Of two reports of one reply, each of which may lack some counts, the larger counts.
    #[must_use]
    pub fn larger(self, later: Self) -> Self {
        Self {
            audio_input: self.audio_input.max(later.audio_input),
            audio_output: self.audio_output.max(later.audio_output),
            billed: self.billed.max(later.billed),
            cache_read: self.cache_read.max(later.cache_read),
            cache_write: self.cache_write.max(later.cache_write),
            cache_write_long: self.cache_write_long.max(later.cache_write_long),
            estimated_input: self.estimated_input.max(later.estimated_input),
            estimated_output: self.estimated_output.max(later.estimated_output),
            image_input: self.image_input.max(later.image_input),
            image_output: self.image_output.max(later.image_output),
            input: self.input.max(later.input),
            output: self.output.max(later.output),
            reasoning: self.reasoning.max(later.reasoning),
            tier: later.tier.or(self.tier),
        }
    }

    /// The same with totals that cover their parts, which a server may have counted apart from them, and no token of audio
    /// or of an image that is counted as cached, too.
    #[must_use]
    pub fn mended(self) -> Self {
        let cache_write = self.cache_write.max(self.cache_write_long);
        let cached = self.cache_read.saturating_add(cache_write);
        let input = self.input.max(cached);
        let media = self.audio_output.saturating_add(self.image_output);
        let output = self.output.max(self.reasoning).max(media);
        let audio_input = self.audio_input.min(input - cached);
        Self {
            audio_input,
            cache_write,
            image_input: self.image_input.min(input - cached - audio_input),
            input,
            output,
            ..self
        }
    }

    /// The counted part of it.
    #[must_use]
    pub const fn without_estimates(&self) -> Self {
        Self {
            estimated_input: 0,
            estimated_output: 0,
            input: self.input.saturating_sub(self.estimated_input),
            output: self.output.saturating_sub(self.estimated_output),
            ..*self
        }
    }

    /// The estimated part of the total.
    #[must_use]
    pub const fn estimated(&self) -> u64 {
        self.estimated_input.saturating_add(self.estimated_output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.billed = match (self.billed, more.billed) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        self.tier = None;
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.audio_input, more.audio_input);
        add(&mut self.audio_output, more.audio_output);
        add(&mut self.cache_read, more.cache_read);
        add(&mut self.cache_write, more.cache_write);
        add(&mut self.cache_write_long, more.cache_write_long);
        add(&mut self.estimated_input, more.estimated_input);
        add(&mut self.estimated_output, more.estimated_output);
        add(&mut self.image_input, more.image_input);
        add(&mut self.image_output, more.image_output);
        add(&mut self.input, more.input);
        add(&mut self.output, more.output);
        add(&mut self.reasoning, more.reasoning);
    }
}

/// Another service tier than the usual one, as the reply names it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ServiceTier {
    /// A batch.
    Batch,
    /// Faster output.
    Fast,
    /// Slower and cheaper.
    Flex,
    /// One that is not known here, whose price is not, either.
    Other,
    /// Before others.
    Priority,
    /// The fastest.
    Ultrafast,
}

crate::named! { ServiceTier:
    Batch = "batch", Fast = "fast", Flex = "flex", Other = "other", Priority = "priority", Ultrafast = "ultrafast",
}

impl ServiceTier {
    /// The tier that a vendor's word names in a request or a reply, in any case; `None` is the usual one.
    ///
    /// A request for the one that is configured at the vendor (`auto`) is one for the usual one: the reply says which it
    /// was.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        if USUAL.contains(&&*word) {
            return None;
        }
        let known = [
            Self::Batch,
            Self::Fast,
            Self::Flex,
            Self::Priority,
            Self::Ultrafast,
        ];
        let mut known = known.into_iter();
        // Vertex AI says how a request came.
        let word = word.strip_prefix("on_demand_").unwrap_or(&word);
        Some(
            known
                .find(|tier| tier.as_str() == word)
                .unwrap_or(Self::Other),
        )
    }
}

/// The vendors' words for the usual tier (`openai` 3.57, `anthropic` 2.14, `google-genai` 3.6.1, `botocore` 1.44.8).
const USUAL: [&str; 9] = [
    "",
    "auto",
    "default",
    "on_demand",
    "standard",
    "standard_only",
    "service_tier_unspecified",
    "traffic_type_unspecified",
    "unspecified",
];
