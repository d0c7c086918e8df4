//! Chat Completions: everything but messages and tools.

use jackfield_dialect_openai::profile::{EndUser, MaxTokens, Profile, StructuredOutput};
use jackfield_dialect_rules::openai::chat::{Rule, check};
use serde_json::{Value, json};

use super::Try;

fn body() -> Value {
    json!({ "model": "gpt-4.1", "messages": [{ "role": "user", "content": "Answer in JSON." }] })
}

fn old() -> Try {
    Try::new(check, Profile::OPENAI_WITHOUT_REASONING, body())
}

fn new() -> Try {
    Try::new(check, Profile::OPENAI, body())
}

#[test]
fn a_body_has_a_model_and_messages_and_no_field_that_nobody_knows() {
    let of = old();
    of.needs("/model", "model", Rule::Missing);
    of.needs("/messages", "messages", Rule::Missing);
    of.breaks("/model", json!(""), "model", Rule::Empty);
    of.breaks("/model", json!(4), "model", Rule::WrongType);
    of.breaks("/messages", json!("hi"), "messages", Rule::WrongType);
    of.breaks("/messages", json!([]), "messages", Rule::Empty);
    of.breaks(
        "/max_output_tokens",
        json!(9),
        "max_output_tokens",
        Rule::UnknownField,
    );
    let told = check(&json!([]), &Profile::OPENAI);
    assert_eq!(told[0].rule, Rule::WrongType);
    assert_eq!(told[0].to_string(), ": wrong type");
}

#[test]
fn settings_have_their_types_and_ranges() {
    let of = old();
    for (key, sound) in [
        ("frequency_penalty", json!(-2)),
        ("logit_bias", json!({ "50256": -100 })),
        ("logprobs", json!(null)),
        ("max_completion_tokens", json!(1)),
        ("max_tokens", json!(10)),
        ("metadata", json!({ "a": "b" })),
        ("n", json!(2)),
        ("seed", json!(-7)),
        ("service_tier", json!("flex")),
        ("stop", json!("END")),
        ("stop", json!(["a", "b", "c", "d"])),
        ("store", json!(false)),
        ("temperature", json!(1.5)),
        ("top_p", json!(1)),
        ("user", json!("u")),
    ] {
        of.takes(&format!("/{key}"), sound);
    }
    for (key, wrong, rule) in [
        ("frequency_penalty", json!(2.5), Rule::OutOfRange),
        ("logprobs", json!("yes"), Rule::WrongType),
        ("max_completion_tokens", json!(0), Rule::OutOfRange),
        ("max_completion_tokens", json!(1.5), Rule::WrongType),
        ("metadata", json!([]), Rule::WrongType),
        ("n", json!(129), Rule::OutOfRange),
        ("presence_penalty", json!("0"), Rule::WrongType),
        ("prompt_cache_retention", json!("1h"), Rule::WrongValue),
        ("safety_identifier", json!("x".repeat(129)), Rule::TooLong),
        ("seed", json!(u64::MAX), Rule::OutOfRange),
        ("service_tier", json!("ultrafast"), Rule::WrongValue),
        ("stop", json!([]), Rule::Empty),
        ("stop", json!(""), Rule::Empty),
        ("stop", json!(["a", "b", "c", "d", "e"]), Rule::TooMany),
        ("stream", json!("true"), Rule::WrongType),
        ("temperature", json!(2.1), Rule::OutOfRange),
        ("top_p", json!(-0.1), Rule::OutOfRange),
    ] {
        of.breaks(&format!("/{key}"), wrong, key, rule);
    }
    of.breaks("/stop", json!(["a", ""]), "stop.1", Rule::Empty);
    of.breaks("/stop", json!([1]), "stop.0", Rule::WrongType);
    of.breaks("/top_logprobs", json!(2), "logprobs", Rule::Missing);
}

