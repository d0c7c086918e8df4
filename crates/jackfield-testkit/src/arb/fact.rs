//! Facts of every kind, and envelopes with them.
//!
//! The facts of an envelope are unrelated to each other: realistic sequences come from driving the tool loop.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{
    AfterLoss, CachedCall, CallEnd, Compaction, Envelope, Fact, InputKind, Late, ModelCallEnd,
    ToolUse, TurnEnd,
};
use jackfield_domain::ids::{ForkPlace, SessionId, ToolAttempt, TurnId};
use jackfield_domain::limits::LimitKind;
use jackfield_domain::restrictions::{Restriction, Restrictions};
use jackfield_domain::time::{MonoTime, Now, WallTime};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::call::{call_id, tool_input, tool_result};
use super::conversation::{assistant_message, conversation};
use super::failure::{disposition, model_failure, tool_failure_kind};
use super::reply::{detailed_usage, estimated_usage, finish_reason, reply, usage};
use super::request::model_ref;
use super::setup::{duration, opening, setup};
use super::target::{model_attempt, reservations, target_choice};
use super::text::{id, text};
use super::tool::{catalog, digest, tool_name};
use super::wait::{cancel_cause, job_handle, wait, wait_end, wait_id};

/// A wall-clock instant, sometimes before 1970 or at the limits of its range.
pub fn wall_time() -> impl Strategy<Value = WallTime> + Clone {
    prop_oneof![
        8 => 1_700_000_000_000..1_900_000_000_000_i64,
        1 => any::<i64>(),
    ]
    .prop_map(WallTime::from_millis)
}

/// The present, on both clocks, to the nanosecond.
pub fn now() -> impl Strategy<Value = Now> + Clone {
    (wall_time(), any::<u32>(), 0..1_000_000_000_u32).prop_map(|(wall, seconds, nanos)| Now {
        wall,
        mono: MonoTime::from_start(Duration::new(u64::from(seconds), nanos)),
    })
}

pub(super) fn tool_attempt() -> impl Strategy<Value = ToolAttempt> + Clone {
    (call_id(), 1..4_u32).prop_map(|(call, attempt)| ToolAttempt { call, attempt })
}

pub(super) fn turn_id() -> impl Strategy<Value = TurnId> + Clone {
    (id(SessionId::MAX), 1..9_u32).prop_map(|(session, ordinal)| match SessionId::parse(&session) {
        Ok(session) => TurnId::derive(&session, ordinal),
        Err(invalid) => unreachable!("{invalid}"),
    })
}

fn limit_kind() -> impl Strategy<Value = LimitKind> + Clone {
    select(
        &[
            LimitKind::ActiveTime,
            LimitKind::Cost,
            LimitKind::NoProgress,
            LimitKind::Rounds,
            LimitKind::Tokens,
        ][..],
    )
}

fn turn_end() -> impl Strategy<Value = TurnEnd> + Clone {
    prop_oneof![
        2 => finish_reason().prop_map(TurnEnd::Answered),
        1 => cancel_cause().prop_map(TurnEnd::Cancelled),
        1 => Just(TurnEnd::ClientExpired),
        1 => model_failure().prop_map(TurnEnd::Failed),
        1 => model_failure().prop_map(TurnEnd::Interrupted),
        1 => (any::<bool>(), limit_kind()).prop_map(|(is_error, limit)| TurnEnd::Limited { is_error, limit }),
    ]
    .boxed()
}

/// A fact of any kind.
pub fn fact() -> impl Strategy<Value = Fact> + Clone {
    Union::new(fact_kinds().into_iter().map(|(_, strategy)| strategy)).boxed()
}

/// One strategy for each kind of fact, under the kind's name.
#[must_use]
pub fn fact_kinds() -> Vec<(&'static str, BoxedStrategy<Fact>)> {
    vec![
        ("backend_session", backend_session()),
        ("call_accepted", call_accepted()),
        ("call_closed", call_closed()),
        ("call_lost", call_lost()),
        ("call_started", call_started()),
        ("compacted", compacted()),
        ("late", late()),
        ("model_call_ended", model_call_ended()),
        ("model_call_started", model_call_started()),
        ("reply_received", reply_received()),
        ("session_forked", session_forked()),
        ("session_imported", session_imported()),
        ("turn_ended", turn_ended()),
        ("turn_opened", turn_opened()),
        ("turn_resumed", turn_resumed()),
        ("wait_closed", wait_closed()),
        ("wait_opened", wait_opened()),
    ]
}

fn backend_session() -> BoxedStrategy<Fact> {
    (model_attempt(), text())
        .prop_map(|(attempt, id)| Fact::BackendSession { attempt, id })
        .boxed()
}

