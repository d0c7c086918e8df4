//! Messages of each role, and valid conversations.

use std::sync::Arc;

use jackfield_domain::block::{Block, Content, RanBy, ToolCall};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Messages, Role};
use jackfield_domain::outcome::ToolOutcome;
use proptest::collection::vec;
use proptest::prelude::*;

use super::block::{reply_content, text_block, text_content, with_metadata};
use super::call::{provider_call, tool_call, tool_outcome, tool_result};
use super::media::{audio, document, image};
use super::opaque::{opaque_block, opaque_states};
use super::text::words;

/// A user message: text, possibly with media.
pub fn user_message() -> impl Strategy<Value = Message> + Clone {
    let beside = prop_oneof![
        3 => text_content(words()),
        1 => image().prop_map(Content::Image),
        1 => document().prop_map(Content::Document),
        1 => audio().prop_map(Content::Audio),
        1 => opaque_block().prop_map(Content::Opaque),
    ];
    let blocks = (
        with_metadata(text_content(words())),
        vec(with_metadata(beside), 0..2),
    );
    prop_oneof![
        1 => words().prop_map(Message::user),
        1 => (blocks, opaque_states()).prop_map(|((first, more), opaque)| Message {
            blocks: std::iter::once(first).chain(more).collect(),
            opaque,
            role: Role::User,
        }),
    ]
    .boxed()
}

/// A system message.
pub fn system_message() -> impl Strategy<Value = Message> + Clone {
    text_block().prop_map(|block| Message::new(Role::System, vec![block]))
}

/// An assistant message without server or client tool calls; it may contain calls that the provider ran, with their
/// outcomes.
pub fn assistant_message() -> impl Strategy<Value = Message> + Clone {
    round(0..1).prop_map(|round| round.reply)
}

/// A tool message: the outcomes of one or two calls, which need not exist.
pub fn tool_message() -> impl Strategy<Value = Message> + Clone {
    vec(tool_outcome(), 1..3)
        .prop_map(|outcomes| Message::new(Role::Tool, outcome_blocks(outcomes)))
}

/// A conversation for a model request: it satisfies every rule of
/// [`check_request`](jackfield_domain::rules::check_request).
///
/// It contains rounds of one or several calls, calls that the provider ran, and opaque state of several owners on
/// blocks, outcomes and messages.
pub fn conversation() -> impl Strategy<Value = Vec<Arc<Message>>> + Clone {
    let turn = (
        prop::option::weighted(0.1, system_message()),
        user_message(),
        vec(round(1..4), 0..3),
        assistant_message(),
    );
    let open = (user_message(), vec(round(1..4), 0..3));
    (vec(turn, 0..2), open)
        .prop_map(|(turns, (user, rounds))| {
            let mut messages = Vec::new();
            for (system, user, rounds, answer) in turns {
                messages.extend(system);
                messages.push(user);
                messages.extend(rounds.into_iter().flat_map(Round::into_messages));
                messages.push(answer);
            }
            messages.push(user);
            messages.extend(rounds.into_iter().flat_map(Round::into_messages));
            with_own_ids(messages)
        })
        .boxed()
}

/// A [`conversation`] in the form in which a request holds it.
pub fn messages() -> impl Strategy<Value = Messages> + Clone {
    (conversation(), any::<prop::sample::Index>())
        .prop_map(|(messages, cut)| messages_from(&messages, cut.index(messages.len() + 1)))
        .boxed()
}

/// These messages, the first `before` of which precede the turn.
#[must_use]
pub fn messages_from(messages: &[Arc<Message>], before: usize) -> Messages {
    let (before, turn) = messages.split_at(before.min(messages.len()));
    let mut all = Messages::with_history(Arc::new(before.to_vec()));
    turn.iter()
        .for_each(|message| all.push(Arc::clone(message)));
    all
}

/// A reply and the outcomes of its calls.
#[derive(Clone, Debug)]
struct Round {
    reply: Message,
    outcomes: Vec<ToolOutcome>,
}

