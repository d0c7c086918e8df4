//! What a turn uses and what that costs: each token priced once, every call counted once, estimates marked.

use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::{ModelAttempt, SessionId};
use jackfield_domain::limits::Limits;
use jackfield_domain::price::{Money, Price, PriceList, Rates};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Setup;
use jackfield_domain::spending;
use jackfield_domain::spending::report::{SpendingGroup, SpendingReport};
use jackfield_domain::target::AttemptTargets;
use jackfield_domain::time::Now;
use jackfield_domain::tool_loop::{Input, LOOP_VERSION, Restrictions};
use jackfield_domain::turn_log::SessionLog;
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::CancelCause;
use proptest::prelude::*;

use crate::scene::{It, Scene, calls, check, fails, finishes, says, text};
use crate::world::setup;

fn price() -> Price {
    Price {
        currency: "USD".into(),
        date: "2026-11-01".into(),
        rates: Rates {
            cache_read: Money::from_picos(1),
            cache_write: Money::from_picos(20),
            ..Rates::new(Money::from_picos(10), Money::from_picos(50))
        },
        source: "a test".into(),
        variants: Vec::new(),
    }
}

pub(crate) fn plain() -> Setup {
    Setup {
        price: Some(price()),
        ..setup(Limits::default())
    }
}

const FIRST: ModelAttempt = ModelAttempt {
    round: 1,
    attempt: 1,
};

/// All facts, in a journal of one step.
pub(crate) fn steps(facts: &[Fact]) -> Vec<Envelope> {
    vec![Envelope {
        facts: facts.to_vec(),
        input: InputKind::Began,
        now: Now::default(),
        step: 0,
        version: LOOP_VERSION,
    }]
}

fn uncounted(words: &'static str) -> It {
    It::Replies {
        parts: vec![text(words)],
        end: Some(ReplyEnd::new(FinishReason::Stop)),
    }
}

fn usage() -> impl Strategy<Value = Usage> {
    let tokens = || 0..1_000_000_u64;
    (tokens(), tokens(), tokens(), tokens(), tokens()).prop_map(
        |(read, write, fresh, output, input)| {
            let mut usage = Usage {
                cache_read: read,
                cache_write: write,
                input: read + write + fresh,
                output,
                ..Usage::default()
            };
            usage += Usage::estimate(input, output);
            usage
        },
    )
}

proptest! {
    #[test]
    fn what_is_used_together_costs_what_it_costs_apart(one in usage(), other in usage()) {
        let price = price();
        let mut both = one;
        both += other;
        let bill = |usage| price.bill(usage).expect("a usual tier");
        let mut sum = bill(&one);
        sum.add(&bill(&other));
        prop_assert_eq!(bill(&both), sum);
        prop_assert!(bill(&both).estimated <= bill(&both).amount);
    }

    #[test]
    fn an_amount_is_written_as_it_is_read(picos in any::<u64>()) {
        let money = Money::from_picos(picos);
        prop_assert_eq!(Money::parse(&money.to_string()), Ok(money));
        let rounded = Money::parse(&format!("{money:.4}"));
        // Rounded up, and by less than a step.
        prop_assert!(rounded.is_err() || rounded.is_ok_and(|r| r >= money && r.as_picos() - picos < 100_000_000));
    }
}

#[test]
fn what_a_provider_says_that_a_call_cost_stands_for_its_earlier_calls_too() {
    let used = |billed| Usage {
        billed,
        input: 100,
        output: 20,
        ..Usage::default()
    };
    let unknown = used(None);
    let known = used(Money::parse("0.5").ok());
    // A reply that only asks.
    let nothing = Usage {
        billed: Some(Money::ZERO),
        ..Usage::default()
    };
    let setup = Setup {
        price: None,
        ..setup(Limits::default())
    };
    for (usages, expected) in [
        (vec![unknown, nothing, known], Some("0.5")),
        (vec![known, known], Some("1")),
        (vec![known, unknown], None),
        (vec![unknown, nothing], None),
    ] {
        let rounds = (1..).map(|round| ModelAttempt { attempt: 1, round });
        let by_attempt = rounds.zip(usages).collect();
        let cost = setup.bill(&AttemptTargets::default(), &by_attempt);
        let amount = cost.map(|cost| cost.amount);
        assert_eq!(amount, expected.and_then(|text| Money::parse(text).ok()));
    }
}

