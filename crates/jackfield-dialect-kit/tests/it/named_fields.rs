//! The fields that a refusal names.

use jackfield_dialect_kit::named_fields::refused;
use proptest::prelude::*;
use serde_json::json;

const ADDED: &[&str] = &["include", "reasoning", "stream_options", "strict"];

/// What a refusal names of a request that has the added fields and some of the client's.
fn named(refusal: &str) -> Vec<&'static str> {
    let request = json!({
        "model": "m", "messages": [], "tools": [{ "strict": null }], "stream": true, "top_k": 1, "user": "u",
        "stream_options": { "include_usage": true }, "include": [],
    });
    refused(refusal.as_bytes(), request.to_string().as_bytes(), ADDED)
}

/// What each text names, as the message of an error and alone.
fn check(texts: &[&str], expected: &[&str]) {
    for text in texts {
        assert_eq!(named(text), expected, "{text}");
        let error = json!({ "error": { "message": text, "type": "invalid_request_error" } });
        assert_eq!(named(&error.to_string()), expected, "{error}");
    }
}

#[test]
fn an_added_field_is_found_in_the_words_of_servers() {
    check(
        &[
            "Unrecognized request argument supplied: stream_options",
            "Unrecognized request arguments supplied: foo, stream_options",
            "unknown field `stream_options`, expected one of `model`, `messages` at line 1",
            "json: unknown field \"stream_options\"",
            "Unknown parameter: 'stream_options'.",
            "Unknown parameter: 'stream_options.include_usage'.",
            "body.stream_options: Extra inputs are not permitted",
            "body -> stream_options: extra fields not permitted",
            "property 'stream_options' is unsupported, did you mean 'stream'?",
            "1 validation error for Request\nstream_options\n  Extra inputs are not permitted \
             [type=extra_forbidden, input_value={'model': 'm'}, input_type=dict]",
            "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs', \
             'input': {'model': 'm'}}]",
            "the server has no “stream_options”",
        ],
        &["stream_options"],
    );
    check(
        &[
            "Unknown parameter: 'tools[0].strict'.",
            "tools.0.strict: Extra inputs are not permitted",
            "unknown field `strict`",
            "Unrecognized request argument supplied: strict",
        ],
        &["strict"],
    );
    check(
        &[
            "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning' \
           is unsupported)]",
        ],
        &["reasoning"],
    );
    check(
        &["Unrecognized request arguments supplied: stream_options, include"],
        &["stream_options", "include"],
    );
}

#[test]
fn an_added_field_is_found_in_the_forms_of_errors() {
    let of_router = json!({ "error": { "message": "unknown field stream_options" } }).to_string();
    for refusal in [
        json!({ "detail": [{ "type": "extra_forbidden", "loc": ["body", "stream_options"],
            "msg": "Extra inputs are not permitted", "input": { "model": "m", "'model'": "'user'" } }] }),
        json!({ "object": "error", "message": { "detail": [{ "loc": ["body", "stream_options", "include_usage"] }] } }),
        json!({ "error": { "message": "no", "param": "stream_options", "code": "unknown_parameter" } }),
        json!([{ "error": { "message": "no", "details": [{ "fieldViolations": [{ "field": "stream_options" }] }] } }]),
        json!({ "error": { "message": "Provider returned error", "metadata": { "raw": of_router } } }),
        json!({ "error": "json: unknown field \"stream_options\"" }),
    ] {
        assert_eq!(named(&refusal.to_string()), ["stream_options"], "{refusal}");
    }
}

#[test]
fn a_part_of_a_word_or_a_plain_word_is_no_name() {
    check(
        &[
            "",
            "no",
            "unknown field `my_stream_options`",
            "unknown field `stream_options_2`",
            "unknown field `my-stream_options`",
            "the answer must include reasoning under strict rules",
            "your messages are too long for the model",
        ],
        &[],
    );
}

#[test]
fn a_field_of_the_client_is_the_clients_affair() {
    check(
        &[
            "unknown field `top_k`",
            "unknown field `top_k`; unknown field `stream_options`",
            "unknown field `stream_options`; unknown field `top_k`",
            "Unrecognized request arguments supplied: stream_options, user",
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options: no; messages.0.content: no",
            "stream_options: no; body.user: no",
        ],
        &[],
    );
    let both = json!({ "detail": [{ "loc": ["body", "stream_options"], "msg": "no" }, { "loc": ["body", "user"], "msg": "no" }] });
    assert_eq!(named(&both.to_string()), Vec::<&str>::new());
}

#[test]
fn a_message_that_is_known_to_mean_something_else_names_nothing() {
    let text = "The `reasoning` in the thinking mode must be passed back to the API.";
    check(&[text], &[]);
}

#[test]
fn a_request_that_cannot_be_read_has_no_fields_to_leave_out() {
    let refusal = b"unknown field `stream_options`";
    for request in ["", "[]", "{"] {
        assert_eq!(
            refused(refusal, request.as_bytes(), ADDED),
            Vec::<&str>::new()
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read(refusal: Vec<u8>, text in "[\\PC'\"`\\[\\]._]{0,60}") {
        let request = br#"{"stream_options":{},"model":"m"}"#;
        let _read = refused(&refusal, request, ADDED);
        let _read = refused(text.as_bytes(), request, ADDED);
    }
}
