//! The rules of conversations, each broken by an example.

use std::sync::Arc;

use jackfield_domain::block::{Block, CalledName, Content, RanBy, Thinking, ToolCall};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::rules::{RuleViolation, check_history, check_request};
use jackfield_domain::setup::Transcript;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_testkit::arb;
use proptest::prelude::*;

fn id(text: &str) -> ToolCallId {
    ToolCallId::parse(text).expect("a valid id")
}

fn call_by(ran_by: RanBy, call: &str) -> Block {
    Block::from(Content::ToolCall(Arc::new(ToolCall {
        id: id(call),
        input: ToolInput::Json(JsonInput::parse("{}")),
        name: CalledName::new("read"),
        ran_by,
        upstream: None,
    })))
}

fn call(call: &str) -> Block {
    call_by(RanBy::Engine, call)
}

fn outcome(call: &str) -> Block {
    Block::from(Content::ToolOutcome(Arc::new(ToolOutcome {
        call: id(call),
        opaque: Vec::new(),
        result: ToolResult::text("fine"),
    })))
}

fn says(blocks: Vec<Block>) -> Message {
    Message::new(Role::Assistant, blocks)
}

fn tools(blocks: Vec<Block>) -> Message {
    Message::new(Role::Tool, blocks)
}

fn asks() -> Message {
    Message::user("go")
}

fn check(messages: Vec<Message>) -> Result<(), RuleViolation> {
    let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
    check_history(messages.iter())
}

#[test]
fn each_rule_is_broken_by_its_example() {
    let without = |call| RuleViolation::CallWithoutOutcome { call: id(call) };
    let stray = |call| RuleViolation::OutcomeWithoutCall { call: id(call) };
    let wrong_role = |place| RuleViolation::WrongRole { place };
    let empty = |place| RuleViolation::EmptyMessage { place };
    let order = |place| RuleViolation::OutcomesOutOfOrder { place };
    for (messages, violation) in [
        (vec![asks(), says(vec![call("a")])], without("a")),
        (vec![asks(), says(vec![call("a")]), asks()], without("a")),
        (
            vec![
                asks(),
                says(vec![call("a"), call("b")]),
                tools(vec![outcome("a")]),
            ],
            without("b"),
        ),
        (vec![asks(), tools(vec![outcome("a")])], stray("a")),
        (
            vec![
                asks(),
                says(vec![call("a")]),
                tools(vec![outcome("a"), outcome("b")]),
            ],
            stray("b"),
        ),
        (
            // The outcome is right, but not right after its call.
            vec![
                asks(),
                says(vec![call("a")]),
                says(vec![Block::text("hm")]),
                tools(vec![outcome("a")]),
            ],
            without("a"),
        ),
        (
            vec![
                asks(),
                says(vec![call("a"), call("b")]),
                tools(vec![outcome("b"), outcome("a")]),
            ],
            order(2),
        ),
        (
            vec![
                asks(),
                says(vec![call("a")]),
                tools(vec![outcome("a"), outcome("a")]),
            ],
            RuleViolation::RepeatedOutcome { call: id("a") },
        ),
        (
            vec![asks(), says(vec![call("a"), call("a")])],
            RuleViolation::RepeatedCall { call: id("a") },
        ),
        (
            vec![
                asks(),
                says(vec![call("a")]),
                tools(vec![outcome("a")]),
                says(vec![call("a")]),
            ],
            RuleViolation::RepeatedCall { call: id("a") },
        ),
        (vec![asks(), says(vec![])], empty(1)),
        (vec![Message::user(" \n")], empty(0)),
        (vec![asks(), says(vec![call("a")]), tools(vec![])], empty(2)),
        (
            vec![Message::new(Role::User, vec![call("a")])],
            wrong_role(0),
        ),
        (
            vec![Message::new(Role::User, vec![outcome("a")])],
            wrong_role(0),
        ),
        (
            vec![Message::new(Role::System, vec![outcome("a")])],
            wrong_role(0),
        ),
        (
            vec![
                asks(),
                says(vec![call("a")]),
                tools(vec![outcome("a"), Block::text("and")]),
            ],
            wrong_role(2),
        ),
    ] {
        assert_eq!(check(messages.clone()), Err(violation), "{messages:?}");
    }
}

#[test]
fn what_the_rules_allow() {
    for messages in [
        vec![],
        vec![asks(), asks()],
        vec![
            asks(),
            says(vec![Block::text("So")]),
            says(vec![Block::text("far")]),
        ],
        vec![
            asks(),
            says(vec![call("a")]),
            tools(vec![outcome("a")]),
            asks(),
        ],
        // What the provider ran itself stands in its own reply, or goes on in the next.
        vec![
            asks(),
            says(vec![
                call_by(RanBy::Provider, "a"),
                outcome("a"),
                Block::text("x"),
            ]),
        ],
        vec![asks(), says(vec![call_by(RanBy::Provider, "a")]), asks()],
        vec![
            asks(),
            says(vec![call_by(RanBy::Client, "a")]),
            tools(vec![outcome("a")]),
        ],
    ] {
        assert_eq!(check(messages.clone()), Ok(()), "{messages:?}");
    }
}

#[test]
fn a_request_ends_with_somebody_who_is_to_be_answered_or_with_words_to_continue() {
    let thought = Block::from(Content::Thinking(Thinking {
        redacted: false,
        text: "Hm.".into(),
    }));
    let silent = vec![asks(), says(vec![Block::text("So"), thought])];
    assert_eq!(check(silent.clone()), Ok(()));
    assert_eq!(
        Transcript::parse(silent),
        Err(RuleViolation::EndsWithAssistant)
    );
    let begun = vec![asks(), says(vec![Block::text("So")])];
    assert!(Transcript::parse(begun).is_ok());
    let paused = vec![asks(), says(vec![call_by(RanBy::Provider, "a")])];
    assert!(Transcript::parse(paused).is_ok());
    assert_eq!(Transcript::parse(vec![]), Err(RuleViolation::NoMessage));
    let open = vec![asks(), says(vec![call("a")])];
    let without = RuleViolation::CallWithoutOutcome { call: id("a") };
    assert_eq!(Transcript::parse(open), Err(without));
    let after_tools = vec![asks(), says(vec![call("a")]), tools(vec![outcome("a")])];
    assert!(Transcript::parse(after_tools).is_ok());
}

proptest! {
    #[test]
    fn a_conversation_that_loses_a_message_of_outcomes_is_noticed(messages in arb::conversation()) {
        prop_assert_eq!(check_request(messages.iter()), Ok(()));
        let place = messages.iter().position(|message| message.role == Role::Tool);
        if let Some(place) = place {
            let without = messages.iter().enumerate().filter(|(n, _)| *n != place);
            let without: Vec<_> = without.map(|(_, message)| Arc::clone(message)).collect();
            let noticed = matches!(
                check_history(without.iter()),
                Err(RuleViolation::CallWithoutOutcome { .. })
            );
            prop_assert!(noticed);
        }
    }
}
