//! The setup of a turn, its limits, and its policy.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::compaction::CompactionPolicy;
use jackfield_domain::ids::ToolName;
use jackfield_domain::limits::{Allowance, Limits, OnLimit};
use jackfield_domain::policy::{Policy, PolicyRule, RuleVerdict};
use jackfield_domain::price::{Money, Price, PriceVariant, Rates};
use jackfield_domain::setup::{Opening, Setup, Transcript};
use jackfield_domain::tool::{Catalog, Permission};
use proptest::array::uniform5;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::call::tool_outcome;
use super::conversation::{conversation, user_message};
use super::reply::note_effect;
use super::reply::tier;
use super::request::{model_ref, settings, system_prompt};
use super::target::{tags, target, trace_context};
use super::text::{json, text};
use super::tool::{catalog, digest, tool_choice};
use super::wait::wait_id;

/// The permission of a tool.
pub fn permission() -> impl Strategy<Value = Permission> + Clone {
    prop_oneof![
        2 => Just(Permission::Allow),
        1 => Just(Permission::Ask),
        1 => text().prop_map(Permission::Deny),
        1 => (text(), wait_id()).prop_map(|(by, wait)| Permission::Granted { by, wait }),
    ]
    .boxed()
}

/// Rules over a few tools.
pub fn policy() -> impl Strategy<Value = Policy> + Clone {
    let pattern = select(&["*", "files/*", "search", "*read*"][..]);
    let verdict = select(&[RuleVerdict::Allow, RuleVerdict::Ask, RuleVerdict::Deny][..]);
    let rule = (pattern, verdict).prop_map(|(pattern, verdict)| PolicyRule {
        pattern: pattern.into(),
        verdict,
    });
    (any::<bool>(), vec(rule, 0..3))
        .prop_map(|(can_ask, rules)| Policy { can_ask, rules })
        .boxed()
}

/// A duration of up to a minute, in milliseconds.
pub(super) fn duration() -> impl Strategy<Value = Duration> + Clone {
    (0..60_000_u64).prop_map(Duration::from_millis)
}

/// Narrow limits, which turns reach.
pub fn limits() -> impl Strategy<Value = Limits> + Clone {
    let times = (duration(), duration(), duration(), duration(), duration());
    let counts = (0..3_u32, 1..4_u32, 1..4_u32, 1..5_u32);
    let sizes = (1..400_usize, 0..4_000_usize);
    let on_limit = select(&[OnLimit::Answer, OnLimit::Error][..]);
    (times, counts, sizes, on_limit)
        .prop_map(|(times, counts, sizes, on_limit)| {
            let (approval, client_tool, model_idle, retry_after, tool_call) = times;
            let (model_retries, parallel_calls, repeats, rounds) = counts;
            let (shown, more) = sizes;
            Limits {
                approval,
                client_tool,
                model_idle,
                model_retries,
                on_limit,
                parallel_calls,
                repeats,
                retry_after,
                rounds,
                shown,
                stored: shown + more,
                tool_call,
            }
        })
        .boxed()
}

/// The budget of a turn.
pub fn allowance() -> impl Strategy<Value = Allowance> + Clone {
    (
        option::weighted(0.2, duration()),
        option::weighted(0.2, money()),
        option::weighted(0.2, 0..100_000_u64),
        proptest::bool::weighted(0.1),
    )
        .prop_map(|(active, cost, tokens, unpriced)| Allowance {
            active,
            cost,
            tokens,
            unpriced,
        })
        .boxed()
}

/// An amount of money.
pub fn money() -> impl Strategy<Value = Money> + Clone {
    (0..10_000_000_000_000_u64).prop_map(Money::from_picos)
}

/// The price of a model's tokens.
pub fn price() -> impl Strategy<Value = Price> + Clone {
    let variant = (option::of(tier()), 0..300_000_u64, rates());
    let variant = variant.prop_map(|(tier, above, rates)| PriceVariant { above, rates, tier });
    let currency = select(&["EUR", "USD"][..]);
    (currency, rates(), vec(variant, 0..3))
        .prop_map(|(currency, rates, variants)| Price {
            currency: currency.into(),
            date: "2026-11-01".into(),
            rates,
            source: "https://prices.example".into(),
            variants,
        })
        .boxed()
}

