//! Single forms, each for the servers that have them.

use std::sync::Arc;

use jackfield_dialect_openai::chat::request;
use jackfield_dialect_openai::profile::{Profile, ToolChoiceForms};
use jackfield_domain::block::{Block, CalledName, Content, RanBy, Thinking, ToolCall};
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::media::{Audio, Document, Image, ImageDetail, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Value, json};

use super::arb::ALL;
use super::read::owner;

pub(crate) fn of(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: messages.into_iter().collect(),
        model: ModelRef {
            model: "m".into(),
            provider: "p".into(),
        },
        turn: None,
        settings: Arc::default(),
        strict: None,
        system: Arc::default(),
        tools: Arc::default(),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

pub(crate) fn tool(name: &str) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        description: "".into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(json!({ "type": "object", "properties": {} }))),
        name: ToolName::parse(name).expect("a name"),
        output: None,
        strict: None,
    })
}

pub(crate) fn call(id: &str, arguments: &str) -> Block {
    Content::ToolCall(Arc::new(ToolCall {
        id: ToolCallId::parse(id).expect("an id"),
        input: ToolInput::Json(JsonInput::parse(arguments)),
        name: CalledName::new("f"),
        ran_by: RanBy::Engine,
        upstream: None,
    }))
    .into()
}

pub(crate) fn outcome(id: &str, result: ToolResult) -> Block {
    Content::ToolOutcome(Arc::new(ToolOutcome {
        call: ToolCallId::parse(id).expect("an id"),
        result,
        opaque: Vec::new(),
    }))
    .into()
}

/// The messages that are sent, and the codes of the notes.
pub(crate) fn sent(request: &ModelRequest, profile: &Profile) -> (Value, Vec<String>) {
    let (body, notes) =
        request::to_wire(request, &owner(), profile, false).expect("it can be said");
    let codes = notes.into_iter().map(|note| note.code.into_owned());
    let json = serde_json::to_value(&body).expect("JSON");
    (json, codes.collect())
}

fn base64(media_type: &str) -> MediaSource {
    MediaSource::Base64 {
        media_type: media_type.into(),
        data: "AAAA".into(),
    }
}

fn image(source: MediaSource) -> Content {
    Content::Image(Image {
        detail: Some(ImageDetail::Low),
        source,
    })
}

fn document(source: MediaSource) -> Content {
    Content::Document(Document {
        cite: false,
        context: None,
        source,
        title: Some("a.pdf".into()),
    })
}

#[test]
fn media_of_a_user_come_back_as_they_were_sent() {
    let url = || MediaSource::Url("https://a.example/p.png".into());
    let file = MediaSource::File {
        id: "file-1".into(),
        owner: owner(),
    };
    let sound = Content::Audio(Audio {
        source: base64("audio/wav"),
        transcript: None,
    });
    let untitled = Content::Document(Document {
        cite: false,
        context: None,
        source: file,
        title: None,
    });
    for (content, wire) in [
        (
            image(base64("image/png")),
            json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA", "detail": "low" } }),
        ),
        (
            image(url()),
            json!({ "type": "image_url", "image_url": { "url": "https://a.example/p.png", "detail": "low" } }),
        ),
        (
            sound,
            json!({ "type": "input_audio", "input_audio": { "data": "AAAA", "format": "wav" } }),
        ),
        (
            document(base64("application/pdf")),
            json!({ "type": "file", "file": { "file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf" } }),
        ),
        (
            untitled,
            json!({ "type": "file", "file": { "file_id": "file-1" } }),
        ),
    ] {
        let message = Message::new(Role::User, vec![content.into()]);
        let request = of(vec![message.clone()]);
        let (body, _) = request::to_wire(&request, &owner(), &ALL, false).expect("it is taken");
        let json = serde_json::to_value(&body).expect("JSON");
        assert_eq!(json["messages"][0]["content"], json!([wire]));
        let back = request::from_wire(body, &owner()).expect("it can be read");
        assert_eq!(back.messages, [message]);
    }
}

