//! The contract of [`Meters`], an optional part of a journal: one test per clause.
//!
//! The author of a store with meters writes one line beside `journal_contract!`, with the same harness:
//!
//! ```text
//! jackfield_testkit::meters_contract!(AcmeHarness);
//! ```
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::quota::{
    Amount, Meter, MeterOperation, MeterOutcome, PeriodTotal, Quota, RateLeft,
};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::target::Reservation;
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;
use jackfield_ports::journal::Journal;
use jackfield_ports::journal::meters::Meters;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use tokio::task::JoinSet;

use super::clause;
use super::journal::{JournalHarness, START};
use crate::{arb, spending};

/// Checks one clause; this is what the tests of [`meters_contract!`](crate::meters_contract) call.
///
/// `exceptions` are the names of clauses, each with the reason why it is not satisfied.
///
/// # Panics
///
/// If the clause is not satisfied and no exception names it, or if it is satisfied although one does; also if there
/// is no such clause, or the journal has no meters.
pub fn check<H: JournalHarness>(clause: &str, exceptions: &[(&str, &str)]) {
    let perform = || perform::<H>(clause);
    clause::check(CLAUSES, VITAL, clause, exceptions, perform, String::new);
}

/// The clauses that have no exceptions: without them each replica lets its own share through.
pub const VITAL: &[&str] = &[
    "of_operations_at_once_each_sees_the_one_before_it",
    "replicas_reserve_no_more_than_a_budget",
    "a_record_is_settled_once",
];

/// The only list of the clauses: passes them to a macro, after the arguments for that macro.
#[doc(hidden)]
#[macro_export]
macro_rules! meters_clauses {
    ($callback:path { $($context:tt)* }) => {
        $callback! {
            { $($context)* }
            /// One operation after another has the outcomes of `MeterOperation::apply` on meters that begin as the default.
            /// A quota admits more on one store than on another.
            operations_have_the_outcomes_of_the_domain
            /// Of operations at once, from every process, each sees what the one before it stored.
            /// A key with three requests at once gets three on each replica.
            of_operations_at_once_each_sees_the_one_before_it
            /// A refused request takes nothing from any of its meters.
            /// The limit of a team uses up what is left of a key.
            a_refused_request_takes_nothing
            /// The next process finds every meter.
            /// After a restart a spent quota is full again.
            a_restart_keeps_meters
            /// Of reservations at once, from every process, no more are admitted than the budget has room for.
            /// A key of 10 dollars spends 217 on several replicas (litellm#26672), as each counts by itself (litellm#30661).
            replicas_reserve_no_more_than_a_budget
            /// A record adds what it settled to its meters once, whichever process records it again, and ends its reservation.
            /// A repeated count is two or six times the bill (litellm#36926, #28283), and a lost one leaks a reservation (litellm#27639).
            a_record_is_settled_once
            /// The count of a call takes the place of its estimate in the totals, whichever process records it.
            /// A budget counts a call twice, or by a guess.
            a_count_takes_back_its_estimate
            /// The totals of a meter are the sums of the records of the newest day and month, in whatever order they come.
            /// What was spent before a period began is still counted in it (litellm#27735).
            totals_are_the_sums_of_records
            /// A correction sets totals only if they are still those that were seen.
            /// A counter that is seeded again while calls end is several times the bill (litellm#28247).
            a_correction_loses_no_record
        }
    };
}

/// Expands to one test per clause of the contract of `Meters`.
///
/// Takes a type that is a `JournalHarness`, and perhaps `except: { clause => "reason" }`.
#[macro_export]
macro_rules! meters_contract {
    ($harness:ty $(, except: { $($clause:ident => $reason:literal),+ $(,)? })? $(,)?) => {
        $crate::meters_clauses! {
            $crate::clause_tests {
                [$crate::contract::meters::check::<$harness>]
                [$($((stringify!($clause), $reason)),+)?]
            }
        }
    };
}

