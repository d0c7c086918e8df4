//! Quotas: what a meter admits, for any order of requests.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::quota::{
    Amount, Meter, MeterOperation, MeterOutcome, Quota, QuotaLimit, QuotaRefusal, RateLeft,
};
use jackfield_domain::time::WallTime;
use proptest::collection::vec;
use proptest::prelude::*;

const NAME: &str = "key:a";

fn admit(id: u32, at: i64, quota: Quota) -> MeterOperation {
    MeterOperation::Admit {
        id: id.to_string().into(),
        now: WallTime::from_millis(at),
        quotas: vec![(NAME.into(), quota)],
        until: WallTime::from_millis(at + 60_000),
    }
}

fn release(id: u32) -> MeterOperation {
    MeterOperation::Release {
        id: id.to_string().into(),
        meters: vec![NAME.into()],
    }
}

fn is_done(outcome: &MeterOutcome) -> bool {
    matches!(outcome, MeterOutcome::Done(_))
}

proptest! {
    /// After any minute's worth at once, the rate holds for every later minute: of two times the limit.
    #[test]
    fn no_minute_has_more_than_a_burst_and_a_rate(
        limit in 1..40_u32,
        waits in vec(0..5_000_i64, 1..300),
    ) {
        let quota = Quota { requests_per_minute: Some(limit), ..Quota::default() };
        let (mut meter, mut at, mut admitted) = ([Meter::default()], 0, Vec::new());
        for (id, wait) in (0..).zip(waits) {
            at += wait;
            match admit(id, at, quota).apply(&mut meter) {
                MeterOutcome::Done(left) => {
                    admitted.push(at);
                    prop_assert_eq!(left.len(), 1);
                    prop_assert!(left[0].left < limit);
                }
                other @ (MeterOutcome::Exhausted(_) | MeterOutcome::Seen(_)) => panic!("{other:?}"),
                MeterOutcome::Refused(refusal) => {
                    // It may come after the time that the refusal names, and not before.
                    let wait = i64::try_from(refusal.retry_after.as_micros()).expect("a time");
                    prop_assert!(wait > 0);
                    for (at, expected) in [(at + (wait - 1) / 1000, false), (at + wait.div_euclid(1000) + 1, true)] {
                        let mut again = meter.clone();
                        let outcome = admit(id, at, quota).apply(&mut again);
                        prop_assert!(is_done(&outcome) == expected || wait < 2000, "{refusal:?} {outcome:?}");
                    }
                }
            }
        }
        for from in &admitted {
            let within = admitted.iter().filter(|at| (*from..from + 60_000).contains(*at));
            prop_assert!(within.count() <= 2 * limit as usize);
        }
        let minutes = usize::try_from(at / 60_000 + 2).expect("a number");
        prop_assert!(admitted.len() <= limit as usize * minutes);
    }

    /// Whatever comes and goes, no more are held than the limit, and what was released makes room.
    #[test]
    fn no_more_requests_are_answered_at_once_than_the_limit(
        limit in 1..5_u32,
        steps in vec((0..10_u32, any::<bool>()), 1..200),
    ) {
        let quota = Quota { parallel: Some(limit), ..Quota::default() };
        let (mut meter, mut open) = ([Meter::default()], Vec::<u32>::new());
        for (id, comes) in steps {
            if !comes {
                release(id).apply(&mut meter);
                open.retain(|other| *other != id);
                continue;
            }
            let fits = open.contains(&id) || open.len() < limit as usize;
            let outcome = admit(id, 0, quota).apply(&mut meter);
            prop_assert_eq!(is_done(&outcome), fits);
            if fits && !open.contains(&id) {
                open.push(id);
            }
            prop_assert_eq!(meter[0].holds.len(), open.len());
        }
    }
}

