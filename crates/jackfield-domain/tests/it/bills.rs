//! Bills computed by hand, and one sum however a usage is recorded.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::ModelAttempt;
use jackfield_domain::limits::{Allowance, Limits};
use jackfield_domain::price::{Money, Price, PriceVariant, Rates, ServiceTier, cost_of};
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Setup;
use jackfield_domain::spending;
use jackfield_domain::spending::report::{SpendingGroup, SpendingReport};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::target::AttemptTargets;
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;
use proptest::prelude::*;

/// US dollars for a million tokens.
fn per_million(text: &str) -> Money {
    let million = Money::parse(text).expect("money");
    Money::from_picos(million.as_picos() / 1_000_000)
}

fn rates([input, output, read, write, long]: [&str; 5]) -> Rates {
    Rates {
        cache_read: per_million(read),
        cache_write: per_million(write),
        cache_write_long: Some(per_million(long)),
        ..Rates::new(per_million(input), per_million(output))
    }
}

/// The prices of a model of OpenAI, with audio and images as Gemini prices them.
fn price() -> Price {
    let variant = |tier, above, rates| PriceVariant { above, rates, tier };
    let media = Rates {
        audio_input: Some(per_million("6")),
        audio_output: Some(per_million("20")),
        image_input: Some(per_million("3")),
        image_output: Some(per_million("30")),
        ..rates(["2", "10", "0.1", "2.5", "5"])
    };
    Price {
        currency: "USD".into(),
        date: "2026-11-28".into(),
        rates: media,
        source: "a test".into(),
        variants: vec![
            variant(None, 272_000, rates(["4", "15", "0.2", "5", "10"])),
            variant(
                Some(ServiceTier::Batch),
                0,
                rates(["1", "5", "0.05", "1.25", "2.5"]),
            ),
            variant(
                Some(ServiceTier::Flex),
                0,
                rates(["1", "5", "0.05", "1.25", "2.5"]),
            ),
            variant(
                Some(ServiceTier::Priority),
                0,
                rates(["4", "20", "0.2", "5", "10"]),
            ),
            variant(
                Some(ServiceTier::Priority),
                272_000,
                rates(["8", "30", "0.4", "10", "20"]),
            ),
        ],
    }
}

fn usage() -> Usage {
    Usage {
        cache_read: 60_000,
        cache_write: 20_000,
        cache_write_long: 5_000,
        input: 100_000,
        output: 10_000,
        reasoning: 4_000,
        ..Usage::default()
    }
}

#[test]
fn each_tier_has_the_bill_that_was_computed_by_hand() {
    let long = Usage {
        input: 300_000,
        ..usage()
    };
    let at_threshold = Usage {
        input: 272_000,
        ..usage()
    };
    let media = Usage {
        audio_input: 8_000,
        audio_output: 1_000,
        image_input: 2_000,
        image_output: 3_000,
        ..usage()
    };
    for (usage, tier, dollars) in [
        // 20,000 at 2, 60,000 at 0.1, 15,000 at 2.5, 5,000 at 5, 10,000 at 10.
        (usage(), None, "0.2085"),
        (usage(), Some(ServiceTier::Batch), "0.10425"),
        (usage(), Some(ServiceTier::Flex), "0.10425"),
        (usage(), Some(ServiceTier::Priority), "0.417"),
        // 192,000 at 2: the threshold itself is not above it.
        (at_threshold, None, "0.5525"),
        // 220,000 at 4, 60,000 at 0.2, 15,000 at 5, 5,000 at 10, 10,000 at 15: all of it, output included.
        (long, None, "1.167"),
        (long, Some(ServiceTier::Priority), "2.334"),
        // 10,000 at 2, 8,000 at 6, 2,000 at 3; 6,000 at 10, 1,000 at 20, 3,000 at 30; the caches as above.
        (media, None, "0.3125"),
    ] {
        let usage = Usage { tier, ..usage };
        let expected = Money::parse(dollars).ok();
        assert_eq!(price().cost(&usage), expected, "{tier:?} {}", usage.input);
    }
    for tier in [ServiceTier::Other, ServiceTier::Ultrafast] {
        let usage = Usage {
            tier: Some(tier),
            ..usage()
        };
        assert_eq!(cost_of(&usage, Some(&price())), None, "{tier:?}");
    }
}