macro_rules! dispatch {
    ({} $(#[doc = $text:literal] #[doc = $why:literal] $name:ident)+) => {
        fn perform<H: JournalHarness>(clause: &str) -> Pin<Box<dyn Future<Output = ()>>> {
            match clause {
                $(stringify!($name) => Box::pin($name::<H>()),)+
                other => panic!("there is no clause `{other}`"),
            }
        }
    };
}

meters_clauses! { clause::clause_list {} }
meters_clauses! { dispatch {} }

async fn operations_have_the_outcomes_of_the_domain<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let mut runner = TestRunner::deterministic();
    let mut model: BTreeMap<Arc<str>, Meter> = BTreeMap::new();
    let (mut admitted, mut refused, mut reserved, mut exhausted) = (0, 0, 0, 0);
    for nth in 0..900 {
        let operation = arb::meter_operation(nth).new_tree(&mut runner);
        let operation = operation.expect("an operation").current();
        let of = |name: &Arc<str>| model.get(name).cloned().unwrap_or_default();
        let mut expected: Vec<Meter> = operation.meters().map(of).collect();
        let outcome = operation.apply(&mut expected);
        model.extend(operation.meters().cloned().zip(expected));
        assert_eq!(
            perform_on(&journal, &operation).await,
            outcome,
            "{operation:?}"
        );
        match (&operation, outcome) {
            (MeterOperation::Admit { .. }, MeterOutcome::Done(_)) => admitted += 1,
            (_, MeterOutcome::Refused(_)) => refused += 1,
            (MeterOperation::Reserve { .. }, MeterOutcome::Done(_)) => reserved += 1,
            (_, MeterOutcome::Exhausted(_)) => exhausted += 1,
            (_, MeterOutcome::Done(_) | MeterOutcome::Seen(_)) => {}
        }
    }
    assert!(admitted > 20 && refused > 20, "{admitted} {refused}");
    assert!(reserved > 20 && exhausted > 20, "{reserved} {exhausted}");
}

async fn of_operations_at_once_each_sees_the_one_before_it<H: JournalHarness>() {
    for quota in [rate(5), parallel(5)] {
        let harness = H::fresh().await;
        let journal = harness.journal();
        let another = harness.another_process().await;
        let another = another.unwrap_or_else(|| Arc::clone(&journal));
        let mut tasks = JoinSet::new();
        for nth in 0..16 {
            let journal = Arc::clone(if nth % 2 == 0 { &journal } else { &another });
            // The meters of one are those of the other, in another order.
            let mut names = ["key:a", "user:b"];
            if nth % 3 == 0 {
                names.reverse();
            }
            let operation = admit(&nth.to_string(), &names.map(|name| (name, quota)));
            tasks.spawn(async move { perform_on(&journal, &operation).await });
        }
        let outcomes = tasks.join_all().await.into_iter();
        let done = outcomes.filter(|outcome| matches!(outcome, MeterOutcome::Done(_)));
        assert_eq!(done.count(), 5, "{quota:?}");
    }
}

async fn a_refused_request_takes_nothing<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let one = admit("1", &[("key:a", rate(2)), ("team:t", rate(1))]);
    assert_eq!(
        perform_on(&journal, &one).await,
        done(&[(1, 2, 30), (0, 1, 60)])
    );
    for _ in 0..2 {
        let two = admit("2", &[("key:a", rate(2)), ("team:t", rate(1))]);
        let refused = perform_on(&journal, &two).await;
        assert!(matches!(refused, MeterOutcome::Refused(_)), "{refused:?}");
    }
    let three = admit("3", &[("key:a", rate(2))]);
    assert_eq!(perform_on(&journal, &three).await, done(&[(0, 2, 60)]));
}

async fn a_restart_keeps_meters<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let both = Quota {
        requests_per_minute: Some(3),
        ..parallel(1)
    };
    let one = admit("1", &[("key:a", both)]);
    assert_eq!(perform_on(&journal, &one).await, done(&[(2, 3, 20)]));
    let reopened = harness.reopened().await;
    let refused = perform_on(&reopened, &admit("2", &[("key:a", both)])).await;
    assert!(matches!(refused, MeterOutcome::Refused(_)), "{refused:?}");
    let release = MeterOperation::Release {
        id: "1".into(),
        meters: vec!["key:a".into()],
    };
    assert_eq!(perform_on(&reopened, &release).await, done(&[]));
    let three = perform_on(&reopened, &admit("3", &[("key:a", both)])).await;
    assert_eq!(three, done(&[(1, 3, 40)]));
}

