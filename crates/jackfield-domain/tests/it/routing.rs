//! Breakers, the order of targets, and the choice of one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::price::{Money, Price, Rates};
use jackfield_domain::request::ModelRef;
use jackfield_domain::routing::{
    Abilities, Breaker, BreakerPass, BreakerRules, BreakerState, ChoiceInput, Chosen, Fault,
    FaultScope, Needs, OnExhausted, OrderInput, Rotation, Route, RouteTarget, Strategy as Sorting,
    choose, order,
};
use jackfield_domain::target::BreakerSnapshot;
use jackfield_domain::time::{MonoTime, WallTime};
use proptest::prelude::*;

const KINDS: [ModelFailureKind; 19] = [
    ModelFailureKind::BudgetExhausted,
    ModelFailureKind::BudgetUnavailable,
    ModelFailureKind::ContentFilter,
    ModelFailureKind::ContextTooLong {
        limit: None,
        requested: None,
    },
    ModelFailureKind::Forbidden,
    ModelFailureKind::Interrupted,
    ModelFailureKind::InvalidRequest,
    ModelFailureKind::ModelNotFound,
    ModelFailureKind::Overloaded,
    ModelFailureKind::ProtocolViolation,
    ModelFailureKind::RateLimited,
    ModelFailureKind::ServerError,
    ModelFailureKind::Timeout,
    ModelFailureKind::TooLarge,
    ModelFailureKind::ToolsUnsupported,
    ModelFailureKind::Transport,
    ModelFailureKind::Unauthenticated,
    ModelFailureKind::Unsupported,
    ModelFailureKind::UnusableReply,
];

fn failure(kind: ModelFailureKind) -> ModelFailure {
    ModelFailure::new(kind, Phase::BeforeFirstDelta, "a test")
}

