//! Chat Completions: messages, and what they have to be to each other.

use jackfield_dialect_kit::ids::IdForm;
use jackfield_dialect_openai::profile::{
    BlankContent, Prefill, Profile, ReasoningEcho, SystemRole,
};
use jackfield_dialect_rules::openai::chat::{Rule, check};
use serde_json::{Value, json};

use super::Try;

fn call(id: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": "clock", "arguments": "{\"tz\":\"Europe/Oslo\"}" } })
}

fn result(id: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": "12:01" })
}

/// A round of two calls after every kind of part.
fn body() -> Value {
    json!({ "model": "gpt-4o-audio", "messages": [
        { "role": "system", "content": "Be brief." },
        { "role": "user", "name": "ada", "content": [
            { "type": "text", "text": "What is this?", "prompt_cache_breakpoint": { "mode": "explicit", "ttl": "30m" } },
            { "type": "image_url", "image_url": { "url": "https://x.example/a.png", "detail": "low" } },
            { "type": "input_audio", "input_audio": { "data": "aGk=", "format": "wav" } },
            { "type": "file", "file": { "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk=" } },
        ] },
        { "role": "assistant", "content": null, "tool_calls": [call("call_a"), call("call_b")] },
        result("call_a"),
        result("call_b"),
        { "role": "assistant", "content": [{ "type": "text", "text": "Noon." }] },
        { "role": "user", "content": "Thanks." },
    ] })
}

fn of() -> Try {
    let profile = Profile {
        audio: true,
        ..Profile::OPENAI
    };
    Try::new(check, profile, body())
}

#[test]
fn a_message_to_continue_is_marked_where_the_server_reads_it() {
    let of = of();
    let place = "/messages/5/prefix";
    of.breaks(place, json!(true), "messages.5.prefix", Rule::UnknownField);
    for prefill in [Prefill::Prefix, Prefill::RepeatedPrefix] {
        of.with(|p| p.prefill = prefill).takes(place, json!(true));
    }
}

#[test]
fn a_message_has_a_role_and_what_belongs_to_it() {
    let of = of();
    of.takes(
        "/messages/0",
        json!({ "role": "developer", "content": [{ "type": "text", "text": "Be brief." }] }),
    );
    of.breaks(
        "/messages/0/role",
        json!("model"),
        "messages.0.role",
        Rule::WrongValue,
    );
    of.needs("/messages/0/role", "messages.0.role", Rule::WrongValue);
    of.needs("/messages/6/content", "messages.6.content", Rule::Missing);
    of.breaks(
        "/messages/6/id",
        json!("x"),
        "messages.6.id",
        Rule::UnknownField,
    );
    of.breaks(
        "/messages/6/name",
        json!(1),
        "messages.6.name",
        Rule::WrongType,
    );
    of.breaks(
        "/messages/5/reasoning_content",
        json!("x"),
        "messages.5.reasoning_content",
        Rule::UnknownField,
    );
    of.breaks(
        "/messages/3/name",
        json!("clock"),
        "messages.3.name",
        Rule::UnknownField,
    );
}

#[test]
fn content_is_text_or_parts_of_the_kinds_of_its_role() {
    let of = of();
    for wrong in [json!(null), json!(7)] {
        of.breaks(
            "/messages/6/content",
            wrong,
            "messages.6.content",
            Rule::WrongType,
        );
    }
    of.breaks(
        "/messages/6/content",
        json!([]),
        "messages.6.content",
        Rule::Empty,
    );
    let image =
        json!([{ "type": "image_url", "image_url": { "url": "data:image/png;base64,aGk=" } }]);
    of.takes("/messages/6/content", image.clone());
    for n in [0, 3, 5] {
        let path = format!("messages.{n}.content.0");
        of.breaks(
            &format!("/messages/{n}/content"),
            image.clone(),
            &path,
            Rule::PartOutOfPlace,
        );
    }
    let refusal = json!({ "type": "refusal", "refusal": "No." });
    of.takes("/messages/5/content", json!([refusal]));
    of.breaks(
        "/messages/5/content",
        json!([refusal, refusal]),
        "messages.5.content",
        Rule::Exclusive,
    );
    of.breaks(
        "/messages/6/content",
        json!([refusal]),
        "messages.6.content.0",
        Rule::PartOutOfPlace,
    );
}

