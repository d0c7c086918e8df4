//! What a client asks of Jackfield as a server, and how it is refused.

use std::sync::Arc;

use jackfield_dialect_kit::incoming::Incoming;
use jackfield_dialect_kit::serve::{ServeDialect as _, ServeError, ServeErrorKind};
use jackfield_dialect_openai::profile::Profile;
use jackfield_dialect_openai::responses::request::to_wire;
use jackfield_dialect_openai::responses::serve::{
    InputItemsQuery, Responses, deletion_body, input_items, reply_id, response_of_item,
};
use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::message::Message;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::server_tool::ServerTool;
use jackfield_testkit::arb as kit;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::owner;

fn asked(body: &Value) -> Result<Incoming, ServeError> {
    Responses.request(&|_| None, body.to_string().as_bytes(), &|_| owner())
}

/// The same of a provider of another dialect.
fn asked_elsewhere(body: &Value) -> Result<Incoming, ServeError> {
    let nobody = StateOwner {
        endpoint: "".into(),
        ..owner()
    };
    Responses.request(&|_| None, body.to_string().as_bytes(), &|_| nobody.clone())
}

/// A body with these fields besides what every one has.
fn with(fields: Value) -> Value {
    let mut body = json!({ "model": "gpt-6-astra", "input": "Hello" });
    if let (Value::Object(body), Value::Object(fields)) = (&mut body, fields) {
        body.extend(fields);
    }
    body
}

#[test]
fn what_the_server_answers_to_itself_is_taken_out() {
    let incoming = asked(&with(json!({
        "background": true,
        "client_metadata": { "turn": "7" },
        "conversation": null,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be kind.",
        "max_tool_calls": 3,
        "metadata": { "order": "7" },
        "previous_response_id": "resp_turn_1_0",
        "reasoning": { "effort": "low" },
        "store": true,
        "stream": true,
        "temperature": 0.5,
        "text": { "verbosity": "low" },
        "tools": [{ "type": "function", "name": "clock", "parameters": { "type": "object" } }],
        "truncation": "auto",
        "user": "u_1",
    })))
    .expect("a request");
    assert!(incoming.background && incoming.stream);
    assert_eq!(incoming.previous.as_deref(), Some("resp_turn_1_0"));
    assert_eq!(incoming.store, Some(true));
    for (said, kept) in [(json!({}), true), (json!({ "store": false }), false)] {
        let incoming = asked(&with(said)).expect("a request");
        assert_eq!(incoming.store, Some(kept));
    }
    let extensions = incoming.settings.extensions.iter();
    let extensions: Vec<&str> = extensions.map(|extension| &*extension.path).collect();
    assert_eq!(extensions, ["/truncation"]);
    let notes: Vec<String> = incoming
        .notes
        .iter()
        .map(|note| format!("{} {}", note.code, note.path))
        .collect();
    assert_eq!(notes, ["calls_not_limited max_tool_calls"]);
    assert_eq!(
        Value::Object(incoming.echo),
        json!({
            "background": true,
            "instructions": "Be kind.",
            "max_tool_calls": 3,
            "metadata": { "order": "7" },
            "previous_response_id": "resp_turn_1_0",
            "reasoning": { "effort": "low", "summary": null },
            "store": true,
            "temperature": 0.5,
            "text": { "format": { "type": "text" }, "verbosity": "low" },
            "tools": [{ "type": "function", "name": "clock", "parameters": { "type": "object" }, "strict": null }],
            "truncation": "auto",
            "user": "u_1",
        })
    );
}

