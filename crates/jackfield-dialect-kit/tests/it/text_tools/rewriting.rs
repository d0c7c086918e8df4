//! Requests with their tools as text.

use std::sync::Arc;

use jackfield_dialect_kit::text_tools::request::rewrite;
use jackfield_domain::block::{Block, CalledName, Content, RanBy, ToolCall};
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::Note;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{ResponseFormat, Settings};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::ToolChoice;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_testkit::arb as kit;
use proptest::prelude::*;

use super::reading::{Part, parts_of};
use super::{parsed, request};

fn call(id: &str, name: &str, arguments: &str) -> Block {
    let call = ToolCall {
        id: ToolCallId::parse(id).expect("an id"),
        input: ToolInput::Json(JsonInput::parse(arguments)),
        name: CalledName::new(name),
        ran_by: RanBy::Engine,
        upstream: None,
    };
    Content::ToolCall(Arc::new(call)).into()
}

fn outcome(id: &str, result: ToolResult) -> Block {
    let outcome = ToolOutcome {
        call: ToolCallId::parse(id).expect("an id"),
        opaque: Vec::new(),
        result,
    };
    Content::ToolOutcome(Arc::new(outcome)).into()
}

fn codes(notes: &[Note]) -> Vec<String> {
    let line = |note: &Note| format!("{} {}", note.code, note.path);
    notes.iter().map(line).collect()
}

#[test]
fn the_tools_are_in_the_system_prompt() {
    let mut request = request(vec![Message::user("Hello")]);
    request.system = Arc::new(SystemPrompt {
        parts: vec![SystemPart {
            origin: PartOrigin::Flag,
            text: "Be brief.".into(),
        }],
    });
    let (text, notes) = rewrite(&request, false);
    assert!(text.tools.is_empty());
    assert_eq!(text.messages, request.messages);
    let prompt = text.system.render();
    assert!(prompt.starts_with("Be brief.\n\n# Tools\n\n"), "{prompt}");
    let (_, listed) = prompt.split_once("\n<tools>\n").expect("the tools");
    let (listed, rest) = listed.split_once("\n</tools>\n").expect("their end");
    let names: Vec<_> = listed
        .lines()
        .map(|line| parsed(line)["function"]["name"].clone())
        .collect();
    assert_eq!(names, ["weather", "clock", "poem"]);
    assert!(rest.contains("<tool_call>\n{\"name\": "), "{rest}");
    assert_eq!(codes(&notes), ["tools_as_text tools"]);
}

#[test]
fn calls_and_results_are_the_text_that_models_know() {
    let mut failed = ToolResult::error("no such </tool_response> city");
    failed.content.push(OutcomePart::Image(Image {
        detail: None,
        source: MediaSource::Url("https://x.example/map.png".into()),
    }));
    let messages = vec![
        Message::user("Rome?"),
        Message::new(
            Role::Assistant,
            vec![
                Block::text("Let me look."),
                call("call_1", "weather", "{\"city\":\"Rome\"}"),
                call("call_2", "clock", ""),
            ],
        ),
        Message::new(
            Role::Tool,
            vec![
                outcome("call_1", failed),
                outcome("call_2", ToolResult::text("12:00")),
            ],
        ),
    ];
    let (text, notes) = rewrite(&request(messages), true);
    let sent: Vec<_> = text.messages.iter().collect();
    assert_eq!(sent[1].role, Role::Assistant);
    assert_eq!(
        sent[1].to_text(),
        "Let me look.\n\
         <tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\":\"Rome\"}}\n</tool_call>\n\
         <tool_call>\n{\"name\": \"clock\", \"arguments\": {}}\n</tool_call>"
    );
    assert_eq!(sent[2].role, Role::User);
    assert_eq!(
        sent[2].to_text(),
        "<tool_response>\n{\"name\": \"weather\", \"content\": \"Error: no such <\\/tool_response> city\\n\
         [image: https://x.example/map.png]\"}\n</tool_response>\n\
         <tool_response>\n{\"name\": \"clock\", \"content\": \"12:00\"}\n</tool_response>"
    );
    assert!(matches!(sent[2].blocks[1].content, Content::Image(_)));
    let expected = [
        "tools_as_text tools",
        "media_shown_by_user messages[2].blocks[0].result.content[1]",
        "texts_joined messages[2].blocks[0].result.content",
        "error_put_into_words messages[2].blocks[0].result",
    ];
    assert_eq!(codes(&notes), expected);
}

#[test]
fn what_cannot_be_forced_is_said() {
    let weather = ToolName::parse("weather").expect("a name");
    for (choice, tools, words) in [
        (
            ToolChoice::Named(weather.clone()),
            1,
            "must call the function weather.",
        ),
        (ToolChoice::Required, 3, "must call a function."),
        (
            ToolChoice::Only {
                required: true,
                tools: vec![weather.clone()],
            },
            1,
            "must call a function.",
        ),
    ] {
        let mut request = request(Vec::new());
        request.choice = choice;
        let (text, notes) = rewrite(&request, false);
        let prompt = text.system.render();
        assert!(prompt.ends_with(words), "{prompt}");
        assert_eq!(prompt.matches("\"type\":\"function\"").count(), tools);
        assert!(codes(&notes).contains(&"choice_in_words choice".to_owned()));
    }
    let mut request = request(Vec::new());
    request.settings = Arc::new(Settings {
        parallel_calls: Some(false),
        ..Settings::default()
    });
    let (text, notes) = rewrite(&request, false);
    assert_eq!(text.settings.parallel_calls, None);
    assert!(text.system.render().contains("at most one function"));
    assert!(codes(&notes).contains(&"parallel_calls_in_words settings.parallel_calls".to_owned()));
}

