//! The same conversation in every wire language, streamed and whole: the transcripts are the same.

use std::sync::Arc;

use jackfield_domain::block::{Block, Content, Text, ToolCall};
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolOutcome;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::usage::Usage;
use jackfield_engine::TurnReport;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::json;

use crate::harness::kept;
use crate::models::{Chat, Wire};

/// The languages.
const DIALECTS: [Wire; 6] = [
    Wire::Bedrock,
    Wire::Claude,
    Wire::Gemini,
    Wire::OllamaNative,
    Wire::OpenAiChat,
    Wire::OpenAiResponses,
];

/// Those that have a form for a refusal, and for arguments that are no JSON. Gemini ends a refusal as what a filter
/// stopped, and its arguments are objects, as are Ollama's, whose models refuse in plain text.
const OTHERS: [Wire; 3] = [Wire::Claude, Wire::OpenAiChat, Wire::OpenAiResponses];

/// Those that show their reasoning.
const REASONING: [Wire; 6] = [
    Wire::Bedrock,
    Wire::Claude,
    Wire::DeepSeek,
    Wire::Gemini,
    Wire::OllamaNative,
    Wire::OpenAiResponses,
];

#[tokio::test]
async fn words() {
    let same = check(
        DIALECTS,
        &[ScriptTurn::text("Hello! 你好")],
        &["Hello! 你好"],
    )
    .await;
    assert_eq!(same.end, TurnEnd::Answered(FinishReason::Stop));
}

