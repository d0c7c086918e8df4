//! Responses: every rule is broken once, and found.

use jackfield_testservers::openai::responses;
use serde_json::{Value, json};

use crate::edit::set;

/// A long conversation that keeps every rule.
fn good() -> Value {
    json!({
        "model": "gpt-6.2-sol",
        "instructions": "Be brief.",
        "max_output_tokens": 64,
        "store": false,
        "stream": true,
        "stream_options": { "include_obfuscation": false },
        "include": ["reasoning.encrypted_content"],
        "reasoning": { "effort": "low", "summary": "auto" },
        "text": { "verbosity": "low", "format": { "type": "text" } },
        "tools": [
            {
                "type": "function",
                "name": "add",
                "strict": false,
                "parameters": { "type": "object", "properties": {} },
            },
            { "type": "custom", "name": "run", "format": { "type": "text" } },
            { "type": "web_search" },
        ],
        "tool_choice": { "type": "allowed_tools", "mode": "auto", "tools": [{ "type": "function", "name": "add" }] },
        "input": [
            { "role": "user", "content": [
                { "type": "input_text", "text": "1 + 1, and run this?" },
                { "type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto" },
                { "type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA==" },
            ]},
            { "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "Hm." }], "encrypted_content": "x" },
            { "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary", "content": [
                { "type": "output_text", "text": "Let me see.", "annotations": [] },
            ]},
            { "type": "function_call", "id": "fc_1", "call_id": "a", "name": "add", "arguments": "{}" },
            { "type": "custom_tool_call", "call_id": "b", "name": "run", "input": "aa" },
            { "type": "function_call_output", "call_id": "a", "output": [
                { "type": "input_image", "image_url": "data:image/png;base64,AA==" },
            ]},
            { "type": "custom_tool_call_output", "call_id": "b", "output": "ran" },
        ],
    })
}

fn faults(body: &Value) -> Vec<String> {
    let found = responses::check(body);
    found.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn breaks(changes: &[(&str, Value, &str)]) {
    for (pointer, value, fault) in changes {
        let mut body = good();
        set(&mut body, pointer, value.clone());
        let found = faults(&body);
        assert!(
            found.iter().any(|line| line.contains(fault)),
            "{pointer} {value}: {found:#?}"
        );
    }
}

#[test]
fn a_good_request_has_no_faults() {
    assert_eq!(faults(&good()), Vec::<String>::new());
    let brief = json!({ "model": "gpt-4.1", "input": "Hello", "temperature": 0.5 });
    assert_eq!(faults(&brief), Vec::<String>::new());
}

#[test]
fn each_broken_rule_of_the_settings_is_found() {
    breaks(&[
        ("/model", json!(null), "Invalid type for 'model'"),
        ("/input", json!([]), "Invalid 'input': empty array"),
        ("/input", json!(7), "Invalid type for 'input'"),
        ("/stop", json!("x"), "Unknown parameter: 'stop'."),
        (
            "/messages",
            json!([]),
            "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.",
        ),
        ("/response_format", json!({}), "has moved to 'text.format'"),
        (
            "/max_output_tokens",
            json!(15),
            "Expected a value >= 16, but got 15",
        ),
        ("/max_tool_calls", json!(0), "Expected a value >= 1"),
        (
            "/temperature",
            json!(0.5),
            "Unsupported parameter: 'temperature'",
        ),
        ("/truncation", json!("middle"), "Invalid value: 'middle'"),
        (
            "/stream_options/include_usage",
            json!(true),
            "Unknown parameter: 'stream_options.include_usage'.",
        ),
        (
            "/stream",
            json!(false),
            "only allowed when 'stream' is enabled",
        ),
        ("/include/0", json!("thoughts"), "Invalid value: 'thoughts'"),
        ("/reasoning/effort", json!("hard"), "Invalid value: 'hard'"),
        ("/reasoning/summary", json!("long"), "Invalid value: 'long'"),
        (
            "/reasoning/max_tokens",
            json!(1),
            "Unknown parameter: 'reasoning.max_tokens'",
        ),
        (
            "/text/verbosity",
            json!("chatty"),
            "Invalid value: 'chatty'",
        ),
        (
            "/text/format",
            json!({ "type": "xml" }),
            "Invalid value: 'xml'",
        ),
        (
            "/text/format",
            json!({ "type": "json_schema", "name": "a b", "schema": {} }),
            "does not match pattern",
        ),
        (
            "/text/format",
            json!({ "type": "json_schema", "json_schema": {} }),
            "Unknown parameter: 'text.format.json_schema'",
        ),
        (
            "/model",
            json!("gpt-4.1"),
            "'reasoning.effort' is not supported with this model",
        ),
        (
            "/model",
            json!("gpt-4.1"),
            "Encrypted content is not supported with this model.",
        ),
    ]);
    let mut body = good();
    body["previous_response_id"] = json!("resp_1");
    body["conversation"] = json!("conv_1");
    assert!(faults(&body)[0].contains("exclude each other"));
}

#[test]
fn each_broken_rule_of_the_tools_is_found() {
    let nested = json!({ "type": "function", "function": { "name": "add" } });
    breaks(&[
        (
            "/tools/0",
            nested.clone(),
            "Unknown parameter: 'tools[0].function'",
        ),
        (
            "/tools/0",
            nested,
            "Missing required parameter: 'tools[0].name'",
        ),
        ("/tools/0/name", json!("a.b"), "matches the pattern"),
        (
            "/tools/0/name",
            json!("a".repeat(129)),
            "maximum length 128",
        ),
        (
            "/tools/0/name",
            json!("run"),
            "tool names must be unique: 'run'",
        ),
        (
            "/tools/0/strict",
            json!(true),
            "'additionalProperties' is required",
        ),
        (
            "/tools/0/parameters",
            json!({ "type": "array" }),
            "got 'type: \"array\"'",
        ),
        (
            "/tools/0/type",
            json!("browser"),
            "Invalid value: 'browser'",
        ),
        (
            "/tools/1/format/type",
            json!("markdown"),
            "Invalid value: 'markdown'",
        ),
        (
            "/tool_choice/tools/0/name",
            json!("nope"),
            "Tool choice 'nope' not found",
        ),
        ("/tool_choice/mode", json!("none"), "Invalid value: 'none'"),
        (
            "/tool_choice",
            json!({ "type": "function", "function": { "name": "add" } }),
            "Unknown parameter: 'tool_choice.function'",
        ),
        ("/tool_choice", json!("any"), "Invalid value: 'any'"),
    ]);
    let mut body = good();
    body["tools"] = json!([]);
    body["tool_choice"] = json!("required");
    assert!(faults(&body)[0].contains("must be specified with 'tools'"));
}

#[test]
fn each_broken_rule_of_the_items_is_found() {
    breaks(&[
        (
            "/input/0",
            json!({ "type": "telepathy" }),
            "Invalid value: 'telepathy'",
        ),
        ("/input/0/role", json!("tool"), "Invalid value: 'tool'"),
        ("/input/0/x", json!(1), "Unknown parameter: 'input[0].x'"),
        (
            "/input/0/content",
            json!(null),
            "Invalid type for 'input[0].content'",
        ),
        (
            "/input/0/content",
            json!([]),
            "Invalid 'input[0].content': empty array",
        ),
        (
            "/input/0/content/0/type",
            json!("output_text"),
            "Supported values are: 'input_text', 'input_image', 'input_file'",
        ),
        (
            "/input/0/content/1/image_url",
            json!({ "url": "https://a.example/b.png" }),
            "expected an image URL, but got an object",
        ),
        (
            "/input/0/content/1/file_id",
            json!("file-1"),
            "one of 'image_url' and 'file_id'",
        ),
        (
            "/input/0/content/2/filename",
            json!(null),
            "Missing required parameter: 'input[0].content[2].filename'",
        ),
        (
            "/input/0/content/2/file_data",
            json!("AA=="),
            "has to be a data URL",
        ),
        (
            "/input/0/role",
            json!("developer"),
            "Invalid value: 'input_image'. Supported values are: 'input_text'",
        ),
        (
            "/input/1/summary",
            json!(null),
            "Invalid type for 'input[1].summary'",
        ),
        (
            "/input/1/id",
            json!("reasoning_1"),
            "Expected an ID that begins with 'rs'",
        ),
        (
            "/input/1/signature",
            json!("x"),
            "Unknown parameter: 'input[1].signature'",
        ),
        (
            "/input/2/content/0/type",
            json!("input_text"),
            "Supported values are: 'output_text', 'refusal'",
        ),
        (
            "/input/2/id",
            json!("m_1"),
            "Expected an ID that begins with 'msg'",
        ),
        ("/input/2/phase", json!("end"), "Invalid value: 'end'"),
        (
            "/input/3/id",
            json!("call_1"),
            "Expected an ID that begins with 'fc'",
        ),
        (
            "/input/3/call_id",
            json!("a".repeat(65)),
            "maximum length 64",
        ),
        (
            "/input/3/call_id",
            json!("b"),
            "ids of calls must be unique: 'b'",
        ),
        (
            "/input/3/arguments",
            json!({}),
            "expected a string, but got an object",
        ),
        ("/input/3/name", json!("a b"), "does not match pattern"),
        (
            "/input/5/output",
            json!(null),
            "Invalid type for 'input[5].output'",
        ),
        (
            "/input/5/output/0/type",
            json!("output_text"),
            "Invalid value: 'output_text'",
        ),
        (
            "/input/5/is_error",
            json!(true),
            "Unknown parameter: 'input[5].is_error'",
        ),
        (
            "/input/5/call_id",
            json!("z"),
            "No tool call found for function call output with call_id z.",
        ),
        (
            "/input/5/call_id",
            json!("z"),
            "No tool output found for function call a.",
        ),
        (
            "/input/5",
            json!({ "role": "user", "content": "well?" }),
            "input[5]: No tool output found for function call a.",
        ),
        (
            "/input/6",
            json!({ "type": "function_call_output", "call_id": "b", "output": "" }),
            "No tool call found for function call output with call_id b.",
        ),
        (
            "/input/6",
            json!({ "type": "function_call_output", "call_id": "a", "output": "" }),
            "with call_id a.",
        ),
    ]);
}