impl Round {
    fn into_messages(self) -> impl Iterator<Item = Message> {
        let outcomes = (!self.outcomes.is_empty())
            .then(|| Message::new(Role::Tool, outcome_blocks(self.outcomes)));
        std::iter::once(self.reply).chain(outcomes)
    }
}

fn outcome_blocks(outcomes: Vec<ToolOutcome>) -> Vec<Block> {
    outcomes
        .into_iter()
        .map(|outcome| Content::ToolOutcome(Arc::new(outcome)).into())
        .collect()
}

fn round(calls: std::ops::Range<usize>) -> impl Strategy<Value = Round> + Clone {
    let at_provider = prop_oneof![
        5 => Just(None),
        1 => (provider_call(), tool_result()).prop_map(Some),
    ];
    let call = (tool_call(), tool_result(), opaque_states(), opaque_states());
    let before = (
        text_block(),
        any::<bool>(),
        vec(with_metadata(reply_content()), 0..2),
    );
    (before, at_provider, vec(call, calls), opaque_states())
        .prop_map(|((text, with_text, more), at_provider, calls, opaque)| {
            let mut blocks = more;
            if with_text || calls.is_empty() {
                blocks.push(text);
            }
            if let Some((call, result)) = at_provider {
                let outcome = ToolOutcome {
                    call: call.id.clone(),
                    result,
                    opaque: Vec::new(),
                };
                blocks.push(Content::ToolCall(Arc::new(call)).into());
                blocks.push(Content::ToolOutcome(Arc::new(outcome)).into());
            }
            let mut outcomes = Vec::new();
            for (call, result, of_call, of_outcome) in calls {
                outcomes.push(ToolOutcome {
                    call: call.id.clone(),
                    result,
                    opaque: of_outcome,
                });
                blocks.push(Block {
                    cache: None,
                    content: Content::ToolCall(Arc::new(call)),
                    opaque: of_call,
                });
            }
            let reply = Message {
                blocks,
                opaque,
                role: Role::Assistant,
            };
            Round { reply, outcomes }
        })
        .boxed()
}

/// Gives every call of a conversation a unique id, and every outcome the id of its call.
fn with_own_ids(messages: Vec<Message>) -> Vec<Arc<Message>> {
    let mut count = 0_usize;
    let mut open: Vec<ToolCallId> = Vec::new();
    let mut done = Vec::new();
    for mut message in messages {
        let mut answered = 0;
        let mut at_provider = None;
        if message.role == Role::Assistant {
            open.clear();
        }
        for block in &mut message.blocks {
            let changed = match &block.content {
                Content::ToolCall(call) => {
                    count += 1;
                    let id = numbered(count);
                    if call.ran_by == RanBy::Provider {
                        at_provider = Some(id.clone());
                    } else {
                        open.push(id.clone());
                    }
                    Content::ToolCall(Arc::new(ToolCall {
                        id,
                        ..(**call).clone()
                    }))
                }
                Content::ToolOutcome(outcome) => {
                    let call = if message.role == Role::Tool {
                        answered += 1;
                        open.get(answered - 1).cloned()
                    } else {
                        at_provider.clone()
                    };
                    Content::ToolOutcome(Arc::new(ToolOutcome {
                        call: call.unwrap_or_else(|| outcome.call.clone()),
                        ..(**outcome).clone()
                    }))
                }
                Content::Audio(_)
                | Content::Document(_)
                | Content::Image(_)
                | Content::Opaque(_)
                | Content::Refusal(_)
                | Content::Text(_)
                | Content::Thinking(_) => continue,
            };
            block.content = changed;
        }
        done.push(Arc::new(message));
    }
    done
}

/// The nth id of a conversation's calls.
fn numbered(nth: usize) -> ToolCallId {
    match ToolCallId::parse(&format!("call_{nth}")) {
        Ok(id) => id,
        Err(invalid) => unreachable!("{invalid}"),
    }
}