async fn replicas_reserve_no_more_than_a_budget<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let another = harness.another_process().await;
    let another = another.unwrap_or_else(|| Arc::clone(&journal));
    let quota = tokens_per_day(50);
    let mut tasks = JoinSet::new();
    for nth in 0..16 {
        let journal = Arc::clone(if nth % 2 == 0 { &journal } else { &another });
        let mut names = ["key:a", "team:t"];
        if nth % 3 == 0 {
            names.reverse();
        }
        let operation = reserve(&nth.to_string(), 10, &names.map(|name| (name, quota)));
        tasks.spawn(async move { perform_on(&journal, &operation).await });
    }
    let outcomes = tasks.join_all().await.into_iter();
    let done = outcomes.filter(|outcome| *outcome == MeterOutcome::Done(Vec::new()));
    // Each is admitted while less than 50 is reserved.
    assert_eq!(done.count(), 5);
    let after = perform_on(&another, &reserve("17", 1, &[("team:t", quota)])).await;
    let MeterOutcome::Exhausted(state) = after else {
        panic!("{after:?}");
    };
    assert_eq!((state.spent, state.reserved, state.limit), (0, 50, 50));
}

async fn a_record_is_settled_once<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let Some(log) = journal.spending() else {
        return;
    };
    let quota = tokens_per_day(100);
    let both = [("key:a", quota), ("team:t", quota)];
    let reserved = perform_on(&journal, &reserve("call", 60, &both)).await;
    assert_eq!(reserved, MeterOutcome::Done(Vec::new()));
    let first = record("call", START, &[("key:a", 30), ("team:t", 30)]);
    log.record(&first).await.expect("recorded");
    // Again, with another amount, by another process, and after a restart.
    let more = record("call", START, &[("key:a", 50), ("team:t", 50)]);
    log.record(&more).await.expect("recorded");
    if let Some(another) = harness.another_process().await {
        let another = another.spending().expect("the same log");
        another.record(&first).await.expect("recorded");
    }
    let reopened = harness.reopened().await;
    let log = reopened.spending().expect("the same log");
    log.record(&first).await.expect("recorded");
    for meter in look(&reopened, &["key:a", "team:t"]).await {
        assert_eq!(meter.reservations, []);
        let spent = meter.day.map(|day| day.spent.tokens);
        assert_eq!(
            (spent, meter.month.map(|month| month.spent.tokens)),
            (Some(30), Some(30))
        );
    }
}

async fn a_count_takes_back_its_estimate<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let Some(log) = journal.spending() else {
        return;
    };
    let another = harness.another_process().await;
    for (id, estimated, counted) in [("more", 30, 50), ("less", 40, 10)] {
        let mut estimate = record(id, START, &[("key:a", estimated), ("team:t", estimated)]);
        estimate.usage = Usage::estimate(estimated, 0);
        log.record(&estimate).await.expect("recorded");
        let later = START.after(Duration::from_secs(24 * 60 * 60));
        let count = record(id, later, &[("key:a", counted), ("team:t", counted)]);
        if let Some(another) = &another {
            let another = another.spending().expect("the same log");
            another.record(&count).await.expect("recorded");
        }
        for one in [&count, &estimate, &count] {
            log.record(one).await.expect("recorded");
        }
    }
    for meter in look(&journal, &["key:a", "team:t"]).await {
        let spent = meter.day.map(|day| day.spent.tokens);
        assert_eq!(
            (spent, meter.month.map(|month| month.spent.tokens)),
            (Some(60), Some(60))
        );
    }
}

async fn totals_are_the_sums_of_records<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let Some(log) = journal.spending() else {
        return;
    };
    let day = 86_400_000;
    // Days of two months, not in their order.
    for (nth, (days, tokens)) in [(0, 1), (40, 2), (41, 4), (1, 8), (40, 16), (41, 32)]
        .into_iter()
        .enumerate()
    {
        let at = WallTime::from_millis(START.as_millis() + days * day);
        let spent = record(&nth.to_string(), at, &[("user:u", tokens)]);
        log.record(&spent).await.expect("recorded");
    }
    let newest = WallTime::from_millis(START.as_millis() + 41 * day);
    let [meter] = &look(&journal, &["user:u"]).await[..] else {
        panic!("one meter");
    };
    let month_has_40 =
        WallTime::from_millis(START.as_millis() + 40 * day).utc_month() == newest.utc_month();
    let total = |period, tokens| {
        Some(PeriodTotal {
            period,
            spent: Amount {
                tokens,
                ..Amount::default()
            },
        })
    };
    assert_eq!(meter.day, total(newest.utc_day(), 36));
    let of_month = if month_has_40 { 54 } else { 36 };
    assert_eq!(meter.month, total(newest.utc_month(), of_month));
    let tomorrow = newest.after(Duration::from_millis(86_400_000));
    let left = meter.budgets(&"user:u".into(), &tokens_per_day(50), tomorrow, "");
    assert_eq!(left.first().map(|state| state.spent), Some(0));
}