#[test]
fn a_server_that_can_be_held_to_a_schema_is_held_to_a_call() {
    let mut request = request(Vec::new());
    request.choice = ToolChoice::Required;
    let (text, notes) = rewrite(&request, true);
    let ResponseFormat::JsonSchema { schema, .. } = &text.settings.response_format else {
        panic!("a schema: {:?}", text.settings.response_format);
    };
    let calls = &schema["properties"]["tool_call"]["anyOf"];
    let names: Vec<_> = (0..3)
        .map(|n| calls[n]["properties"]["name"]["const"].clone())
        .collect();
    assert_eq!(names, ["weather", "clock", "poem"]);
    let arguments = &calls[0]["properties"]["arguments"];
    assert_eq!(arguments["properties"]["days"]["type"], "integer");
    assert_eq!(
        codes(&notes),
        ["tools_as_text tools", "choice_as_schema choice"]
    );
    // What it lets through is read as a call.
    let reply = r#"{"tool_call": {"name": "weather", "arguments": {"city": "Rome"}}}"#;
    let rome = serde_json::json!({ "city": "Rome" });
    assert_eq!(parts_of(reply), [Part::Call("weather", rome)]);
    // An answer is not held to the schema of calls.
    request.choice = ToolChoice::Auto;
    let (text, _) = rewrite(&request, true);
    assert_eq!(text.settings.response_format, ResponseFormat::Text);
}

#[test]
fn the_format_of_an_answer_is_in_words_so_that_a_call_can_be_made() {
    let schema = serde_json::json!({ "type": "object", "required": ["days"] });
    let schema = ResponseFormat::JsonSchema {
        description: Some("The forecast.".into()),
        name: "forecast".into(),
        schema: Arc::new(schema),
        strict: None,
    };
    let in_words = "JSON (The forecast.) that matches this JSON schema: \
                    {\"type\":\"object\",\"required\":[\"days\"]}";
    for (format, words) in [
        (ResponseFormat::JsonObject, "a JSON object"),
        (schema, in_words),
    ] {
        let mut request = request(Vec::new());
        request.settings = Arc::new(Settings {
            response_format: format,
            ..Settings::default()
        });
        let (text, notes) = rewrite(&request, true);
        assert_eq!(text.settings.response_format, ResponseFormat::Text);
        let prompt = text.system.render();
        let ending =
            format!("When you answer without a function call, write {words}, and nothing else.");
        assert!(prompt.ends_with(&ending), "{prompt}");
        let expected = [
            "tools_as_text tools",
            "format_in_words settings.response_format",
        ];
        assert_eq!(codes(&notes), expected);
        // Where a call has to be made, there is no answer.
        request.choice = ToolChoice::Required;
        let (text, notes) = rewrite(&request, true);
        assert!(text.settings.response_format != ResponseFormat::Text);
        assert_eq!(
            codes(&notes),
            ["tools_as_text tools", "choice_as_schema choice"]
        );
    }
}

#[test]
fn a_request_that_forbids_tools_has_none_and_keeps_its_history_readable() {
    let mut request = request(vec![
        Message::user("Rome?"),
        Message::new(Role::Assistant, vec![call("call_1", "clock", "{}")]),
        Message::new(
            Role::Tool,
            vec![outcome("call_1", ToolResult::text("12:00"))],
        ),
    ]);
    request.choice = ToolChoice::Forbidden;
    let (text, notes) = rewrite(&request, false);
    assert_eq!(text.system, request.system);
    assert!(
        text.messages
            .iter()
            .all(|message| message.role != Role::Tool)
    );
    assert_eq!(codes(&notes), Vec::<String>::new());
}

/// Whether a request has anything that a model without tools cannot be sent.
fn has_tools(request: &ModelRequest) -> bool {
    let is_native = |block: &Block| matches!(&block.content, Content::ToolCall(call) if call.ran_by != RanBy::Provider);
    !request.tools.is_empty()
        || request
            .messages
            .iter()
            .any(|message| message.role == Role::Tool || message.blocks.iter().any(is_native))
}

proptest! {
    #[test]
    fn no_tool_is_left_in_any_request(request in kit::model_request()) {
        let (text, notes) = rewrite(&request, false);
        prop_assert!(!has_tools(&text));
        prop_assert_eq!(text.messages.len(), request.messages.len());
        if !has_tools(&request) {
            prop_assert_eq!(&text.messages, &request.messages);
            prop_assert_eq!(&text.system, &request.system);
        }
        // Done twice, nothing changes again.
        let (again, _) = rewrite(&text, true);
        prop_assert_eq!(again, text);
        let paths = notes.iter().map(|note| &note.path);
        prop_assert!(paths.into_iter().all(|path| !path.is_empty()));
    }

    #[test]
    fn a_call_as_text_is_read_as_the_same_call(arguments in kit::json_object()) {
        let written = serde_json::Value::Object(arguments).to_string();
        let reply = Message::new(Role::Assistant, vec![call("call_1", "weather", &written)]);
        let (text, _) = rewrite(&request(vec![reply]), false);
        let sent = text.messages.last().expect("a message").to_text();
        prop_assert_eq!(parts_of(&sent), vec![Part::Call("weather", parsed(&written))]);
    }
}
