//! Scenarios: setups and lists of things that happen, generated.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::compaction::CompactionPolicy;
use jackfield_domain::digest::Digest;
use jackfield_domain::find_tools;
use jackfield_domain::ids::{ToolName, ToolboxId};
use jackfield_domain::limits::{Allowance, Limits, OnLimit};
use jackfield_domain::locate::chain;
use jackfield_domain::message::Message;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::price::{Money, Price, Rates};
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Setup;
use jackfield_domain::target::Target;
use jackfield_domain::tool::{
    Catalog, CatalogEntry, Discovery, InputFormat, Permission, Safety, ToolDefinition, ToolOrigin,
    UnknownPolicy,
};
use proptest::prelude::*;

use super::{CrashPoint, Op};

/// The tools of the world: one of each kind of decision.
pub(crate) const TOOLS: [&str; 9] = [
    "read",
    "write",
    "ask",
    "client",
    "denied",
    "careful",
    "again",
    "ask_again",
    "gone",
];

/// The tool that a search finds, in worlds.
pub(crate) const HIDDEN: &str = "hidden";

/// Whose the sessions of all worlds are.
pub(crate) const PRINCIPAL: &str = "somebody";

/// A setup for worlds.
pub(crate) fn setup(limits: Limits) -> Setup {
    let model = ModelRef {
        model: "model".into(),
        provider: "provider".into(),
    };
    Setup {
        limits,
        ..Setup::new(model, catalog())
    }
}

fn catalog() -> Catalog {
    // "gone" is called by the model although there is no such tool.
    let tools = TOOLS.iter().filter(|name| **name != "gone");
    tools.map(|name| entry(name)).collect()
}

/// The tools of a turn that finds one of them by a search.
fn searched() -> Catalog {
    let mut hidden = entry(HIDDEN);
    hidden.discovery = Some(Discovery::Deferred);
    let catalog: Catalog = catalog().iter().cloned().chain([hidden]).collect();
    let search = find_tools::entry(&catalog);
    catalog.iter().cloned().chain(search).collect()
}

fn entry(name: &str) -> CatalogEntry {
    let definition = ToolDefinition {
        description: name.into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(serde_json::json!({"type": "object"}))),
        name: ToolName::parse(name).expect("a valid name"),
        output: None,
        strict: None,
    };
    CatalogEntry {
        asked_by: None,
        definition: Arc::new(definition),
        digest: Digest::of(name.as_bytes()),
        discovery: None,
        icon: None,
        origin: ToolOrigin {
            tool: name.into(),
            toolbox: ToolboxId::parse("box").expect("a valid id"),
        },
        permission: match name {
            "ask" | "ask_again" => Permission::Ask,
            "denied" => Permission::Deny("denied by a rule".into()),
            _ => Permission::Allow,
        },
        ran_by: if name == "client" {
            RanBy::Client
        } else {
            RanBy::Engine
        },
        safety: if name == "read" {
            Safety::ReadOnly
        } else {
            Safety::Unknown
        },
        time_limit: None,
        title: None,
        when_unknown: match name {
            "careful" => UnknownPolicy::Ask,
            "again" | "ask_again" => UnknownPolicy::Retry,
            _ => UnknownPolicy::Report,
        },
    }
}