fn compacted() -> BoxedStrategy<Fact> {
    (
        model_attempt(),
        conversation(),
        option::of(model_ref()),
        0..9_usize,
        option::of(usage()),
        option::weighted(0.3, model_call_end()),
    )
        .prop_map(|(attempt, messages, model, replaced, usage, failure)| {
            Fact::Compacted(Arc::new(Compaction {
                attempt,
                failure,
                messages,
                model,
                replaced,
                usage,
            }))
        })
        .boxed()
}

fn call_accepted() -> BoxedStrategy<Fact> {
    (tool_attempt(), job_handle())
        .prop_map(|(attempt, handle)| Fact::CallAccepted { attempt, handle })
        .boxed()
}

fn call_closed() -> BoxedStrategy<Fact> {
    let end = select(
        &[
            CallEnd::ByClient,
            CallEnd::Cached,
            CallEnd::Cancelled,
            CallEnd::ClientExpired,
            CallEnd::Denied,
            CallEnd::NotRun,
            CallEnd::Ran,
            CallEnd::Reported,
        ][..],
    );
    let shown = option::weighted(0.2, 0..400_usize);
    let cached = (call_id(), id(SessionId::MAX), turn_id()).prop_map(|(call, session, turn)| {
        Arc::new(CachedCall {
            call,
            session: match SessionId::parse(&session) {
                Ok(session) => session,
                Err(invalid) => unreachable!("{invalid}"),
            },
            turn,
        })
    });
    let cached = option::weighted(0.2, cached);
    let revealed = option::weighted(0.2, catalog().prop_map(Arc::new));
    (call_id(), end, tool_result(), shown, cached, revealed)
        .prop_map(
            |(call, end, result, shown, cached, revealed)| Fact::CallClosed {
                cached,
                call,
                end,
                result: Arc::new(result),
                revealed,
                shown,
            },
        )
        .boxed()
}

fn call_lost() -> BoxedStrategy<Fact> {
    let then = select(&[AfterLoss::Ask, AfterLoss::Repeat, AfterLoss::Report][..]);
    (
        tool_attempt(),
        disposition(),
        tool_failure_kind(),
        text(),
        then,
    )
        .prop_map(
            |(attempt, disposition, kind, message, then)| Fact::CallLost {
                attempt,
                disposition,
                kind,
                message,
                then,
            },
        )
        .boxed()
}

fn call_started() -> BoxedStrategy<Fact> {
    let edited = option::weighted(0.3, tool_input());
    let approval = option::of(wait_id());
    let until = option::of(wall_time());
    (
        tool_attempt(),
        approval,
        edited,
        any::<bool>(),
        until,
        duration(),
    )
        .prop_map(
            |(attempt, approval, edited, may_repeat, repeat_until, time_limit)| Fact::CallStarted {
                approval,
                attempt,
                edited: edited.map(Arc::new),
                may_repeat,
                repeat_until,
                time_limit,
            },
        )
        .boxed()
}

fn late() -> BoxedStrategy<Fact> {
    let outcome =
        (tool_attempt(), any::<bool>(), any::<u32>()).prop_map(|(attempt, is_error, size)| {
            Late::Outcome {
                attempt,
                is_error,
                size: size as usize,
            }
        });
    let used = (model_attempt(), detailed_usage())
        .prop_map(|(attempt, usage)| Late::Usage { attempt, usage });
    prop_oneof![outcome, used].prop_map(Fact::Late).boxed()
}

fn model_call_end() -> impl Strategy<Value = ModelCallEnd> + Clone {
    prop_oneof![
        Just(ModelCallEnd::Cancelled),
        Just(ModelCallEnd::Lost),
        model_failure().prop_map(ModelCallEnd::Failed),
    ]
}

fn model_call_ended() -> BoxedStrategy<Fact> {
    let partial = option::of(assistant_message());
    let usage = option::of(prop_oneof![detailed_usage(), estimated_usage()]);
    let flags = (any::<bool>(), any::<bool>());
    (
        flags,
        model_attempt(),
        option::weighted(0.3, duration()),
        partial,
        option::of(wall_time()),
        reservations(),
        usage,
        model_call_end(),
    )
        .prop_map(
            |(flags, attempt, first_token, partial, retry_at, settled, usage, why)| {
                let (at_once, withdrawn) = flags;
                Fact::ModelCallEnded {
                    at_once,
                    attempt,
                    first_token,
                    partial: partial.map(Arc::new),
                    retry_at,
                    settled,
                    usage,
                    why,
                    withdrawn,
                }
            },
        )
        .boxed()
}

fn model_call_started() -> BoxedStrategy<Fact> {
    let tools = prop_oneof![
        Just(ToolUse::Allowed),
        Just(ToolUse::FirstRoundOnly),
        limit_kind().prop_map(ToolUse::LastRound),
    ];
    (
        duration(),
        model_attempt(),
        option::weighted(0.3, target_choice()),
        reservations(),
        0..3_u32,
        tools,
    )
        .prop_map(
            |(active, attempt, choice, reserved, target, tools)| Fact::ModelCallStarted {
                active,
                attempt,
                choice: choice.map(Arc::new),
                reserved,
                target,
                tools,
            },
        )
        .boxed()
}

