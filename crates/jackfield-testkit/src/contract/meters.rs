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

use jackfield_domain::quota::{Meter, MeterOperation, MeterOutcome, Quota, RateLeft};
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal;
use jackfield_ports::journal::meters::Meters;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use tokio::task::JoinSet;

use super::clause;
use super::journal::{JournalHarness, START};
use crate::arb;

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
pub const VITAL: &[&str] = &["of_operations_at_once_each_sees_the_one_before_it"];

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
    let (mut admitted, mut refused) = (0, 0);
    for nth in 0..300 {
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
            (MeterOperation::Release { .. } | MeterOperation::Renew { .. }, _) => {}
        }
    }
    assert!(admitted > 20 && refused > 20, "{admitted} {refused}");
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
