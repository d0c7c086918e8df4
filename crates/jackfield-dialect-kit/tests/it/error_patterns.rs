//! What servers say in errors, and what it means.

use jackfield_dialect_kit::error_patterns::{
    ErrorMeaning, SERVERS, TokenCounts, kind, refuses_tools, remedy, too_long,
};
use jackfield_domain::failure::ModelFailureKind;
use proptest::prelude::*;

/// What servers of today answer, as reports of them have it, with how many tokens fit and how many were sent.
#[test]
fn a_request_that_is_too_long_is_known_in_the_words_of_its_server() {
    for (words, limit, requested) in [
        // OpenRouter
        (
            "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens \
             (42832 of text input). Please reduce the length of either one, or use the \"middle-out\" transform \
             to compress your prompt automatically.",
            32_768,
            42_832,
        ),
        // vLLM of 2026
        (
            "This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and \
             your prompt contains at least 134145 input tokens, for a total of at least 262145 tokens. Please reduce \
             the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, \
             value=134145)",
            262_144,
            262_145,
        ),
        (
            "You passed 98305 input tokens and requested 32768 output tokens. However, the model's context length is \
             only 131072 tokens, resulting in a maximum input length of 98304 tokens. Please reduce the length of the \
             input prompt.",
            131_072,
            98_305,
        ),
        // vLLM of 2025
        (
            "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the \
             messages, 10000 in the completion). Please reduce the length of the messages or completion.",
            16_384,
            122_946,
        ),
        // Together, with SGLang and with Text Generation Inference behind it
        (
            "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
            262_144,
            516_368,
        ),
        (
            "Input validation\nerror: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 80125 `inputs` tokens \
             and 4096 `max_new_tokens`",
            4097,
            80_125,
        ),
        // Poolside, as OpenRouter gives it back
        (
            "Provider returned error: Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
            131_040,
            131_393,
        ),
        // LM Studio
        (
            "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with \
             context length of only 7866 tokens, which is not enough.",
            7866,
            10_136,
        ),
        (
            "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= \
             n_ctx: 4096). Try to load the model with a larger context \n     length, or provide a shorter input.",
            4096,
            13_055,
        ),
        // llama.cpp
        (
            "request (66202 tokens) exceeds the available context size (65536 tokens), try increasing it",
            65_536,
            66_202,
        ),
        // xAI
        (
            "This model's maximum prompt length is 500000 but the request contains 500644 tokens.",
            500_000,
            500_644,
        ),
        // OpenAI
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            8192,
            9000,
        ),
        // Claude
        (
            "prompt is too long: 210001 tokens > 200000 maximum",
            200_000,
            210_001,
        ),
        // With thousands parted
        (
            "Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens",
            256_000,
            5_958_968,
        ),
    ] {
        let counts = TokenCounts {
            limit: Some(limit),
            requested: Some(requested),
        };
        assert_eq!(too_long(words), Some(counts), "{words}");
        assert_eq!(too_long(&words.to_lowercase()), Some(counts), "{words}");
    }
    for words in [
        "prompt too long; exceeded max context length by 100918 tokens",
        "the request exceeds the available context size, try increasing it",
        "invalid params, context window exceeds limit",
    ] {
        assert_eq!(too_long(words), Some(TokenCounts::default()), "{words}");
    }
}

#[test]
fn other_errors_are_not_taken_for_it() {
    for words in [
        "",
        "prompt is too long",
        "max_tokens: 9 > 8",
        "maximum context length is long, you requested 9",
        "This model's maximum context length is 4096 tokens and your request has 100.",
        "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9000",
        "prompt is too long: 99999999999999999999999 tokens > 1 maximum",
    ] {
        assert_eq!(too_long(words), None, "{words}");
    }
}

#[test]
fn a_model_without_tools_is_known_in_the_words_of_its_server() {
    for (known, words) in [
        (
            ModelFailureKind::InvalidRequest,
            "registry.ollama.ai/library/gemma3:4b does not support tools",
        ),
        (
            ModelFailureKind::ServerError,
            "tools param requires --jinja flag",
        ),
        (
            ModelFailureKind::ModelNotFound,
            "No endpoints found that support tool use. Try disabling \"question\".",
        ),
        (
            ModelFailureKind::InvalidRequest,
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
        ),
    ] {
        assert_eq!(
            kind(known, words),
            ModelFailureKind::ToolsUnsupported,
            "{words}"
        );
    }
    let other = ModelFailureKind::InvalidRequest;
    assert_eq!(kind(other, "tools.0.name: too long"), other);
}

#[test]
fn each_row_is_found_by_its_own_words_and_has_a_source() {
    for server in SERVERS {
        for words in server.patterns {
            let says = ["{limit}", "{requested}", "{}"].iter();
            let says = says.fold(words.pattern.to_owned(), |says, hole| {
                says.replace(hole, "12")
            });
            let found = match words.meaning {
                ErrorMeaning::NoTools(way) => refuses_tools(&says) && remedy(&says) == Some(way),
                ErrorMeaning::TooLong => too_long(&says).is_some(),
                ErrorMeaning::Remedy(way) => remedy(&says) == Some(way),
            };
            assert!(found, "{}: {}", server.name, words.pattern);
            assert!(words.source.contains("20"), "{}: no date", words.source);
        }
    }
}

proptest! {
    #[test]
    fn any_words_can_be_read(words: String, number: u64) {
        let _counts = too_long(&words);
        let _way = remedy(&format!("maximum context length is {number}{words}"));
    }
}