#[test]
fn the_vendors_tools_go_to_the_vendor_as_they_are() {
    let tools = json!([
        { "type": "web_search", "z": 1.5, "a": [] },
        { "type": "file_search", "vector_store_ids": ["vs_1"] },
        { "type": "file_search", "vector_store_ids": ["vs_2"] },
        { "type": "function", "name": "file_search_2", "parameters": { "type": "object", "properties": {} }, "strict": null },
        { "type": "tool_of_tomorrow" },
    ]);
    let include = json!([
        "web_search_call.action.sources",
        "reasoning.encrypted_content"
    ]);
    let read = |choice: Value| {
        let fields = json!({ "tools": tools, "tool_choice": choice, "include": include, "max_tool_calls": 3 });
        asked(&with(fields)).expect("a request")
    };
    let chosen = json!({ "type": "file_search" });
    let incoming = read(chosen.clone());
    assert_eq!(incoming.notes, []);
    let names: Vec<&str> = incoming
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    let expected = [
        "web_search",
        "file_search",
        "file_search_3",
        "file_search_2",
        "tool_of_tomorrow",
    ];
    assert_eq!(names, expected);
    let sent = |incoming: Incoming, profile: &Profile| {
        let request = ModelRequest {
            choice: incoming.choice,
            messages: incoming.messages.into_iter().collect(),
            model: ModelRef {
                model: "gpt-6-astra".into(),
                provider: "openai".into(),
            },
            turn: None,
            settings: Arc::new(incoming.settings),
            strict: None,
            system: Arc::new(incoming.system),
            tools: Arc::new(incoming.tools),
            searchable: Arc::default(),
            tools_as_text: false,
            whole: false,
        };
        let sent = to_wire(&request, &owner(), profile, true);
        sent.map(|(body, notes)| (serde_json::to_value(body).expect("JSON"), notes))
    };
    let (body, notes) = sent(incoming, &Profile::OPENAI).expect("a body");
    assert_eq!(notes, []);
    assert_eq!(body["tools"], tools);
    assert_eq!(body["tool_choice"], chosen);
    assert_eq!(body["max_tool_calls"], 3);
    assert_eq!(
        body["include"],
        json!([
            "reasoning.encrypted_content",
            "web_search_call.action.sources"
        ])
    );
    let allowed = json!({ "type": "allowed_tools", "mode": "auto", "tools": [{ "type": "web_search" }, { "type": "function", "name": "file_search_2" }] });
    let (body, notes) = sent(read(allowed.clone()), &Profile::OPENAI).expect("a body");
    assert_eq!(notes, []);
    assert_eq!(body["tool_choice"], allowed);
    // A server that is only compatible does not run them.
    let (body, notes) = sent(read(json!("auto")), &Profile::COMPATIBLE).expect("a body");
    assert_eq!(body["tools"].as_array().map(Vec::len), Some(1));
    let left_out = notes
        .iter()
        .filter(|note| *note.code == *"hosted_tool_left_out");
    assert_eq!(left_out.count(), 4);
    let only = asked(&with(json!({ "tools": [{ "type": "web_search" }] }))).expect("a request");
    let refused = sent(only, &Profile::COMPATIBLE).expect_err("nothing to do it with");
    assert_eq!(refused.path, "tools");
}

#[test]
fn tools_whose_calls_a_turn_cannot_answer_are_left_out_or_refused() {
    let function = json!({ "type": "function", "name": "f" });
    for kind in ["apply_patch", "local_shell", "shell", "tool_search"] {
        let incoming = asked(&with(json!({ "tools": [function, { "type": kind }] })));
        let notes = incoming.expect("a request").notes;
        assert_eq!(notes[0].path, format!("tools.{kind}"));
        let alone = asked(&with(json!({ "tools": [{ "type": kind }] })));
        let refused = alone.expect_err("nothing else to do it with");
        assert_eq!(refused.param.as_deref(), Some("tools.0"));
    }
    for kind in ["computer", "mcp"] {
        let refused = asked(&with(json!({ "tools": [function, { "type": kind }] })));
        assert_eq!(refused.expect_err(kind).param.as_deref(), Some("tools.1"));
    }
}

