//! Mapping of finish reasons and usage (`google-genai` 3.6.1, `FinishReason`, `UsageMetadata`).

use jackfield_dialect_kit::usage_reports::UsageReports;
use jackfield_domain::failure::ModelFailureKind;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;
use serde_json::Value;

use crate::wire;

/// What a `finishReason` means.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Ending {
    /// The reply is no use.
    Failed(ModelFailureKind),
    Finished(FinishReason),
}

/// The meaning of a `finishReason`. The vendor has one word for an answer and for calls.
pub(crate) fn ending(reason: &str, has_calls: bool) -> Ending {
    Ending::Finished(match reason {
        "STOP" if has_calls => FinishReason::ToolCalls,
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        filtered if FILTERED.contains(&filtered) => FinishReason::ContentFilter,
        "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" | "UNEXPECTED_TOOL_CALL" => {
            return Ending::Failed(ModelFailureKind::UnusableReply);
        }
        "MISSING_THOUGHT_SIGNATURE" | "TOO_MANY_TOOL_CALLS" => {
            return Ending::Failed(ModelFailureKind::InvalidRequest);
        }
        unknown => FinishReason::Unrecognized(unknown.into()),
    })
}

/// The `finishReason` for a finish reason.
pub(crate) const fn finish_reason(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::ContentFilter | FinishReason::Refused => "SAFETY",
        FinishReason::ContextFull | FinishReason::Length => "MAX_TOKENS",
        FinishReason::Paused | FinishReason::Unrecognized(_) => "OTHER",
        FinishReason::Stop | FinishReason::StopSequence(_) | FinishReason::ToolCalls => "STOP",
    }
}

/// Reads a report as totals: on the wire, thoughts are no part of the candidates' tokens, and results of the vendor's own
/// tools none of the prompt's.
pub fn read_usage(usage: &wire::UsageMetadata, reports: &mut UsageReports) {
    let prompt = usage.prompt_token_count.unwrap_or(0);
    let of_tools = usage.tool_use_prompt_token_count.unwrap_or(0);
    let reasoning = usage.thoughts_token_count.unwrap_or(0);
    let answer = usage.candidates_token_count.unwrap_or(0);
    let uncached = |modality| {
        let all = of_modality(usage.prompt_tokens_details.as_ref(), modality);
        all.saturating_sub(of_modality(usage.cache_tokens_details.as_ref(), modality))
    };
    let answered =
        |modality| of_modality(usage.candidates_tokens_details.as_ref(), modality).min(answer);
    let told = Usage {
        audio_input: uncached("AUDIO"),
        audio_output: answered("AUDIO"),
        cache_read: usage.cached_content_token_count.unwrap_or(0),
        image_input: uncached("IMAGE"),
        image_output: answered("IMAGE"),
        input: prompt.saturating_add(of_tools),
        output: answer.saturating_add(reasoning),
        reasoning,
        ..Usage::default()
    };
    reports.add(told, usage.total_token_count);
    let tier = usage.service_tier.as_ref().or(usage.traffic_type.as_ref());
    reports.tier(tier.and_then(Value::as_str));
}

/// The tokens of a modality in a list of counts.
fn of_modality(counts: Option<&Value>, modality: &str) -> u64 {
    let counts = counts.and_then(Value::as_array).into_iter().flatten();
    let of_it = counts.filter(|count| {
        let named = count.get("modality").and_then(Value::as_str);
        named.is_some_and(|named| named.eq_ignore_ascii_case(modality))
    });
    let tokens = of_it.filter_map(|count| count.get("tokenCount")?.as_u64());
    tokens.fold(0, u64::saturating_add)
}

/// The parts of the totals.
pub(crate) fn usage_to_wire(usage: &Usage) -> wire::UsageMetadata {
    let some = |count: u64| (count > 0).then_some(count);
    wire::UsageMetadata {
        prompt_token_count: Some(usage.input),
        cached_content_token_count: some(usage.cache_read),
        candidates_token_count: Some(usage.output.saturating_sub(usage.reasoning)),
        thoughts_token_count: some(usage.reasoning),
        tool_use_prompt_token_count: None,
        total_token_count: Some(usage.total()),
        ..wire::UsageMetadata::default()
    }
}

/// The reasons for which a filter ended the reply.
const FILTERED: [&str; 12] = [
    "BLOCKLIST",
    "ESCALATION",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "IMAGE_SAFETY",
    "LANGUAGE",
    "MODEL_ARMOR",
    "PROHIBITED_CONTENT",
    "PUP_LIMITED_DISABLED",
    "RECITATION",
    "SAFETY",
    "SPII",
];
