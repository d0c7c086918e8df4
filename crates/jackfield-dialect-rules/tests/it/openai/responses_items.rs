//! Responses: items, and what they have to be to each other.

use jackfield_dialect_openai::profile::{Profile, SystemRole};
use jackfield_dialect_rules::openai::responses::{Rule, check};
use serde_json::{Value, json};

use super::Try;

fn call(id: &str) -> Value {
    json!({ "type": "function_call", "id": "fc_1", "call_id": id, "name": "clock", "arguments": "{\"tz\":\"Europe/Oslo\"}", "status": "completed" })
}

fn output(id: &str) -> Value {
    json!({ "type": "function_call_output", "call_id": id, "output": "12:01" })
}

/// A round with reasoning, after every kind of part.
fn body() -> Value {
    json!({ "model": "gpt-6-astra", "store": false, "include": ["reasoning.encrypted_content"], "input": [
        { "role": "developer", "content": "Be brief." },
        { "type": "message", "role": "user", "content": [
            { "type": "input_text", "text": "What is this?", "prompt_cache_breakpoint": { "mode": "explicit" } },
            { "type": "input_image", "image_url": "https://x.example/a.png", "detail": "auto" },
            { "type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk=" },
        ] },
        { "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "A clock." }], "encrypted_content": "gAAA" },
        call("call_a"),
        { "type": "custom_tool_call", "id": "ctc_1", "call_id": "call_b", "name": "run", "input": "any {" },
        output("call_a"),
        { "type": "custom_tool_call_output", "call_id": "call_b", "output": [{ "type": "input_text", "text": "done" }] },
        { "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "final_answer", "content": [
            { "type": "output_text", "text": "Noon.", "annotations": [] },
        ] },
        { "type": "web_search_call", "id": "ws_1", "status": "completed" },
    ] })
}

fn of() -> Try {
    Try::new(check, Profile::OPENAI, body())
}

#[test]
fn an_item_is_of_a_known_type() {
    let of = of();
    of.breaks("/input", json!([]), "input", Rule::Empty);
    of.breaks("/input", json!({}), "input", Rule::WrongType);
    of.breaks(
        "/input/8",
        json!({ "type": "tool_result" }),
        "input.8.type",
        Rule::WrongValue,
    );
    of.breaks("/input/8", json!("hi"), "input.8.type", Rule::WrongValue);
    of.takes(
        "/input/8",
        json!({ "type": "item_reference", "id": "msg_2" }),
    );
}

#[test]
fn messages_hold_what_their_role_may_say() {
    let of = of();
    of.takes(
        "/input/7",
        json!({ "role": "assistant", "content": "Noon.", "phase": "commentary" }),
    );
    of.takes(
        "/input/0",
        json!({ "role": "system", "content": [{ "type": "input_text", "text": "x" }] }),
    );
    of.breaks(
        "/input/0/role",
        json!("tool"),
        "input.0.role",
        Rule::WrongValue,
    );
    of.breaks(
        "/input/0/name",
        json!("ada"),
        "input.0.name",
        Rule::UnknownField,
    );
    of.needs("/input/0/content", "input.0.content", Rule::Missing);
    of.breaks(
        "/input/0/content",
        json!([]),
        "input.0.content",
        Rule::Empty,
    );
    of.breaks(
        "/input/0/content",
        json!(null),
        "input.0.content",
        Rule::WrongType,
    );
    of.breaks(
        "/input/1/content/0/type",
        json!("text"),
        "input.1.content.0",
        Rule::PartOutOfPlace,
    );
    of.breaks(
        "/input/7/content/0/type",
        json!("input_text"),
        "input.7.content.0",
        Rule::PartOutOfPlace,
    );
    of.breaks(
        "/input/7/phase",
        json!("draft"),
        "input.7.phase",
        Rule::WrongValue,
    );
    for key in ["id", "status"] {
        of.needs(
            &format!("/input/7/{key}"),
            &format!("input.7.{key}"),
            Rule::Missing,
        );
    }
    of.needs(
        "/input/7/content/0/annotations",
        "input.7.content.0.annotations",
        Rule::Missing,
    );
    of.takes(
        "/input/7/content/0",
        json!({ "type": "refusal", "refusal": "No." }),
    );
    let profile = |role| {
        let told = of.with(|p| p.system_role = role).told("/x", Some(json!(1)));
        told.len()
    };
    assert_eq!(profile(SystemRole::Developer), 1);
    let mut old = Profile::OPENAI;
    old.system_role = SystemRole::System;
    assert_eq!(check(&body(), &old)[0].rule, Rule::RoleOutOfPlace);
}

