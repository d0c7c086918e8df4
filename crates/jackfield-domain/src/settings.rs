//! Settings of a model call that at least two vendors share; all others are extensions.

use std::sync::Arc;

use serde_json::Value;

use crate::opaque::Extension;

/// Settings of a model call. `None` leaves a setting to the provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Which cache points requests have; `None` leaves it to the provider's configuration.
    pub cache: Option<CacheMode>,
    /// How long what Jackfield's own cache points cover is kept; `None` is five minutes.
    pub cache_ttl: Option<CacheTtl>,
    /// The reasoning effort.
    pub effort: Option<Effort>,
    /// A stable pseudonym of the end user, for the provider's abuse detection; no personal data.
    pub end_user: Option<Arc<str>>,
    /// Fields of a single dialect.
    pub extensions: Vec<Extension>,
    /// Penalizes repetition in proportion to frequency, -2 to 2.
    pub frequency_penalty: Option<f64>,
    /// Headers of the client's request that are passed along, such as beta names. No credentials.
    pub headers: Vec<PassedHeader>,
    /// The maximum number of output tokens of one reply, reasoning included.
    pub max_output_tokens: Option<u32>,
    /// Whether one reply may contain several calls.
    pub parallel_calls: Option<bool>,
    /// Penalizes any repetition, -2 to 2.
    pub presence_penalty: Option<f64>,
    /// The format of the answer.
    pub response_format: ResponseFormat,
    /// The seed for reproducible sampling.
    pub seed: Option<i64>,
    /// The provider's name of a price and speed class.
    pub service_tier: Option<Arc<str>>,
    /// Texts that end the reply.
    pub stop: Vec<Arc<str>>,
    /// Sampling temperature, 0 to 2.
    pub temperature: Option<f64>,
    /// Whether and how much the model thinks before it answers.
    pub thinking: Option<ThinkingMode>,
    /// Whether the text of the thinking is returned.
    pub thinking_shown: Option<bool>,
    /// Samples from the k likeliest tokens.
    pub top_k: Option<u32>,
    /// Samples from the likeliest tokens with this total probability, 0 to 1.
    pub top_p: Option<f64>,
    /// The length of the answer.
    pub verbosity: Option<Verbosity>,
}

/// Which cache points requests have.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CacheMode {
    /// The client's; without any, those that the provider's rules make useful.
    #[default]
    Auto,
    /// The client's, and one after the newest results if its last message ends with one.
    Client,
    /// The client's alone. As the default of a provider, which the tool loop does not know, it is as [`Client`](Self::Client).
    Off,
}

crate::named! { CacheMode: Auto = "auto", Client = "client", Off = "off" }

/// How long a provider keeps what a cache point covers, after it was last read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CacheTtl {
    /// Five minutes.
    FiveMinutes,
    /// One hour.
    OneHour,
}

crate::named! { CacheTtl: FiveMinutes = "5m", OneHour = "1h" }

/// A header that is passed along to a provider of the same dialect.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PassedHeader {
    /// The dialect.
    pub dialect: Arc<str>,
    /// The name, in lower case.
    pub name: Arc<str>,
    /// The value.
    pub value: Arc<str>,
}

/// The reasoning effort of a model.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Effort {
    /// None.
    None,
    /// Minimal.
    Minimal,
    /// Low.
    Low,
    /// Medium.
    Medium,
    /// High.
    High,
    /// Higher than high.
    ExtraHigh,
    /// The maximum.
    Max,
}

crate::named! { Effort:
    None = "none", Minimal = "minimal", Low = "low", Medium = "medium", High = "high",
    ExtraHigh = "extra_high", Max = "max",
}

/// Whether and how much a model thinks before it answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ThinkingMode {
    /// The model decides.
    Adaptive,
    /// At most this many tokens.
    Budget(u32),
    /// Off.
    Off,
}

/// The length of a model's answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verbosity {
    /// Long.
    High,
    /// Short.
    Low,
    /// Medium.
    Medium,
}

crate::named! { Verbosity: Low = "low", Medium = "medium", High = "high" }

/// The format of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ResponseFormat {
    /// Any JSON object.
    JsonObject,
    /// JSON that matches this schema.
    JsonSchema {
        /// A description for the model.
        description: Option<Arc<str>>,
        /// The name of the format; `[A-Za-z0-9_-]`, at most 64 characters.
        name: Arc<str>,
        /// The schema, JSON Schema 2020-12.
        schema: Arc<Value>,
        /// Whether the provider should enforce it; `None` leaves it to the provider.
        strict: Option<bool>,
    },
    /// Text.
    #[default]
    Text,
}