#[test]
fn a_hold_ends_by_itself_unless_it_is_renewed() {
    let quota = Quota {
        parallel: Some(1),
        ..Quota::default()
    };
    let mut meter = [Meter::default()];
    assert!(is_done(&admit(1, 0, quota).apply(&mut meter)));
    let refused = admit(2, 59_999, quota).apply(&mut meter);
    assert_eq!(
        refused,
        MeterOutcome::Refused(QuotaRefusal {
            limit: QuotaLimit::Parallel(1),
            meter: NAME.into(),
            retry_after: Duration::from_secs(1),
        })
    );
    let renew = MeterOperation::Renew {
        id: "1".into(),
        meters: vec![NAME.into()],
        until: WallTime::from_millis(90_000),
    };
    renew.apply(&mut meter);
    assert!(!is_done(&admit(2, 60_000, quota).apply(&mut meter)));
    // Its process died.
    assert!(is_done(&admit(2, 90_000, quota).apply(&mut meter)));
    assert_eq!(meter[0].holds.len(), 1);
    // A renewal that comes late brings nothing back.
    renew.apply(&mut meter);
    assert_eq!(meter[0].holds.len(), 1);
}

#[test]
fn a_repeated_request_takes_nothing_more() {
    let quota = Quota {
        parallel: Some(1),
        requests_per_minute: Some(6),
        ..Quota::default()
    };
    let mut meter = [Meter::default()];
    let first = admit(1, 0, quota).apply(&mut meter);
    let left = RateLeft {
        left: 5,
        limit: 6,
        reset: Duration::from_secs(10),
    };
    assert_eq!(first, MeterOutcome::Done(vec![left]));
    assert_eq!(admit(1, 0, quota).apply(&mut meter), first);
    assert_eq!(meter[0].holds.len(), 1);
}

#[test]
fn of_several_meters_all_are_changed_or_none() {
    let of = |parallel, requests_per_minute| Quota {
        parallel,
        requests_per_minute,
        ..Quota::default()
    };
    let quotas: Vec<(Arc<str>, Quota)> = vec![
        ("key:a".into(), of(Some(9), Some(9))),
        ("team:t".into(), of(None, Some(1))),
    ];
    let operation = |id: &str| MeterOperation::Admit {
        id: id.into(),
        now: WallTime::from_millis(0),
        quotas: quotas.clone(),
        until: WallTime::from_millis(60_000),
    };
    let mut meters = [Meter::default(), Meter::default()];
    assert!(is_done(&operation("1").apply(&mut meters)));
    let before = meters.clone();
    let refused = operation("2").apply(&mut meters);
    let MeterOutcome::Refused(refusal) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(&*refusal.meter, "team:t");
    assert_eq!(refusal.retry_after, Duration::from_secs(60));
    assert_eq!(meters, before);
}

/// As many as the limit says come at once, and one more does not.
#[test]
fn a_fresh_meter_has_room_for_exactly_the_limit() {
    for limit in 1..1_000 {
        let quota = Quota {
            requests_per_minute: Some(limit),
            ..Quota::default()
        };
        let mut meter = [Meter::default()];
        for id in 0..limit {
            assert!(
                is_done(&admit(id, 5, quota).apply(&mut meter)),
                "{id} of {limit}"
            );
        }
        assert!(
            !is_done(&admit(limit, 5, quota).apply(&mut meter)),
            "{limit}"
        );
    }
}

/// A request of a gateway whose clock was a day ahead does not lock the key out.
#[test]
fn a_wrong_clock_does_not_last() {
    let quota = Quota {
        parallel: Some(1),
        requests_per_minute: Some(2),
        ..Quota::default()
    };
    let mut meter = [Meter::default()];
    let day = 86_400_000;
    assert!(is_done(&admit(1, day, quota).apply(&mut meter)));
    assert!(is_done(&admit(2, 0, quota).apply(&mut meter)));
    assert!(is_done(&release(2).apply(&mut meter)));
    assert!(is_done(&admit(3, 0, quota).apply(&mut meter)));
    assert!(is_done(&release(3).apply(&mut meter)));
    assert!(!is_done(&admit(4, 0, quota).apply(&mut meter)));
}