fn at(millis: u64) -> MonoTime {
    MonoTime::from_start(Duration::from_millis(millis))
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A breaker after these outcomes, all at one instant: `true` is an answer.
fn breaker(outcomes: &[bool], now: MonoTime) -> Breaker {
    let mut breaker = Breaker::new(BreakerRules::default());
    for outcome in outcomes {
        let pass = breaker.pass(now);
        if *outcome {
            breaker.answered(pass, now);
        } else {
            breaker.failed(pass, &failure(ModelFailureKind::ServerError), now);
        }
    }
    breaker
}

#[test]
fn faults_are_by_disposition() {
    let faults: Vec<Fault> = KINDS.iter().map(|kind| Fault::of(*kind)).collect();
    assert_eq!(
        faults,
        [
            Fault::Client,
            Fault::Client,
            Fault::ContentFilter,
            Fault::ContextTooLong,
            Fault::Down(FaultScope::Account),
            Fault::Transient,
            Fault::Client,
            Fault::Down(FaultScope::Model),
            Fault::Transient,
            Fault::Transient,
            Fault::Transient,
            Fault::Transient,
            Fault::Transient,
            Fault::Client,
            Fault::Inability,
            Fault::Transient,
            Fault::Down(FaultScope::Account),
            Fault::Inability,
            Fault::Inability,
        ]
    );
}

#[test]
fn a_breaker_opens_at_half_of_five_outcomes() {
    let now = at(100_000);
    let state = |outcomes: &[bool]| breaker(outcomes, now).state(now);
    assert_eq!(state(&[false; 4]), BreakerState::Closed);
    assert_eq!(state(&[false; 5]), BreakerState::Open(seconds(5)));
    assert_eq!(
        state(&[true, true, true, false, false]),
        BreakerState::Closed
    );
    assert_eq!(
        state(&[true, true, false, false, false]),
        BreakerState::Open(seconds(5))
    );
}

#[test]
fn outcomes_count_for_thirty_seconds() {
    let mut old = breaker(&[false; 4], at(0));
    old.failed(
        old.pass(at(31_000)),
        &failure(ModelFailureKind::Timeout),
        at(31_000),
    );
    assert_eq!(old.state(at(31_000)), BreakerState::Closed);
    let mut recent = breaker(&[false; 4], at(0));
    recent.failed(
        recent.pass(at(29_000)),
        &failure(ModelFailureKind::Timeout),
        at(29_000),
    );
    assert_eq!(recent.state(at(29_000)), BreakerState::Open(seconds(5)));
}

#[test]
fn the_cooldown_doubles_up_to_its_bound_and_an_answer_resets_it() {
    let mut now = 0;
    let mut breaker = breaker(&[false; 5], at(now));
    let mut cooldowns = Vec::new();
    for _ in 0..8 {
        let BreakerState::Open(left) = breaker.state(at(now)) else {
            panic!("not open: {breaker:?}");
        };
        cooldowns.push(left.as_secs());
        now += u64::try_from(left.as_millis()).unwrap();
        let trial = breaker.reserve_trial(at(now)).unwrap();
        breaker.failed(trial, &failure(ModelFailureKind::ServerError), at(now));
    }
    assert_eq!(cooldowns, [5, 10, 20, 40, 80, 160, 300, 300]);
    now += 300_000;
    let trial = breaker.reserve_trial(at(now)).unwrap();
    breaker.answered(trial, at(now));
    assert_eq!(breaker.state(at(now)), BreakerState::Closed);
    for _ in 0..5 {
        breaker.failed(
            breaker.pass(at(now)),
            &failure(ModelFailureKind::ServerError),
            at(now),
        );
    }
    assert_eq!(breaker.state(at(now)), BreakerState::Open(seconds(5)));
}

#[test]
fn a_provider_that_asks_for_a_pause_gets_it_within_bounds() {
    let pause = |wait| {
        let mut breaker = Breaker::new(BreakerRules::default());
        let mut limited = failure(ModelFailureKind::RateLimited);
        limited.advice = RetryAdvice::After(Duration::from_millis(wait));
        breaker.failed(BreakerPass::Ordinary, &limited, at(0));
        breaker.state(at(0))
    };
    assert_eq!(pause(20_000), BreakerState::Open(seconds(20)));
    assert_eq!(pause(999), BreakerState::Closed);
    assert_eq!(pause(86_400_000), BreakerState::Open(seconds(300)));
}

#[test]
fn what_is_down_is_out_at_once_for_half_an_hour() {
    for kind in [
        ModelFailureKind::Forbidden,
        ModelFailureKind::ModelNotFound,
        ModelFailureKind::Unauthenticated,
    ] {
        let mut breaker = Breaker::new(BreakerRules::default());
        breaker.failed(BreakerPass::Ordinary, &failure(kind), at(0));
        assert_eq!(
            breaker.state(at(0)),
            BreakerState::Open(seconds(1800)),
            "{kind:?}"
        );
    }
}

#[test]
fn a_plain_models_answer_closes_an_open_breaker() {
    let mut open = breaker(&[false; 5], at(0));
    let pass = open.pass(at(1_000));
    assert_eq!(pass, BreakerPass::Exempt);
    open.answered(pass, at(2_000));
    assert_eq!(open.state(at(2_000)), BreakerState::Closed);
    // One that began before it opened does not.
    let mut open = breaker(&[false; 5], at(0));
    open.answered(BreakerPass::Ordinary, at(2_000));
    assert_eq!(open.state(at(2_000)), BreakerState::Open(seconds(3)));
}

#[test]
fn a_clock_that_is_set_back_lengthens_no_cooldown() {
    let mut open = breaker(&[false; 5], at(3_600_000));
    assert_eq!(open.state(at(0)), BreakerState::Open(seconds(5)));
    open.failed(
        BreakerPass::Ordinary,
        &failure(ModelFailureKind::ServerError),
        at(0),
    );
    assert_eq!(open.state(at(5_000)), BreakerState::HalfOpen);
}

/// What happens to a breaker. Numbers are taken modulo what there is.
#[derive(Clone, Copy, Debug)]
enum Op {
    Advance(u64),
    Answered(usize),
    Failed(usize, usize, Option<u64>),
    Passed,
    Released(usize),
    SetBack(u64),
    Tried,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..20_000_u64).prop_map(Op::Advance),
        1 => (0..2_000_000_u64).prop_map(Op::Advance),
        1 => (0..100_000_u64).prop_map(Op::SetBack),
        6 => Just(Op::Passed),
        4 => Just(Op::Tried),
        4 => any::<usize>().prop_map(Op::Answered),
        2 => any::<usize>().prop_map(Op::Released),
        8 => (any::<usize>(), any::<usize>(), prop::option::weighted(0.2, 0..400_000_u64))
            .prop_map(|(which, kind, wait)| Op::Failed(which, kind, wait)),
    ]
}

