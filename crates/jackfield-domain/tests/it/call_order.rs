//! The order of outcomes in a history that a client sends.

use std::sync::Arc;

use jackfield_domain::block::{Block, CalledName, Content, RanBy, ToolCall};
use jackfield_domain::call_order::sort_by_call_order;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::locate::{chain, opening};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::tool_input::{JsonInput, ToolInput};

fn id(text: &str) -> ToolCallId {
    ToolCallId::parse(text).expect("an id")
}

fn calls(ids: &[&str]) -> Message {
    let blocks = ids.iter().map(|text| {
        Block::from(Content::ToolCall(Arc::new(ToolCall {
            id: id(text),
            input: ToolInput::Json(JsonInput::parse("{}")),
            name: CalledName::new("f"),
            ran_by: RanBy::Engine,
            upstream: None,
        })))
    });
    Message::new(Role::Assistant, blocks.collect())
}

fn brings(ids: &[&str]) -> Message {
    let blocks = ids.iter().map(|text| {
        Block::from(Content::ToolOutcome(Arc::new(ToolOutcome {
            call: id(text),
            opaque: Vec::new(),
            result: ToolResult::text(*text),
        })))
    });
    Message::new(Role::Tool, blocks.collect())
}

fn history(brought: &[&str]) -> Vec<Message> {
    vec![
        Message::user("go"),
        calls(&["call_a", "call_b", "call_c"]),
        brings(brought),
        Message::new(Role::Assistant, vec![Block::text("done")]),
        Message::user("and now?"),
    ]
}

#[test]
fn outcomes_may_come_in_any_order() {
    let kept = history(&["call_a", "call_b", "call_c"]);
    let mut sent = history(&["call_c", "call_a", "call_b"]);
    drop(opening(&[], &sent).expect_err("models are told outcomes in the order of their calls"));
    sort_by_call_order(&mut sent);
    assert_eq!(sent, kept);
    assert_eq!(chain(&sent), chain(&kept));
    drop(opening(&[], &sent).expect("a conversation"));
}

#[test]
fn what_answers_no_call_stays_where_it_is_judged() {
    let mut sent = history(&["call_x", "call_b", "call_a"]);
    sort_by_call_order(&mut sent);
    assert_eq!(sent, history(&["call_a", "call_b", "call_x"]));
    let mut alone = vec![brings(&["call_b", "call_a"])];
    sort_by_call_order(&mut alone);
    assert_eq!(alone, [brings(&["call_b", "call_a"])]);
    sort_by_call_order(&mut []);
}
