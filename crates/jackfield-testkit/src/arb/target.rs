//! Targets, the reasons for their choice, and budget reservations.

use std::sync::Arc;

use jackfield_domain::caller::tags::{Tag, TagNames};
use jackfield_domain::ids::ModelAttempt;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::target::{BreakerSnapshot, Reservation, Target, TargetChoice, TargetReason};
use jackfield_domain::trace::TraceContext;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::fact::wall_time;
use super::reply::detailed_usage;
use super::request::model_ref;
use super::setup::{duration, money, price};
use super::text::text;

/// A target.
pub fn target() -> impl Strategy<Value = Target> + Clone {
    let window = option::weighted(0.2, 1..1_000_000_u64);
    let first_byte = option::weighted(0.2, duration());
    let route = (any::<bool>(), first_byte);
    (model_ref(), option::of(price()), window, route).prop_map(|(model, price, window, route)| {
        let (content_filter, first_byte) = route;
        Target {
            content_filter,
            first_byte,
            model,
            price,
            window,
        }
    })
}

/// The reason for a target, with the breakers at that time.
pub fn target_choice() -> impl Strategy<Value = TargetChoice> + Clone {
    let breaker = (option::of(wall_time()), 0..4_u32)
        .prop_map(|(retry_at, target)| BreakerSnapshot { retry_at, target });
    let reason = select(
        &[
            TargetReason::Affinity,
            TargetReason::ContentFilter,
            TargetReason::ContextTooLong,
            TargetReason::Fallback,
            TargetReason::LastLeft,
            TargetReason::Strategy,
        ][..],
    );
    (vec(breaker, 0..3), reason)
        .prop_map(|(breakers, reason)| TargetChoice { breakers, reason })
        .boxed()
}

/// Reservations of budgets.
pub fn reservations() -> impl Strategy<Value = Vec<Reservation>> + Clone {
    let one = (text(), option::of(money()), option::of(0..100_000_u64)).prop_map(
        |(budget, cost, tokens)| Reservation {
            budget,
            cost,
            tokens,
        },
    );
    vec(one, 0..3).boxed()
}

/// A trace context.
pub fn trace_context() -> impl Strategy<Value = TraceContext> + Clone {
    (text(), option::of(text()))
        .prop_map(|(parent, state)| TraceContext { parent, state })
        .boxed()
}

/// A spending record.
pub fn spending_record() -> impl Strategy<Value = SpendingRecord> + Clone {
    let texts = (
        text(),
        text(),
        text(),
        option::of(text()),
        option::of(text()),
    );
    let times = (wall_time(), option::of(duration()), duration());
    let used = (
        model_ref(),
        option::of(price()),
        detailed_usage(),
        reservations(),
    );
    (
        texts,
        times,
        used,
        (option::of(100..600_u32), any::<bool>()),
        option::of(trace_context()),
        tags(),
    )
        .prop_map(|(texts, times, used, status, trace, tags)| {
            let (status, repeats_facts) = status;
            let (endpoint, id, principal, request_id, route) = texts;
            let (at, first_token, took) = times;
            let (model, price, usage, mut settled) = used;
            // They are the names of meters, which a database has as texts: no entry of a directory has a NUL.
            for one in &mut settled {
                one.budget = one.budget.replace('\0', " ").into();
            }
            SpendingRecord {
                own_key: false,
                at,
                endpoint,
                first_token,
                id,
                model,
                price,
                principal,
                repeats_facts,
                request_id,
                route,
                settled,
                status,
                tags,
                took,
                trace: trace.map(Arc::new),
                usage,
            }
        })
        .boxed()
}

/// Tags of a request: most have none.
pub(super) fn tags() -> impl Strategy<Value = Vec<Tag>> + Clone {
    let names = TagNames::parse(["feature", "session", "team"]).unwrap_or_default();
    let pair = (select(&["feature", "session", "team"][..]), text());
    let some = vec(pair, 1..4).prop_map(move |pairs| names.tags(pairs));
    prop_oneof![3 => Just(Vec::new()), 1 => some].boxed()
}

/// An attempt at a model call.
pub(super) fn model_attempt() -> impl Strategy<Value = ModelAttempt> + Clone {
    (1..12_u32, 1..4_u32).prop_map(|(round, attempt)| ModelAttempt { round, attempt })
}