#[test]
fn media_that_a_server_does_not_take_from_a_user_are_refused() {
    let local = MediaSource::Url("file:///etc/passwd".into());
    let address = MediaSource::Url("https://a.example/p.png".into());
    for (content, profile) in [
        (image(base64("image/png")), Profile::DEEPSEEK),
        (image(base64("image/tiff")), ALL),
        (image(address.clone()), Profile::OLLAMA),
        (image(local), ALL),
        (document(base64("application/pdf")), Profile::COMPATIBLE),
        (document(address), ALL),
    ] {
        let request = of(vec![Message::new(Role::User, vec![content.into()])]);
        let refused = request::to_wire(&request, &owner(), &profile, false);
        let refused = refused.expect_err("it is not taken");
        assert_eq!(refused.path, "messages[0].blocks[0]");
    }
}

#[test]
fn pictures_of_tools_are_shown_by_the_user_where_one_may_speak() {
    let picture = OutcomePart::Image(Image {
        detail: None,
        source: base64("image/png"),
    });
    let result = ToolResult {
        content: vec![picture],
        is_error: false,
        structured: None,
    };
    let request = of(vec![
        Message::user("draw"),
        Message::new(
            Role::Assistant,
            vec![call("call_a", "{}"), call("call_b", "{}")],
        ),
        Message::new(
            Role::Tool,
            vec![
                outcome("call_a", result),
                outcome("call_b", ToolResult::text("done")),
            ],
        ),
    ]);
    let words = json!("[image of type image/png]");
    let (body, notes) = sent(&request, &Profile::OPENAI);
    assert_eq!(notes, ["media_shown_by_user"]);
    assert_eq!(body["messages"][2]["content"], words);
    assert_eq!(body["messages"][3]["role"], "tool");
    let shown = json!([
        { "type": "text", "text": "[What the call call_a returned:]" },
        { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } },
    ]);
    assert_eq!(
        body["messages"][4],
        json!({ "role": "user", "content": shown })
    );
    for profile in [Profile::DEEPSEEK, Profile::MISTRAL] {
        let (body, notes) = sent(&request, &profile);
        assert_eq!(notes, ["media_as_text"]);
        assert_eq!(body["messages"][2]["content"], words);
        assert_eq!(body["messages"].as_array().map(Vec::len), Some(4));
    }
}

#[test]
fn every_text_of_an_outcome_is_sent_and_a_failure_is_put_into_words_once() {
    let several = ToolResult {
        content: vec![
            OutcomePart::Text("one".into()),
            OutcomePart::Text("two".into()),
        ],
        ..ToolResult::default()
    };
    for (result, text) in [
        (several, "one\ntwo"),
        (ToolResult::error("no such file"), "Error: no such file"),
        (
            ToolResult::error("error: no such file"),
            "error: no such file",
        ),
        (
            ToolResult::error(""),
            "The tool failed and did not say why.",
        ),
        (ToolResult::text("fine"), "fine"),
    ] {
        let request = of(vec![
            Message::user("go"),
            Message::new(Role::Assistant, vec![call("call_a", "{}")]),
            Message::new(Role::Tool, vec![outcome("call_a", result)]),
        ]);
        let (body, _) = sent(&request, &Profile::OPENAI);
        assert_eq!(body["messages"][2]["content"], text);
    }
}

pub(crate) fn name(text: &str) -> ToolName {
    ToolName::parse(text).expect("a name")
}

