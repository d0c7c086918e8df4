//! Rules for settings: their ranges, and the fields that reasoning models refuse.

use serde_json::Value;

use super::{has, items, join, one_of, text, wrong_type};
use crate::checks::CheckFindings;

pub(in crate::openai) const EFFORTS: &[&str] =
    &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Whether a model reasons: all that were released since `gpt-5` do.
pub(in crate::openai) fn reasons(model: &str) -> bool {
    let model = model.strip_prefix("ft:").unwrap_or(model);
    let old = ["gpt-3.5", "gpt-4", "chatgpt-4"];
    !old.iter().any(|old| model.starts_with(old))
}

/// The version in a model's name, as tenths: 56 of `gpt-5.6-sol`.
pub(in crate::openai) fn tenths(model: &str) -> Option<u32> {
    let version = model.strip_prefix("gpt-")?.split('-').next()?;
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    Some(major.parse::<u32>().ok()? * 10 + minor.parse::<u32>().ok()?)
}

/// Checks that a level of effort exists, and that the model has it (models' pages, and reports of users, 2026).
pub(in crate::openai) fn effort(
    at: &str,
    object: &Value,
    field: &str,
    model: &str,
    found: &mut CheckFindings,
) {
    one_of(at, object, field, EFFORTS, found);
    let thinks_always = [
        "gpt-6-astra",
        "gpt-6.1-sol",
        "gpt-6.2-astra",
        "gpt-6.2-sol",
        "o1",
        "o3",
        "o4",
    ];
    let version = tenths(model);
    let is_missing = match text(object, field) {
        "minimal" => version.is_none_or(|version| version > 50),
        "none" => version == Some(50) || thinks_always.iter().any(|name| model.starts_with(name)),
        _ => false,
    };
    if is_missing && reasons(model) {
        no_effort(&join(at, field), text(object, field), model, found);
    }
}

/// A level of effort that the model does not have.
pub(in crate::openai) fn no_effort(at: &str, effort: &str, model: &str, found: &mut CheckFindings) {
    let fault = format!("Unsupported value: '{effort}' is not supported with the '{model}' model.");
    found.coded(at, "unsupported_value", &fault);
}

/// Checks the settings of both dialects.
pub(in crate::openai) fn check(body: &Value, tiers: &[&str], found: &mut CheckFindings) {
    number(body, "temperature", 0.0, 2.0, found);
    number(body, "top_p", 0.0, 1.0, found);
    number(body, "top_logprobs", 0.0, 20.0, found);
    for name in ["store", "stream", "parallel_tool_calls"] {
        boolean(body, name, found);
    }
    one_of("", body, "service_tier", tiers, found);
    if has(body, "stream_options") && body.get("stream") != Some(&Value::Bool(true)) {
        let fault = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        found.add("stream_options", fault);
    }
    if let Some(Value::Object(pairs)) = body.get("metadata") {
        let fits = |(name, value): (&String, &Value)| {
            name.chars().count() <= 64
                && value
                    .as_str()
                    .is_some_and(|text| text.chars().count() <= 512)
        };
        if pairs.len() > 16 || !pairs.iter().all(fits) {
            let fault =
                "at most 16 pairs, of names up to 64 and texts up to 512 characters, are allowed";
            found.add("metadata", fault);
        }
    }
}

/// A number within a range, if it is present.
pub(in crate::openai) fn number(
    body: &Value,
    name: &str,
    least: f64,
    most: f64,
    found: &mut CheckFindings,
) {
    match body.get(name) {
        None | Some(Value::Null) => {}
        Some(Value::Number(number)) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            if number < least {
                let fault = format!(
                    "Invalid '{name}': decimal below minimum value. Expected a value >= {least}, but got {number} instead."
                );
                found.coded(name, "decimal_below_min_value", &fault);
            } else if number > most {
                let fault = format!(
                    "Invalid '{name}': decimal above maximum value. Expected a value <= {most}, but got {number} instead."
                );
                found.coded(name, "decimal_above_max_value", &fault);
            }
        }
        Some(other) => wrong_type(name, "a decimal", other, found),
    }
}

/// An integer of at least this value, if it is present.
pub(in crate::openai) fn whole(body: &Value, name: &str, least: i64, found: &mut CheckFindings) {
    let Some(value) = body.get(name).filter(|value| !value.is_null()) else {
        return;
    };
    match value.as_i64() {
        None => wrong_type(name, "an integer", value, found),
        Some(number) if number < least => {
            let fault = format!(
                "Invalid '{name}': integer below minimum value. Expected a value >= {least}, but got {number} instead."
            );
            found.coded(name, "integer_below_min_value", &fault);
        }
        Some(_) => {}
    }
}

/// Adds a violation for each setting that a reasoning model refuses: every value but its default.
pub(in crate::openai) fn refused_while_reasoning(
    body: &Value,
    names: &[&str],
    found: &mut CheckFindings,
) {
    for name in names {
        let usual = match *name {
            "temperature" | "top_p" => body.get(*name).and_then(Value::as_f64) == Some(1.0),
            "frequency_penalty" | "presence_penalty" => {
                body.get(*name).and_then(Value::as_f64) == Some(0.0)
            }
            "logprobs" => body.get(*name) == Some(&Value::Bool(false)),
            "stop" => {
                body.get(*name).is_some()
                    && items(body.get(*name)).is_empty()
                    && body["stop"].is_array()
            }
            _ => false,
        };
        if has(body, name) && !usual {
            let fault =
                format!("Unsupported parameter: '{name}' is not supported with this model.");
            found.coded(name, "unsupported_parameter", &fault);
        }
    }
}

fn boolean(body: &Value, name: &str, found: &mut CheckFindings) {
    match body.get(name) {
        None | Some(Value::Bool(_) | Value::Null) => {}
        Some(other) => wrong_type(name, "a boolean", other, found),
    }
}