#[test]
fn parts_have_their_forms() {
    let of = of();
    let (at, path) = ("/messages/1/content", "messages.1.content");
    for (pointer, wrong, rule) in [
        ("/0/text", json!(1), Rule::WrongType),
        ("/0/annotations", json!([]), Rule::UnknownField),
        (
            "/0/prompt_cache_breakpoint/mode",
            json!("implicit"),
            Rule::WrongValue,
        ),
        (
            "/0/prompt_cache_breakpoint/ttl",
            json!("5m"),
            Rule::WrongValue,
        ),
        (
            "/1/image_url",
            json!("https://x.example/a.png"),
            Rule::WrongType,
        ),
        ("/1/image_url/detail", json!("most"), Rule::WrongValue),
        (
            "/1/image_url/url",
            json!("file:///etc/passwd"),
            Rule::WrongValue,
        ),
        ("/1/image_url/url", json!("aGk="), Rule::WrongValue),
        (
            "/1/image_url/url",
            json!("data:image/png,hi"),
            Rule::WrongValue,
        ),
        ("/2/input_audio/format", json!("flac"), Rule::WrongValue),
        ("/2/input_audio/data", json!(1), Rule::WrongType),
        ("/3/file/file_data", json!("aGk="), Rule::WrongValue),
        (
            "/3/file/url",
            json!("https://x.example"),
            Rule::UnknownField,
        ),
    ] {
        let place = format!("{path}{}", pointer.replace('/', "."));
        of.breaks(&format!("{at}{pointer}"), wrong, &place, rule);
    }
    of.needs(
        "/messages/1/content/1/image_url/url",
        "messages.1.content.1.image_url.url",
        Rule::Missing,
    );
    of.breaks(
        "/messages/1/content/3/file/file_id",
        json!("file_1"),
        "messages.1.content.3.file",
        Rule::Exclusive,
    );
    of.needs(
        "/messages/1/content/3/file/file_data",
        "messages.1.content.3.file",
        Rule::Missing,
    );
}

#[test]
fn calls_have_ids_names_and_arguments_as_text() {
    let of = of();
    let (at, path) = ("/messages/2/tool_calls/0", "messages.2.tool_calls.0");
    for wrong in ["", "{", "[]", "\"{}\"", "null"] {
        let path = format!("{path}.function.arguments");
        of.breaks(
            &format!("{at}/function/arguments"),
            json!(wrong),
            &path,
            Rule::Arguments,
        );
    }
    let arguments = format!("{path}.function.arguments");
    of.breaks(
        &format!("{at}/function/arguments"),
        json!({}),
        &arguments,
        Rule::WrongType,
    );
    of.breaks(
        &format!("{at}/function/name"),
        json!("functions.clock"),
        &format!("{path}.function.name"),
        Rule::Name,
    );
    of.breaks(
        &format!("{at}/index"),
        json!(0),
        &format!("{path}.index"),
        Rule::UnknownField,
    );
    of.needs(
        &format!("{at}/function"),
        &format!("{path}.function"),
        Rule::Missing,
    );
    of.breaks(
        &format!("{at}/type"),
        json!("mcp"),
        &format!("{path}.type"),
        Rule::WrongValue,
    );
    let custom =
        json!({ "id": "call_a", "type": "custom", "custom": { "name": "run", "input": "any {" } });
    of.takes(at, custom.clone());
    let without = of.with(|p| p.custom_tools = false);
    without.breaks(at, custom, path, Rule::NotTaken);
    let long = |length: usize| {
        let id = "x".repeat(length);
        json!({ "model": "m", "messages": [{ "role": "assistant", "tool_calls": [call(&id)] }, result(&id)] })
    };
    assert_eq!(check(&long(64), &Profile::OPENAI), []);
    let told = check(&long(65), &Profile::OPENAI);
    assert!(told.iter().all(|violation| violation.rule == Rule::CallId) && told.len() == 2);
}

#[test]
fn a_message_of_the_models_says_something_or_calls() {
    let of = of();
    let said = |message: Value| of.told("/messages/5", Some(message));
    let missing = |path: &str, rule| [(format!("messages.5.{path}"), rule)];
    for message in [
        json!({ "role": "assistant", "refusal": "No." }),
        json!({ "role": "assistant", "audio": { "id": "a" } }),
        json!({ "role": "assistant", "content": "" }),
    ] {
        assert_eq!(said(message), []);
    }
    for message in [
        json!({ "role": "assistant" }),
        json!({ "role": "assistant", "content": null }),
        json!({ "role": "assistant", "content": null, "tool_calls": null }),
    ] {
        assert_eq!(said(message), missing("content", Rule::ContentMissing));
    }
    let none = json!({ "role": "assistant", "content": "x", "tool_calls": [] });
    assert_eq!(said(none), missing("tool_calls", Rule::Empty));
}

#[test]
fn every_call_has_its_result_right_after_it() {
    let of = of();
    let call_path = "messages.2.tool_calls.1.id";
    of.needs("/messages/4", call_path, Rule::UnansweredCall);
    let between = json!({ "role": "user", "content": "wait" });
    let told = of.told("/messages/4", Some(between));
    assert_eq!(told, [(call_path.to_owned(), Rule::UnansweredCall)]);
    // In whatever order.
    let mut swapped = body();
    swapped["messages"][3] = result("call_b");
    swapped["messages"][4] = result("call_a");
    assert_eq!(check(&swapped, &of.profile), []);
    // At the end, too.
    let open = json!({ "role": "assistant", "tool_calls": [call("call_c")] });
    of.breaks(
        "/messages/-",
        open,
        "messages.7.tool_calls.0.id",
        Rule::UnansweredCall,
    );
}