proptest! {
    /// Whatever happens: one trial at most is in flight, looking changes nothing, a trial that is given back is free
    /// again, what the target is not to blame for changes nothing else, and no cooldown is longer than its bound.
    #[test]
    fn a_breaker_lets_one_trial_through(ops in prop::collection::vec(op(), 0..200)) {
        let rules = BreakerRules::default();
        let mut breaker = Breaker::new(rules);
        let mut now = 10_000_000_u64;
        let mut flying: Vec<BreakerPass> = Vec::new();
        // The trial that has no outcome yet, unless the breaker was closed or opened without it.
        let mut trial: Option<BreakerPass> = None;
        for op in ops {
            let mono = at(now);
            let before = breaker.clone();
            let state = breaker.state(mono);
            prop_assert_eq!(&before, &breaker);
            match op {
                Op::Advance(millis) => now += millis,
                Op::SetBack(millis) => now = now.saturating_sub(millis),
                Op::Passed => flying.push(breaker.pass(mono)),
                Op::Tried => match breaker.reserve_trial(mono) {
                    Some(reserved) => {
                        prop_assert_eq!(state, BreakerState::HalfOpen);
                        prop_assert_eq!(trial, None);
                        prop_assert_eq!(breaker.state(mono), BreakerState::Trying);
                        prop_assert_eq!(breaker.reserve_trial(mono), None);
                        flying.push(reserved);
                        trial = Some(reserved);
                    }
                    None => prop_assert_ne!(state, BreakerState::HalfOpen),
                },
                Op::Answered(which) if !flying.is_empty() => {
                    let pass = flying.swap_remove(which % flying.len());
                    breaker.answered(pass, mono);
                }
                Op::Released(which) if !flying.is_empty() => {
                    let pass = flying.swap_remove(which % flying.len());
                    breaker.release(pass);
                    let is_trial = trial == Some(pass);
                    prop_assert_eq!(breaker.state(mono) != state, is_trial);
                }
                Op::Failed(which, kind, wait) if !flying.is_empty() => {
                    let pass = flying.swap_remove(which % flying.len());
                    let mut failed = failure(KINDS[kind % KINDS.len()]);
                    if let Some(wait) = wait {
                        failed.advice = RetryAdvice::After(Duration::from_millis(wait));
                    }
                    breaker.failed(pass, &failed, mono);
                    let blameless = !matches!(Fault::of(failed.kind), Fault::Down(_) | Fault::Transient);
                    if blameless && trial != Some(pass) {
                        prop_assert_eq!(breaker.state(mono), state);
                    }
                }
                Op::Answered(_) | Op::Failed(..) | Op::Released(_) => {}
            }
            if breaker.state(at(now)) != BreakerState::Trying {
                trial = None;
            }
            if let BreakerState::Open(left) = breaker.state(at(now)) {
                prop_assert!(left <= rules.down.max(rules.longest_cooldown));
            }
            // Whatever the clock did, the target gets another chance.
            let mut looked_at = breaker.clone();
            let _seen = looked_at.reserve_trial(at(now));
            let later = at(now + 1_800_000);
            let is_open = matches!(looked_at.state(later), BreakerState::Open(_));
            prop_assert!(!is_open);
        }
    }

    /// A closed breaker opens exactly when a recount of its outcomes says so.
    #[test]
    fn a_breaker_counts_what_happened(
        outcomes in prop::collection::vec((0..12_000_u64, any::<bool>()), 1..60),
    ) {
        let mut breaker = Breaker::new(BreakerRules::default());
        let (mut now, mut seen) = (1_000_000_u64, Vec::new());
        for (later, answered) in outcomes {
            now += later;
            seen.push((now / 1_000, answered));
            let counted = seen.iter().filter(|(second, _)| *second >= now / 1_000 - 30);
            let all = counted.clone().count();
            let failed = counted.filter(|(_, answered)| !answered).count();
            if answered {
                breaker.answered(BreakerPass::Ordinary, at(now));
            } else {
                breaker.failed(BreakerPass::Ordinary, &failure(ModelFailureKind::Timeout), at(now));
            }
            let opens = !answered && all >= 5 && failed * 2 >= all;
            prop_assert_eq!(breaker.state(at(now)) != BreakerState::Closed, opens);
            if opens {
                break;
            }
        }
    }

    /// No request is lost: as long as a target is left, one is chosen, and it is a blocked one only if all are.
    #[test]
    fn a_choice_is_made_as_long_as_a_target_is_left(
        left in prop::collection::btree_set(0..6_u32, 0..6),
        breakers in prop::collection::btree_map(0..6_u32, prop::option::of(0..200_i64), 0..6),
        preferred in prop::option::of(0..7_u32),
    ) {
        let now = WallTime::from_millis(100);
        let snapshots: Vec<BreakerSnapshot> = breakers
            .iter()
            .map(|(target, at)| BreakerSnapshot {
                retry_at: at.map(WallTime::from_millis),
                target: *target,
            })
            .collect();
        let is_blocked = |target: &u32| {
            breakers.get(target).is_some_and(|at| at.is_none_or(|at| at > 100))
        };
        let free: BTreeSet<u32> = left.iter().copied().filter(|one| !is_blocked(one)).collect();
        let breakers = &snapshots[..];
        let chosen = choose(&ChoiceInput { breakers, left: &left, now, preferred });
        match chosen {
            None => prop_assert!(left.is_empty()),
            Some(Chosen::Preferred(target)) => {
                prop_assert!(free.contains(&target) && preferred == Some(target));
            }
            Some(Chosen::First(target)) => {
                prop_assert_eq!(free.first(), Some(&target));
                prop_assert!(preferred.is_none_or(|preferred| !free.contains(&preferred)));
            }
            Some(Chosen::LastLeft(target)) => {
                prop_assert!(free.is_empty() && left.contains(&target));
                let at = |target: &u32| {
                    let retry_at = snapshots.iter().find(|one| one.target == *target);
                    retry_at.and_then(|one| one.retry_at).map_or(i64::MAX, WallTime::as_millis)
                };
                prop_assert!(left.iter().all(|other| at(other) >= at(&target)));
            }
        }
    }

    /// Each target of a weighted route gets its share exactly, once for each round of all weights, whichever are
    /// blocked.
    #[test]
    fn weights_hold_in_the_long_run(
        weights in prop::collection::vec(1..20_u32, 1..6),
        blocked in prop::collection::vec(prop::bool::weighted(0.3), 6),
        rounds in 1..5_u32,
    ) {
        let route = route(Sorting::Weighted, weights.iter().map(|weight| (*weight, 0)));
        let is_blocked = &blocked[..weights.len()];
        let free = |index: usize| !is_blocked[index];
        let all: u32 = (0..weights.len()).filter(|index| free(*index)).map(|index| weights[index]).sum();
        let mut rotation = Rotation::default();
        let mut taken: BTreeMap<usize, u32> = BTreeMap::new();
        let usable = vec![true; weights.len()];
        for _ in 0..all * rounds {
            let input = OrderInput { is_blocked, ..idle(&usable) };
            let first = order(&route, &input, Some(&mut rotation))[0];
            *taken.entry(first).or_default() += 1;
        }
        for (index, weight) in weights.iter().enumerate() {
            let expected = if free(index) { weight * rounds } else { 0 };
            if all > 0 {
                prop_assert_eq!(taken.get(&index).copied().unwrap_or_default(), expected);
            }
        }
    }

    /// Whatever the strategy: all targets that can serve the request, and no other, by tier.
    #[test]
    fn an_order_has_each_usable_target_once_by_tier(
        targets in prop::collection::vec((1..5_u32, 0..3_u32, any::<bool>(), prop::option::of(1..9_u64), 0..9_u32), 1..7),
        strategy in prop::sample::select(&[Sorting::Cheapest, Sorting::LeastBusy, Sorting::Ordered, Sorting::Weighted][..]),
    ) {
        let route = route(strategy, targets.iter().map(|one| (one.0, one.1)));
        let usable: Vec<bool> = targets.iter().map(|one| one.2).collect();
        let prices: Vec<Option<Price>> = targets.iter().map(|one| one.3.map(price)).collect();
        let busy: Vec<u32> = targets.iter().map(|one| one.4).collect();
        let input = OrderInput { busy: &busy, prices: &prices, ..idle(&usable) };
        let sorted = order(&route, &input, Some(&mut Rotation::default()));
        let expected: BTreeSet<usize> = (0..targets.len()).filter(|index| usable[*index]).collect();
        prop_assert_eq!(sorted.iter().copied().collect::<BTreeSet<_>>(), expected);
        prop_assert_eq!(sorted.iter().collect::<BTreeSet<_>>().len(), sorted.len());
        for pair in sorted.windows(2) {
            let (one, other) = (&targets[pair[0]], &targets[pair[1]]);
            prop_assert!(one.1 <= other.1);
            if one.1 == other.1 {
                match strategy {
                    Sorting::Cheapest => prop_assert!(one.3.unwrap_or(99) <= other.3.unwrap_or(99)),
                    Sorting::LeastBusy => prop_assert!(one.4 * other.0 <= other.4 * one.0),
                    Sorting::Ordered => prop_assert!(pair[0] < pair[1]),
                    Sorting::Weighted => {}
                }
            }
        }
    }
}

