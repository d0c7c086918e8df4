//! Budgets: what a turn may spend is reserved before it is spent.

use std::sync::Arc;

use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::limits::{Allowance, Limits};
use jackfield_domain::price::Money;
use jackfield_domain::settings::Settings;
use jackfield_domain::setup::Setup;

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
