//! Maps a client's settings.

use std::sync::Arc;

use jackfield_dialect_kit::incoming::{self, within};
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::{Extension, StateOwner};
use jackfield_domain::settings::{ResponseFormat, Settings};
use serde_json::{Map, Value};

use super::Invalid;
use crate::responses::request::ENCRYPTED_REASONING;
use crate::responses::request::extensions::ACTING;
use crate::responses::{DIALECT, wire};
use crate::settings::{effort_of, verbosity_of};

/// The fields of a body that are settings.
#[derive(Debug)]
pub(super) struct WireSettings {
    pub(super) end_user: Option<String>,
    pub(super) extra: Map<String, Value>,
    pub(super) include: Vec<String>,
    pub(super) max_output_tokens: Option<u64>,
    pub(super) parallel_calls: Option<bool>,
    pub(super) reasoning: wire::ReasoningConfig,
    pub(super) service_tier: Option<String>,
    pub(super) temperature: Option<f64>,
    pub(super) text: wire::TextConfig,
    pub(super) top_k: Option<u32>,
    pub(super) top_p: Option<f64>,
}

pub(super) fn from_wire(
    wire_settings: WireSettings,
    owner: &StateOwner,
    notes: &mut Notes,
) -> Result<Settings, Invalid> {
    let mut extensions = Vec::new();
    for (key, json) in wire_settings.extra {
        if ACTING.contains(&key.as_str()) {
            // `null` and `false` request nothing.
            if !matches!(json, Value::Null | Value::Bool(false)) {
                notes.refused("provider_would_act", &key);
            }
        } else if key == "stream_options" {
            // Padding of events, which has no effect on their contents.
            if !json.is_null() {
                notes.dropped(NoteEffect::Cosmetic, "stream_options", &key);
            }
        } else {
            extensions.push(extension("", &key, json));
        }
    }
    let mut included = Vec::new();
    for (n, wanted) in wire_settings.include.into_iter().enumerate() {
        if wanted == ENCRYPTED_REASONING {
            continue;
        }
        // It is a part of an item that only the vendor reads.
        if wanted.contains("_call.") && !owner.endpoint.is_empty() {
            included.push(Value::from(wanted));
        } else {
            let path = format_args!("include.{n}");
            notes.dropped(NoteEffect::Quality, "include_not_kept", path);
        }
    }
    if !included.is_empty() {
        extensions.push(extension("", "include", Value::Array(included)));
    }
    let more = wire_settings.reasoning.extra.into_iter();
    extensions.extend(more.map(|(key, json)| extension("/reasoning", &key, json)));
    let more = wire_settings.text.extra.into_iter();
    extensions.extend(more.map(|(key, json)| extension("/text", &key, json)));
    let summary = wire_settings.reasoning.summary.as_deref();
    if summary.is_some_and(|summary| summary != "auto") {
        let path = "reasoning.summary";
        notes.approximated(NoteEffect::Cosmetic, "reasoning_summary", path);
    }
    let format = wire_settings
        .text
        .format
        .unwrap_or(wire::TextFormat::Text {});
    let effort = wire_settings.reasoning.effort.as_deref();
    let verbosity = wire_settings.text.verbosity.as_deref();
    Ok(Settings {
        cache: None,
        cache_ttl: None,
        effort: effort
            .map(|word| effort_of(word, "reasoning.effort"))
            .transpose()?,
        end_user: wire_settings.end_user.map(Into::into),
        extensions,
        frequency_penalty: None,
        max_output_tokens: wire_settings
            .max_output_tokens
            .map(|most| u32::try_from(most).unwrap_or(u32::MAX)),
        parallel_calls: wire_settings.parallel_calls,
        presence_penalty: None,
        response_format: match format {
            wire::TextFormat::JsonObject {} => ResponseFormat::JsonObject,
            wire::TextFormat::JsonSchema {
                description,
                name,
                schema,
                strict,
            } => ResponseFormat::JsonSchema {
                description: description.map(Into::into),
                name: name.into(),
                schema: Arc::new(schema),
                strict,
            },
            wire::TextFormat::Text {} => ResponseFormat::Text,
        },
        seed: None,
        service_tier: wire_settings.service_tier.map(Into::into),
        stop: Vec::new(),
        temperature: within(wire_settings.temperature, (0.0, 2.0), "temperature")?,
        thinking: None,
        thinking_shown: summary.map(|_| true),
        top_k: wire_settings.top_k,
        top_p: within(wire_settings.top_p, (0.0, 1.0), "top_p")?,
        verbosity: verbosity
            .map(|word| verbosity_of(word, "text.verbosity"))
            .transpose()?,
        headers: Vec::new(),
    })
}

/// An extension of this dialect for a field below a path.
pub(super) fn extension(below: &str, key: &str, json: Value) -> Extension {
    incoming::extension(DIALECT, below, key, json)
}