/// Targets that are idle, free, and of unknown price.
fn idle(is_usable: &[bool]) -> OrderInput<'_> {
    OrderInput {
        busy: &[],
        is_blocked: &[],
        is_usable,
        prices: &[],
    }
}

/// A route of targets with these weights and tiers.
fn route(strategy: Sorting, targets: impl Iterator<Item = (u32, u32)>) -> Route {
    let targets = targets
        .enumerate()
        .map(|(index, (weight, tier))| RouteTarget {
            abilities: Abilities::ALL,
            content_filter: false,
            first_byte: None,
            model: ModelRef {
                model: format!("model-{index}").into(),
                provider: "provider".into(),
            },
            tier,
            weight,
        });
    Route {
        name: "route".into(),
        cache_minimum: 1024,
        on_exhausted: OnExhausted::default(),
        sticky: true,
        strategy,
        targets: targets.collect(),
    }
}

pub(crate) fn price(picos: u64) -> Price {
    Price {
        currency: "USD".into(),
        date: "2026-11-01".into(),
        rates: Rates {
            cache_read: Money::from_picos(picos),
            cache_write: Money::from_picos(picos),
            ..Rates::new(Money::from_picos(picos), Money::from_picos(picos))
        },
        source: "a test".into(),
        variants: Vec::new(),
    }
}