#[test]
fn cached_input_is_priced_once() {
    let usage = Usage {
        cache_read: 100,
        cache_write: 30,
        input: 150,
        output: 7,
        reasoning: 5,
        ..Usage::default()
    };
    let cost = 20 * 10 + 100 + 30 * 20 + 7 * 50;
    assert_eq!(price().cost(&usage), Some(Money::from_picos(cost)));
    // A server that counts more as cached than as input gets nothing below zero.
    let odd = Usage { input: 1, ..usage };
    assert_eq!(price().cost(&odd), Some(Money::from_picos(cost - 200)));
}

#[test]
fn amounts_are_read_and_shown_as_people_write_them() {
    for (text, picos) in [
        ("0.50", Some(500_000_000_000)),
        ("3", Some(3_000_000_000_000)),
        ("0.000000000001", Some(1)),
        ("0.0000000000010", Some(1)),
        ("18446744.073709551615", Some(u64::MAX)),
        ("18446744.073709551616", None),
        ("0.0000000000001", None),
        ("-1", None),
        ("1e3", None),
        (".5", None),
        ("", None),
        ("1,5", None),
    ] {
        let parsed = Money::parse(text).ok().map(Money::as_picos);
        assert_eq!(parsed, picos, "{text}");
    }
    let shown = |picos, places: usize| format!("{:.places$}", Money::from_picos(picos));
    assert_eq!(shown(12_345_600_000, 4), "0.0124");
    assert_eq!(shown(1, 4), "0.0001");
    assert_eq!(shown(0, 4), "0.0000");
    assert_eq!(shown(999_999_999_999, 2), "1.00");
    assert_eq!(shown(1_500_000_000_000, 0), "2");
}

#[test]
fn a_model_without_a_price_has_none_and_not_nothing() {
    let model = |model: &str| ModelRef {
        model: model.into(),
        provider: "here".into(),
    };
    let mut prices = PriceList::default();
    prices.set("here", "a", price());
    assert_eq!(prices.get(&model("a")), Some(price()));
    assert_eq!(prices.get(&model("b")), None);
    let any = Price {
        currency: "EUR".into(),
        ..price()
    };
    prices.set("here", PriceList::ANY, any.clone());
    assert_eq!(
        (prices.get(&model("a")), prices.get(&model("b"))),
        (Some(price()), Some(any))
    );
    let scene = check(
        setup(Limits::default()),
        &["model 1.1"],
        vec![(says("yes"), &["end Answered(Stop)"])],
    );
    assert_eq!(scene.machine.turn().cost(), None);
}

#[test]
fn what_nobody_counted_is_an_estimate_and_says_so() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![(uncounted("Twelve bytes"), &["end Answered(Stop)"])],
    );
    let usage = scene.machine.turn().usage();
    // A start, an end, and twelve bytes.
    assert_eq!(usage.estimated_output, 4);
    assert!(usage.estimated_input > 4);
    assert_eq!(usage.estimated(), usage.total());
    let cost = scene.machine.turn().cost().expect("a price");
    assert_eq!(cost.estimated, cost.amount);
    // A server that counts nothing but zeros does not count.
    let zeros = It::Replies {
        parts: vec![text("Twelve bytes")],
        end: Some(ReplyEnd {
            usage: Some(Usage::default()),
            ..ReplyEnd::new(FinishReason::Stop)
        }),
    };
    let same = check(
        plain(),
        &["model 1.1"],
        vec![(zeros, &["end Answered(Stop)"])],
    );
    assert_eq!(same.machine.turn().usage(), usage);
}

#[test]
fn a_total_says_how_much_of_it_is_an_estimate() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (uncounted("yes"), &["end Answered(Stop)"]),
        ],
    );
    let usage = scene.machine.turn().usage();
    assert_eq!(usage.total() - usage.estimated(), 150);
    assert!(usage.estimated() > 0);
    // What the first reply and its request took is part of the second request.
    assert!(usage.estimated_input > 150, "{usage:?}");
}

