//! Replies in the forms that services and servers document, by the kind of each preset.

use std::sync::Arc;

use jackfield_dialect_kit::decode::DecodeReply as _;
use jackfield_dialect_openai::chat::stream::Decoder;
use jackfield_dialect_openai::error;
use jackfield_dialect_openai::profile::{InlineThinking, Profile};
use jackfield_domain::failure::{ModelFailureKind as Kind, Phase, RetryAdvice};
use jackfield_domain::price::Money;
use jackfield_domain::reply::FinishReason;
use serde_json::{Value, json};

use super::examples::of;
use super::read::{accumulated, calls, owner, prose, read};

/// The events of a stream, what they say, and their calls.
struct Sample {
    calls: &'static [&'static str],
    events: Vec<Value>,
    finish: FinishReason,
    host: &'static str,
    text: &'static str,
    /// Input and output, in tokens.
    usage: (u64, u64),
}

fn event(delta: &Value, finish: &Value) -> Value {
    json!({ "id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

fn with(mut event: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().into_iter().flatten() {
        event[name] = value.clone();
    }
    event
}

fn call(id: &str, arguments: &Value) -> Value {
    json!({ "tool_calls": [{ "index": 0, "id": id, "type": "function",
            "function": { "name": "f", "arguments": arguments } }] })
}

fn samples() -> Vec<Sample> {
    let no = Value::Null;
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17 });
    let whole = json!("{\"a\":1}");
    vec![
        // Content filters come first, in an event without choices.
        Sample {
            host: "azure",
            events: vec![
                json!({ "choices": [], "created": 0, "id": "", "model": "", "object": "",
                        "prompt_filter_results": [{ "prompt_index": 0, "content_filter_results": {} }] }),
                event(
                    &json!({ "role": "assistant", "content": "", "refusal": null }),
                    &no,
                ),
                event(&json!({ "content": "Hello." }), &no),
                with(
                    event(&json!({}), &json!("stop")),
                    &json!({ "choices": [{
                    "index": 0, "delta": {}, "finish_reason": "stop", "content_filter_offsets": {},
                    "content_filter_results": { "hate": { "filtered": false, "severity": "safe" } } }] }),
                ),
                json!({ "choices": [], "usage": usage }),
            ],
            text: "Hello.",
            calls: &[],
            finish: FinishReason::Stop,
            usage: (10, 7),
        },
        Sample {
            host: "cerebras",
            events: vec![
                event(&json!({ "role": "assistant" }), &no),
                event(&json!({ "reasoning": "I call f." }), &no),
                event(&call("chatcmpl-tool-1", &whole), &no),
                with(
                    event(&json!({}), &json!("tool_calls")),
                    &json!({ "usage": usage,
                    "time_info": { "queue_time": 0.1, "total_time": 0.2 } }),
                ),
            ],
            text: "",
            calls: &["chatcmpl-tool-1 f {\"a\":1}"],
            finish: FinishReason::ToolCalls,
            usage: (10, 7),
        },
        Sample {
            host: "fireworks",
            events: vec![
                event(&json!({ "role": "assistant" }), &no),
                event(&call("call_x", &json!("{\"a\"")), &no),
                event(
                    &json!({ "tool_calls": [{ "index": 0, "function": { "arguments": ":1}" } }] }),
                    &no,
                ),
                with(
                    event(&json!({}), &json!("tool_calls")),
                    &json!({ "usage": usage }),
                ),
            ],
            text: "",
            calls: &["call_x f {\"a\":1}"],
            finish: FinishReason::ToolCalls,
            usage: (10, 7),
        },
        // A whole call in one event, and the usage in a field of its own.
        Sample {
            host: "groq",
            events: vec![
                with(
                    event(&json!({ "role": "assistant", "content": null }), &no),
                    &json!({ "x_groq": { "id": "req_1" } }),
                ),
                event(&json!({ "reasoning": "I call f." }), &no),
                event(&call("call_1", &whole), &no),
                with(
                    event(&json!({}), &json!("tool_calls")),
                    &json!({ "x_groq": { "id": "req_1", "usage": usage } }),
                ),
            ],
            text: "",
            calls: &["call_1 f {\"a\":1}"],
            finish: FinishReason::ToolCalls,
            usage: (10, 7),
        },
        // A backend that sends objects, the id `0`, and `stop` with calls.
        Sample {
            host: "huggingface",
            events: vec![
                event(&call("call_h", &json!({ "a": 1 })), &no),
                with(
                    event(
                        &json!({ "role": "assistant", "content": "" }),
                        &json!("stop"),
                    ),
                    &json!({ "usage": usage }),
                ),
            ],
            text: "",
            calls: &["call_h f {\"a\":1}"],
            finish: FinishReason::ToolCalls,
            usage: (10, 7),
        },
        Sample {
            host: "lm-studio",
            events: vec![
                event(
                    &json!({ "role": "assistant", "content": "<think>I greet.</think>\n\nHello." }),
                    &no,
                ),
                event(&json!({}), &json!("stop")),
                json!({ "id": "x", "choices": [], "usage": usage, "stats": {} }),
            ],
            text: "Hello.",
            calls: &[],
            finish: FinishReason::Stop,
            usage: (10, 7),
        },
        // Reasoning in parts, with a signature, and the cost in the usage.
        Sample {
            host: "openrouter",
            events: vec![
                with(
                    event(
                        &json!({ "role": "assistant", "content": "", "reasoning": "I call f.",
                    "reasoning_details": [{ "type": "reasoning.text", "text": "I call f.", "index": 0,
                                            "format": "anthropic-claude-v1", "signature": "s" }] }),
                        &no,
                    ),
                    &json!({ "provider": "Anthropic" }),
                ),
                event(&call("toolu_1", &whole), &no),
                with(
                    event(&json!({ "content": "" }), &json!("tool_calls")),
                    &json!({ "choices": [{
                    "index": 0, "delta": { "content": "" }, "finish_reason": "tool_calls",
                    "native_finish_reason": "tool_use" }] }),
                ),
                json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "content": "" }, "finish_reason": null }],
                        "usage": with(usage.clone(), &json!({ "cost": 0.01, "is_byok": false })) }),
            ],
            text: "",
            calls: &["toolu_1 f {\"a\":1}"],
            finish: FinishReason::ToolCalls,
            usage: (10, 7),
        },
        Sample {
            host: "sglang",
            events: vec![
                event(
                    &json!({ "role": "assistant", "content": "", "reasoning_content": null, "tool_calls": null }),
                    &no,
                ),
                event(
                    &json!({ "content": "Hello.", "reasoning_content": null, "tool_calls": null }),
                    &no,
                ),
                with(
                    event(&json!({}), &json!("stop")),
                    &json!({ "choices": [{ "index": 0, "delta": {
                    "content": null, "reasoning_content": null, "tool_calls": null },
                    "finish_reason": "stop", "matched_stop": 151645 }], "usage": null }),
                ),
                json!({ "choices": [], "usage": usage }),
            ],
            text: "Hello.",
            calls: &[],
            finish: FinishReason::Stop,
            usage: (10, 7),
        },
        Sample {
            host: "together",
            events: vec![
                json!({ "id": "x", "object": "chat.completion.chunk", "choices": [{ "index": 0, "text": "Hello.",
                        "seed": null, "logprobs": null, "finish_reason": null,
                        "delta": { "role": "assistant", "content": "Hello.", "token_id": 1, "tool_calls": null } }],
                        "usage": null }),
                with(
                    event(
                        &json!({ "role": "assistant", "content": "" }),
                        &json!("stop"),
                    ),
                    &json!({ "usage": usage }),
                ),
            ],
            text: "Hello.",
            calls: &[],
            finish: FinishReason::Stop,
            usage: (10, 7),
        },
        Sample {
            host: "xai",
            events: vec![
                event(
                    &json!({ "role": "assistant", "reasoning_content": "I call f." }),
                    &no,
                ),
                event(&call("call_9", &whole), &no),
                with(
                    event(&json!({}), &json!("tool_calls")),
                    &json!({ "system_fingerprint": "fp" }),
                ),
                json!({ "choices": [], "usage": usage, "citations": [] }),
            ],
            text: "",
            calls: &["call_9 f {\"a\":1}"],
            finish: FinishReason::ToolCalls,
            usage: (10, 7),
        },
    ]
}