/// The tokens that count at a time, in milliseconds, and when there is room again.
fn tokens_at(meter: &Meter, limit: u64, now: i64) -> (u64, i64) {
    let quota = Quota {
        tokens_per_minute: Some(limit),
        ..Quota::default()
    };
    let states = meter.budgets(&"user:u".into(), &quota, WallTime::from_millis(now), "");
    (states[0].spent, states[0].ends.as_millis())
}

fn spend(meter: &mut Meter, at: i64, tokens: u64) {
    let amount = Amount {
        tokens,
        ..Amount::default()
    };
    meter.spend_in_minute(WallTime::from_millis(at), amount);
}

#[test]
fn tokens_of_a_minute_count_less_and_less_in_the_next_one() {
    let mut meter = Meter::default();
    spend(&mut meter, 50_000, 100);
    for (now, left) in [
        (50_000, 100),
        (60_000, 100),
        (75_000, 75),
        (90_000, 50),
        (119_999, 0),
    ] {
        assert_eq!(tokens_at(&meter, 1000, now).0, left, "{now}");
    }
    spend(&mut meter, 90_000, 20);
    // A call that began in the minute before ends late.
    spend(&mut meter, 59_000, 40);
    assert_eq!(tokens_at(&meter, 1000, 90_000).0, 20 + 70);
    // Two minutes later nothing counts.
    assert_eq!(tokens_at(&meter, 1000, 180_000).0, 0);
    // What a clock counted that is a minute ahead counts, what it counted two minutes ahead does not.
    spend(&mut meter, 150_000, 5);
    assert_eq!(tokens_at(&meter, 1000, 119_000).0, 25);
    assert_eq!(tokens_at(&meter, 1000, 30_000).0, 20);
}

proptest! {
    /// There is room at the time that is named, and none just before.
    #[test]
    fn a_minute_has_room_when_it_says_so(
        spent in vec((0..120_000_i64, 1..500_u64), 1..20),
        now in 60_000..120_000_i64,
        limit in 1..2_000_u64,
    ) {
        let mut meter = Meter::default();
        let mut spent = spent;
        spent.sort_unstable();
        for (at, tokens) in spent.into_iter().filter(|(at, _)| *at <= now) {
            spend(&mut meter, at, tokens);
        }
        let (used, ends) = tokens_at(&meter, limit, now);
        prop_assert!(ends > now && ends <= 180_000);
        if used >= limit {
            prop_assert!(tokens_at(&meter, limit, ends).0 < limit);
            prop_assert!(ends - 2 <= now || tokens_at(&meter, limit, ends - 2).0 >= limit);
        }
    }
}

/// What a process that died had reserved blocks a rate for five minutes, and a budget for an hour.
#[test]
fn a_reservation_of_a_dead_process_counts_longer_for_a_day_than_for_a_minute() {
    let quota = Quota {
        tokens_per_day: Some(10),
        tokens_per_minute: Some(10),
        ..Quota::default()
    };
    let mut meters = [Meter::default()];
    let reserve = |at: i64, id: &str| MeterOperation::Reserve {
        amount: Amount {
            tokens: 10,
            ..Amount::default()
        },
        at: WallTime::from_millis(at),
        id: id.into(),
        quotas: vec![("user:u".into(), quota)],
    };
    assert!(is_done(&reserve(0, "dead").apply(&mut meters)));
    let minutes = |minutes: i64| WallTime::from_millis(minutes * 60_000);
    for (now, expected) in [(4, [10, 10]), (5, [10, 0]), (59, [10, 0]), (60, [0, 0])] {
        let states = meters[0].budgets(&"user:u".into(), &quota, minutes(now), "");
        assert_eq!([0, 1].map(|nth| states[nth].reserved), expected, "{now}");
    }
}