#[test]
fn a_call_that_was_cancelled_lost_or_broke_off_is_estimated_and_one_that_was_refused_is_not() {
    let estimated = |scene: &Scene| scene.machine.turn().usage().estimated() > 0;
    let mut cancelled = Scene::begin(Arc::new(plain())).0;
    cancelled.play(It::Cancels(CancelCause::Asked));
    assert!(estimated(&cancelled));
    let mut lost = Scene::begin(Arc::new(plain())).0;
    lost.play(It::Crashes(Restrictions::default()));
    assert!(estimated(&lost));
    for (kind, phase, is_charged) in [
        (ModelFailureKind::Overloaded, Phase::BeforeFirstDelta, false),
        (
            ModelFailureKind::RateLimited,
            Phase::BeforeFirstDelta,
            false,
        ),
        (ModelFailureKind::Transport, Phase::BeforeSend, false),
        (ModelFailureKind::Transport, Phase::BeforeFirstDelta, true),
        (ModelFailureKind::Timeout, Phase::BeforeFirstDelta, true),
        (ModelFailureKind::Overloaded, Phase::MidReply, true),
    ] {
        let mut scene = Scene::begin(Arc::new(plain())).0;
        scene.play(fails(ModelFailure::new(kind, phase, "no")));
        assert_eq!(estimated(&scene), is_charged, "{kind:?} {phase:?}");
    }
}

#[test]
fn a_call_that_breaks_off_costs_what_was_counted_and_an_estimate_of_the_rest_alone() {
    let counted = |output| Usage {
        cache_read: 60,
        input: 100,
        output,
        ..Usage::default()
    };
    let told = |output| {
        It::Told(Input::ReplyCounted {
            attempt: FIRST,
            usage: counted(output),
        })
    };
    let words = || It::Replies {
        parts: vec![text("Twelve bytes")],
        end: None,
    };
    let refused = || {
        fails(ModelFailure::new(
            ModelFailureKind::Overloaded,
            Phase::BeforeFirstDelta,
            "no",
        ))
    };
    let used = |played: Vec<It>| {
        let mut scene = Scene::begin(Arc::new(plain())).0;
        for it in played {
            scene.play(it);
        }
        scene.machine.turn().usage()
    };
    let with = |output, rest| {
        let mut all = counted(output);
        all += Usage::estimate(0, rest);
        all
    };
    let cancels = || It::Cancels(CancelCause::Asked);
    // A start, an end, and twelve bytes came after the count.
    assert_eq!(used(vec![told(1), words(), cancels()]), with(1, 4));
    // What came before it is in it; that something more was made cannot be ruled out.
    assert_eq!(used(vec![words(), told(9), cancels()]), with(9, 1));
    assert_eq!(used(vec![told(1), words(), told(9), cancels()]), with(9, 1));
    // A provider that counts has worked, whatever its failure is called.
    assert_eq!(used(vec![told(1), refused()]), with(1, 1));
    // A reply that is whole is counted at its end, if it is.
    assert_eq!(used(vec![told(1), uncounted("Twelve bytes")]), with(1, 4));
    let whole = Usage {
        input: 100,
        output: 50,
        ..Usage::default()
    };
    assert_eq!(used(vec![told(1), says("yes")]), whole);
    // A count is of one try, and goes with the process that heard it.
    // Nor is it one that has no input.
    let zeros = It::Told(Input::ReplyCounted {
        attempt: FIRST,
        usage: Usage {
            output: 1,
            ..Usage::default()
        },
    });
    for lost in [
        vec![zeros, cancels()],
        vec![told(1), It::Crashes(Restrictions::default())],
    ] {
        let usage = used(lost);
        assert_eq!(usage.estimated(), usage.total());
        assert!(usage.estimated_input > 0);
    }
}