/// Setups.
pub(crate) fn setups() -> impl Strategy<Value = Setup> {
    let limits = (
        1..=3_u32,
        1..=5_u32,
        0..=2_u32,
        any::<bool>(),
        any::<bool>(),
        2..=4_u32,
    );
    let rest = (
        any::<bool>(),
        prop::bool::weighted(0.9),
        prop::option::weighted(0.2, 100..40_000_u64),
        prop::option::weighted(0.1, 100..160_000_u64),
        any::<bool>(),
        prop_oneof![2 => Just(0_u32), 1 => 1..=2_u32],
        prop::option::weighted(0.3, prop::option::weighted(0.7, 200..700_u64)),
        route(),
    );
    (limits, rest).prop_map(|(limits, rest)| {
        let (parallel_calls, rounds, model_retries, is_error, small, repeats) = limits;
        let (
            can_supersede,
            tools_after_first_round,
            tokens,
            cost,
            calls_as_written,
            more,
            window,
            route,
        ) = rest;
        let route = route.filter(|_| more > 0);
        let (affinity, first_byte, is_filtered) = route.unwrap_or_default();
        let fallbacks = (1..=more).map(|n| Target {
            // The last one takes what a filter refused.
            content_filter: is_filtered && n == more,
            first_byte: first_byte.map(Duration::from_secs),
            model: ModelRef {
                model: format!("model-{n}").into(),
                provider: "other".into(),
            },
            // Each is dearer than the one before it.
            price: cost.map(|_| price(u64::from(n) + 1)),
            window: window.flatten(),
        });
        let on_limit = if is_error {
            OnLimit::Error
        } else {
            OnLimit::Answer
        };
        let shown = if small { 40 } else { 4096 };
        let limits = Limits {
            approval: Duration::from_secs(60),
            client_tool: Duration::from_secs(20),
            model_idle: Duration::from_secs(15),
            model_retries,
            on_limit,
            parallel_calls,
            repeats,
            rounds,
            shown,
            stored: 200,
            tool_call: Duration::from_secs(10),
            ..Limits::default()
        };
        let allowance = Allowance {
            cost: cost.map(Money::from_picos),
            tokens,
            ..Allowance::default()
        };
        let mut caller = caller(Display {
            calls_as_written,
            server_tools: repeats.is_multiple_of(2),
        });
        // What a client keeps itself of the turn is not compacted.
        caller.view = caller.view.filter(|_| window.is_none() || calls_as_written);
        Setup {
            allowance,
            caller: Some(Arc::new(caller)),
            can_supersede,
            catalog: Arc::new(searched()),
            compaction: window.map(|_| CompactionPolicy { at_percent: 80 }),
            affinity: affinity.filter(|target| *target <= more),
            fallbacks: fallbacks.collect(),
            pauses: is_error,
            first_byte: first_byte.map(Duration::from_secs),
            route: route.map(|_| "route".into()),
            price: cost.map(|_| price(1)),
            strict: can_supersede.then_some(NoteEffect::Quality),
            tools_after_first_round,
            window: window.flatten(),
            ..setup(limits)
        }
    })
}

/// A route: the target of an earlier request, the limit to a first piece, and whether a target is for refusals of a
/// content filter.
fn route() -> impl Strategy<Value = Option<(Option<u32>, Option<u64>, bool)>> {
    let first_byte = prop::option::weighted(0.5, 3..20_u64);
    let route = (
        prop::option::weighted(0.3, 0..3_u32),
        first_byte,
        any::<bool>(),
    );
    prop::option::weighted(0.4, route)
}

/// A client that keeps the conversation, as it begins every world.
fn caller(display: Display) -> Caller {
    let view = chain(&[Message::user("do it")]);
    Caller {
        body: None,
        dialect: "claude".into(),
        display,
        echo: None,
        key: None,
        model: "model".into(),
        principal: PRINCIPAL.into(),
        view: view.last().copied(),
    }
}

/// Output is four times as dear as input.
fn price(times: u64) -> Price {
    Price {
        currency: "USD".into(),
        date: "2026-11-01".into(),
        rates: Rates {
            cache_read: Money::from_picos(times),
            cache_write: Money::from_picos(2 * times),
            ..Rates::new(Money::from_picos(times), Money::from_picos(4 * times))
        },
        source: "a test".into(),
        variants: Vec::new(),
    }
}

/// What happens.
pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let crash = prop_oneof![
        Just(CrashPoint::AfterAct),
        Just(CrashPoint::BeforeAct),
        Just(CrashPoint::BeforeCommit),
        Just(CrashPoint::Now),
    ];
    let op = prop_oneof![
        16 => (any::<u16>(), any::<u16>()).prop_map(|(pick, variant)| Op::Answer { pick, variant }),
        3 => prop_oneof![Just(100_u32), Just(6_000), Just(11_000), Just(21_000), Just(70_000)]
            .prop_map(|millis| Op::Advance { millis }),
        14 => (prop::bool::weighted(0.7), any::<u16>(), any::<u16>())
            .prop_map(|(consumed, pick, variant)| Op::Deliver { consumed, pick, variant }),
        6 => crash.prop_map(|point| Op::Crash { point }),
        2 => any::<u16>().prop_map(|pick| Op::Forbid { pick }),
        2 => any::<u16>().prop_map(|pick| Op::Repeat { pick }),
        1 => Just(Op::Cancel),
        1 => (0..3_u32, prop::option::weighted(0.8, 0..40_u8)).prop_map(|(target, seconds)| Op::Trip { target, seconds }),
    ];
    prop::collection::vec(op, 0..40)
}
