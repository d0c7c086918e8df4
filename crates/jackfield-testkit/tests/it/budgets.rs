//! Budgets: whatever ends, dies, is recovered or repeated, in whatever order and on whichever replica, a day is at most
//! one round over its budget, and what the meters count is what the records say.
#![expect(clippy::expect_used, reason = "a world that cannot go on ends here")]

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::price::Money;
use jackfield_domain::quota::{
    Amount, BudgetPeriod, BudgetState, BudgetUnit, Meter, MeterOperation, MeterOutcome, Quota,
};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::target::Reservation;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::meters::Meters as _;
use jackfield_ports::journal::spending::{SpendingLog as _, SpendingQuery};
use jackfield_store_memory::MemoryJournal;
use proptest::collection::vec;
use proptest::prelude::*;

/// The meters of a call, and their budgets of tokens per day.
const CHAIN: [(&str, u64); 3] = [("key:a", 300), ("user:u", 200), ("team:t", 250)];
/// The most that a call reserves.
const ROUND: u64 = 60;
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    /// A replica wants to make a call that reserves so much and will use so much of it.
    Begin { percent: u64, reserves: u64 },
    /// Of the calls in flight, this one ends.
    End(usize),
    /// Its process dies before it is settled.
    Die(usize),
    /// Of the calls whose process died, this one is recovered.
    Recover(usize),
    /// A record is stored once more, by a process that does not know that it is there.
    Repeat(usize),
    /// Time goes by.
    Wait(i64),
}

#[derive(Clone, Debug)]
struct Call {
    at: i64,
    id: String,
    reserves: u64,
    uses: u64,
}

struct World {
    dead: Vec<Call>,
    flying: Vec<Call>,
    /// What was settled after its reservation was let go.
    late: u64,
    now: i64,
    records: Vec<SpendingRecord>,
    replicas: [MemoryJournal; 2],
    runtime: tokio::runtime::Runtime,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..=100_u64, 1..=ROUND).prop_map(|(percent, reserves)| Step::Begin { percent, reserves }),
        4 => (0..8_usize).prop_map(Step::End),
        1 => (0..8_usize).prop_map(Step::Die),
        1 => (0..8_usize).prop_map(Step::Recover),
        1 => (0..8_usize).prop_map(Step::Repeat),
        2 => (1..90_i64).prop_map(|minutes| Step::Wait(minutes * MINUTE)),
    ]
}

impl World {
    fn new() -> Self {
        let journal = MemoryJournal::new();
        let another = journal.another_process();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        Self {
            dead: Vec::new(),
            flying: Vec::new(),
            late: 0,
            // Six hours before midnight, so that days change.
            now: 1_800_000_000_000 / 86_400_000 * 86_400_000 + 18 * HOUR,
            records: Vec::new(),
            replicas: [journal, another],
            runtime: runtime.expect("a runtime"),
        }
    }

    fn perform(&self, replica: usize, operation: &MeterOperation) -> MeterOutcome {
        let performed = self.replicas[replica % 2].perform(operation);
        self.runtime.block_on(performed).expect("an outcome")
    }

    /// Whether the call was admitted.
    fn begin(&mut self, nth: usize, reserves: u64, percent: u64) -> bool {
        let quotas = CHAIN.map(|(name, tokens)| {
            let quota = Quota {
                tokens_per_day: Some(tokens),
                ..Quota::default()
            };
            (Arc::from(name), quota)
        });
        let call = Call {
            at: self.now,
            id: nth.to_string(),
            reserves,
            uses: reserves * percent / 100,
        };
        let operation = MeterOperation::Reserve {
            amount: Amount {
                tokens: call.reserves,
                ..Amount::default()
            },
            at: WallTime::from_millis(self.now),
            id: call.id.as_str().into(),
            quotas: quotas.to_vec(),
        };
        let outcome = self.perform(nth, &operation);
        if let MeterOutcome::Exhausted(_) = outcome {
            return false;
        }
        assert_eq!(outcome, MeterOutcome::Done(Vec::new()));
        self.flying.push(call);
        true
    }

    fn settle(&mut self, nth: usize, call: Call) {
        let settled = CHAIN.map(|(budget, _)| Reservation {
            budget: budget.into(),
            cost: None,
            tokens: Some(call.uses),
        });
        if self.now - call.at >= HOUR {
            self.late += call.uses;
        }
        let record = SpendingRecord {
            settled: settled.to_vec(),
            ..jackfield_testkit::spending::record(&call.id, WallTime::from_millis(call.at))
        };
        self.record(nth, &record);
        self.records.push(record);
    }

    fn record(&self, replica: usize, record: &SpendingRecord) {
        let stored = self.replicas[replica % 2].record(record);
        self.runtime.block_on(stored).expect("recorded");
    }

