//! The longest reply that a request asks for, which its budgets reserve.

use jackfield_engine::RESERVED_OUTPUT;
use serde::Deserialize;
use serde_json::Value;

/// The fields of the three vendors that limit a reply. A body in another form limits nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Limits {
    max_tokens: Value,
    max_completion_tokens: Value,
    max_output_tokens: Value,
    n: Value,
    #[serde(rename = "generationConfig")]
    generation_config: Option<GenerationConfig>,
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

/// The maximum of output tokens that this body asks for, of all replies together; without one, the default for each.
pub(super) fn max_output(body: &[u8]) -> u64 {
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
    most.saturating_mul(replies.unwrap_or(1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_reply_is_read_in_each_language() {
        for (body, most) in [
            (r#"{"model":"m","max_tokens":7}"#, 7),
            (r#"{"max_tokens":7,"max_completion_tokens":9,"n":3}"#, 27),
            (r#"{"max_output_tokens":5,"input":"hi"}"#, 5),
            (
                r#"{"generationConfig":{"maxOutputTokens":8,"candidateCount":2}}"#,
                16,
            ),
            (r#"{"max_tokens":"many"}"#, RESERVED_OUTPUT),
            (r#"{"n":2}"#, 2 * RESERVED_OUTPUT),
            (r#"{"max_tokens":18446744073709551615,"n":9}"#, u64::MAX),
            ("[]", RESERVED_OUTPUT),
            ("", RESERVED_OUTPUT),
        ] {
            assert_eq!(max_output(body.as_bytes()), most, "{body}");
        }
    }
}
