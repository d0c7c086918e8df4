//! Maps a client's settings.

use std::sync::Arc;

use jackfield_dialect_kit::incoming::{self, within};
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::opaque::Extension;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};
use serde_json::{Map, Value};

use super::Invalid;
use crate::DIALECT;
use crate::request::ACTING;
use crate::request::settings::FORMAT_NAME;
use crate::schema::to_json_schema;
use crate::wire;

/// The fields of a body that are settings.
pub(super) struct ReadSettings {
    pub(super) settings: Settings,
    pub(super) store: Option<bool>,
}

pub(super) fn from_wire(
    config: wire::GenerationConfig,
    service_tier: Option<String>,
    extra: Map<String, Value>,
    notes: &mut Notes,
) -> Result<ReadSettings, Invalid> {
    let mut extensions = Vec::new();
    let store = extra.get("store").and_then(Value::as_bool);
    for (key, json) in extra {
        let key = camel_case(&key);
        if key == "store" && (json.is_boolean() || json.is_null()) {
            continue;
        }
        if ACTING.contains(&key.as_str()) {
            notes.refused("provider_would_act", &key);
        } else {
            extensions.push(extension("", &key, json));
        }
    }
    let response_format = format(&config)?;
    for (key, json) in config.extra {
        let key = camel_case(&key);
        if key == "candidateCount" {
            if !json.is_null() && json != 1 {
                let path = "generationConfig.candidateCount";
                return Err(Invalid::new(path, "there is one candidate"));
            }
        } else {
            extensions.push(extension("/generationConfig", &key, json));
        }
    }
    let thinking = config.thinking_config.unwrap_or_default();
    let more = thinking.extra.into_iter();
    extensions
        .extend(more.map(|(key, json)| extension("/generationConfig/thinkingConfig", &key, json)));
    let level = thinking.thinking_level.as_deref();
    let settings = Settings {
        cache: None,
        cache_ttl: None,
        effort: level.map(effort).transpose()?.flatten(),
        end_user: None,
        extensions,
        frequency_penalty: penalty(config.frequency_penalty, "frequencyPenalty")?,
        headers: Vec::new(),
        max_output_tokens: config.max_output_tokens,
        parallel_calls: None,
        presence_penalty: penalty(config.presence_penalty, "presencePenalty")?,
        response_format,
        seed: config.seed,
        service_tier: service_tier
            .map(|tier| tier.to_ascii_lowercase())
            .filter(|tier| tier != "unspecified")
            .map(Into::into),
        stop: config
            .stop_sequences
            .unwrap_or_default()
            .into_iter()
            .map(Into::into)
            .collect(),
        temperature: within(
            config.temperature,
            (0.0, 2.0),
            "generationConfig.temperature",
        )?,
        thinking: thinking.thinking_budget.map(|budget| match budget {
            0 => ThinkingMode::Off,
            budget => u32::try_from(budget).map_or(ThinkingMode::Adaptive, ThinkingMode::Budget),
        }),
        thinking_shown: thinking.include_thoughts,
        top_k: config.top_k,
        top_p: within(config.top_p, (0.0, 1.0), "generationConfig.topP")?,
        verbosity: None,
    };
    Ok(ReadSettings { settings, store })
}

fn penalty(value: Option<f64>, field: &str) -> Result<Option<f64>, Invalid> {
    within(value, (-2.0, 2.0), &format!("generationConfig.{field}"))
}

fn format(config: &wire::GenerationConfig) -> Result<ResponseFormat, Invalid> {
    let named = config.response_mime_type.as_deref().unwrap_or_default();
    let schema = match (&config.response_json_schema, &config.response_schema) {
        (Some(schema), _) => Some(schema.clone()),
        (None, Some(schema)) => Some(to_json_schema(schema)),
        (None, None) => None,
    };
    match (named, schema) {
        ("" | "text/plain", None) => Ok(ResponseFormat::Text),
        ("application/json", None) => Ok(ResponseFormat::JsonObject),
        ("" | "application/json", Some(schema)) => Ok(ResponseFormat::JsonSchema {
            description: None,
            name: FORMAT_NAME.into(),
            schema: Arc::new(schema),
            strict: None,
        }),
        (_, _) => {
            let reason =
                "an answer is `text/plain`, or `application/json` with or without a schema";
            Err(Invalid::new("generationConfig.responseMimeType", reason))
        }
    }
}

fn effort(level: &str) -> Result<Option<Effort>, Invalid> {
    Ok(Some(match level.to_ascii_uppercase().as_str() {
        "" | "THINKING_LEVEL_UNSPECIFIED" => return Ok(None),
        "MINIMAL" => Effort::Minimal,
        "LOW" => Effort::Low,
        "MEDIUM" => Effort::Medium,
        "HIGH" => Effort::High,
        "XHIGH" => Effort::ExtraHigh,
        _ => {
            let path = "generationConfig.thinkingConfig.thinkingLevel";
            let reason = "a level is MINIMAL, LOW, MEDIUM, HIGH or XHIGH";
            return Err(Invalid::new(path, reason));
        }
    }))
}

/// An extension of this dialect for a field below a path.
pub(super) fn extension(below: &str, key: &str, json: Value) -> Extension {
    incoming::extension(DIALECT, below, key, json)
}

/// The vendor's name of a field that a client wrote in snake case.
pub(super) fn camel_case(key: &str) -> String {
    let mut words = key.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    if name.is_empty() {
        return key.to_owned();
    }
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}
