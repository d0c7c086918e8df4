//! Budgets: what a turn may spend is reserved before it is spent.

use std::sync::Arc;

use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::limits::{Allowance, Limits};
use jackfield_domain::price::Money;
use jackfield_domain::settings::Settings;
use jackfield_domain::setup::Setup;
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use serde_json::json;

use crate::scene::{Scene, calls, check, fails, finishes, passes};
use crate::spending::plain;
use crate::world::setup;

#[test]
fn a_budget_of_money_leads_to_a_last_round_and_to_its_end() {
    let after_one_round = |cost: u64| {
        let setup = Setup {
            allowance: Allowance {
                cost: Some(Money::from_picos(cost)),
                ..Allowance::default()
            },
            settings: Arc::new(Settings {
                max_output_tokens: Some(100),
                ..Settings::default()
            }),
            ..plain()
        };
        let (mut scene, lines) = Scene::begin(Arc::new(setup));
        if lines != ["model 1.1"] {
            return lines;
        }
        scene.play(calls(&["read"]));
        let mut lines = scene.play(finishes("read", "a"));
        lines.remove(0);
        lines
    };
    let spent = 100 * 10 + 50 * 50;
    // Input that is written to a cache is the dearest: 150 tokens that were, and 5 of the outcome.
    let round = 155 * 20 + 100 * 50;
    assert_eq!(after_one_round(spent + 2 * round), ["model 2.1"]);
    assert_eq!(
        after_one_round(spent + 2 * round - 1),
        ["model 2.1 Forbidden"]
    );
    // The whole of a first round has to be there before it begins.
    assert_eq!(
        after_one_round(1),
        ["end Limited { is_error: false, limit: Cost }"]
    );
}

#[test]
fn calls_whose_outcomes_nobody_could_be_told_of_are_not_run() {
    let called = |cost: u64| {
        let (mut scene, lines) = Scene::begin(Arc::new(Setup {
            allowance: Allowance {
                cost: Some(Money::from_picos(cost)),
                ..Allowance::default()
            },
            settings: Arc::new(Settings {
                max_output_tokens: Some(20),
                ..Settings::default()
            }),
            ..plain()
        }));
        assert_eq!(lines, ["model 1.1"]);
        scene.play(calls(&["read"]))
    };
    let spent = 100 * 10 + 50 * 50;
    // What would be sent next is at least what was sent and said.
    let round = 150 * 20 + 20 * 50;
    assert_eq!(called(spent + round), ["run read"]);
    let lines = called(spent + round - 1);
    assert!(!lines.contains(&"run read".to_owned()), "{lines:?}");
    assert_eq!(
        lines.last().map(String::as_str),
        Some("end Limited { is_error: false, limit: Cost }")
    );
}

#[test]
fn everything_that_is_sent_is_reserved() {
    let begins = |of_system: usize, of_tool: usize, of_schema: usize| {
        let plain = plain();
        let tools = plain.catalog.iter().cloned().map(|mut tool| {
            if &*tool.origin.tool == "read" {
                let schema = json!({ "type": "object", "title": "s".repeat(of_schema) });
                tool.definition = Arc::new(ToolDefinition {
                    description: "d".repeat(of_tool).into(),
                    input: InputFormat::Json(Arc::new(schema)),
                    ..ToolDefinition::clone(&tool.definition)
                });
            }
            tool
        });
        let part = SystemPart {
            origin: PartOrigin::Default,
            text: "p".repeat(of_system).into(),
        };
        let (_, lines) = Scene::begin(Arc::new(Setup {
            allowance: Allowance {
                tokens: Some(4_000),
                ..Allowance::default()
            },
            catalog: Arc::new(tools.collect()),
            settings: Arc::new(Settings {
                max_output_tokens: Some(100),
                ..Settings::default()
            }),
            system: Arc::new(SystemPrompt { parts: vec![part] }),
            ..plain
        }));
        lines == ["model 1.1"]
    };
    assert!(begins(400, 400, 400));
    // A token is four bytes.
    for of in [[16_000, 0, 0], [0, 16_000, 0], [0, 0, 16_000]] {
        assert!(!begins(of[0], of[1], of[2]), "{of:?}");
    }
}

#[test]
fn a_budget_of_money_without_a_price_begins_nothing() {
    let setup = Setup {
        allowance: Allowance {
            cost: Some(Money::MAX),
            ..Allowance::default()
        },
        ..setup(Limits::default())
    };
    check(
        setup,
        &["end Limited { is_error: false, limit: Cost }"],
        vec![],
    );
}

#[test]
fn a_retry_that_cannot_be_paid_is_not_made() {
    let setup = Setup {
        allowance: Allowance {
            tokens: Some(4_500),
            ..Allowance::default()
        },
        ..plain()
    };
    let broke = || {
        fails(ModelFailure::new(
            ModelFailureKind::Transport,
            Phase::BeforeFirstDelta,
            "no",
        ))
    };
    let (mut scene, lines) = Scene::begin(Arc::new(setup));
    assert_eq!(lines, ["model 1.1 Forbidden"]);
    let mut all = Vec::new();
    for _ in 0..10 {
        if scene.machine.is_over() {
            break;
        }
        all.extend(scene.play(broke()));
        all.extend(scene.play(passes(8_000)));
    }
    let usage = scene.machine.turn().usage();
    assert!(
        usage.total() + 4096 <= 4_500 + usage.estimated_input,
        "{usage:?} {all:?}"
    );
}