#[test]
fn parts_have_their_forms() {
    let of = of();
    let (at, path) = ("/input/1/content", "input.1.content");
    for (pointer, wrong, rule) in [
        ("/0/text", json!(1), Rule::WrongType),
        ("/0/annotations", json!([]), Rule::UnknownField),
        (
            "/0/prompt_cache_breakpoint/mode",
            json!("auto"),
            Rule::WrongValue,
        ),
        (
            "/1/image_url",
            json!({ "url": "https://x.example" }),
            Rule::WrongType,
        ),
        (
            "/1/image_url",
            json!("file:///etc/passwd"),
            Rule::WrongValue,
        ),
        ("/1/detail", json!("most"), Rule::WrongValue),
        ("/2/file_data", json!("aGk="), Rule::WrongValue),
    ] {
        let place = format!("{path}{}", pointer.replace('/', "."));
        of.breaks(&format!("{at}{pointer}"), wrong, &place, rule);
    }
    of.breaks(
        "/input/1/content/1/file_id",
        json!("file_1"),
        "input.1.content.1",
        Rule::Exclusive,
    );
    of.needs(
        "/input/1/content/1/image_url",
        "input.1.content.1",
        Rule::Missing,
    );
    of.breaks(
        "/input/1/content/2/file_url",
        json!("https://x.example"),
        "input.1.content.2",
        Rule::Exclusive,
    );
    // Functions may give back images, and nothing that only a model says.
    let image = json!([{ "type": "input_image", "image_url": "data:image/png;base64,aGk=" }]);
    of.takes("/input/5/output", image);
    of.breaks(
        "/input/5/output",
        json!([{ "type": "output_text", "text": "x" }]),
        "input.5.output.0",
        Rule::PartOutOfPlace,
    );
    let most = "x".repeat(10_485_760);
    of.takes("/input/5/output", json!(most));
    of.breaks(
        "/input/5/output",
        json!(most + "x"),
        "input.5.output",
        Rule::TooLong,
    );
}

#[test]
fn calls_and_outputs_have_their_forms() {
    let of = of();
    of.breaks(
        "/input/3/arguments",
        json!({}),
        "input.3.arguments",
        Rule::WrongType,
    );
    of.breaks(
        "/input/3/arguments",
        json!("{"),
        "input.3.arguments",
        Rule::Arguments,
    );
    of.breaks(
        "/input/3/name",
        json!("functions.clock"),
        "input.3.name",
        Rule::Name,
    );
    of.breaks(
        "/input/3/status",
        json!("done"),
        "input.3.status",
        Rule::WrongValue,
    );
    of.breaks("/input/3/id", json!(""), "input.3.id", Rule::Empty);
    of.breaks(
        "/input/3/function",
        json!({}),
        "input.3.function",
        Rule::UnknownField,
    );
    of.breaks(
        "/input/4/arguments",
        json!("{}"),
        "input.4.arguments",
        Rule::UnknownField,
    );
    of.needs("/input/5/output", "input.5.output", Rule::Missing);
    of.breaks(
        "/input/5/is_error",
        json!(true),
        "input.5.is_error",
        Rule::UnknownField,
    );
    of.breaks(
        "/input/6/status",
        json!("completed"),
        "input.6.status",
        Rule::UnknownField,
    );
    let of_id = |id: &str| json!({ "model": "m", "input": [call(id), output(id)] });
    assert_eq!(check(&of_id(&"x".repeat(64)), &Profile::OPENAI), []);
    let told = check(&of_id(&"x".repeat(65)), &Profile::OPENAI);
    assert_eq!(
        told.iter().map(|v| v.rule).collect::<Vec<_>>(),
        [Rule::CallId; 2]
    );
}