    fn play(&mut self, nth: usize, step: &Step) -> bool {
        let place = |list: &[Call], place: usize| (!list.is_empty()).then(|| place % list.len());
        match *step {
            Step::Begin { percent, reserves } => return self.begin(nth, reserves, percent),
            Step::End(at) => {
                if let Some(at) = place(&self.flying, at) {
                    let call = self.flying.remove(at);
                    self.settle(nth, call);
                }
            }
            Step::Die(at) => {
                if let Some(at) = place(&self.flying, at) {
                    let call = self.flying.remove(at);
                    self.dead.push(call);
                }
            }
            Step::Recover(at) => {
                if let Some(at) = place(&self.dead, at) {
                    let call = self.dead.remove(at);
                    self.settle(nth, call);
                }
            }
            Step::Repeat(at) => {
                if !self.records.is_empty() {
                    let mut record = self.records[at % self.records.len()].clone();
                    for settled in &mut record.settled {
                        settled.tokens = settled.tokens.map(|tokens| tokens + 7);
                    }
                    self.record(nth, &record);
                }
            }
            Step::Wait(time) => self.now += time,
        }
        true
    }

    fn check(&self) {
        let meters = CHAIN.map(|(name, _)| Arc::from(name)).to_vec();
        let MeterOutcome::Seen(meters) = self.perform(0, &MeterOperation::Look { meters }) else {
            panic!("no meters");
        };
        let query = SpendingQuery {
            limit: usize::MAX,
            ..SpendingQuery::default()
        };
        let page = self.runtime.block_on(self.replicas[1].records(&query));
        let mut sums: BTreeMap<Arc<str>, Meter> = BTreeMap::new();
        for record in page.expect("records").records {
            for settled in &record.settled {
                let sum = sums.entry(Arc::clone(&settled.budget)).or_default();
                sum.spend(record.at, Amount::of(settled));
            }
        }
        for ((name, limit), meter) in CHAIN.into_iter().zip(meters) {
            let sum = sums.get(name).cloned().unwrap_or_default();
            assert_eq!((meter.day, meter.month), (sum.day, sum.month), "{name}");
            let now = WallTime::from_millis(self.now);
            let quota = Quota {
                tokens_per_day: Some(limit),
                ..Quota::default()
            };
            for state in meter.budgets(&name.into(), &quota, now, "") {
                let most = limit - 1 + ROUND + self.late;
                assert!(state.spent + state.reserved <= most, "{state:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn a_day_is_at_most_one_round_over_and_the_meters_are_the_sums_of_the_records(
        steps in vec(step(), 1..120),
    ) {
        let mut world = World::new();
        for (nth, step) in steps.iter().enumerate() {
            world.play(nth, step);
            world.check();
        }
    }
}

/// Without refusals, the property would prove nothing.
#[test]
fn a_budget_of_the_worlds_is_used_up() {
    let mut world = World::new();
    let admitted = (0..20).filter(|nth| world.begin(*nth, ROUND, 100)).count();
    // 200 of the user: 60, 120 and 180 are below.
    assert_eq!(admitted, 4);
    world.check();
    for nth in 0..4 {
        world.play(nth, &Step::End(0));
        world.check();
    }
    assert!(!world.begin(30, 1, 0));
    world.now += 7 * HOUR;
    assert!(world.begin(31, 1, 0));
}

/// litellm#27639: a request that dies keeps its reservation for ever.
#[test]
fn the_reservation_of_a_call_that_is_not_heard_of_again_ends_after_an_hour() {
    let mut world = World::new();
    while world.begin(world.flying.len(), ROUND, 100) {}
    world.now += HOUR - 1;
    assert!(!world.begin(40, 1, 0));
    world.now += 1;
    assert!(world.begin(41, 1, 0));
}

/// litellm#27735: what was spent before midnight still counts after it.
#[test]
fn a_call_counts_for_the_day_on_which_it_began() {
    let mut world = World::new();
    while world.begin(world.flying.len(), ROUND, 100) {}
    world.now += 7 * HOUR;
    while !world.flying.is_empty() {
        world.play(0, &Step::End(0));
        world.check();
    }
    for nth in 50..53 {
        assert!(world.begin(nth, ROUND, 100));
    }
}

#[test]
fn a_budget_says_what_is_left_and_when_it_begins_again() {
    let state = |spent, reserved| BudgetState {
        ends: BudgetPeriod::Month.end(WallTime::from_millis(1_800_000_000_000)),
        limit: 2_500_000_000_000,
        meter: "team:research".into(),
        period: BudgetPeriod::Month,
        reserved,
        spent,
        unit: BudgetUnit::Cost,
    };
    let half = state(1_250_000_000_000, 250_000_000_000);
    assert_eq!(
        half.to_string(),
        "the budget of the team `research`, 2.5 USD per month"
    );
    assert_eq!(half.ends.to_rfc3339(), "2027-02-01T00:00:00.000Z");
    assert_eq!(
        (half.percent(), half.is_full(), half.is_spent()),
        (50, false, false)
    );
    assert_eq!(half.shown(half.left()), "1.0000 USD");
    let reserved = state(1, 2_500_000_000_000);
    assert_eq!(
        (reserved.percent(), reserved.is_full(), reserved.is_spent()),
        (0, true, false)
    );
    let spent = state(u64::MAX, u64::MAX);
    assert_eq!(
        (spent.percent(), spent.left(), spent.is_spent()),
        (737_869_762, 0, true)
    );
    let over = state(3_375_000_000_000, 0);
    assert_eq!((over.percent(), over.left()), (135, 0));
    let quota = Quota {
        cost_per_day: Some(Money::ZERO),
        ..Quota::default()
    };
    let none = Meter::default().budgets(&"key:a".into(), &quota, WallTime::from_millis(0), "");
    assert!(none.iter().all(BudgetState::is_spent));
}