#[test]
fn the_words_of_vendors_name_tiers() {
    for (word, tier) in [
        ("default", None),
        ("auto", None),
        ("standard", None),
        ("ON_DEMAND", None),
        ("flex", Some(ServiceTier::Flex)),
        ("ON_DEMAND_FLEX", Some(ServiceTier::Flex)),
        ("Priority", Some(ServiceTier::Priority)),
        ("batch", Some(ServiceTier::Batch)),
        ("fast", Some(ServiceTier::Fast)),
        ("ultrafast", Some(ServiceTier::Ultrafast)),
        ("scale", Some(ServiceTier::Other)),
        ("reserved", Some(ServiceTier::Other)),
        ("PROVISIONED_THROUGHPUT", Some(ServiceTier::Other)),
    ] {
        assert_eq!(ServiceTier::of_word(word), tier, "{word}");
    }
}

#[test]
fn a_request_reserves_the_highest_rates_that_it_may_reach() {
    let reserve = |tier, input| price().reserve(tier, input, 1_000);
    let money = |text| Money::parse(text).expect("money");
    // Input as audio at 6, output as images at 30.
    assert_eq!(reserve(None, 100_000), money("0.63"));
    // The estimate may be short of the threshold: 10 and 15.
    assert_eq!(reserve(None, 200_000), money("2.015"));
    // It may be served in the usual tier.
    assert_eq!(
        reserve(Some(ServiceTier::Flex), 100_000),
        reserve(None, 100_000)
    );
    // 10 and 20; a request for fast output may be one of priority.
    assert_eq!(reserve(Some(ServiceTier::Priority), 100_000), money("1.02"));
    assert_eq!(reserve(Some(ServiceTier::Fast), 100_000), money("1.02"));
    // The provider may not have the tier.
    assert_eq!(
        reserve(Some(ServiceTier::Ultrafast), 100_000),
        money("1.02")
    );
}

#[test]
fn a_budget_counts_the_highest_rates_of_a_tier_that_is_not_known() {
    let other = Usage {
        tier: Some(ServiceTier::Other),
        ..usage()
    };
    let setup = |is_priced: bool, unpriced| Setup {
        allowance: Allowance {
            cost: Some(Money::MAX),
            unpriced,
            ..Allowance::default()
        },
        price: is_priced.then(price),
        ..crate::world::setup(Limits::default())
    };
    let counted = |setup: &Setup, usages: [Usage; 2]| {
        let rounds = (1..).map(|round| ModelAttempt { attempt: 1, round });
        let by_attempt = rounds.zip(usages).collect();
        let targets = AttemptTargets::default();
        assert_eq!(setup.bill(&targets, &by_attempt), None);
        let cost = setup.counted(&targets, &by_attempt);
        cost.map(|cost| cost.amount)
    };
    let both = price().most(&other) + price().cost(&usage()).expect("a cost");
    let setups = [setup(true, false), setup(false, false), setup(false, true)];
    let [priced, unpriced, allowed] = setups.each_ref();
    assert_eq!(counted(priced, [other, usage()]), Some(both));
    assert_eq!(counted(unpriced, [other, usage()]), None);
    // What a provider bills counts without a price.
    let billed = Usage {
        billed: Money::parse("0.2").ok(),
        ..Usage::default()
    };
    assert_eq!(counted(allowed, [billed, usage()]), billed.billed);
}

#[test]
fn a_sum_of_a_provider_wins_over_the_list_and_says_the_difference() {
    let billed = Usage {
        billed: Money::parse("0.2").ok(),
        ..usage()
    };
    let cost = cost_of(&billed, Some(&price())).expect("a cost");
    let amounts = (cost.amount.to_string(), cost.listed);
    assert_eq!(amounts, ("0.2".to_owned(), Money::parse("0.2085").ok()));
    let mut sum = cost.clone();
    sum.add(&cost_of(&usage(), Some(&price())).expect("a cost"));
    let amounts = (sum.amount.to_string(), sum.listed);
    assert_eq!(amounts, ("0.4085".to_owned(), Money::parse("0.417").ok()));
    // A tier without a known price has the bill all the same.
    let other = Usage {
        tier: Some(ServiceTier::Other),
        ..billed
    };
    let cost = cost_of(&other, Some(&price())).expect("a cost");
    assert_eq!(
        (cost.amount.to_string(), cost.listed),
        ("0.2".to_owned(), None)
    );
    // Dollars do not replace euros.
    let euros = Price {
        currency: "EUR".into(),
        ..price()
    };
    let cost = cost_of(&billed, Some(&euros)).expect("a cost");
    assert_eq!(
        (&*cost.currency, cost.amount.to_string()),
        ("EUR", "0.2085".to_owned())
    );
}