#[test]
fn every_result_has_its_call_right_before_it() {
    let of = of();
    of.breaks(
        "/messages/-",
        result("call_a"),
        "messages.7.tool_call_id",
        Rule::ResultWithoutCall,
    );
    let told = of.told("/messages/4/tool_call_id", Some(json!("call_a")));
    let path = "messages.4.tool_call_id".to_owned();
    let call = "messages.2.tool_calls.1.id".to_owned();
    assert_eq!(
        told,
        [(path, Rule::Repeated), (call.clone(), Rule::UnansweredCall)]
    );
    let told = of.told("/messages/2/tool_calls/1", Some(call_again()));
    assert_eq!(told[0], (call, Rule::Repeated));
}

fn call_again() -> Value {
    call("call_a")
}

#[test]
fn system_messages_stand_where_the_server_takes_them() {
    let of = Try::new(
        check,
        Profile::VLLM,
        json!({ "model": "m", "messages": [
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": "hi" },
    ] }),
    );
    let later = json!({ "role": "system", "content": "Be long." });
    of.breaks(
        "/messages/1",
        later.clone(),
        "messages.1.role",
        Rule::RoleOutOfPlace,
    );
    of.with(|p| p.system_role = SystemRole::System)
        .takes("/messages/1", later);
    of.breaks(
        "/messages/0/role",
        json!("developer"),
        "messages.0.role",
        Rule::RoleOutOfPlace,
    );
}

#[test]
fn what_a_server_does_not_take_is_in_its_profile() {
    let of = of();
    let told = |change: fn(&mut Profile)| {
        let mut profile = of.profile;
        change(&mut profile);
        let told = check(&of.body, &profile).into_iter();
        told.map(|v| (v.path, v.rule)).collect::<Vec<_>>()
    };
    let not_taken = |path: &str| vec![(format!("messages.{path}"), Rule::NotTaken)];
    let ids = |path: &str| (format!("messages.{path}"), Rule::CallId);
    assert_eq!(told(|p| p.audio = false), not_taken("1.content.2"));
    assert_eq!(
        told(|p| p.cache_points = false),
        not_taken("1.content.0.prompt_cache_breakpoint")
    );
    assert_eq!(told(|p| p.files = false), not_taken("1.content.3"));
    assert_eq!(told(|p| p.images = false), not_taken("1.content.1"));
    assert_eq!(
        told(|p| p.image_addresses = false),
        not_taken("1.content.1.image_url.url")
    );
    assert_eq!(
        told(|p| p.blank_content = BlankContent::Empty),
        not_taken("2.content")
    );
    assert_eq!(
        told(|p| p.call_ids = IdForm::NineAlphanumeric),
        [
            ids("2.tool_calls.0.id"),
            ids("2.tool_calls.1.id"),
            ids("3.tool_call_id"),
            ids("4.tool_call_id")
        ]
    );
    let echo = of.with(|p| p.reasoning_echo = ReasoningEcho::AsItCame);
    for (key, value) in [
        ("reasoning", json!("x")),
        ("reasoning_content", json!("")),
        ("reasoning_details", json!([])),
    ] {
        echo.takes(&format!("/messages/5/{key}"), value);
    }
}

#[test]
fn a_turn_that_calls_gives_its_reasoning_back_to_deepseek() {
    let body = json!({ "model": "deepseek-flash", "messages": [
        { "role": "user", "content": "When?" },
        { "role": "assistant", "content": null, "reasoning_content": "", "tool_calls": [call("call_a")] },
        result("call_a"),
        { "role": "assistant", "content": "Noon.", "reasoning_content": "So it is noon." },
        { "role": "user", "content": "Thanks." },
        { "role": "assistant", "content": "Welcome." },
    ] });
    let of = Try::new(check, Profile::DEEPSEEK, body);
    for n in [1, 3] {
        let path = format!("messages.{n}.reasoning_content");
        of.needs(
            &format!("/messages/{n}/reasoning_content"),
            &path,
            Rule::ReasoningMissing,
        );
    }
    let of = Try::new(check, Profile::DEEPSEEK, {
        let mut quiet = of.body.clone();
        quiet["thinking"] = json!({ "type": "disabled" });
        quiet
    });
    assert_eq!(of.told("/messages/3/reasoning_content", None), []);
}

#[test]
fn the_older_forms_are_known() {
    let body = json!({ "model": "m", "messages": [
        { "role": "assistant", "content": null, "function_call": { "name": "clock", "arguments": "{}" } },
        { "role": "function", "name": "clock", "content": "12:01" },
    ] });
    let of = Try::new(check, Profile::OPENAI, body);
    of.needs("/messages/1/name", "messages.1.name", Rule::Missing);
}