#[test]
fn metadata_is_small() {
    let of = old();
    let pairs = |count: usize, key: usize, value: usize| {
        let pair = |n| (format!("{n:0key$}"), json!("v".repeat(value)));
        Value::Object((0..count).map(pair).collect())
    };
    of.takes("/metadata", pairs(16, 64, 512));
    of.breaks("/metadata", pairs(17, 2, 1), "metadata", Rule::TooMany);
    of.breaks(
        "/metadata",
        json!({ "a": "v".repeat(513) }),
        "metadata.a",
        Rule::TooLong,
    );
    let key = "k".repeat(65);
    of.breaks(
        "/metadata",
        json!({ &key: "v" }),
        &format!("metadata.{key}"),
        Rule::TooLong,
    );
    of.breaks(
        "/metadata",
        json!({ "a": 1 }),
        "metadata.a",
        Rule::WrongType,
    );
}

#[test]
fn options_of_streams_stand_with_streams_alone() {
    let mut streamed = body();
    streamed["stream"] = json!(true);
    let of = Try::new(check, Profile::OPENAI, streamed.clone());
    of.takes(
        "/stream_options",
        json!({ "include_usage": true, "include_obfuscation": false }),
    );
    of.breaks(
        "/stream_options",
        json!({ "usage": true }),
        "stream_options.usage",
        Rule::UnknownField,
    );
    new().breaks(
        "/stream_options",
        json!({}),
        "stream_options",
        Rule::NoStream,
    );
    let of = Try::new(check, Profile::MISTRAL, streamed);
    let usage = json!({ "include_usage": true });
    of.breaks(
        "/stream_options",
        usage,
        "stream_options.include_usage",
        Rule::NotTaken,
    );
}

#[test]
fn models_that_reason_take_no_sampling() {
    let of = new();
    for (key, value) in [
        ("frequency_penalty", json!(1)),
        ("logit_bias", json!({})),
        ("logprobs", json!(true)),
        ("max_tokens", json!(10)),
        ("presence_penalty", json!(1)),
        ("stop", json!("x")),
        ("temperature", json!(1)),
        ("top_k", json!(1)),
        ("top_p", json!(1)),
    ] {
        of.breaks(&format!("/{key}"), value, key, Rule::NotTaken);
    }
    for (key, value) in [
        ("max_completion_tokens", json!(10)),
        ("reasoning_effort", json!("xhigh")),
        ("safety_identifier", json!("u")),
        ("verbosity", json!("low")),
    ] {
        of.takes(&format!("/{key}"), value);
    }
    of.breaks(
        "/reasoning_effort",
        json!("most"),
        "reasoning_effort",
        Rule::WrongValue,
    );
    of.breaks("/verbosity", json!("max"), "verbosity", Rule::WrongValue);
}

#[test]
fn what_a_server_does_not_take_is_in_its_profile() {
    let of = new();
    type Change = fn(&mut Profile);
    let cases: [(&str, Value, Change); 8] = [
        ("max_completion_tokens", json!(9), |p| {
            p.max_tokens = MaxTokens::MaxTokens;
        }),
        ("prompt_cache_options", json!({}), |p| {
            p.cache_points = false;
        }),
        ("reasoning_effort", json!("low"), |p| p.efforts = &[]),
        ("safety_identifier", json!("u"), |p| {
            p.end_user = EndUser::User;
        }),
        ("seed", json!(1), |p| p.seed = false),
        ("service_tier", json!("auto"), |p| p.service_tier = false),
        ("user", json!("u"), |p| p.end_user = EndUser::None),
        ("verbosity", json!("low"), |p| p.verbosity = false),
    ];
    for (key, value, change) in cases {
        let pointer = format!("/{key}");
        of.takes(&pointer, value.clone());
        let told = of.with(change).told(&pointer, Some(value));
        assert_eq!(told[0], (key.to_owned(), Rule::NotTaken));
    }
    let of = of.with(|p| p.efforts = Profile::DEEPSEEK.efforts);
    of.breaks(
        "/reasoning_effort",
        json!("medium"),
        "reasoning_effort",
        Rule::NotTaken,
    );
    let of = new();
    of.takes("/reasoning_effort", json!("max"));
    of.with(|p| p.max_effort = false).breaks(
        "/reasoning_effort",
        json!("max"),
        "reasoning_effort",
        Rule::NotTaken,
    );
    let of_vllm = Try::new(check, Profile::VLLM, body());
    of_vllm.takes("/top_k", json!(40));
    for key in ["add_generation_prompt", "continue_final_message"] {
        let pointer = format!("/{key}");
        of_vllm.takes(&pointer, json!(true));
        of.breaks(&pointer, json!(true), key, Rule::NotTaken);
    }
}

