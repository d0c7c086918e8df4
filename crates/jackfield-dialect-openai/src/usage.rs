//! Usage in the forms of OpenAI's APIs and of servers that follow them (`openai` 3.57; OpenRouter, 2026-11).

use jackfield_dialect_kit::usage_reports::UsageReports;
use jackfield_domain::price::Money;
use jackfield_domain::usage::Usage;
use serde_json::Value;

/// Reads a report; anything but an object is none.
pub fn read_usage(usage: &Value, reports: &mut UsageReports) {
    if !usage.is_object() {
        return;
    }
    let found = |path: &[&str]| path.iter().try_fold(usage, |within, key| within.get(key));
    let number = |path: &[&str]| found(path).and_then(count);
    let first = |paths: &[&[&str]]| paths.iter().find_map(|path| number(path)).unwrap_or(0);
    // Chat Completions, Responses and images, transcriptions.
    let input = |key| {
        first(&[
            &["prompt_tokens_details", key],
            &["input_tokens_details", key],
            &["input_token_details", key],
        ])
    };
    let output = |key| {
        first(&[
            &["completion_tokens_details", key],
            &["output_tokens_details", key],
        ])
    };
    let written_long =
        |details| number(&[details, "cache_write_tokens_details", "ttl_12h_tokens"]).unwrap_or(0);
    // DeepSeek and Moonshot have these beside the totals, as many have the reasoning.
    let beside = |inside: u64, keys: &[&[&str]]| if inside > 0 { inside } else { first(keys) };
    let told = Usage {
        audio_input: input("audio_tokens"),
        audio_output: output("audio_tokens"),
        billed: billed(usage),
        cache_read: beside(
            input("cached_tokens"),
            &[&["prompt_cache_hit_tokens"], &["cached_tokens"]],
        ),
        cache_write: input("cache_write_tokens"),
        cache_write_long: written_long("prompt_tokens_details")
            .max(written_long("input_tokens_details")),
        image_input: input("image_tokens"),
        image_output: output("image_tokens"),
        input: first(&[&["prompt_tokens"], &["input_tokens"]]),
        output: first(&[&["completion_tokens"], &["output_tokens"]]),
        reasoning: beside(output("reasoning_tokens"), &[&["reasoning_tokens"]]),
        ..Usage::default()
    };
    reports.add(told, number(&["total_tokens"]));
}

/// A count, which some servers write as a text. The conversion saturates; usage is never meant to be negative or
/// fractional.
fn count(json: &Value) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count that is written as a float"
    )]
    json.as_u64()
        .or_else(|| json.as_f64().map(|count| count as u64))
        .or_else(|| json.as_str()?.parse().ok())
}

/// What OpenRouter says that it bills. With a key of the upstream provider's, that provider bills the rest.
fn billed(usage: &Value) -> Option<Money> {
    let amount = |path| usage.pointer(path)?.as_f64().and_then(Money::from_number);
    let cost = amount("/cost")?;
    let is_own_key = usage.get("is_byok").and_then(Value::as_bool) == Some(true);
    if is_own_key {
        amount("/cost_details/upstream_inference_cost").map(|upstream| cost + upstream)
    } else {
        Some(cost)
    }
}
