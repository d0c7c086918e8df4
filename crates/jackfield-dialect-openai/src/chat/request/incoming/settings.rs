//! Maps a client's settings.

use std::sync::Arc;

use jackfield_dialect_kit::incoming::{self, within};
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::Extension;
use jackfield_domain::settings::{ResponseFormat, Settings};
use serde_json::{Value, json};

use super::Invalid;
use crate::chat::request::extensions::acts;
use crate::chat::{DIALECT, wire};
use crate::settings::{effort_of, verbosity_of};

/// The name of a response format that was given without one.
const FORMAT_NAME: &str = "response";

pub(super) fn from_wire(body: wire::Request, notes: &mut Notes) -> Result<Settings, Invalid> {
    let mut extensions = Vec::new();
    for (key, json) in body.extra {
        if acts(&key, &json) {
            notes.refused("provider_would_act", &key);
        } else if key == "n" {
            if !matches!(json, Value::Null) && json != json!(1) {
                notes.dropped(NoteEffect::Quality, "one_answer", "n");
            }
        } else {
            extensions.push(extension("", &key, json));
        }
    }
    let options = body.stream_options.unwrap_or_default();
    for (key, json) in options.extra {
        extensions.push(extension("/stream_options", &key, json));
    }
    let limit = body.max_completion_tokens.or(body.max_tokens);
    let stop = match body.stop {
        None => Vec::new(),
        Some(wire::Stop::One(text)) => vec![text],
        Some(wire::Stop::Several(texts)) => texts,
    };
    let effort = body.reasoning_effort.as_deref();
    let verbosity = body.verbosity.as_deref();
    Ok(Settings {
        cache: None,
        cache_ttl: None,
        effort: effort
            .map(|word| effort_of(word, "reasoning_effort"))
            .transpose()?,
        end_user: body.safety_identifier.or(body.user).map(Into::into),
        extensions,
        frequency_penalty: within(body.frequency_penalty, (-2.0, 2.0), "frequency_penalty")?,
        max_output_tokens: limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)),
        parallel_calls: body.parallel_tool_calls,
        presence_penalty: within(body.presence_penalty, (-2.0, 2.0), "presence_penalty")?,
        response_format: body.response_format.map_or(ResponseFormat::Text, format),
        seed: body.seed,
        service_tier: body.service_tier.map(Into::into),
        stop: stop.into_iter().map(Into::into).collect(),
        temperature: within(body.temperature, (0.0, 2.0), "temperature")?,
        thinking: None,
        thinking_shown: None,
        top_k: body.top_k,
        top_p: within(body.top_p, (0.0, 1.0), "top_p")?,
        verbosity: verbosity
            .map(|word| verbosity_of(word, "verbosity"))
            .transpose()?,
        headers: Vec::new(),
    })
}

fn format(format: wire::ResponseFormat) -> ResponseFormat {
    match format {
        wire::ResponseFormat::JsonObject { schema: None } => ResponseFormat::JsonObject,
        wire::ResponseFormat::JsonObject {
            schema: Some(schema),
        } => ResponseFormat::JsonSchema {
            description: None,
            name: FORMAT_NAME.into(),
            schema: Arc::new(schema),
            strict: None,
        },
        wire::ResponseFormat::JsonSchema { json_schema } => ResponseFormat::JsonSchema {
            description: json_schema.description.map(Into::into),
            name: json_schema.name.into(),
            schema: Arc::new(json_schema.schema.unwrap_or_else(|| json!({}))),
            strict: json_schema.strict,
        },
        wire::ResponseFormat::Text {} => ResponseFormat::Text,
    }
}

/// An extension of this dialect for a field below a path.
pub(super) fn extension(below: &str, key: &str, json: Value) -> Extension {
    incoming::extension(DIALECT, below, key, json)
}