#[test]
fn every_call_has_one_output_after_it() {
    let of = of();
    let told = |n: usize| {
        let mut body = body();
        body["input"].as_array_mut().expect("a list").remove(n);
        let told = check(&body, &Profile::OPENAI).into_iter();
        told.map(|v| (v.path, v.rule)).collect::<Vec<_>>()
    };
    assert_eq!(
        told(5),
        [("input.3.call_id".to_owned(), Rule::UnansweredCall)]
    );
    assert_eq!(
        told(3),
        [("input.4.call_id".to_owned(), Rule::ResultWithoutCall)]
    );
    assert_eq!(
        told(6),
        [("input.4.call_id".to_owned(), Rule::UnansweredCall)]
    );
    of.breaks(
        "/input/8",
        output("call_a"),
        "input.8.call_id",
        Rule::Repeated,
    );
    of.breaks(
        "/input/8",
        output("call_z"),
        "input.8.call_id",
        Rule::ResultWithoutCall,
    );
    of.breaks(
        "/input/8",
        call("call_a"),
        "input.8.call_id",
        Rule::Repeated,
    );
    // A call of the other kind is no call.
    of.breaks(
        "/input/8",
        output("call_b"),
        "input.8.call_id",
        Rule::ResultWithoutCall,
    );
    // The calls may be where the vendor keeps the conversation.
    let stored =
        json!({ "model": "m", "previous_response_id": "resp_1", "input": [output("call_z")] });
    assert_eq!(check(&stored, &Profile::OPENAI), []);
    let before = json!({ "model": "m", "input": [output("call_a"), call("call_a")] });
    let told = check(&before, &Profile::OPENAI);
    assert_eq!(told[0].rule, Rule::ResultWithoutCall);
}

#[test]
fn reasoning_comes_whole_and_with_what_it_led_to() {
    let of = of();
    of.needs("/input/2/id", "input.2.id", Rule::Missing);
    of.needs("/input/2/summary", "input.2.summary", Rule::Missing);
    of.needs(
        "/input/2/encrypted_content",
        "input.2.encrypted_content",
        Rule::ReasoningMissing,
    );
    of.breaks(
        "/input/2/text",
        json!("x"),
        "input.2.text",
        Rule::UnknownField,
    );
    of.breaks(
        "/input/2/summary/0/type",
        json!("text"),
        "input.2.summary.0.type",
        Rule::WrongValue,
    );
    let thought = json!([{ "type": "summary_text", "text": "x" }]);
    of.breaks(
        "/input/2/content",
        thought,
        "input.2.content.0.type",
        Rule::WrongValue,
    );
    let mut bare = body();
    bare["input"][2]["encrypted_content"] = json!(null);
    bare["store"] = json!(true);
    assert_eq!(check(&bare, &Profile::OPENAI), []);
    let reasoning = of.body.pointer("/input/2").expect("reasoning").clone();
    let two = json!([reasoning, reasoning, { "role": "assistant", "content": "x" }]);
    of.takes("/input", two);
    for alone in [
        json!([reasoning]),
        json!([reasoning, { "role": "user", "content": "x" }]),
        json!([reasoning, { "type": "shell_call_output", "call_id": "x", "output": [] }]),
        json!([reasoning, { "type": "mcp_approval_response", "approval_request_id": "a", "approve": true }]),
    ] {
        of.breaks("/input", alone, "input.0", Rule::ReasoningAlone);
    }
}

#[test]
fn what_a_server_does_not_take_is_in_its_profile() {
    let told = |change: fn(&mut Profile)| {
        let mut profile = Profile::OPENAI;
        change(&mut profile);
        let told = check(&body(), &profile).into_iter();
        told.map(|v| (v.path, v.rule)).collect::<Vec<_>>()
    };
    let not_taken = |path: &str| vec![(path.to_owned(), Rule::NotTaken)];
    assert_eq!(told(|p| p.custom_tools = false), not_taken("input.4"));
    assert_eq!(
        told(|p| p.cache_points = false),
        not_taken("input.1.content.0.prompt_cache_breakpoint")
    );
    assert_eq!(told(|p| p.files = false), not_taken("input.1.content.2"));
    assert_eq!(told(|p| p.images = false), not_taken("input.1.content.1"));
    assert_eq!(
        told(|p| p.image_addresses = false),
        not_taken("input.1.content.1.image_url")
    );
    assert_eq!(
        told(|p| p.encrypted_reasoning = false),
        not_taken("include.0")
    );
}