#[test]
fn what_is_not_served_is_refused_by_name() {
    let hosted =
        |kind: &str| json!({ "tools": [{ "type": "function", "name": "f" }, { "type": kind }] });
    let alone = |kind: &str| json!({ "tools": [{ "type": kind }] });
    let cases = [
        (alone("web_search"), "tools.0", "`web_search`"),
        (hosted("file_search"), "tools.1", "`file_search`"),
        (hosted("code_interpreter"), "tools.1", "`code_interpreter`"),
        (hosted("computer"), "tools.1", "`computer`"),
        (alone("image_generation"), "tools.0", "`image_generation`"),
        (hosted("mcp"), "tools.1", "X-Jackfield-Tools"),
        (
            json!({ "conversation": "conv_1" }),
            "conversation",
            "previous_response_id",
        ),
        (
            json!({ "prompt": { "id": "pmpt_1" } }),
            "prompt",
            "instructions",
        ),
        (
            json!({ "background_options": {} }),
            "background_options",
            "at once",
        ),
        (
            json!({ "tool_choice": { "type": "file_search" } }),
            "tool_choice",
            "`file_search`",
        ),
        (
            json!({ "tool_choice": { "type": "allowed_tools", "mode": "auto", "tools": [{ "type": "mcp", "server_label": "s" }] } }),
            "tool_choice.tools.0",
            "X-Jackfield-Tools",
        ),
        (
            json!({ "tools": [{ "type": "function", "name": "f", "allowed_callers": ["programmatic"] }] }),
            "tools.0.allowed_callers",
            "leave it out",
        ),
        (
            json!({ "input": [{ "type": "mcp_approval_response", "approval_request_id": "a", "approve": true }] }),
            "input.0",
            "leave it out",
        ),
    ];
    for (fields, param, says) in cases {
        let error = asked_elsewhere(&with(fields.clone())).expect_err(param);
        assert_eq!(error.kind, ServeErrorKind::Unsupported, "{fields}");
        assert_eq!(error.param.as_deref(), Some(param), "{fields}");
        assert!(error.message.contains(says), "{}", error.message);
    }
    let beta = |name: &str| (name == "openai-beta").then(|| "responses_multi_agent=v1".to_owned());
    let body = with(json!({})).to_string();
    let error = Responses.request(&beta, body.as_bytes(), &|_| owner());
    let error = error.expect_err("a beta");
    assert!(
        error.message.contains("responses_multi_agent=v1"),
        "{}",
        error.message
    );
}

#[test]
fn what_is_malformed_is_named() {
    let cases = [
        (json!({ "input": null }), "input"),
        (json!({ "input": 7 }), "input"),
        (json!({ "input": [] }), "input"),
        (
            json!({ "input": "hi", "tools": [{ "type": "function", "name": "f", "parameters": "any" }] }),
            "tools.0.parameters",
        ),
        (json!({ "input": "" }), "input"),
        (json!({ "input": [null] }), "input.0"),
        (json!({ "input": ["Hello"] }), "input.0"),
        (
            json!({ "input": [{ "role": "bot", "content": "Hi" }] }),
            "input.0.role",
        ),
        (json!({ "input": [{ "role": "user" }] }), "input.0.content"),
        (
            json!({ "input": [{ "role": "user", "content": null }] }),
            "input.0.content",
        ),
        (
            json!({ "input": [{ "type": "function_call", "name": "f" }] }),
            "input.0",
        ),
        (
            json!({ "input": [{ "type": "item_reference", "id": "msg_1" }] }),
            "input.0",
        ),
        (
            json!({ "input": [
                { "type": "function_call", "call_id": "a", "name": "f", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "a", "output": "1" },
                { "type": "function_call_output", "call_id": "a", "output": "2" },
            ] }),
            "input.2.call_id",
        ),
        (json!({ "model": 7 }), "model"),
        (json!({ "background": "yes" }), "background"),
        (json!({ "store": "no" }), "store"),
        (json!({ "stream": 1 }), "stream"),
        (json!({ "include": ["everything"] }), "include.0"),
        (json!({ "metadata": { "a": 1 } }), "metadata"),
        (json!({ "metadata": "a" }), "metadata"),
        (
            json!({ "reasoning": { "effort": "huge" } }),
            "reasoning.effort",
        ),
        (
            json!({ "tools": [{ "type": "function", "name": "no blanks" }] }),
            "tools.0.name",
        ),
        (json!({ "tool_choice": "some" }), "tool_choice"),
        (json!({ "previous_response_id": 7 }), "previous_response_id"),
        (json!({ "background": true, "store": false }), "store"),
    ];
    for (fields, param) in cases {
        let error = asked(&with(fields.clone())).expect_err(param);
        assert_eq!(error.kind, ServeErrorKind::Invalid, "{fields}: {error}");
        assert_eq!(error.param.as_deref(), Some(param), "{fields}: {error}");
    }
    let error = asked(&json!({ "input": "Hello" })).expect_err("no model");
    assert_eq!(error.param.as_deref(), Some("model"));
    let error = asked(&json!({ "model": "m" })).expect_err("no input");
    assert_eq!(error.param.as_deref(), Some("input"));
    let gone = ServeError::new(ServeErrorKind::NoSuchReply, "gone").at("previous_response_id");
    let refused = Responses.error(&gone, "req_1");
    let body: Value = serde_json::from_slice(&refused.body).expect("JSON");
    assert_eq!(refused.status, 400);
    assert_eq!(body["error"]["param"], "previous_response_id");
}