#[test]
fn every_host_is_read_as_it_answers() {
    for sample in samples() {
        let mut events: Vec<String> = sample.events.iter().map(Value::to_string).collect();
        events.push("[DONE]".to_owned());
        let decoder = Decoder::new(owner()).with_inline_thinking(InlineThinking::Tagged);
        let (deltas, end) = read(decoder, events.iter().map(String::as_str))
            .unwrap_or_else(|error| panic!("{}: {error:?}", sample.host));
        assert_eq!(end.finish, sample.finish, "{}", sample.host);
        let used = end.usage.map(|usage| (usage.input, usage.output));
        assert_eq!(used, Some(sample.usage), "{}", sample.host);
        let reply = accumulated(&deltas, end);
        let prose = prose(&reply);
        let texts = prose.iter().filter_map(|text| text.strip_prefix("text "));
        assert_eq!(texts.collect::<String>(), sample.text, "{}", sample.host);
        assert_eq!(calls(&reply), sample.calls, "{}", sample.host);
    }
}

#[test]
fn a_stated_cost_is_read_where_it_is_what_the_server_charges() {
    let body = json!({
        "choices": [{ "index": 0, "message": { "content": "x" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 7, "cost": 0 },
    });
    let body = body.to_string();
    for (profile, billed) in [
        (Profile::OPENROUTER, Some(Money::ZERO)),
        (Profile::COMPATIBLE, None),
        (Profile::OPENAI, None),
    ] {
        let decoder = Decoder::new(owner()).with_cost(profile.usage_cost);
        let (_, end) = decoder.read_whole(body.as_bytes()).expect("a reply");
        assert_eq!(end.usage.expect("usage").billed, billed);
    }
}

#[test]
fn every_host_refuses_in_its_own_words() {
    let never = RetryAdvice::Never;
    for (host, status, body, kind, advice) in [
        (
            "azure: an unknown deployment",
            404,
            json!({ "error": { "code": "DeploymentNotFound",
                    "message": "The API deployment for this resource does not exist." } }),
            Kind::ModelNotFound,
            never,
        ),
        (
            "cerebras: a field",
            400,
            json!({ "message": "property 'frequency_penalty' is unsupported",
                    "type": "invalid_request_error", "param": "validation_error", "code": "wrong_api_format" }),
            Kind::InvalidRequest,
            never,
        ),
        (
            "groq: a call of the model that does not parse",
            400,
            json!({ "error": { "message": "Failed to call a function.", "type": "invalid_request_error",
                    "code": "tool_use_failed", "failed_generation": "<function=f>" } }),
            Kind::UnusableReply,
            RetryAdvice::Backoff,
        ),
        (
            "huggingface: no credits left",
            402,
            json!({ "error": "You have exceeded your monthly included credits for Inference Providers." }),
            Kind::Forbidden,
            never,
        ),
        (
            "ollama: a model without tools",
            400,
            json!({ "error": { "message": "m does not support tools", "type": "api_error", "param": null, "code": null } }),
            Kind::ToolsUnsupported,
            never,
        ),
        (
            "openrouter: no credits left",
            402,
            json!({ "error": { "code": 402, "message": "Insufficient credits", "metadata": { "provider_name": null } } }),
            Kind::Forbidden,
            never,
        ),
        (
            "xai: a wrong key",
            400,
            json!({ "code": "invalid-argument", "error": "Incorrect API key provided: ***." }),
            Kind::InvalidRequest,
            never,
        ),
        (
            "together: an unknown model",
            404,
            json!({ "id": "x", "error": { "message": "Unable to access model m.", "type": "invalid_request_error",
                    "param": null, "code": "model_not_available" } }),
            Kind::ModelNotFound,
            never,
        ),
    ] {
        let bytes = body.to_string();
        let failure = error::classify(status, |_| None, bytes.as_bytes(), Phase::BeforeFirstDelta);
        assert_eq!((failure.kind, failure.advice), (kind, advice), "{host}");
    }
}

#[test]
fn a_server_that_says_which_stop_sequence_it_met_is_believed_if_the_request_has_it() {
    let mut asked = of(Vec::new());
    Arc::make_mut(&mut asked.settings).stop = vec!["END".into()];
    for (key, said, finish) in [
        (
            "stop_reason",
            json!("END"),
            FinishReason::StopSequence("END".into()),
        ),
        (
            "matched_stop",
            json!("END"),
            FinishReason::StopSequence("END".into()),
        ),
        ("matched_stop", json!(151_645), FinishReason::Stop),
        ("stop_reason", json!("end_turn"), FinishReason::Stop),
        ("stop_reason", Value::Null, FinishReason::Stop),
    ] {
        for part in ["delta", "message"] {
            let mut choice = json!({
                "index": 0, "finish_reason": "stop", part: { "role": "assistant", "content": "Hi" },
            });
            choice[key] = said.clone();
            let body = json!({ "id": "x", "model": "m", "choices": [choice] }).to_string();
            let mut decoder = Decoder::for_request(owner(), &asked);
            let end = if part == "delta" {
                decoder.push(None, &body).unwrap();
                decoder.push(None, "[DONE]").unwrap();
                decoder.finish().unwrap()
            } else {
                decoder.read_whole(body.as_bytes()).unwrap().1
            };
            assert_eq!(end.finish, finish, "{key} {said} {part}");
        }
    }
}
