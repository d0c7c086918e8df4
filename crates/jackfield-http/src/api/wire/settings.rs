//! Wire types of model settings in requests.

use std::sync::Arc;

use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode, Verbosity};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::problem::ProblemDetails;

/// How the model is to answer. What is left out is as the gateway is configured.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[schema(as = Settings)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettingsGiven {
    /// How hard it should think.
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<EffortGiven>,
    /// Against repetition in proportion to frequency.
    #[schema(minimum = -2, maximum = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f64>,
    /// The most tokens of one reply, reasoning included.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    /// Whether one reply may hold several calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_calls: Option<bool>,
    /// Against any repetition.
    #[schema(minimum = -2, maximum = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f64>,
    /// The form of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormatGiven>,
    /// For sampling that can be repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    /// Texts that end a reply.
    #[schema(max_items = 16)]
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<Vec<String>>,
    /// Sampling temperature.
    #[schema(minimum = 0, maximum = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    /// How many tokens it may think, where the model takes a number; 0 is not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_tokens: Option<u32>,
    /// Sampling among the likeliest tokens, this many of them.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    /// Sampling among the likeliest tokens of this probability together.
    #[schema(minimum = 0, maximum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    /// How much it should say.
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<VerbosityGiven>,
}

/// How hard a model should think.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[schema(as = Effort)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EffortGiven {
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

/// How much a model should say.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[schema(as = Verbosity)]
#[serde(rename_all = "snake_case")]
pub(crate) enum VerbosityGiven {
    /// Little.
    Low,
    /// Between.
    Medium,
    /// Much.
    High,
}

/// The form of an answer: JSON of a schema, or any JSON object where there is none.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[schema(as = ResponseFormat)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResponseFormatGiven {
    /// What it is, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Its name: letters, digits, `_` and `-`.
    #[schema(max_length = 64)]
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The JSON Schema.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<serde_json::Map<String, Value>>,
    /// Whether the provider is to enforce it.
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

impl SettingsGiven {
    /// Applies these settings over the given ones.
    ///
    /// # Errors
    ///
    /// [`ProblemDetails`] that names the field.
    pub(crate) fn apply_to(self, settings: &mut Settings) -> Result<(), ProblemDetails> {
        let Self {
            effort,
            frequency_penalty,
            max_output_tokens,
            parallel_calls,
            presence_penalty,
            response_format,
            seed,
            stop,
            temperature,
            thinking_tokens,
            top_k,
            top_p,
            verbosity,
        } = self;
        within(frequency_penalty, -2.0, 2.0, "/settings/frequency_penalty")?;
        within(presence_penalty, -2.0, 2.0, "/settings/presence_penalty")?;
        within(temperature, 0.0, 2.0, "/settings/temperature")?;
        within(top_p, 0.0, 1.0, "/settings/top_p")?;
        at_least_one(max_output_tokens, "/settings/max_output_tokens")?;
        at_least_one(top_k, "/settings/top_k")?;
        if let Some(stop) = stop {
            if stop.len() > MAX_STOPS {
                let why = format!("at most {MAX_STOPS} texts can end a reply");
                return Err(ProblemDetails::field("/settings/stop", why));
            }
            if let Some(empty) = stop.iter().position(String::is_empty) {
                let place = format!("/settings/stop/{empty}");
                return Err(ProblemDetails::field(place, "an empty text ends no reply"));
            }
            settings.stop = stop.into_iter().map(Into::into).collect();
        }
        if let Some(format) = response_format {
            settings.response_format = format.check()?;
        }
        put(&mut settings.effort, effort.map(EffortGiven::to_effort));
        put(&mut settings.frequency_penalty, frequency_penalty);
        put(&mut settings.max_output_tokens, max_output_tokens);
        put(&mut settings.parallel_calls, parallel_calls);
        put(&mut settings.presence_penalty, presence_penalty);
        put(&mut settings.seed, seed);
        put(&mut settings.temperature, temperature);
        let thinking = thinking_tokens.map(|tokens| match tokens {
            0 => ThinkingMode::Off,
            tokens => ThinkingMode::Budget(tokens),
        });
        put(&mut settings.thinking, thinking);
        put(&mut settings.top_k, top_k);
        put(&mut settings.top_p, top_p);
        put(
            &mut settings.verbosity,
            verbosity.map(VerbosityGiven::to_verbosity),
        );
        Ok(())
    }
}

impl EffortGiven {
    const fn to_effort(self) -> Effort {
        match self {
            Self::ExtraHigh => Effort::ExtraHigh,
            Self::High => Effort::High,
            Self::Low => Effort::Low,
            Self::Max => Effort::Max,
            Self::Medium => Effort::Medium,
            Self::Minimal => Effort::Minimal,
            Self::None => Effort::None,
        }
    }
}

impl VerbosityGiven {
    const fn to_verbosity(self) -> Verbosity {
        match self {
            Self::High => Verbosity::High,
            Self::Low => Verbosity::Low,
            Self::Medium => Verbosity::Medium,
        }
    }
}

impl ResponseFormatGiven {
    fn check(self) -> Result<ResponseFormat, ProblemDetails> {
        let Some(schema) = self.schema else {
            return Ok(ResponseFormat::JsonObject);
        };
        let name = self.name.unwrap_or_else(|| "response".to_owned());
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(fits) {
            let why = format!("a name is 1 to {MAX_NAME} letters, digits, `_` and `-`");
            return Err(ProblemDetails::field("/settings/response_format/name", why));
        }
        Ok(ResponseFormat::JsonSchema {
            description: self.description.map(Into::into),
            name: name.into(),
            schema: Arc::new(Value::Object(schema)),
            strict: self.strict,
        })
    }
}

fn put<T>(setting: &mut Option<T>, given: Option<T>) {
    if given.is_some() {
        *setting = given;
    }
}

fn within(given: Option<f64>, least: f64, most: f64, place: &str) -> Result<(), ProblemDetails> {
    match given {
        Some(given) if !(least..=most).contains(&given) => Err(ProblemDetails::field(
            place,
            format!("a number from {least} to {most} is expected, not {given}"),
        )),
        Some(_) | None => Ok(()),
    }
}

pub(super) fn at_least_one<T: Default + PartialEq>(
    given: Option<T>,
    place: &str,
) -> Result<(), ProblemDetails> {
    match given {
        Some(given) if given == T::default() => Err(ProblemDetails::field(
            place,
            "a number from 1 on is expected",
        )),
        Some(_) | None => Ok(()),
    }
}

/// The maximum length of a response format's name.
const MAX_NAME: usize = 64;
/// The maximum number of stop sequences.
const MAX_STOPS: usize = 16;