async fn a_correction_loses_no_record<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let Some(log) = journal.spending() else {
        return;
    };
    let first = record("1", START, &[("key:a", 5)]);
    log.record(&first).await.expect("recorded");
    let [seen] = &look(&journal, &["key:a"]).await[..] else {
        panic!("one meter");
    };
    let correction = MeterOperation::Correct {
        meter: "key:a".into(),
        seen: [seen.day, seen.month],
        totals: [None, None],
    };
    let second = record("2", START, &[("key:a", 7)]);
    log.record(&second).await.expect("recorded");
    perform_on(&journal, &correction).await;
    let [meter] = &look(&journal, &["key:a"]).await[..] else {
        panic!("one meter");
    };
    assert_eq!(meter.day.map(|day| day.spent.tokens), Some(12));
    let correction = MeterOperation::Correct {
        meter: "key:a".into(),
        seen: [meter.day, meter.month],
        totals: [None, meter.month],
    };
    let before = perform_on(&journal, &correction).await;
    assert_eq!(before, MeterOutcome::Seen(vec![meter.clone()]));
    let [meter] = &look(&journal, &["key:a"]).await[..] else {
        panic!("one meter");
    };
    assert_eq!((meter.day, meter.month.is_some()), (None, true));
}

async fn look(journal: &Arc<dyn Journal>, names: &[&str]) -> Vec<Meter> {
    let meters = names.iter().map(|name| Arc::from(*name)).collect();
    let outcome = perform_on(journal, &MeterOperation::Look { meters }).await;
    let MeterOutcome::Seen(meters) = outcome else {
        panic!("{outcome:?}");
    };
    meters
}

/// A record that settled these tokens.
fn record(id: &str, at: WallTime, settled: &[(&str, u64)]) -> SpendingRecord {
    let settled = settled.iter().map(|(budget, tokens)| Reservation {
        budget: (*budget).into(),
        cost: None,
        tokens: Some(*tokens),
    });
    SpendingRecord {
        settled: settled.collect(),
        ..spending::record(id, at)
    }
}

fn reserve(id: &str, tokens: u64, quotas: &[(&str, Quota)]) -> MeterOperation {
    let quotas = quotas.iter().map(|(name, quota)| ((*name).into(), *quota));
    MeterOperation::Reserve {
        amount: Amount {
            tokens,
            ..Amount::default()
        },
        at: START,
        id: id.into(),
        quotas: quotas.collect(),
    }
}

fn tokens_per_day(tokens: u64) -> Quota {
    Quota {
        tokens_per_day: Some(tokens),
        ..Quota::default()
    }
}

async fn perform_on(journal: &Arc<dyn Journal>, operation: &MeterOperation) -> MeterOutcome {
    let meters: &dyn Meters = journal.meters().expect("meters");
    meters.perform(operation).await.expect("an outcome")
}

fn admit(id: &str, quotas: &[(&str, Quota)]) -> MeterOperation {
    let quotas = quotas.iter().map(|(name, quota)| ((*name).into(), *quota));
    MeterOperation::Admit {
        id: id.into(),
        now: START,
        quotas: quotas.collect(),
        until: WallTime::from_millis(START.as_millis() + 60_000),
    }
}

/// Rates: what is left of which limit, and the seconds until all of it is.
fn done(rates: &[(u32, u32, u64)]) -> MeterOutcome {
    let rates = rates.iter().map(|(left, limit, reset)| RateLeft {
        left: *left,
        limit: *limit,
        reset: Duration::from_secs(*reset),
    });
    MeterOutcome::Done(rates.collect())
}

fn rate(requests: u32) -> Quota {
    Quota {
        requests_per_minute: Some(requests),
        ..Quota::default()
    }
}

fn parallel(requests: u32) -> Quota {
    Quota {
        parallel: Some(requests),
        ..Quota::default()
    }
}