#[test]
fn a_usage_that_cannot_be_true_is_mended() {
    let odd = Usage {
        audio_input: 10,
        cache_read: 100,
        cache_write_long: 30,
        input: 50,
        output: 5,
        reasoning: 9,
        ..Usage::default()
    };
    let mended = odd.mended();
    let expected = Usage {
        audio_input: 0,
        cache_write: 30,
        input: 130,
        output: 9,
        ..odd
    };
    assert_eq!(mended, expected);
    assert_eq!(mended.mended(), mended);
    assert_eq!(usage().mended(), usage());
}

fn any_usage() -> impl Strategy<Value = Usage> {
    let tokens = || prop_oneof![0..5_000_u64, 100_000..400_000_u64];
    let tiers = prop_oneof![
        4 => Just(None),
        1 => Just(Some(ServiceTier::Batch)),
        1 => Just(Some(ServiceTier::Flex)),
        1 => Just(Some(ServiceTier::Priority)),
        1 => Just(Some(ServiceTier::Other)),
    ];
    let billed = prop_oneof![3 => Just(None), 1 => (0..9_u64).prop_map(Some)];
    let counts = [(); 5].map(|()| tokens());
    (counts, tiers, billed).prop_map(|([input, read, long, output, audio], tier, billed)| {
        let usage = Usage {
            audio_input: audio,
            billed: billed.map(|dollars| Money::from_picos(dollars * 1_000_000_000_000)),
            cache_read: read,
            cache_write: long.saturating_mul(2),
            cache_write_long: long,
            input,
            output,
            tier,
            ..Usage::default()
        };
        usage.mended()
    })
}

fn record(nth: usize, usage: Usage, is_priced: bool) -> SpendingRecord {
    let price = is_priced.then(price);
    let budgets: [Arc<str>; 2] = ["key:a".into(), "team:b".into()];
    SpendingRecord {
        at: WallTime::from_millis(0),
        endpoint: "/v1/messages".into(),
        first_token: None,
        id: nth.to_string().into(),
        model: ModelRef {
            model: "a".into(),
            provider: "here".into(),
        },
        own_key: false,
        price: price.clone(),
        principal: "ann".into(),
        repeats_facts: false,
        request_id: None,
        route: None,
        settled: spending::settled(&budgets, price.as_ref(), &usage),
        status: Some(200),
        tags: Vec::new(),
        took: Duration::ZERO,
        trace: None,
        usage,
    }
}

proptest! {
    /// A budget counts what reports say, and the highest price where they know none.
    #[test]
    fn budgets_and_reports_say_the_same(
        used in proptest::collection::vec((any_usage(), any::<bool>()), 0..20)
    ) {
        let mut report = SpendingReport::new(SpendingGroup::Model, None, |_| String::new());
        let mut settled = [(Money::ZERO, 0_u64); 2];
        let mut most = Money::ZERO;
        for (nth, (usage, is_priced)) in used.iter().enumerate() {
            let record = record(nth, *usage, *is_priced);
            report.add_record(&record);
            for (sum, one) in settled.iter_mut().zip(&record.settled) {
                sum.0 += one.cost.unwrap_or_default();
                sum.1 += one.tokens.unwrap_or_default();
            }
            let price = price();
            let price = is_priced.then_some(&price);
            if cost_of(usage, price).is_none() {
                most += price.map_or(Money::ZERO, |price| price.most(usage));
            }
        }
        let total = report.total();
        let cost = total.costs.get("USD").map_or(Money::ZERO, |cost| cost.amount);
        for (money, tokens) in settled {
            prop_assert_eq!(money, cost + most);
            prop_assert_eq!(tokens, total.usage.total());
        }
        let unpriced = used.iter().filter(|(usage, is_priced)| {
            let price = price();
            cost_of(usage, is_priced.then_some(&price)).is_none()
        });
        prop_assert_eq!(total.unpriced, unpriced.map(|(usage, _)| usage.total()).sum::<u64>());
    }
}