fn reply_received() -> BoxedStrategy<Fact> {
    let first_token = option::weighted(0.3, duration());
    (turn_id(), model_attempt(), first_token, reservations())
        .prop_flat_map(|(turn, attempt, first_token, settled)| {
            let (attempt_again, reply) = (Just(attempt), reply(turn, attempt));
            (attempt_again, reply, Just(first_token), Just(settled))
        })
        .prop_map(
            |(attempt, reply, first_token, settled)| Fact::ReplyReceived {
                attempt,
                first_token,
                reply: Arc::new(reply),
                settled,
            },
        )
        .boxed()
}

fn session_forked() -> BoxedStrategy<Fact> {
    let place = (option::of(1..9_u32), 1..9_u32, turn_id());
    let place = place.prop_map(|(round, ordinal, turn)| ForkPlace {
        ordinal,
        round,
        turn,
    });
    let revealed = vec(tool_name(), 0..3);
    (place, id(SessionId::MAX), conversation(), revealed)
        .prop_map(|(at, from, messages, revealed)| Fact::SessionForked {
            at,
            from: match SessionId::parse(&from) {
                Ok(from) => from,
                Err(invalid) => unreachable!("{invalid}"),
            },
            messages: Arc::new(messages),
            revealed,
        })
        .boxed()
}

fn session_imported() -> BoxedStrategy<Fact> {
    let title = option::of(text());
    (option::of(wall_time()), conversation(), text(), title)
        .prop_map(|(created, messages, source, title)| Fact::SessionImported {
            created,
            messages: Arc::new(messages),
            source,
            title,
        })
        .boxed()
}

fn turn_ended() -> BoxedStrategy<Fact> {
    (turn_end(), option::weighted(0.3, digest()))
        .prop_map(|(end, view)| Fact::TurnEnded { end, view })
        .boxed()
}

fn turn_opened() -> BoxedStrategy<Fact> {
    (opening(), 1..9_u32, setup(), turn_id())
        .prop_map(|(opening, ordinal, setup, turn)| Fact::TurnOpened {
            opening,
            ordinal,
            setup: Arc::new(setup),
            turn,
        })
        .boxed()
}

fn turn_resumed() -> BoxedStrategy<Fact> {
    let why = prop_oneof![
        Just(Restriction::Changed),
        Just(Restriction::Gone),
        text().prop_map(Restriction::Denied),
    ];
    let tools = btree_map(tool_name(), why, 1..4);
    let restrictions = tools.prop_map(|tools| Arc::new(Restrictions { tools }));
    (1..9_u32, option::of(restrictions))
        .prop_map(|(nth, restrictions)| Fact::TurnResumed { nth, restrictions })
        .boxed()
}

fn wait_closed() -> BoxedStrategy<Fact> {
    (wait_end(), option::of(digest()), wait_id())
        .prop_map(|(end, subject, wait)| Fact::WaitClosed { end, subject, wait })
        .boxed()
}

fn wait_opened() -> BoxedStrategy<Fact> {
    wait().prop_map(|wait| Fact::WaitOpened { wait }).boxed()
}

/// The kind of a step's input.
pub fn input_kind() -> impl Strategy<Value = InputKind> + Clone {
    select(
        &[
            InputKind::Began,
            InputKind::Delivered,
            InputKind::Forked,
            InputKind::Imported,
            InputKind::Recovered,
            InputKind::ReplyDelta,
            InputKind::ReplyEnded,
            InputKind::ReplyFailed,
            InputKind::ToolAccepted,
            InputKind::ToolAsked,
            InputKind::ToolFailed,
            InputKind::ToolFinished,
            InputKind::Woke,
        ][..],
    )
}

/// A step of any number, with up to two facts.
pub fn envelope() -> impl Strategy<Value = Envelope> + Clone {
    (
        vec(fact(), 0..3),
        input_kind(),
        now(),
        any::<u64>(),
        any::<u32>(),
    )
        .prop_map(|(facts, input, now, step, version)| Envelope {
            facts,
            input,
            now,
            step,
            version,
        })
        .boxed()
}

/// Up to `most` steps, numbered consecutively from `first`.
pub fn envelopes(first: u64, most: usize) -> impl Strategy<Value = Vec<Envelope>> + Clone {
    vec(envelope(), 0..=most)
        .prop_map(move |mut envelopes| {
            for (step, envelope) in (first..).zip(&mut envelopes) {
                envelope.step = step;
            }
            envelopes
        })
        .boxed()
}
