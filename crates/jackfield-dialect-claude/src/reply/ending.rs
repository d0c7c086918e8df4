//! Mapping of finish reasons and usage (Claude Messages API, 2026-10-21).

use std::borrow::Cow;

use jackfield_dialect_kit::usage_reports::UsageReports;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;
use serde_json::Value;

use crate::wire;

/// The finish reason for a `stop_reason`.
pub(crate) fn finish_reason(reason: &str, sequence: Option<&str>) -> FinishReason {
    match reason {
        "end_turn" => FinishReason::Stop,
        "max_tokens" => FinishReason::Length,
        "model_context_window_exceeded" => FinishReason::ContextFull,
        "pause_turn" => FinishReason::Paused,
        "refusal" => FinishReason::Refused,
        "stop_sequence" => FinishReason::StopSequence(sequence.unwrap_or_default().into()),
        "tool_use" => FinishReason::ToolCalls,
        unknown => FinishReason::Unrecognized(unknown.into()),
    }
}

/// The `stop_reason` and `stop_sequence` for a finish reason.
pub(crate) fn stop_reason(reason: &FinishReason) -> (Cow<'_, str>, Option<&str>) {
    match reason {
        // Claude has one value for both.
        FinishReason::ContentFilter | FinishReason::Refused => ("refusal".into(), None),
        FinishReason::ContextFull => ("model_context_window_exceeded".into(), None),
        FinishReason::Length => ("max_tokens".into(), None),
        FinishReason::Paused => ("pause_turn".into(), None),
        FinishReason::Stop => ("end_turn".into(), None),
        FinishReason::StopSequence(text) => ("stop_sequence".into(), Some(text)),
        FinishReason::ToolCalls => ("tool_use".into(), None),
        FinishReason::Unrecognized(word) => ((&**word).into(), None),
    }
}

/// Reads a report as totals: in the wire format, `input_tokens` excludes cached input. `usage` is what the reports before
/// it said.
pub fn read_usage(report: &wire::Usage, usage: &mut wire::Usage, reports: &mut UsageReports) {
    usage.update(report);
    let written = |key: &str| {
        let written = usage.cache_creation.as_ref()?.get(key)?;
        written.as_u64()
    };
    let cache_write_long = written("ephemeral_1h_input_tokens").unwrap_or(0);
    let by_time = written("ephemeral_5m_input_tokens").unwrap_or(0);
    let by_time = by_time.saturating_add(cache_write_long);
    let cache_read = usage.cache_read_input_tokens.unwrap_or(0);
    let cache_write = usage.cache_creation_input_tokens.unwrap_or(0).max(by_time);
    let fresh = usage.input_tokens.unwrap_or(0);
    let told = Usage {
        cache_read,
        cache_write,
        cache_write_long,
        input: fresh.saturating_add(cache_read).saturating_add(cache_write),
        output: usage.output_tokens.unwrap_or(0),
        reasoning: usage
            .output_tokens_details
            .map_or(0, |details| details.thinking_tokens),
        ..Usage::default()
    };
    // A server that does not count begins a stream with this.
    let is_counted = told.input > 0 || told.output != 1;
    let told = if is_counted { told } else { Usage::default() };
    reports.add(told, None);
    let word = |json: &Option<Value>| json.as_ref()?.as_str().map(str::to_owned);
    let speed = word(&usage.speed).filter(|speed| speed != "standard");
    let tier = speed.or_else(|| word(&usage.service_tier));
    reports.tier(tier.as_deref());
}

/// The parts of the totals.
pub(crate) fn usage_to_wire(usage: &Usage) -> wire::Usage {
    let cached = usage.cache_read.saturating_add(usage.cache_write);
    wire::Usage {
        input_tokens: Some(usage.input.saturating_sub(cached)),
        cache_creation_input_tokens: Some(usage.cache_write),
        cache_read_input_tokens: Some(usage.cache_read),
        output_tokens: Some(usage.output),
        output_tokens_details: (usage.reasoning > 0).then_some(wire::OutputTokensDetails {
            thinking_tokens: usage.reasoning,
        }),
        ..wire::Usage::default()
    }
}
