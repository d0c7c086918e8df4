//! The settings of a request, each with the values that are tried.

use std::sync::Arc;

use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode, Verbosity};
use serde_json::json;

/// A setting with the values that are tried.
pub(super) struct Setting {
    /// Takes over this setting of others.
    pub(super) copy: fn(&mut Settings, &Settings),
    /// Its path in notes.
    pub(super) path: &'static str,
    /// What sets each value.
    pub(super) values: &'static [fn(&mut Settings)],
}

macro_rules! settings {
    ($($name:ident: [$($value:expr),+ $(,)?],)+) => {
        /// All settings that a wire may have. No value is another one's half, and none needs rounding.
        pub(super) const SETTINGS: &[Setting] = &[
            $(Setting {
                copy: |to, from| to.$name.clone_from(&from.$name),
                path: concat!("settings.", stringify!($name)),
                values: &[$(|settings: &mut Settings| settings.$name = $value),+],
            }),+
        ];

        /// A new setting does not compile until it is tried, too.
        const _: fn(Settings) = |settings| {
            let Settings { cache: _, cache_ttl: _, extensions: _, headers: _, $($name: _),+ } = settings;
        };
    };
}

settings! {
    effort: [Some(Effort::Low), Some(Effort::High)],
    end_user: [Some("user-1".into())],
    frequency_penalty: [Some(0.25), Some(-1.5)],
    max_output_tokens: [Some(4_321)],
    parallel_calls: [Some(false), Some(true)],
    presence_penalty: [Some(1.75)],
    response_format: [
        ResponseFormat::JsonSchema {
            description: Some("A city.".into()),
            name: "city".into(),
            schema: Arc::new(json!({
                "type": "object",
                "properties": { "city": { "type": "string" } },
                "required": ["city"],
                "additionalProperties": false,
            })),
            strict: Some(true),
        },
        ResponseFormat::JsonObject,
    ],
    seed: [Some(7), Some(0)],
    service_tier: [Some("auto".into()), Some("flex".into())],
    stop: [vec!["END".into(), "HALT".into()]],
    temperature: [Some(0.75), Some(0.0)],
    thinking: [
        Some(ThinkingMode::Budget(2_048)),
        Some(ThinkingMode::Adaptive),
        Some(ThinkingMode::Off),
    ],
    thinking_shown: [Some(true), Some(false)],
    top_k: [Some(40)],
    top_p: [Some(0.625)],
    verbosity: [Some(Verbosity::Low), Some(Verbosity::High)],
}