fn rates() -> impl Strategy<Value = Rates> {
    let per_token = || (0..100_000_000_u64).prop_map(Money::from_picos);
    let usual = (per_token(), per_token(), per_token(), per_token());
    let others = uniform5(option::of(per_token()));
    (usual, others).prop_map(|((cache_read, cache_write, input, output), others)| {
        let [
            audio_input,
            audio_output,
            cache_write_long,
            image_input,
            image_output,
        ] = others;
        Rates {
            audio_input,
            audio_output,
            cache_read,
            cache_write,
            cache_write_long,
            image_input,
            image_output,
            input,
            output,
        }
    })
}

/// The client of a turn.
pub fn caller() -> impl Strategy<Value = Caller> + Clone {
    (
        option::of(digest()),
        select(&["api", "claude", "openai-chat", "openai-responses"][..]),
        (any::<bool>(), any::<bool>()),
        option::of(json()),
        option::of(text()),
        text(),
        text(),
        option::of(digest()),
    )
        .prop_map(
            |(
                body,
                dialect,
                (calls_as_written, server_tools),
                echo,
                key,
                model,
                principal,
                view,
            )| Caller {
                body,
                dialect: dialect.into(),
                display: Display {
                    calls_as_written,
                    server_tools,
                },
                echo: echo.map(|json| json.to_string().into()),
                key,
                model,
                principal,
                view,
            },
        )
        .boxed()
}

/// The setup of a turn, with a tool choice among its tools.
pub fn setup() -> impl Strategy<Value = Setup> + Clone {
    let tools = catalog().prop_flat_map(|catalog: Catalog| {
        let names: Vec<ToolName> = catalog
            .iter()
            .map(|tool| tool.definition.name.clone())
            .collect();
        (tool_choice(names), Just(catalog))
    });
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let looked_up = (
        option::of(price()),
        option::of(note_effect()),
        option::weighted(0.3, caller()),
    );
    let later = (
        option::weighted(0.2, text()),
        prop_oneof![3 => Just(Vec::new()), 1 => vec(target(), 1..3)],
        option::weighted(0.2, (text(), option::of(0..3_u32), option::of(duration()))),
        option::weighted(0.2, trace_context()),
        option::weighted(0.3, (1..=100_u32, option::of(1..1_000_000_u64))),
        prop_oneof![3 => Just(Vec::new()), 1 => vec(text(), 1..3)],
        tags(),
    );
    let looked_up = (looked_up, later);
    (
        allowance(),
        flags,
        tools,
        limits(),
        model_ref(),
        settings(),
        looked_up,
        system_prompt(),
    )
        .prop_map(
            |(allowance, flags, (choice, catalog), limits, model, settings, looked_up, system)| {
                let ((price, strict, caller), later) = looked_up;
                let (assistant, fallbacks, route, trace, compaction, budgets, tags) = later;
                let (route, affinity, first_byte) = match route {
                    Some((name, affinity, first_byte)) => (Some(name), affinity, first_byte),
                    None => (None, None, None),
                };
                let at_percent = compaction.map(|(at_percent, _)| at_percent);
                Setup {
                    affinity,
                    allowance,
                    assistant,
                    budgets,
                    caller: caller.map(Arc::new),
                    can_supersede: flags.0,
                    catalog: Arc::new(catalog),
                    choice,
                    compaction: at_percent.map(|at_percent| CompactionPolicy { at_percent }),
                    fallbacks,
                    first_byte,
                    given: flags.2.then(|| r#"{"system":""}"#.into()),
                    limits,
                    model,
                    price,
                    route,
                    settings: Arc::new(settings),
                    strict,
                    system: Arc::new(system),
                    own_keys: Vec::new(),
                    pauses: flags.2,
                    tags,
                    tools_after_first_round: flags.1,
                    trace: trace.map(Arc::new),
                    whole: None,
                    window: compaction.and_then(|(_, window)| window),
                }
            },
        )
        .boxed()
}

/// The opening of a turn. Client results answer calls that need not exist.
pub fn opening() -> impl Strategy<Value = Opening> + Clone {
    prop_oneof![
        3 => user_message().prop_map(|message| Opening::UserMessage(Arc::new(message))),
        1 => vec(tool_outcome().prop_map(Arc::new), 1..3).prop_map(Opening::ClientResults),
        1 => conversation().prop_map(|messages| Opening::Transcript(Transcript::stored(messages))),
    ]
    .boxed()
}
