//! Responses: everything but items and tools.

use jackfield_dialect_openai::profile::{EndUser, Profile, StructuredOutput};
use jackfield_dialect_rules::openai::responses::{Rule, check};
use serde_json::{Value, json};

use super::Try;

fn body() -> Value {
    json!({ "model": "gpt-6-astra", "input": "Answer in JSON." })
}

fn of() -> Try {
    Try::new(check, Profile::OPENAI, body())
}

#[test]
fn a_body_says_what_is_asked_of_which_model() {
    let of = of();
    of.needs("/model", "model", Rule::Missing);
    of.needs("/input", "input", Rule::Missing);
    for body in [
        json!({ "model": "m", "previous_response_id": "resp_1" }),
        json!({ "model": "m", "conversation": { "id": "conv_1" } }),
        json!({ "prompt": { "id": "pmpt_1" } }),
    ] {
        assert_eq!(check(&body, &Profile::OPENAI), [], "{body}");
    }
    let both = json!({ "model": "m", "input": "hi", "conversation": "conv_1", "previous_response_id": "resp_1" });
    let told = check(&both, &Profile::OPENAI);
    assert_eq!((told.len(), told[0].rule), (1, Rule::Exclusive));
    assert_eq!(
        check(&json!("hi"), &Profile::OPENAI)[0].rule,
        Rule::WrongType
    );
}

#[test]
fn fields_of_chat_completions_are_unknown() {
    let of = of();
    for key in [
        "max_tokens",
        "max_completion_tokens",
        "messages",
        "n",
        "reasoning_effort",
        "response_format",
        "seed",
        "stop",
        "verbosity",
    ] {
        of.breaks(&format!("/{key}"), json!(null), key, Rule::UnknownField);
    }
}

#[test]
fn settings_have_their_types_and_ranges() {
    let of = of();
    for (key, sound) in [
        ("include", json!(["reasoning.encrypted_content"])),
        ("instructions", json!("Be brief.")),
        ("max_output_tokens", json!(16)),
        ("max_tool_calls", json!(3)),
        ("metadata", json!({ "a": "b" })),
        ("prompt_cache_key", json!("k")),
        ("prompt_cache_options", json!({ "mode": "explicit" })),
        (
            "reasoning",
            json!({ "effort": "max", "summary": "auto", "context": "all_turns" }),
        ),
        ("safety_identifier", json!("u")),
        ("service_tier", json!("ultrafast")),
        ("store", json!(false)),
        ("text", json!({ "verbosity": "low" })),
        ("truncation", json!("auto")),
        ("user", json!("u")),
    ] {
        of.takes(&format!("/{key}"), sound);
    }
    for (key, wrong, path, rule) in [
        ("background", json!(1), "background", Rule::WrongType),
        ("include", json!(["usage"]), "include.0", Rule::WrongValue),
        (
            "instructions",
            json!(["x"]),
            "instructions",
            Rule::WrongType,
        ),
        (
            "max_output_tokens",
            json!(15),
            "max_output_tokens",
            Rule::OutOfRange,
        ),
        ("metadata", json!({ "a": 1 }), "metadata.a", Rule::WrongType),
        (
            "previous_response_id",
            json!(""),
            "previous_response_id",
            Rule::Empty,
        ),
        (
            "reasoning",
            json!({ "effort": "most" }),
            "reasoning.effort",
            Rule::WrongValue,
        ),
        (
            "reasoning",
            json!({ "budget": 1 }),
            "reasoning.budget",
            Rule::UnknownField,
        ),
        (
            "reasoning",
            json!({ "summary": "long" }),
            "reasoning.summary",
            Rule::WrongValue,
        ),
        (
            "service_tier",
            json!("best"),
            "service_tier",
            Rule::WrongValue,
        ),
        (
            "text",
            json!({ "verbosity": "max" }),
            "text.verbosity",
            Rule::WrongValue,
        ),
        (
            "truncation",
            json!("middle"),
            "truncation",
            Rule::WrongValue,
        ),
    ] {
        let told = of.told(&format!("/{key}"), Some(wrong.clone()));
        assert_eq!(told[0], (path.to_owned(), rule), "{key} {wrong}");
    }
}