#[test]
fn of_the_two_limits_one_is_set() {
    let mut limited = body();
    limited["max_tokens"] = json!(10);
    let of = Try::new(check, Profile::OPENAI_WITHOUT_REASONING, limited);
    of.breaks(
        "/max_completion_tokens",
        json!(10),
        "max_tokens",
        Rule::Exclusive,
    );
}

#[test]
fn an_answer_may_be_held_to_a_form() {
    let of = new();
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"], "additionalProperties": false });
    let by = |inner: Value| json!({ "type": "json_schema", "json_schema": inner });
    let at = "/response_format";
    of.takes(at, json!({ "type": "text" }));
    of.takes(at, json!({ "type": "json_object" }));
    of.takes(
        at,
        by(json!({ "name": "a", "description": "d", "schema": schema, "strict": true })),
    );
    of.takes(
        at,
        by(json!({ "name": "a", "schema": { "type": "array" } })),
    );
    of.breaks(
        at,
        json!({ "type": "yaml" }),
        "response_format.type",
        Rule::WrongValue,
    );
    of.breaks(
        at,
        json!({ "type": "json_schema" }),
        "response_format.json_schema",
        Rule::Missing,
    );
    of.breaks(
        at,
        json!({ "type": "text", "json_schema": {} }),
        "response_format.json_schema",
        Rule::UnknownField,
    );
    let inner = "response_format.json_schema";
    of.breaks(
        at,
        by(json!({ "schema": schema })),
        &format!("{inner}.name"),
        Rule::Missing,
    );
    of.breaks(
        at,
        by(json!({ "name": "a b" })),
        &format!("{inner}.name"),
        Rule::Name,
    );
    of.breaks(
        at,
        by(json!({ "name": "a", "schema": [] })),
        &format!("{inner}.schema"),
        Rule::WrongType,
    );
    let loose = json!({ "name": "a", "schema": { "type": "object", "properties": {}, "required": [] }, "strict": true });
    of.breaks(
        at,
        by(loose),
        &format!("{inner}.schema.additionalProperties"),
        Rule::SchemaSubset,
    );
}

#[test]
fn a_form_is_one_that_the_server_can_hold_to() {
    let of = new().with(|p| p.structured_output = StructuredOutput::JsonObject);
    let by_schema = json!({ "type": "json_schema", "json_schema": { "name": "a" } });
    of.takes("/response_format", json!({ "type": "json_object" }));
    of.breaks(
        "/response_format",
        by_schema,
        "response_format.type",
        Rule::NotTaken,
    );
    let of = of.with(|p| p.structured_output = StructuredOutput::None);
    of.breaks(
        "/response_format",
        json!({ "type": "json_object" }),
        "response_format.type",
        Rule::NotTaken,
    );
}

#[test]
fn json_is_asked_for_in_words_too() {
    let mut asked = body();
    asked["response_format"] = json!({ "type": "json_object" });
    let of = Try::new(check, Profile::OPENAI, asked);
    of.breaks(
        "/messages/0/content",
        json!("hi"),
        "response_format",
        Rule::JsonNotMentioned,
    );
    of.takes(
        "/messages/0/content",
        json!([{ "type": "text", "text": "Some json." }]),
    );
}
