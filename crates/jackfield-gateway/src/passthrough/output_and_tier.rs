//! The longest reply and the service tier that a request asks for, which its budgets reserve.

use jackfield_domain::price::ServiceTier;
use jackfield_engine::RESERVED_OUTPUT;
use serde::Deserialize;
use serde_json::Value;

/// The fields of the three vendors that limit a reply or name a service tier. A body in another form has none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Limits {
    max_tokens: Value,
    max_completion_tokens: Value,
    max_output_tokens: Value,
    n: Value,
    #[serde(rename = "generationConfig")]
    generation_config: Option<GenerationConfig>,
    #[serde(rename = "serviceTier")]
    gemini_tier: Value,
    service_tier: Value,
    speed: Value,
}

/// The fields of Gemini.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GenerationConfig {
    #[serde(rename = "maxOutputTokens")]
    max_output_tokens: Value,
    #[serde(rename = "candidateCount")]
    candidate_count: Value,
}

/// The maximum of output tokens that this body asks for, of all replies together, and its service tier. Without a maximum,
/// it is the default for each reply.
pub(super) fn output_and_tier(body: &[u8]) -> (u64, Option<ServiceTier>) {
    let limits: Limits = serde_json::from_slice(body).unwrap_or_default();
    let gemini = limits.generation_config.unwrap_or_default();
    let named = [
        &limits.max_completion_tokens,
        &limits.max_output_tokens,
        &limits.max_tokens,
        &gemini.max_output_tokens,
    ];
    let most = named.into_iter().filter_map(Value::as_u64).max();
    let replies = [&limits.n, &gemini.candidate_count];
    let replies = replies.into_iter().filter_map(Value::as_u64).max();
    let most = most.unwrap_or(RESERVED_OUTPUT);
    let tiers = [&limits.speed, &limits.service_tier, &limits.gemini_tier];
    let tier = |word: &Value| word.as_str().and_then(ServiceTier::of_word);
    (
        most.saturating_mul(replies.unwrap_or(1).max(1)),
        tiers.into_iter().find_map(tier),
    )
}