#[test]
fn a_count_that_comes_late_takes_the_place_of_its_estimate() {
    let told = |input| {
        let usage = Usage {
            input,
            output: 3,
            ..Usage::default()
        };
        let end = ReplyEnd {
            usage: Some(usage),
            ..ReplyEnd::new(FinishReason::Stop)
        };
        It::Told(Input::ReplyEnded {
            attempt: FIRST,
            end: Box::new(end),
        })
    };
    let mut scene = Scene::begin(Arc::new(plain())).0;
    // What was counted by then is no whole count.
    scene.play(It::Told(Input::ReplyCounted {
        attempt: FIRST,
        usage: Usage {
            input: 7,
            ..Usage::default()
        },
    }));
    scene.play(It::Cancels(CancelCause::Asked));
    assert!(scene.machine.turn().usage().estimated() > 0);
    assert_eq!(scene.play(told(7)), ["late usage of 10 tokens"]);
    let settled = Usage {
        input: 7,
        output: 3,
        ..Usage::default()
    };
    assert_eq!(scene.machine.turn().usage(), settled);
    // Once.
    assert_eq!(scene.play(told(9)), [""; 0]);
    assert_eq!(scene.machine.turn().usage(), settled);
    let turns = spending::by_turn(&steps(&scene.facts));
    assert_eq!(turns[0].usage(), settled);
    assert_eq!(turns[0].replies.len(), 1);
    // Whoever reads the session is told the same, what broke off included.
    let log = SessionLog::from_steps(&steps(&scene.facts), &[]);
    assert_eq!(log.turns[0].usage(), settled);
    let cancelled = scene.facts.len() - 1;
    let log = SessionLog::from_steps(&steps(&scene.facts[..cancelled]), &[]);
    assert!(log.turns[0].usage().estimated() > 0);
}

#[test]
fn the_bill_has_every_reply_and_every_call() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (
                calls(&["read", "gone"]),
                &[
                    "gone NotRun error: There is no tool named `gone`. The tools are: again, ask, ask_again, careful, client, denied, read, write.",
                    "run read",
                ],
            ),
            (
                finishes("read", "12345678"),
                &["read Ran: 12345678", "model 2.1"],
            ),
            (says("yes"), &["end Answered(Stop)"]),
        ],
    );
    let turns = spending::by_turn(&steps(&scene.facts));
    let [turn] = &turns[..] else {
        panic!("{turns:?}");
    };
    assert_eq!(turn.usage(), scene.machine.turn().usage());
    assert_eq!(
        (turn.replies.len(), turn.replies[0].price.as_ref()),
        (2, Some(&price()))
    );
    let attempts: Vec<_> = turn
        .attempts
        .iter()
        .map(|ended| (ended.attempt.round, ended.failure, ended.started))
        .collect();
    let began = Some(turn.at);
    assert_eq!(attempts, [(1, None, began), (2, None, began)]);
    let told: Vec<_> = turn
        .calls
        .iter()
        .map(|call| (&*call.name, call.attempts, call.is_error, call.bytes > 0))
        .collect();
    assert_eq!(told, [("gone", 0, true, true), ("read", 1, false, true)]);
    assert_eq!((turn.calls[1].bytes, turn.calls[1].tokens), (8, 2));
}

/// The steps of a turn with a call and an answer.
pub(crate) fn steps_of_a_call(setup: Setup) -> Vec<Envelope> {
    let scene = check(
        setup,
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (
                finishes("read", "12345678"),
                &["read Ran: 12345678", "model 2.1"],
            ),
            (says("yes"), &["end Answered(Stop)"]),
        ],
    );
    steps(&scene.facts)
}

/// A session that is deleted leaves a record of each model call, which reports count as an answered one.
#[test]
fn the_records_of_a_turn_count_like_the_turn() {
    let steps = steps_of_a_call(plain());
    let turns = spending::by_turn(&steps);
    let [turn] = &turns[..] else {
        panic!("{turns:?}");
    };
    let records = spending::records_of_turn(&turn.turn, &steps);
    let ids: Vec<&str> = records.iter().map(|record| &*record.id).collect();
    let id = |round: u32| format!("{}.{}.{round}.1", turn.turn, turn.at.as_millis());
    assert_eq!(ids, [id(1), id(2)]);
    let day_of = |_| String::new();
    let mut by_records = SpendingReport::new(SpendingGroup::Model, None, day_of);
    records
        .iter()
        .for_each(|record| by_records.add_record(record));
    let mut by_turns = SpendingReport::new(SpendingGroup::Model, None, day_of);
    let session = SessionId::parse("s").expect("a valid id");
    by_turns.add_session(&session, &"".into(), &turns);
    let totals = |report: &SpendingReport| {
        let total = report.total();
        let costs = total.costs.clone();
        (costs, total.usage, total.attempts, total.failures)
    };
    assert_eq!(totals(&by_records), totals(&by_turns));
    assert_eq!(by_records.total().failures, 0);
}
