//! Maps a client's settings.

use std::sync::Arc;

use jackfield_dialect_kit::incoming::{self, within};
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::Extension;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};
use serde_json::{Map, Value};

use super::Invalid;
use crate::DIALECT;
use crate::request::extensions::ACTING;
use crate::request::settings::FORMAT_NAME;
use crate::wire;

/// The fields of a body that are settings.
#[derive(Debug)]
pub(super) struct WireSettings {
    pub(super) extra: Map<String, Value>,
    pub(super) max_tokens: u64,
    pub(super) metadata: Option<wire::Metadata>,
    pub(super) output_config: Option<wire::OutputConfig>,
    pub(super) parallel_calls: Option<bool>,
    pub(super) service_tier: Option<String>,
    pub(super) stop_sequences: Option<Vec<String>>,
    pub(super) temperature: Option<f64>,
    pub(super) thinking: Option<wire::Thinking>,
    pub(super) top_k: Option<u32>,
    pub(super) top_p: Option<f64>,
}

pub(super) fn from_wire(
    wire_settings: WireSettings,
    notes: &mut Notes,
) -> Result<Settings, Invalid> {
    let mut extensions = Vec::new();
    for (key, json) in wire_settings.extra {
        if ACTING.contains(&key.as_str()) {
            notes.refused("provider_would_act", &key);
        } else {
            extensions.push(extension("", &key, json));
        }
    }
    let (thinking, thinking_shown) = match wire_settings.thinking {
        Some(thinking) => {
            let mode = mode(&thinking, notes)?;
            let shown = thinking.display.map(|display| display != "omitted");
            let more = thinking.extra.into_iter();
            extensions.extend(more.map(|(key, json)| extension("/thinking", &key, json)));
            (Some(mode), shown)
        }
        None => (None, None),
    };
    let config = wire_settings.output_config.unwrap_or_default();
    let more = config.extra.into_iter();
    extensions.extend(more.map(|(key, json)| extension("/output_config", &key, json)));
    let metadata = wire_settings.metadata.unwrap_or_default();
    let more = metadata.extra.into_iter();
    extensions.extend(more.map(|(key, json)| extension("/metadata", &key, json)));
    let stop = wire_settings.stop_sequences.unwrap_or_default().into_iter();
    Ok(Settings {
        cache: None,
        cache_ttl: None,
        effort: config.effort.as_deref().map(effort).transpose()?,
        end_user: metadata.user_id.map(Into::into),
        extensions,
        frequency_penalty: None,
        max_output_tokens: Some(u32::try_from(wire_settings.max_tokens).unwrap_or(u32::MAX)),
        parallel_calls: wire_settings.parallel_calls,
        presence_penalty: None,
        response_format: config.format.map_or(ResponseFormat::Text, |format| {
            ResponseFormat::JsonSchema {
                description: None,
                name: FORMAT_NAME.into(),
                schema: Arc::new(format.schema),
                strict: None,
            }
        }),
        seed: None,
        service_tier: wire_settings.service_tier.map(Into::into),
        stop: stop.map(Into::into).collect(),
        temperature: within(wire_settings.temperature, (0.0, 1.0), "temperature")?,
        thinking,
        thinking_shown,
        top_k: wire_settings.top_k,
        top_p: within(wire_settings.top_p, (0.0, 1.0), "top_p")?,
        verbosity: None,
        headers: Vec::new(),
    })
}

fn mode(thinking: &wire::Thinking, notes: &mut Notes) -> Result<ThinkingMode, Invalid> {
    Ok(match thinking.kind.as_str() {
        "adaptive" => ThinkingMode::Adaptive,
        "between_tools" => {
            notes.approximated(
                NoteEffect::Quality,
                "thinking_between_tools",
                "thinking.type",
            );
            ThinkingMode::Adaptive
        }
        "disabled" => ThinkingMode::Off,
        "enabled" => {
            let budget = thinking.budget_tokens.unwrap_or(0);
            ThinkingMode::Budget(u32::try_from(budget).unwrap_or(u32::MAX))
        }
        other => {
            let reason = format!("`{other}` is no way of thinking");
            return Err(Invalid::new("thinking.type", reason));
        }
    })
}

fn effort(word: &str) -> Result<Effort, Invalid> {
    Ok(match word {
        "low" => Effort::Low,
        "medium" => Effort::Medium,
        "high" => Effort::High,
        "xhigh" => Effort::ExtraHigh,
        "max" => Effort::Max,
        other => {
            let reason = format!("`{other}` is no effort");
            return Err(Invalid::new("output_config.effort", reason));
        }
    })
}

/// An extension of this dialect for a field below a path.
pub(super) fn extension(below: &str, key: &str, json: Value) -> Extension {
    incoming::extension(DIALECT, below, key, json)
}