#[tokio::test]
async fn one_call() {
    let turns = [
        ScriptTurn::call("add", &json!({ "a": 1, "b": [1, "один"] })),
        ScriptTurn::text("It is 2.").when("2"),
    ];
    let lines = [r#"add {"a":1,"b":[1,"один"]}"#, "= 2", "It is 2."];
    check(DIALECTS, &turns, &lines).await;
}

#[tokio::test]
async fn parallel_calls() {
    let turns = [
        ScriptTurn::call("add", &json!({ "a": 1 }))
            .and_call("multiply", &json!({ "a": 2 }))
            .and_call("add", &json!({})),
        ScriptTurn::text("2, 6 and 2."),
    ];
    let lines = [
        r#"add {"a":1}"#,
        r#"multiply {"a":2}"#,
        "add {}",
        "= 2",
        "= 6",
        "= 2",
        "2, 6 and 2.",
    ];
    check(DIALECTS, &turns, &lines).await;
}

#[tokio::test]
async fn words_before_a_call_and_after_it() {
    let turns = [
        ScriptTurn::text("First I need a sum.").and_call("add", &json!({ "a": 1 })),
        ScriptTurn::text("And now a product.").and_call("multiply", &json!({ "a": 1 })),
        ScriptTurn::text("Here they are."),
    ];
    let lines = [
        "First I need a sum.",
        r#"add {"a":1}"#,
        "= 2",
        "And now a product.",
        r#"multiply {"a":1}"#,
        "= 6",
        "Here they are.",
    ];
    let same = check(DIALECTS, &turns, &lines).await;
    assert_eq!(same.usage.total(), 3 * 120);
}

#[tokio::test]
async fn a_tool_that_does_not_exist() {
    let turns = [
        ScriptTurn::call("divide", &json!({ "a": 1 })),
        ScriptTurn::text("I cannot divide."),
    ];
    let lines = [
        r#"divide {"a":1}"#,
        "! There is no tool named `divide`. The tools are: add, multiply.",
        "I cannot divide.",
    ];
    check(DIALECTS, &turns, &lines).await;
}

#[tokio::test]
async fn a_refusal() {
    let refusal = ScriptTurn::reply([ScriptPart::Refusal("I cannot help with that.".to_owned())]);
    let same = check(OTHERS, &[refusal], &["I cannot help with that."]).await;
    assert_eq!(same.end, TurnEnd::Answered(FinishReason::Refused));
}

#[tokio::test]
async fn reasoning_with_tools_over_two_rounds() {
    let thinking = |text: &str, signature: &str| ScriptPart::Thinking {
        signature: signature.to_owned(),
        text: text.to_owned(),
    };
    let call = |name: &str| ScriptPart::Call {
        arguments: "{}".to_owned(),
        id: None,
        name: name.to_owned(),
    };
    let turns = [
        ScriptTurn::reply([thinking("A sum, then.", "b25l"), call("add")]),
        ScriptTurn::reply([
            thinking("And a product.", "dHdv"),
            ScriptPart::Text("One moment.".to_owned()),
            call("multiply"),
        ]),
        ScriptTurn::reply([
            thinking("So that is it.", "dGhyZWU="),
            ScriptPart::Text("2 and 6.".to_owned()),
        ]),
    ];
    let lines = [
        "(A sum, then.)",
        "add {}",
        "= 2",
        "(And a product.)",
        "One moment.",
        "multiply {}",
        "= 6",
        "(So that is it.)",
        "2 and 6.",
    ];
    check(REASONING, &turns, &lines).await;
}

#[tokio::test]
async fn a_reply_that_is_cut_off_by_its_limit() {
    let turn = ScriptTurn::text("It goes on and on and").finish(FinishReason::Length);
    let same = check(DIALECTS, &[turn], &["It goes on and on and"]).await;
    assert_eq!(same.end, TurnEnd::Answered(FinishReason::Length));
}

#[tokio::test]
async fn malformed_arguments() {
    let call = ScriptPart::Call {
        arguments: r#"{"a": 1, "b""#.to_owned(),
        id: None,
        name: "add".to_owned(),
    };
    let turns = [
        ScriptTurn::reply([call]),
        ScriptTurn::text("Once more: it is 2."),
    ];
    // Claude's whole replies have objects for arguments, and nothing else.
    let ways = all(OTHERS).filter(|way| *way != (Wire::Claude, true));
    let same = check_ways(ways, &turns).await;
    let lines = lines(&same);
    assert_eq!(lines[0], r#"add {"a": 1, "b""#);
    assert!(lines[1].starts_with("! "), "{lines:?}");
    assert_eq!(lines[2], "Once more: it is 2.");
}

/// Has the conversation in every language, streamed and whole, and returns what is the same in all.
async fn check<const N: usize>(wires: [Wire; N], turns: &[ScriptTurn], expected: &[&str]) -> Same {
    let same = check_ways(all(wires), turns).await;
    assert_eq!(lines(&same), expected);
    same
}

/// Each language, and whether it is spoken whole.
fn all<const N: usize>(wires: [Wire; N]) -> impl Iterator<Item = (Wire, bool)> {
    wires
        .into_iter()
        .flat_map(|wire| [(wire, false), (wire, true)])
}

async fn check_ways(ways: impl Iterator<Item = (Wire, bool)>, turns: &[ScriptTurn]) -> Same {
    let mut first: Option<((Wire, bool), Same)> = None;
    for way in ways {
        let same = converse(way, turns).await;
        match &first {
            None => first = Some((way, same)),
            Some((known, expected)) => {
                assert_eq!(&same, expected, "{way:?} differs from {known:?}");
            }
        }
    }
    first.expect("there is a way").1
}

/// Has the conversation, and goes on: so the whole of it goes back, and is judged.
async fn converse((wire, whole): (Wire, bool), turns: &[ScriptTurn]) -> Same {
    let polite = ScriptTurn::text("You are welcome.").when("Thank you.");
    let script: Vec<ScriptTurn> = turns.iter().cloned().chain([polite]).collect();
    let script: Vec<ScriptTurn> = if whole {
        script.into_iter().map(ScriptTurn::whole).collect()
    } else {
        script
    };
    let server = wire.serve(script).await;
    let chat = Chat::new([(wire, &*server)]);
    let report = chat.say(wire, "Begin.").await;
    assert_eq!(server.violations(), [""; 0], "{wire:?}");
    let thanked = chat.say(wire, "Thank you.").await;
    assert_eq!(server.violations(), [""; 0], "{wire:?}");
    assert_eq!(thanked.answer(), "You are welcome.", "{wire:?}");
    kept(&server);
    Same::of(report)
}

/// What is the same whatever was spoken: all but the provider's ids, its state, and the notes.
#[derive(Debug, PartialEq)]
pub(crate) struct Same {
    pub(crate) calls: Vec<String>,
    pub(crate) end: TurnEnd,
    pub(crate) messages: Vec<Message>,
    pub(crate) rounds: u32,
    pub(crate) usage: Usage,
}

impl Same {
    pub(crate) fn of(report: TurnReport) -> Self {
        let calls = report.calls.iter();
        let calls =
            calls.map(|call| format!("{:?} {:?} {:?}", call.call.id, call.end, call.result));
        Self {
            calls: calls.collect(),
            end: report.end,
            messages: report
                .messages
                .iter()
                .map(|message| bare(message))
                .collect(),
            rounds: report.rounds,
            usage: report.usage,
        }
    }
}

/// A message without what is the provider's.
fn bare(message: &Message) -> Message {
    let blocks = message.blocks.iter().map(|block| {
        Block::from(match &block.content {
            // Claude has no other block for it than text.
            Content::Refusal(text) => Content::Text(Text {
                annotations: Vec::new(),
                text: Arc::clone(text),
            }),
            Content::ToolCall(call) => Content::ToolCall(Arc::new(ToolCall {
                input: input(&call.input),
                upstream: None,
                ..ToolCall::clone(call)
            })),
            Content::ToolOutcome(outcome) => Content::ToolOutcome(Arc::new(ToolOutcome {
                opaque: Vec::new(),
                ..ToolOutcome::clone(outcome)
            })),
            content @ (Content::Audio(_)
            | Content::Document(_)
            | Content::Image(_)
            | Content::Opaque(_)
            | Content::Text(_)
            | Content::Thinking(_)) => content.clone(),
        })
    });
    Message::new(message.role, blocks.collect())
}

/// Arguments as they are; in Claude's streams nothing at all stands for none.
fn input(input: &ToolInput) -> ToolInput {
    match input {
        ToolInput::Json(json) if json.raw().is_empty() => ToolInput::Json(JsonInput::parse("{}")),
        input @ (ToolInput::Json(_) | ToolInput::Text(_)) => input.clone(),
    }
}

/// The transcript after its first message, a line a block.
pub(crate) fn lines(same: &Same) -> Vec<String> {
    let answers = same.messages.iter().skip(1);
    let blocks =
        answers.flat_map(|message| message.blocks.iter().map(|block| (message.role, block)));
    blocks
        .map(|(role, block)| match (&block.content, role) {
            (Content::Text(text), Role::Assistant) => text.text.to_string(),
            (Content::Thinking(thinking), Role::Assistant) => format!("({})", thinking.text),
            (Content::ToolCall(call), Role::Assistant) => {
                let ToolInput::Json(input) = &call.input else {
                    panic!("not JSON: {call:?}");
                };
                format!("{} {}", call.name.as_str(), input.raw())
            }
            (Content::ToolOutcome(outcome), Role::Tool) => {
                let sign = if outcome.result.is_error { "!" } else { "=" };
                format!("{sign} {}", outcome.result.to_text())
            }
            (content, role) => format!("{role:?} {content:?}"),
        })
        .collect()
}
