//! Tool search in the vendor's form: what a request has of it, and how a reply's search is read.

use jackfield_dialect_openai::profile::Profile;
use jackfield_dialect_openai::responses::request;
use jackfield_dialect_openai::responses::stream::{DecodeReply as _, Decoder};
use jackfield_dialect_rules::openai::responses;
use jackfield_domain::block::{Block, Content, RanBy, ToolCall};
use jackfield_domain::delta::Delta;
use jackfield_domain::find_tools;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::ToolChoice;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Value, json};

use super::owner;
use super::reply_laws::accumulated;
use crate::chat::examples::{name, of, outcome, tool};

const SEARCHING: &str = "gpt-5.4";

/// The result of a search, as the model gets it.
fn found(names: &[&str]) -> ToolResult {
    let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
    ToolResult::text(json!({ "tools": tools }).to_string())
}

fn search(id: &str) -> Block {
    Content::ToolCall(std::sync::Arc::new(ToolCall {
        id: ToolCallId::parse(id).expect("an id"),
        input: ToolInput::Json(JsonInput::parse(r#"{"query":"it"}"#)),
        name: (&name(find_tools::NAME)).into(),
        ran_by: RanBy::Engine,
        upstream: None,
    }))
    .into()
}

/// A request after a search, if there is a result of one: `find_tools` and these revealed tools are offered, and
/// `a`, `b` and `c` can be found.
fn request(revealed: &[&str], result: Option<ToolResult>) -> ModelRequest {
    let mut messages = vec![Message::user("hello")];
    if let Some(result) = result {
        messages.push(Message::new(Role::Assistant, vec![search("call_1")]));
        messages.push(Message::new(Role::Tool, vec![outcome("call_1", result)]));
    }
    let offered = [find_tools::NAME].iter().chain(revealed);
    ModelRequest {
        searchable: ["a", "b", "c"].map(tool).to_vec().into(),
        tools: offered.map(|name| tool(name)).collect::<Vec<_>>().into(),
        ..of(messages)
    }
}

/// The body of a request, which the vendor takes, and the codes of its notes.
fn body(request: &ModelRequest, profile: &Profile) -> (Value, Vec<String>) {
    let (body, notes) = request::to_wire(request, &owner(), profile, true).expect("a body");
    let body = serde_json::to_value(&body).expect("JSON");
    let broken = responses::check(&body, profile);
    assert!(broken.is_empty(), "{broken:?}\n{body:#}");
    let codes = notes.iter().map(|note| (*note.code).to_owned()).collect();
    (body, codes)
}

/// The names of tools; those of the vendor's own by their type.
fn names(tools: &Value) -> Vec<&str> {
    let tools = tools.as_array().into_iter().flatten();
    let names = tools.map(|tool| tool["name"].as_str().or_else(|| tool["type"].as_str()));
    names.map(Option::unwrap_or_default).collect()
}

#[test]
fn the_tools_of_a_request_stay_as_they_are_and_results_hold_what_was_found() {
    let profile = Profile::openai(SEARCHING);
    for (revealed, result, loaded) in [
        (&["c", "a"][..], found(&["c", "a"]), &["c", "a"][..]),
        // What is not there any more is not loaded.
        (&["b"], found(&["gone", "b"]), &["b"]),
        (&[], found(&["gone"]), &[]),
        (&[], found(&[]), &[]),
        (&[], ToolResult::error("not now"), &[]),
    ] {
        let (sent, notes) = body(&request(revealed, Some(result)), &profile);
        assert_eq!(names(&sent["tools"]), ["tool_search"]);
        let (call, output) = (&sent["input"][1], &sent["input"][2]);
        assert_eq!(
            *call,
            json!({
                "type": "tool_search_call",
                "call_id": "call_1",
                "execution": "client",
                "status": "completed",
                "arguments": { "query": "it" },
            })
        );
        assert_eq!(output["type"], "tool_search_output");
        assert_eq!(output["call_id"], "call_1");
        assert_eq!(names(&output["tools"]), loaded);
        for tool in output["tools"].as_array().expect("tools") {
            assert_eq!(tool["type"], "function");
            assert_eq!(tool["defer_loading"], true);
            assert!(tool["parameters"].is_object(), "{tool}");
        }
        assert_eq!(notes, Vec::<String>::new());
    }
    let (sent, _) = body(&request(&[], None), &profile);
    let search = &sent["tools"][0];
    assert_eq!(search["execution"], "client");
    assert!(search["description"].is_string(), "{search}");
    assert!(search["parameters"].is_object(), "{search}");
}

#[test]
fn a_revealed_tool_that_no_result_loads_is_a_usual_one() {
    let (sent, _) = body(&request(&["b"], None), &Profile::openai(SEARCHING));
    assert_eq!(names(&sent["tools"]), ["tool_search", "b"]);
}

#[test]
fn other_models_and_choices_among_tools_get_what_is_offered() {
    let after = request(&["b"], Some(found(&["b"])));
    let chosen = ModelRequest {
        choice: ToolChoice::Named(name("b")),
        ..after.clone()
    };
    for (request, model) in [(&after, "gpt-5.3"), (&after, "o3"), (&chosen, SEARCHING)] {
        let (sent, _) = body(request, &Profile::openai(model));
        assert_eq!(names(&sent["tools"]), ["find_tools", "b"], "{model}");
        assert_eq!(sent["input"][1]["type"], "function_call");
        assert_eq!(sent["input"][2]["type"], "function_call_output");
    }
}

#[test]
fn the_models_with_tool_search_are_those_from_5_4_on() {
    for model in [
        "gpt-5.4",
        "gpt-5.4-mini",
        "gpt-5.10",
        "gpt-6-astra",
        "gpt-10",
    ] {
        assert!(Profile::openai(model).tool_search, "{model}");
    }
    for model in [
        "",
        "gpt-5",
        "gpt-5.3",
        "gpt-5-2025-08-07",
        "gpt-4.1",
        "o3",
        "my-5.4",
        "gpt-image-2",
    ] {
        assert!(!Profile::openai(model).tool_search, "{model}");
    }
}

/// The reply with a search of this execution, as a stream or as a whole.
fn reply(request: &ModelRequest, execution: &str, streams: bool) -> Reply {
    let item = json!({
        "type": "tool_search_call",
        "id": "tsc_1",
        "call_id": "call_9",
        "execution": execution,
        "status": "completed",
        "arguments": { "query": "weather" },
    });
    let mut begun = item.clone();
    begun["arguments"] = json!({});
    begun["status"] = json!("in_progress");
    let response = json!({ "id": "resp_1", "status": "completed", "model": "m", "output": [item] });
    let mut decoder = Decoder::for_request(owner(), request);
    let (deltas, end): (Vec<Delta>, ReplyEnd) = if streams {
        let mut deltas = Vec::new();
        for event in [
            json!({ "type": "response.output_item.added", "output_index": 0, "item": begun }),
            json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
            json!({ "type": "response.completed", "response": response }),
        ] {
            deltas.extend(decoder.push(None, &event.to_string()).expect("an event"));
        }
        (deltas, decoder.finish().expect("an end"))
    } else {
        let body = response.to_string();
        decoder.read_whole(body.as_bytes()).expect("a reply")
    };
    accumulated(&deltas, end)
}

#[test]
fn a_search_that_the_client_runs_is_a_call_of_find_tools() {
    for streams in [false, true] {
        let reply = reply(&request(&[], None), "client", streams);
        assert_eq!(reply.end.finish, FinishReason::ToolCalls);
        let calls: Vec<_> = reply.message.calls().collect();
        let [call] = calls.as_slice() else {
            panic!("one call: {reply:?}");
        };
        assert_eq!(call.name.as_str(), find_tools::NAME);
        let upstream = call.upstream.as_ref().expect("an id");
        assert_eq!(&*upstream.id, "call_9");
        let ToolInput::Json(input) = &call.input else {
            panic!("{call:?}");
        };
        assert_eq!(input.raw(), r#"{"query":"weather"}"#);
    }
}

#[test]
fn a_search_that_the_vendor_runs_or_that_nothing_asked_for_is_not() {
    let without = ModelRequest {
        searchable: Vec::new().into(),
        ..request(&[], None)
    };
    for (request, execution) in [(request(&[], None), "server"), (without, "client")] {
        for streams in [false, true] {
            let reply = reply(&request, execution, streams);
            assert_eq!(reply.message.calls().count(), 0, "{reply:?}");
        }
    }
}