#[test]
fn calls_that_we_ran_come_back_as_ours() {
    let call = |output: Value, error: Value| {
        json!({
            "type": "mcp_call", "id": "mcp_turn_1_0_1", "server_label": "notes", "name": "search notes",
            "arguments": "{\"q\":\"react\"}", "output": output, "error": error, "status": "completed",
        })
    };
    let failed = json!({ "type": "mcp_tool_execution_error", "content": [{ "type": "text", "text": "oh" }] });
    let body = with(json!({ "input": [
        { "role": "user", "content": "Hello" },
        call("two notes".into(), Value::Null),
        call(Value::Null, failed),
        call(Value::Null, Value::Null),
        { "role": "user", "content": "And?" },
    ] }));
    let incoming = asked(&body).expect("a request");
    let blocks = &incoming.messages[1].blocks;
    let said: Vec<String> = blocks
        .iter()
        .map(|block| {
            let tool = ServerTool::from_states(&block.opaque).expect("a tool of ours");
            assert_eq!((tool.server, tool.tool), ("notes", "search notes"));
            match &block.content {
                Content::ToolCall(call) => {
                    assert_eq!(call.ran_by, RanBy::Provider);
                    format!("{} {}", call.id.as_str(), call.name.as_str())
                }
                Content::ToolOutcome(outcome) => {
                    let result = &outcome.result;
                    format!(
                        "{} {} {}",
                        outcome.call.as_str(),
                        result.is_error,
                        result.to_text()
                    )
                }
                other => format!("{other:?}"),
            }
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn ids_lead_back_to_their_response() {
    assert_eq!(reply_id("resp_turn_ab_0"), Some("turn_ab_0"));
    assert_eq!(reply_id("resp_"), None);
    assert_eq!(reply_id("chatcmpl-1"), None);
    for item in [
        "msg_turn_ab_0_3",
        "fc_turn_ab_0_12",
        "fc_turn_ab_0_12-call_of-theirs",
        "mcp_turn_ab_0_0",
        "rs_turn_ab_0_0",
    ] {
        assert_eq!(response_of_item(item), Some("turn_ab_0"), "{item}");
    }
    for item in [
        "rs_68af",
        "fc_68af-12_3",
        "turn_ab_0_3",
        "msg_turn_ab_0_x",
        "msg_",
        "msg__1",
        "",
    ] {
        assert_eq!(response_of_item(item), None, "{item}");
    }
    let body: Value = serde_json::from_slice(&deletion_body("turn_ab_0")).expect("JSON");
    assert_eq!(
        body,
        json!({ "id": "resp_turn_ab_0", "object": "response", "deleted": true })
    );
}

#[test]
fn what_was_asked_is_listed_page_by_page() {
    let messages: Vec<Message> = (1..=5).map(|n| Message::user(format!("No. {n}"))).collect();
    let page = |query: &[(&str, &str)]| {
        let field = |key: &str| {
            let found = query.iter().find(|(known, _)| *known == key);
            found.map(|(_, value)| (*value).to_owned())
        };
        let body = input_items("turn_ab_0", &messages, &InputItemsQuery::read(field)?)?;
        Ok::<Value, ServeError>(serde_json::from_slice(&body).expect("JSON"))
    };
    let texts = |page: &Value| -> Vec<String> {
        let items = page["data"].as_array().expect("a list").iter();
        items
            .map(|item| {
                item["content"][0]["text"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect()
    };
    let first = page(&[("limit", "2")]).expect("a page");
    assert_eq!(texts(&first), ["No. 5", "No. 4"]);
    assert_eq!(first["has_more"], true);
    let last = first["last_id"].as_str().expect("an id");
    let next = page(&[("limit", "3"), ("after", last)]).expect("a page");
    assert_eq!(texts(&next), ["No. 3", "No. 2", "No. 1"]);
    assert_eq!(next["has_more"], false);
    let ascending = page(&[("order", "asc")]).expect("a page");
    assert_eq!(texts(&ascending).len(), 5);
    assert_eq!(texts(&ascending)[0], "No. 1");
    for (key, value) in [
        ("limit", "0"),
        ("limit", "101"),
        ("limit", "x"),
        ("order", "up"),
        ("after", "msg_9"),
    ] {
        let error = page(&[(key, value)]).expect_err(value);
        assert_eq!(error.param.as_deref(), Some(key));
    }
}

proptest! {
    #[test]
    fn no_body_makes_a_server_panic(body in kit::json(), item in kit::json_object(), noise in prop::collection::vec(any::<u8>(), 0..80)) {
        let bodies = [
            body.to_string().into_bytes(),
            with(json!({ "input": [item], "tools": [body], "text": body, "reasoning": item })).to_string().into_bytes(),
            with(json!({ "input": [{ "type": "mcp_call", "server_label": "s", "name": "t", "arguments": body, "error": item }], "metadata": item })).to_string().into_bytes(),
            with(Value::Object(item.clone())).to_string().into_bytes(),
            noise,
        ];
        for body in bodies {
            if let Err(error) = Responses.request(&|_| None, &body, &|_| owner()) {
                let refused = Responses.error(&error, "req_1");
                prop_assert!((400..500).contains(&refused.status), "{error}");
            }
        }
    }

    #[test]
    fn a_body_cut_anywhere_is_refused_and_named(cut in 0..400_usize) {
        let body = with(json!({ "input": [
            { "role": "user", "content": [{ "type": "input_text", "text": "Hällo" }] },
            { "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "c", "output": "1" },
        ] })).to_string();
        let cut = cut.min(body.len() - 1);
        let error = Responses.request(&|_| None, &body.as_bytes()[..cut], &|_| owner());
        prop_assert_eq!(error.expect_err("it is cut").kind, ServeErrorKind::Invalid);
    }
}

#[test]
fn a_sampling_value_outside_the_range_is_refused() {
    for (field, wrong) in [("temperature", 2.1), ("top_p", -0.1)] {
        let refused = asked(&with(json!({ field: wrong }))).expect_err(field);
        assert_eq!(refused.kind, ServeErrorKind::Invalid, "{field}");
        assert_eq!(refused.param.as_deref(), Some(field));
    }
    assert!(asked(&with(json!({ "temperature": 2 }))).is_ok());
}
