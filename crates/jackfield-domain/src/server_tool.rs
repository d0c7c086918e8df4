//! Identifies the server tool behind a call that a client sees as run by its server.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;

use crate::block::{Block, Content, RanBy, ToolCall};
use crate::call_order::call_positions;
use crate::ids::ToolCallId;
use crate::message::{Message, Role};
use crate::opaque::{OpaqueState, StateOwner, StateScope};
use crate::outcome::ToolOutcome;
use crate::tool::ToolOrigin;

/// The name of a server tool, as state on the call and the outcome that a client sees.
///
/// For a client, Jackfield is the provider: such a call is [`RanBy::Provider`](crate::block::RanBy), and each
/// dialect has its own form for it. The state is never sent to a provider: [`restore_server_calls`] converts a history that
/// contains it back before models see it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ServerTool<'a> {
    /// The toolbox, such as an MCP server.
    pub server: &'a str,
    /// The tool's own name there.
    pub tool: &'a str,
}

impl<'a> ServerTool<'a> {
    /// The tool that the state of a block names, if any.
    #[must_use]
    pub fn from_states(states: &'a [OpaqueState]) -> Option<Self> {
        let state = states
            .iter()
            .find(|state| *state.kind == *KIND && *state.owner.dialect == *OWNER)?;
        let text = |key: &str| state.json.get(key)?.as_str();
        Some(Self {
            server: text("server")?,
            tool: text("tool")?,
        })
    }

    /// The state that names this tool.
    #[must_use]
    pub fn state(origin: &ToolOrigin) -> OpaqueState {
        OpaqueState {
            kind: KIND.into(),
            json: json!({ "server": origin.toolbox.as_str(), "tool": &*origin.tool }),
            owner: StateOwner {
                dialect: OWNER.into(),
                endpoint: "".into(),
                model: "".into(),
            },
            scope: StateScope::Block,
        }
    }
}

/// The owner of the state; no provider's dialect has this name.
const OWNER: &str = "jackfield";
const KIND: &str = "server_tool";

/// Converts a client's history back to what the models saw: calls that the client saw as run by its server
/// become server tool calls again, each answered right after the message that made it.
///
/// A call without an outcome stays unchanged, because nothing more is known about it.
#[must_use]
pub fn restore_server_calls(history: &[Message]) -> Vec<Message> {
    let mut out = Vec::with_capacity(history.len());
    // Outcomes of a message that also has client tool calls; they share one message with the results of those.
    let mut pending: Vec<Block> = Vec::new();
    for message in history {
        let mut blocks = std::mem::take(&mut pending);
        if message.role == Role::Assistant {
            push_outcomes(blocks, &mut out);
            pending = split_rounds(message, &mut out);
        } else if message.role == Role::Tool && !blocks.is_empty() {
            blocks.extend(message.blocks.iter().cloned());
            out.push(Message {
                blocks: sort_outcomes(blocks, out.last()),
                ..message.clone()
            });
        } else {
            push_outcomes(blocks, &mut out);
            out.push(message.clone());
        }
    }
    push_outcomes(pending, &mut out);
    out
}

/// Adds a message with these outcomes, if there are any.
fn push_outcomes(answers: Vec<Block>, out: &mut Vec<Message>) {
    if !answers.is_empty() {
        let answers = sort_outcomes(answers, out.last());
        out.push(Message::new(Role::Tool, answers));
    }
}

/// Outcomes in the order of the calls of the message before them.
fn sort_outcomes(mut answers: Vec<Block>, before: Option<&Message>) -> Vec<Block> {
    let calls = before.into_iter().flat_map(Message::calls);
    let places = call_positions(calls.map(|call| &call.id));
    answers.sort_by_key(|block| match &block.content {
        Content::ToolOutcome(outcome) => places.get(&outcome.call).copied(),
        Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_) => None,
    });
    answers
}

/// Adds the rounds of a message, and returns the outcomes of the last one without adding them.
fn split_rounds(message: &Message, out: &mut Vec<Message>) -> Vec<Block> {
    let outcomes = message.blocks.iter().filter_map(server_outcome);
    let answered_calls: HashSet<&ToolCallId> = outcomes.map(|outcome| &outcome.call).collect();
    let mut reply_blocks: Vec<Block> = Vec::new();
    let mut answers: Vec<Block> = Vec::new();
    for block in &message.blocks {
        match &block.content {
            Content::ToolCall(call)
                if is_server_call(call, block) && answered_calls.contains(&&call.id) =>
            {
                if !answers.is_empty() {
                    out.push(Message::new(
                        Role::Assistant,
                        std::mem::take(&mut reply_blocks),
                    ));
                    push_outcomes(std::mem::take(&mut answers), out);
                }
                let call = Arc::new(ToolCall {
                    ran_by: RanBy::Engine,
                    ..ToolCall::clone(call)
                });
                reply_blocks.push(strip_tool_state(block, Content::ToolCall(call)));
            }
            Content::ToolOutcome(answer) if server_outcome(block).is_some() => {
                let answer = Content::ToolOutcome(Arc::clone(answer));
                answers.push(strip_tool_state(block, answer));
            }
            // Client tool calls come after the server tool calls of the same round.
            Content::ToolCall(call) if call.ran_by != RanBy::Provider => {
                reply_blocks.push(block.clone());
            }
            Content::Audio(_)
            | Content::Document(_)
            | Content::Image(_)
            | Content::Opaque(_)
            | Content::Refusal(_)
            | Content::Text(_)
            | Content::Thinking(_)
            | Content::ToolCall(_)
            | Content::ToolOutcome(_) => {
                if !answers.is_empty() {
                    out.push(Message::new(
                        Role::Assistant,
                        std::mem::take(&mut reply_blocks),
                    ));
                    push_outcomes(std::mem::take(&mut answers), out);
                }
                reply_blocks.push(block.clone());
            }
        }
    }
    if !reply_blocks.is_empty() {
        out.push(Message {
            blocks: reply_blocks,
            ..message.clone()
        });
    }
    answers
}

/// The outcome of a call that the client saw as run by the server.
fn server_outcome(block: &Block) -> Option<&Arc<ToolOutcome>> {
    match &block.content {
        Content::ToolOutcome(outcome) => ServerTool::from_states(&block.opaque).map(|_| outcome),
        Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_) => None,
    }
}

fn is_server_call(call: &ToolCall, block: &Block) -> bool {
    call.ran_by == RanBy::Provider && ServerTool::from_states(&block.opaque).is_some()
}

/// The block with other content, and without the state that names its tool.
fn strip_tool_state(block: &Block, content: Content) -> Block {
    let opaque = block.opaque.iter();
    let opaque = opaque.filter(|state| !(*state.kind == *KIND && *state.owner.dialect == *OWNER));
    Block {
        cache: block.cache,
        content,
        opaque: opaque.cloned().collect(),
    }
}