#[test]
fn options_of_streams_stand_with_streams_alone() {
    let of = of();
    of.breaks(
        "/stream_options",
        json!({}),
        "stream_options",
        Rule::NoStream,
    );
    let mut streamed = body();
    streamed["stream"] = json!(true);
    let of = Try::new(check, Profile::OPENAI, streamed);
    of.takes("/stream_options", json!({ "include_obfuscation": false }));
    let usage = json!({ "include_usage": true });
    of.breaks(
        "/stream_options",
        usage,
        "stream_options.include_usage",
        Rule::UnknownField,
    );
}

#[test]
fn an_answer_may_be_held_to_a_form() {
    let of = of();
    let schema = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    let format = |format: Value| json!({ "format": format });
    let by = |name: &str, schema: &Value| {
        format(json!({ "type": "json_schema", "name": name, "schema": schema, "strict": true }))
    };
    of.takes("/text", format(json!({ "type": "text" })));
    of.takes("/text", format(json!({ "type": "json_object" })));
    of.takes("/text", by("a", &schema));
    let at = "text.format";
    of.breaks(
        "/text",
        by("a b", &schema),
        &format!("{at}.name"),
        Rule::Name,
    );
    let list = json!({ "type": "array", "items": { "type": "null" } });
    of.breaks(
        "/text",
        by("a", &list),
        &format!("{at}.schema.type"),
        Rule::SchemaRoot,
    );
    of.breaks(
        "/text",
        format(json!({ "type": "json_schema", "name": "a" })),
        &format!("{at}.schema"),
        Rule::Missing,
    );
    of.breaks(
        "/text",
        format(json!({ "type": "yaml" })),
        &format!("{at}.type"),
        Rule::WrongValue,
    );
    let nested = json!({ "type": "text", "json_schema": {} });
    of.breaks(
        "/text",
        format(nested),
        &format!("{at}.json_schema"),
        Rule::UnknownField,
    );
    let mut asked = body();
    asked["text"] = format(json!({ "type": "json_object" }));
    let of = Try::new(check, Profile::OPENAI, asked);
    of.breaks("/input", json!("hi"), at, Rule::JsonNotMentioned);
    of.takes(
        "/input",
        json!([{ "role": "user", "content": [{ "type": "input_text", "text": "json" }] }]),
    );
}

#[test]
fn what_a_model_or_server_does_not_take_is_in_its_profile() {
    let of = of();
    for key in ["temperature", "top_logprobs", "top_p", "top_k"] {
        of.breaks(&format!("/{key}"), json!(1), key, Rule::NotTaken);
    }
    type Change = fn(&mut Profile);
    let cases: [(&str, Value, &str, Change); 8] = [
        (
            "include",
            json!(["reasoning.encrypted_content"]),
            "include.0",
            |p| p.encrypted_reasoning = false,
        ),
        (
            "prompt_cache_options",
            json!({}),
            "prompt_cache_options",
            |p| p.cache_points = false,
        ),
        (
            "reasoning",
            json!({ "effort": "medium" }),
            "reasoning.effort",
            |p| p.efforts = Profile::DEEPSEEK.efforts,
        ),
        ("reasoning", json!({}), "reasoning", |p| p.efforts = &[]),
        ("safety_identifier", json!("u"), "safety_identifier", |p| {
            p.end_user = EndUser::None;
        }),
        ("service_tier", json!("auto"), "service_tier", |p| {
            p.service_tier = false;
        }),
        (
            "text",
            json!({ "format": { "type": "json_object" } }),
            "text.format.type",
            |p| p.structured_output = StructuredOutput::None,
        ),
        (
            "text",
            json!({ "verbosity": "low" }),
            "text.verbosity",
            |p| p.verbosity = false,
        ),
    ];
    for (key, value, path, change) in cases {
        let pointer = format!("/{key}");
        of.takes(&pointer, value.clone());
        of.with(change)
            .breaks(&pointer, value, path, Rule::NotTaken);
    }
}
