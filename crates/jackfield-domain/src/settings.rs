//! Settings of a model call that two vendors or more share; the rest is an extension.

use std::sync::Arc;

use serde_json::Value;

use crate::opaque::Extension;

/// Settings of a model call. `None` leaves each to the provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// How hard the model should think.
    pub effort: Option<Effort>,
    /// A stable name of the end user, for the provider's abuse detection; no personal data.
    pub end_user: Option<Arc<str>>,
    /// Fields of one dialect alone.
    pub extensions: Vec<Extension>,
    /// Against repetition in proportion to frequency, -2 to 2.
    pub frequency_penalty: Option<f64>,
    /// The most output tokens of one reply, reasoning included.
    pub max_output_tokens: Option<u32>,
    /// Whether one reply may hold several calls.
    pub parallel_calls: Option<bool>,
    /// Against any repetition, -2 to 2.
    pub presence_penalty: Option<f64>,
    /// The form of the answer.
    pub response_format: ResponseFormat,
    /// For sampling that can be repeated.
    pub seed: Option<i64>,
    /// The provider's name of a price and speed class.
    pub service_tier: Option<Arc<str>>,
    /// Texts that end the reply.
    pub stop: Vec<Arc<str>>,
    /// Sampling temperature, 0 to 2.
    pub temperature: Option<f64>,
    /// Whether and how far the model thinks before it answers.
    pub thinking: Option<ThinkingMode>,
    /// Whether the text of the thinking is sent.
    pub thinking_shown: Option<bool>,
    /// Sampling among the k likeliest tokens.
    pub top_k: Option<u32>,
    /// Sampling among the likeliest tokens of this probability together, 0 to 1.
    pub top_p: Option<f64>,
    /// How much the model should say.
    pub verbosity: Option<Verbosity>,
}

/// How hard a model should think.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Effort {
    /// Not at all.
    None,
    /// As little as can be.
    Minimal,
    /// Little.
    Low,
    /// Between.
    Medium,
    /// Much.
    High,
    /// More.
    ExtraHigh,
    /// All it can.
    Max,
}

/// Whether and how far a model thinks before it answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ThinkingMode {
    /// As the model sees fit.
    Adaptive,
    /// Within this many tokens.
    Budget(u32),
    /// Not at all.
    Off,
}

/// How much a model should say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verbosity {
    /// Much.
    High,
    /// Little.
    Low,
    /// Between.
    Medium,
}

/// The form of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ResponseFormat {
    /// Any JSON object.
    JsonObject,
    /// JSON of this schema.
    JsonSchema {
        /// What it is, for the model.
        description: Option<Arc<str>>,
        /// A name of the form; `[A-Za-z0-9_-]`, at most 64.
        name: Arc<str>,
        /// The schema, JSON Schema 2020-12.
        schema: Arc<Value>,
        /// Whether the provider is to enforce it; `None` leaves it to the provider.
        strict: Option<bool>,
    },
    /// Words.
    #[default]
    Text,
}
