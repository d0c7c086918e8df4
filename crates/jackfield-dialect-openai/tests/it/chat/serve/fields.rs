//! Each field is served, noted or refused by its name.

use jackfield_dialect_kit::serve::{ServeDialect as _, ServeErrorKind};
use jackfield_dialect_openai::chat::request;
use jackfield_dialect_openai::chat::serve::ChatCompletions;
use jackfield_dialect_openai::profile::Profile;
use jackfield_domain::block::Content;
use jackfield_domain::note::{NoteEffect, NoteKind};
use jackfield_domain::opaque::StateOwner;
use serde_json::{Value, json};

use super::{asked, with};
use crate::chat::examples;
use crate::chat::read::owner;

#[test]
fn what_cannot_be_served_is_refused_by_its_name() {
    let tool = json!({ "type": "function", "function": { "name": "f" } });
    for (field, json, param) in [
        ("audio", json!({ "voice": "a", "format": "wav" }), "audio"),
        ("function_call", json!("auto"), "function_call"),
        ("functions", json!([{ "name": "f" }]), "functions"),
        ("logprobs", json!(true), "logprobs"),
        ("mcp_servers", json!([]), "mcp_servers"),
        ("modalities", json!(["text", "audio"]), "modalities"),
        ("moderation", json!({ "model": "m" }), "moderation"),
        ("n", json!(2), "n"),
        ("tools", json!([tool, { "type": "web_search" }]), "tools.1"),
        ("top_logprobs", json!(3), "top_logprobs"),
    ] {
        let refused = with(field, json).expect_err("it is refused");
        assert_eq!(refused.kind, ServeErrorKind::Unsupported, "{field}");
        assert_eq!(refused.param.as_deref(), Some(param));
        assert!(refused.message.contains(&format!("`{param}`")), "{refused}");
    }
}

/// A field that makes the provider search goes to a provider of this dialect, unchanged, and to no other.
#[test]
fn a_search_of_the_provider_needs_a_provider_of_this_dialect() {
    for (field, json) in [
        ("plugins", json!([{ "id": "web" }])),
        ("search_parameters", json!({ "mode": "auto" })),
        ("web_search", json!(true)),
        (
            "web_search_options",
            json!({ "search_context_size": "low" }),
        ),
    ] {
        let incoming = with(field, json.clone()).expect("it is served");
        assert_eq!(incoming.notes, [], "{field}");
        let mut request = examples::of(incoming.messages);
        request.settings = incoming.settings.into();
        let sent = request::to_wire(&request, &owner(), &Profile::OPENAI, false);
        let (sent, notes) = sent.expect("it can be sent");
        let sent = serde_json::to_value(&sent).expect("JSON");
        assert_eq!((&sent[field], notes), (&json, Vec::new()));

        let body =
            json!({ "model": "m", "messages": [{ "role": "user", "content": "go" }], field: json });
        let foreign = |_: &str| StateOwner {
            endpoint: "".into(),
            ..owner()
        };
        let text = body.to_string();
        let refused = ChatCompletions::new()
            .request(&|_| None, text.as_bytes(), &foreign)
            .expect_err("no provider of this dialect");
        assert_eq!(refused.kind, ServeErrorKind::Unsupported, "{field}");
        assert_eq!(refused.param.as_deref(), Some(field));
    }
}

#[test]
fn what_is_malformed_is_refused_by_its_place() {
    let double = json!([{ "type": "function", "function": { "name": "f" } }, { "type": "custom", "custom": { "name": "f" } }]);
    for (field, json, param) in [
        ("logprobs", json!("yes"), "logprobs"),
        ("max_tokens", json!(-1), "max_tokens"),
        ("messages", json!([]), "messages"),
        ("messages", json!(null), "messages"),
        (
            "messages",
            json!([{ "role": "system", "content": "Be brief." }]),
            "messages",
        ),
        (
            "messages",
            json!([{ "role": "user", "content": 7 }]),
            "messages.0.content",
        ),
        (
            "messages",
            json!([{ "role": "robot", "content": "a" }]),
            "messages.0.role",
        ),
        ("messages", json!([null]), "messages.0"),
        ("modalities", json!("text"), "modalities"),
        ("model", json!(" "), "model"),
        ("n", json!(0), "n"),
        ("n", json!("1"), "n"),
        (
            "response_format",
            json!({ "type": "grammar" }),
            "response_format.type",
        ),
        ("store", json!(1), "store"),
        ("stream", json!("true"), "stream"),
        ("temperature", json!("warm"), "temperature"),
        ("tool_choice", json!(7), "tool_choice"),
        (
            "tools",
            json!([{ "type": "function", "function": { "name": "" } }]),
            "tools.0.function.name",
        ),
        (
            "tools",
            json!([{ "type": "function", "function": { "name": "f", "parameters": "any" } }]),
            "tools.0.function.parameters",
        ),
        (
            "tools",
            json!([{ "type": "custom", "custom": { "name": "a b" } }]),
            "tools.0.custom.name",
        ),
        ("tools", double, "tools.1"),
        ("top_logprobs", json!("3"), "top_logprobs"),
        ("user", json!(7), "user"),
    ] {
        let refused = with(field, json).expect_err("it is refused");
        assert_eq!(refused.kind, ServeErrorKind::Invalid, "{field}: {refused}");
        assert_eq!(refused.param.as_deref(), Some(param), "{refused}");
    }
}

