//! Replies: their blocks and their ends.

use std::borrow::Cow;
use std::sync::Arc;

use jackfield_domain::block::{Block, Content, RanBy, ToolCall};
use jackfield_domain::ids::{ModelAttempt, ToolCallId, TurnId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::outcome::ToolOutcome;
use jackfield_domain::price::{Money, ServiceTier};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::usage::Usage;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::block::{reply_content, text_content};
use super::call::{arguments, provider_call, tool_call, tool_result};
use super::opaque::opaque_states;
use super::text::{text, word, words};

/// A finish reason.
pub fn finish_reason() -> impl Strategy<Value = FinishReason> + Clone {
    prop_oneof![
        3 => Just(FinishReason::Stop),
        3 => Just(FinishReason::ToolCalls),
        1 => Just(FinishReason::ContentFilter),
        1 => Just(FinishReason::ContextFull),
        1 => Just(FinishReason::Length),
        1 => Just(FinishReason::Paused),
        1 => Just(FinishReason::Refused),
        1 => text().prop_map(FinishReason::StopSequence),
        1 => text().prop_map(FinishReason::Unrecognized),
    ]
    .boxed()
}

/// The usage of a reply, in which parts never exceed their totals.
pub fn usage() -> impl Strategy<Value = Usage> + Clone {
    (
        0..5_000_u64,
        0..5_000_u64,
        0..9_000_u64,
        0..9_000_u64,
        0..5_000_u64,
    )
        .prop_map(
            |(cache_read, cache_write, input, output, reasoning)| Usage {
                cache_read,
                cache_write,
                input: input + cache_read + cache_write,
                output: output + reasoning,
                reasoning,
                ..Usage::default()
            },
        )
        .boxed()
}

/// A service tier that is not the usual one.
pub(super) fn tier() -> impl Strategy<Value = ServiceTier> {
    let all = ServiceTier::NAMES.iter().map(|(_, tier)| *tier);
    select(all.collect::<Vec<_>>())
}

/// The usage of a reply, with all that a journal keeps of one.
pub fn detailed_usage() -> impl Strategy<Value = Usage> + Clone {
    let tier = option::of(tier());
    let billed = option::of(any::<u64>().prop_map(Money::from_picos));
    let media = [(); 4].map(|()| 0..900_u64);
    (usage(), tier, billed, media, 0..900_u64)
        .prop_map(|(usage, tier, billed, media, long)| {
            let [audio_input, audio_output, image_input, image_output] = media;
            Usage {
                audio_input,
                audio_output,
                billed,
                cache_write: usage.cache_write + long,
                cache_write_long: long,
                image_input,
                image_output,
                input: usage.input + audio_input + image_input + long,
                output: usage.output + audio_output + image_output,
                tier,
                ..usage
            }
        })
        .boxed()
}

/// Estimated usage, as a whole or in part.
pub fn estimated_usage() -> impl Strategy<Value = Usage> + Clone {
    (usage(), 1..9_000_u64, 0..9_000_u64)
        .prop_map(|(mut usage, input, output)| {
            usage += Usage::estimate(input, output);
            usage
        })
        .boxed()
}

/// The effect of a note.
pub(super) fn note_effect() -> impl Strategy<Value = NoteEffect> + Clone {
    select(
        &[
            NoteEffect::Cosmetic,
            NoteEffect::Cost,
            NoteEffect::Quality,
            NoteEffect::Meaning,
        ][..],
    )
}

/// A note.
pub fn note() -> impl Strategy<Value = Note> + Clone {
    let code = prop_oneof![
        Just(Cow::Borrowed("sampling_not_supported")),
        word().prop_map(|code| Cow::Owned(code.to_string())),
    ];
    let kind = select(
        &[
            NoteKind::Approximated,
            NoteKind::Carried,
            NoteKind::Dropped,
            NoteKind::Refused,
        ][..],
    );
    (code, note_effect(), kind, text())
        .prop_map(|(code, effect, kind, path)| Note {
            code,
            effect,
            kind,
            path: path.to_string(),
        })
        .boxed()
}

/// The end of a reply.
pub fn reply_end() -> impl Strategy<Value = ReplyEnd> + Clone {
    let notes = prop_oneof![4 => Just(Vec::new()), 1 => vec(note(), 1..3)];
    (
        finish_reason(),
        option::of(word()),
        notes,
        opaque_states(),
        option::of(word()),
        option::of(usage()),
    )
        .prop_map(|(finish, model, notes, opaque, upstream, usage)| ReplyEnd {
            finish,
            model,
            notes,
            opaque,
            upstream,
            usage,
        })
        .boxed()
}

/// The blocks of a reply, in which every call has the id that the accumulator derives for its place in this attempt
/// of this turn.
///
/// Cut them with [`deltas_of`](super::deltas_of): accumulated with an empty catalog, the deltas yield exactly these
/// blocks.
pub fn reply_blocks(
    turn: TurnId,
    attempt: ModelAttempt,
) -> impl Strategy<Value = Vec<Block>> + Clone {
    let json_call = |call: ToolCall, raw: &str| ToolCall {
        input: ToolInput::Json(JsonInput::parse(raw)),
        ..call
    };
    let call = prop_oneof![
        4 => (tool_call(), arguments()).prop_map(move |(call, raw)| json_call(call, &raw)),
        1 => (tool_call(), words()).prop_map(|(call, text)| ToolCall { input: ToolInput::Text(text), ..call }),
    ];
    let at_provider = (provider_call(), arguments(), tool_result())
        .prop_map(move |(call, raw, result)| (json_call(call, &raw), result));
    let item = prop_oneof![
        3 => (text_content(words()), opaque_states()).prop_map(|(content, opaque)| vec![block(content, opaque)]),
        3 => (reply_content(), opaque_states()).prop_map(|(content, opaque)| vec![block(content, opaque)]),
        3 => (call, opaque_states()).prop_map(|(call, opaque)| vec![block(Content::ToolCall(Arc::new(call)), opaque)]),
        1 => (at_provider, opaque_states()).prop_map(|((call, result), opaque)| {
            let outcome = ToolOutcome { call: call.id.clone(), result, opaque: Vec::new() };
            vec![
                block(Content::ToolCall(Arc::new(call)), opaque),
                block(Content::ToolOutcome(Arc::new(outcome)), Vec::new()),
            ]
        }),
    ];
    vec(item, 0..4)
        .prop_map(move |items| {
            let mut at_provider = None;
            let mut blocks: Vec<Block> = items.into_iter().flatten().collect();
            for (place, block) in (0..).zip(&mut blocks) {
                let changed = match &block.content {
                    Content::ToolCall(call) => {
                        let id = ToolCallId::derive(&turn, attempt, place);
                        if call.ran_by == RanBy::Provider {
                            at_provider = Some(id.clone());
                        }
                        Content::ToolCall(Arc::new(ToolCall {
                            id,
                            ..(**call).clone()
                        }))
                    }
                    Content::ToolOutcome(outcome) => Content::ToolOutcome(Arc::new(ToolOutcome {
                        call: at_provider.take().unwrap_or_else(|| outcome.call.clone()),
                        ..(**outcome).clone()
                    })),
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
            blocks
        })
        .boxed()
}

/// A whole reply to this attempt of this turn.
pub fn reply(turn: TurnId, attempt: ModelAttempt) -> impl Strategy<Value = Reply> + Clone {
    (reply_blocks(turn, attempt), reply_end())
        .prop_map(|(blocks, end)| Reply {
            message: Arc::new(Message {
                blocks,
                opaque: end.opaque.clone(),
                role: Role::Assistant,
            }),
            end,
        })
        .boxed()
}

fn block(content: Content, opaque: Vec<jackfield_domain::opaque::OpaqueState>) -> Block {
    Block {
        cache: None,
        content,
        opaque,
    }
}