#[test]
fn turns_of_a_weighted_route_are_spread_evenly() {
    let route = route(Sorting::Weighted, [(5, 0), (1, 0), (1, 0)].into_iter());
    let (mut rotation, usable) = (Rotation::default(), [true; 3]);
    let mut next = || order(&route, &idle(&usable), Some(&mut rotation))[0];
    let taken: Vec<usize> = (0..7).map(|_| next()).collect();
    assert_eq!(taken, [0, 0, 1, 0, 2, 0, 0]);
}

#[test]
fn a_request_that_goes_where_an_earlier_one_went_uses_up_no_turn() {
    let route = route(Sorting::Weighted, [(1, 0), (1, 0)].into_iter());
    let mut rotation = Rotation::default();
    let before = order(&route, &idle(&[true; 2]), Some(&mut rotation));
    assert_eq!(order(&route, &idle(&[true; 2]), None), [0, 1]);
    let after = order(&route, &idle(&[true; 2]), Some(&mut rotation));
    assert_eq!((before, after), (vec![0, 1], vec![1, 0]));
}

#[test]
fn targets_for_refusals_come_last() {
    let mut route = route(Sorting::Ordered, [(1, 5), (1, 0)].into_iter());
    route.targets[1].content_filter = true;
    assert_eq!(order(&route, &idle(&[true; 2]), None), [0, 1]);
}

#[test]
fn a_target_that_cannot_do_what_a_request_needs_is_named_by_it() {
    let needs = Needs {
        images: true,
        tools: true,
        ..Needs::default()
    };
    let blind = Abilities {
        images: false,
        ..Abilities::ALL
    };
    assert!(Abilities::ALL.covers(needs));
    assert!(!blind.covers(needs));
    assert!(blind.covers(Needs::default()));
    assert_eq!(needs.to_string(), "images and tools");
}