#[test]
fn a_choice_is_told_as_far_as_a_server_knows_it() {
    let only = |required, names: &[&str]| ToolChoice::Only {
        required,
        tools: names.iter().map(|text| name(text)).collect(),
    };
    let function = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let (none, all, f) = (Value::Null, vec!["f", "g"], vec!["f"]);
    let subset = json!({ "type": "allowed_tools", "allowed_tools": { "mode": "required", "tools": [function("f")] } });
    use ToolChoiceForms::{Ignored, Named, Subset, Words};
    for (forms, choice, told, offered, notes) in [
        (Ignored, ToolChoice::Auto, none.clone(), &all, vec![]),
        (
            Ignored,
            ToolChoice::Forbidden,
            none.clone(),
            &vec![],
            vec!["tool_not_chosen", "tool_not_chosen", "choice_without_tools"],
        ),
        (
            Ignored,
            ToolChoice::Required,
            none.clone(),
            &all,
            vec!["choice_not_forced"],
        ),
        (
            Ignored,
            ToolChoice::Named(name("f")),
            none.clone(),
            &f,
            vec!["tool_not_chosen", "choice_not_forced"],
        ),
        (
            Ignored,
            only(true, &["f"]),
            none.clone(),
            &f,
            vec!["tool_not_chosen", "choice_not_forced"],
        ),
        (Words, ToolChoice::Forbidden, json!("none"), &all, vec![]),
        (Words, ToolChoice::Required, json!("required"), &all, vec![]),
        (
            Words,
            ToolChoice::Named(name("f")),
            json!("required"),
            &f,
            vec!["tool_not_chosen", "choice_by_subset"],
        ),
        (
            Words,
            only(false, &["f"]),
            none.clone(),
            &f,
            vec!["tool_not_chosen", "choice_by_subset"],
        ),
        (
            Named,
            ToolChoice::Named(name("f")),
            function("f"),
            &all,
            vec![],
        ),
        (
            Named,
            only(true, &["f"]),
            json!("required"),
            &f,
            vec!["tool_not_chosen", "choice_by_subset"],
        ),
        (Subset, only(true, &["f"]), subset, &all, vec![]),
        (
            Subset,
            only(true, &["x"]),
            json!("none"),
            &all,
            vec!["choice_without_tools"],
        ),
        (
            Subset,
            ToolChoice::Named(name("x")),
            none,
            &all,
            vec!["choice_not_forced"],
        ),
    ] {
        let profile = Profile {
            tool_choice: forms,
            ..ALL
        };
        let mut request = of(vec![Message::user("go")]);
        request.tools = Arc::new(vec![tool("f"), tool("g")]);
        request.choice = choice.clone();
        let (body, codes) = sent(&request, &profile);
        assert_eq!(body["tool_choice"], told, "{forms:?} {choice:?}");
        let names: Vec<&str> = body["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["function"]["name"].as_str())
            .collect();
        assert_eq!(&names, offered, "{forms:?} {choice:?}");
        assert_eq!(codes, notes, "{forms:?} {choice:?}");
    }
}

pub(crate) fn thinking(text: &str, field: &str, owner: StateOwner) -> Block {
    let content = Content::Thinking(Thinking {
        redacted: false,
        text: text.into(),
    });
    Block {
        opaque: vec![OpaqueState {
            kind: "reasoning_field".into(),
            json: json!(field),
            owner,
            scope: StateScope::Block,
        }],
        ..Block::from(content)
    }
}

#[test]
fn reasoning_goes_back_to_its_own_server_and_an_empty_field_stands_for_the_rest() {
    let mut stranger = owner();
    stranger.model = "another".into();
    let request = of(vec![
        Message::user("hi"),
        Message::new(Role::Assistant, vec![Block::text("hello")]),
        Message::user("go"),
        Message::new(
            Role::Assistant,
            vec![
                thinking("own", "reasoning_content", owner()),
                call("call_a", "{}"),
            ],
        ),
        Message::new(Role::Tool, vec![outcome("call_a", ToolResult::text("1"))]),
        Message::new(
            Role::Assistant,
            vec![
                thinking("foreign", "reasoning_content", stranger),
                call("call_b", "{}"),
            ],
        ),
        Message::new(Role::Tool, vec![outcome("call_b", ToolResult::text("2"))]),
        Message::new(Role::Assistant, vec![Block::text("done")]),
        Message::user("thanks"),
    ]);
    let reasoning = |profile: &Profile| {
        let (body, notes) = sent(&request, profile);
        let told = [1, 3, 5, 7].map(|n| body["messages"][n]["reasoning_content"].clone());
        (told, notes)
    };
    let (told, notes) = reasoning(&Profile::DEEPSEEK);
    assert_eq!(told, [Value::Null, json!("own"), json!(""), json!("")]);
    assert_eq!(notes, ["thinking_withheld"]);
    let (told, notes) = reasoning(&Profile::VLLM);
    assert_eq!(told, [Value::Null, json!("own"), Value::Null, Value::Null]);
    assert_eq!(notes, ["thinking_withheld"]);
    let (told, notes) = reasoning(&Profile::OPENAI);
    assert_eq!(told, [Value::Null, Value::Null, Value::Null, Value::Null]);
    assert_eq!(notes, ["thinking_withheld", "thinking_withheld"]);
}