#[test]
fn what_says_no_more_than_the_default_is_passed_over() {
    for (field, json) in [
        ("audio", Value::Null),
        ("functions", json!([])),
        ("logprobs", json!(false)),
        ("modalities", json!(["text"])),
        ("n", json!(1)),
        ("store", json!(false)),
        ("stream_options", json!({ "include_obfuscation": false })),
        ("top_logprobs", json!(0)),
        ("web_search_options", Value::Null),
    ] {
        let incoming = with(field, json).expect("it is served");
        assert_eq!(incoming.notes, [], "{field}");
        assert_eq!(incoming.settings.extensions, [], "{field}");
        assert_eq!(incoming.store, None, "{field}");
        assert!(incoming.echo.is_empty(), "{field}");
    }
}

#[test]
fn what_changes_little_is_noted() {
    for (field, json, code, path) in [
        (
            "metadata",
            json!({ "a": "b" }),
            "metadata_not_kept",
            "metadata",
        ),
        ("store", json!(true), "kept_as_a_session", "store"),
        (
            "stream_options",
            json!({ "include_obfuscation": true }),
            "stream_not_padded",
            "stream_options.include_obfuscation",
        ),
    ] {
        let incoming = with(field, json).expect("it is served");
        assert_eq!(incoming.notes.len(), 1, "{field}");
        let note = &incoming.notes[0];
        assert_eq!((&*note.code, note.path.as_str()), (code, path));
        assert_eq!(note.effect, NoteEffect::Cosmetic);
        assert_ne!(note.kind, NoteKind::Refused);
        assert_eq!(incoming.settings.extensions, [], "{field}");
        assert_eq!(incoming.store, (field == "store").then_some(true));
    }
}

#[test]
fn what_only_some_server_knows_goes_on_to_it() {
    for (field, json) in [
        ("chat_template_kwargs", json!({ "enable_thinking": false })),
        ("logit_bias", json!({ "1": 2 })),
        ("prediction", json!({ "type": "content", "content": "a" })),
        ("prompt_cache_key", json!("k")),
        ("unheard_of", json!(1)),
    ] {
        let incoming = with(field, json.clone()).expect("it is served");
        let told: Vec<(&str, &Value)> = incoming
            .settings
            .extensions
            .iter()
            .map(|extension| (extension.path.as_str(), &extension.json))
            .collect();
        assert_eq!(told, [(format!("/{field}").as_str(), &json)]);
    }
}

#[test]
fn the_end_user_is_known_by_either_field() {
    for (fields, expected) in [
        (json!({ "user": "old" }), "old"),
        (json!({ "safety_identifier": "new" }), "new"),
        (json!({ "safety_identifier": "new", "user": "old" }), "new"),
    ] {
        let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "go" }] });
        for (field, json) in fields.as_object().expect("fields") {
            body[field] = json.clone();
        }
        let incoming = asked(&body).expect("it is served");
        assert_eq!(incoming.settings.end_user.as_deref(), Some(expected));
    }
}

#[test]
fn that_use_is_to_be_told_is_repeated_by_the_reply() {
    let asked = |on: Value| with("stream_options", json!({ "include_usage": on }));
    let yes = asked(json!(true)).expect("it is served");
    assert_eq!(Value::Object(yes.echo), json!({ "include_usage": true }));
    for no in [json!(false), Value::Null] {
        assert!(asked(no).expect("it is served").echo.is_empty());
    }
}

#[test]
fn a_sampling_value_outside_the_range_is_refused() {
    for (field, wrong) in [
        ("temperature", 2.1),
        ("top_p", -0.1),
        ("frequency_penalty", 3.0),
        ("presence_penalty", -2.5),
    ] {
        let refused = with(field, json!(wrong)).expect_err(field);
        assert_eq!(refused.kind, ServeErrorKind::Invalid, "{field}");
        assert_eq!(refused.param.as_deref(), Some(field));
    }
    assert!(with("temperature", json!(2)).is_ok());
}

#[test]
fn a_cache_point_is_read_in_the_words_of_other_servers() {
    let cache = json!({ "type": "ephemeral", "ttl": "1h" });
    let parts = json!([{ "type": "text", "text": "go", "cache_control": cache }]);
    let incoming = with("messages", json!([{ "role": "user", "content": parts }]));
    let incoming = incoming.expect("a request");
    let point = incoming.messages[0].blocks[0].cache.expect("a cache point");
    assert_eq!(point.seconds, Some(3600));
    let parts =
        json!([{ "type": "text", "text": "Be kind.", "cache_control": { "type": "ephemeral" } }]);
    let messages =
        json!([{ "role": "system", "content": parts }, { "role": "user", "content": "go" }]);
    let incoming = with("messages", messages).expect("a request");
    let codes: Vec<&str> = incoming.notes.iter().map(|note| &*note.code).collect();
    assert_eq!(codes, ["cache_point_not_possible"]);
}

#[test]
fn a_part_that_only_some_server_knows_is_told_in_words_elsewhere_or_refused() {
    let asked_with = |part: Value, owner: StateOwner| {
        let messages = json!([{ "role": "user", "content": [part] }]);
        let body = json!({ "model": "m", "messages": messages }).to_string();
        ChatCompletions::new().request(&|_| None, body.as_bytes(), &|_| owner.clone())
    };
    let nobody = StateOwner {
        endpoint: "".into(),
        ..owner()
    };
    let words = json!({ "type": "quote", "text": "It rains.", "page": 7 });
    for owner in [owner(), nobody.clone()] {
        let incoming = asked_with(words.clone(), owner).expect("a request");
        let Content::Opaque(opaque) = &incoming.messages[0].blocks[0].content else {
            panic!("{incoming:?}");
        };
        assert_eq!(opaque.fallback.as_deref(), Some("It rains."));
    }
    let silent = json!({ "type": "hologram", "beam": 7 });
    assert!(asked_with(silent.clone(), owner()).is_ok());
    let refused = asked_with(silent, nobody).expect_err("no words");
    assert_eq!(refused.kind, ServeErrorKind::Invalid);
}
