//! What a client was shown as run by its server, as models had it.

use std::sync::Arc;

use jackfield_domain::block::{Block, CalledName, Content, RanBy, ToolCall};
use jackfield_domain::ids::{ToolCallId, ToolboxId};
use jackfield_domain::locate;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::rules;
use jackfield_domain::server_tool::{ServerTool, restore_server_calls};
use jackfield_domain::setup::Opening;
use jackfield_domain::tool::ToolOrigin;
use jackfield_domain::tool_input::{JsonInput, ToolInput};

fn call(id: &str, ran_by: RanBy) -> Block {
    let mut block = Block::from(Content::ToolCall(Arc::new(ToolCall {
        id: ToolCallId::parse(id).expect("an id"),
        input: ToolInput::Json(JsonInput::parse("{}")),
        name: CalledName::new("search"),
        ran_by,
        upstream: None,
    })));
    if ran_by == RanBy::Provider {
        block.opaque.push(state());
    }
    block
}

fn outcome(id: &str, is_shown: bool) -> Block {
    let mut block = Block::from(Content::ToolOutcome(Arc::new(ToolOutcome {
        call: ToolCallId::parse(id).expect("an id"),
        opaque: Vec::new(),
        result: ToolResult::text(id),
    })));
    if is_shown {
        block.opaque.push(state());
    }
    block
}

fn state() -> jackfield_domain::opaque::OpaqueState {
    ServerTool::state(&ToolOrigin {
        tool: "search".into(),
        toolbox: ToolboxId::parse("notes").expect("an id"),
    })
}

fn lines(messages: &[Message]) -> Vec<String> {
    let of = |block: &Block| match &block.content {
        Content::ToolCall(call) => format!("{} by {:?}", call.id.as_str(), call.ran_by),
        Content::ToolOutcome(outcome) => format!("-> {}", outcome.call.as_str()),
        Content::Text(text) => (*text.text).to_owned(),
        other => format!("{other:?}"),
    };
    let line = |message: &Message| {
        let blocks: Vec<String> = message.blocks.iter().map(of).collect();
        format!("{:?}: {}", message.role, blocks.join(", "))
    };
    messages.iter().map(line).collect()
}

#[test]
fn rounds_come_apart_again_and_stay_paired() {
    let ran = RanBy::Provider;
    let shown = Message::new(
        Role::Assistant,
        vec![
            Block::text("First."),
            call("a", ran),
            call("b", ran),
            outcome("b", true),
            outcome("a", true),
            Block::text("Then."),
            call("c", ran),
            outcome("c", true),
            call("mine", RanBy::Engine),
        ],
    );
    let brought = Message::new(Role::Tool, vec![outcome("mine", false)]);
    let history = [Message::user("go"), shown, brought, Message::user("and?")];
    let run = restore_server_calls(&history);
    assert_eq!(
        lines(&run),
        [
            "User: go",
            "Assistant: First., a by Engine, b by Engine",
            "Tool: -> a, -> b",
            "Assistant: Then., c by Engine, mine by Engine",
            "Tool: -> c, -> mine",
            "User: and?",
        ]
    );
    let messages: Vec<Arc<Message>> = run.into_iter().map(Arc::new).collect();
    assert_eq!(rules::check_request(messages.iter()), Ok(()));
    assert!(matches!(
        locate::opening(&[], &history),
        Ok(Opening::Transcript(transcript)) if transcript.messages().len() == 6
    ));
}

#[test]
fn what_ends_with_an_outcome_is_paired_before_the_next_word() {
    let ran = RanBy::Provider;
    let history = [
        Message::user("go"),
        Message::new(Role::Assistant, vec![call("a", ran), outcome("a", true)]),
        Message::user("and?"),
    ];
    assert_eq!(
        lines(&restore_server_calls(&history)),
        [
            "User: go",
            "Assistant: a by Engine",
            "Tool: -> a",
            "User: and?"
        ]
    );
}

#[test]
fn what_a_provider_ran_itself_and_what_has_no_outcome_stay_as_they_were() {
    let mut theirs = call("theirs", RanBy::Provider);
    theirs.opaque.clear();
    let history = [Message::new(
        Role::Assistant,
        vec![
            theirs,
            outcome("theirs", false),
            call("lost", RanBy::Provider),
            Block::text("So."),
        ],
    )];
    assert_eq!(restore_server_calls(&history), history);
}
