//! The contract of [`UpstreamResponses`], an optional part of a journal: one test per clause.
//!
//! The author of a store with upstream responses writes one line beside `journal_contract!`, with the same harness:
//!
//! ```text
//! jackfield_testkit::upstream_responses_contract!(AcmeHarness);
//! ```
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::request::ModelRef;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::target::Reservation;
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;
use jackfield_ports::journal::Journal;
use jackfield_ports::journal::upstream_responses::{UpstreamResponse, UpstreamResponses};

use super::clause;
use super::journal::{JournalHarness, START};

/// Checks one clause; this is what the tests of
/// [`upstream_responses_contract!`](crate::upstream_responses_contract) call.
///
/// `exceptions` are the names of clauses, each with the reason why it is not satisfied.
///
/// # Panics
///
/// If the clause is not satisfied and no exception names it, or if it is satisfied although one does; also if there
/// is no such clause, or the journal has no upstream responses.
pub fn check<H: JournalHarness>(clause: &str, exceptions: &[(&str, &str)]) {
    let perform = || perform::<H>(clause);
    clause::check(CLAUSES, VITAL, clause, exceptions, perform, String::new);
}

/// The clauses that have no exceptions: without them a client gets the response of another one, or none.
pub const VITAL: &[&str] = &["a_response_is_found_by_its_place"];

/// The only list of the clauses: passes them to a macro, after the arguments for that macro.
#[doc(hidden)]
#[macro_export]
macro_rules! upstream_responses_clauses {
    ($callback:path { $($context:tt)* }) => {
        $callback! {
            { $($context)* }
            /// A response comes back equal by its place and by no other, and one of the same place replaces it.
            /// A client does not find its response, or reads that of another.
            a_response_is_found_by_its_place
            /// Every process finds a response at once, and the next one finds it, too.
            /// A conversation goes on at one replica and not at the next, and every restart ends all of them.
            every_process_finds_a_response
            /// A new response deletes those that are over, more than it adds, and no others.
            /// Responses are never deleted, and the disk fills.
            responses_that_are_over_are_deleted
        }
    };
}

/// Expands to one test per clause of the contract of `UpstreamResponses`.
///
/// Takes a type that is a `JournalHarness`, and perhaps `except: { clause => "reason" }`.
#[macro_export]
macro_rules! upstream_responses_contract {
    ($harness:ty $(, except: { $($clause:ident => $reason:literal),+ $(,)? })? $(,)?) => {
        $crate::upstream_responses_clauses! {
            $crate::clause_tests {
                [$crate::contract::upstream_responses::check::<$harness>]
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

upstream_responses_clauses! { clause::clause_list {} }
upstream_responses_clauses! { dispatch {} }

async fn a_response_is_found_by_its_place<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let [mut first, other] = [response("ann", "resp_1", 60), response("ben", "resp_1", 60)];
    for one in [&first, &other] {
        assert_eq!(find(&journal, one).await, None);
        store(&journal, one, 0).await;
        // A journal that lost the answer repeats it.
        store(&journal, one, 0).await;
    }
    let of_a_user = UpstreamResponse::place_of("ann/a customer", "resp_1");
    assert_eq!(of_a_user, first.place);
    assert_eq!(find(&journal, &first).await.as_ref(), Some(&first));
    first.model = "a name with \0".into();
    first.is_background = false;
    first.expires = at(70);
    first.request.usage.input = 7;
    store(&journal, &first, 0).await;
    assert_eq!(find(&journal, &first).await.as_ref(), Some(&first));
    assert_eq!(find(&journal, &other).await.as_ref(), Some(&other));
    let unknown = response("ann", "resp_2", 60);
    assert_eq!(find(&journal, &unknown).await, None);
}

async fn every_process_finds_a_response<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let one = response("ann", "resp_1", 60);
    store(&journal, &one, 0).await;
    if let Some(another) = harness.another_process().await {
        assert_eq!(find(&another, &one).await.as_ref(), Some(&one));
    }
    let reopened = harness.reopened().await;
    assert_eq!(find(&reopened, &one).await.as_ref(), Some(&one));
}

async fn responses_that_are_over_are_deleted<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let over = [response("ann", "1", 10), response("ann", "2", 10)];
    let open = response("ann", "3", 11);
    for one in &over {
        store(&journal, one, 0).await;
    }
    store(&journal, &open, 9).await;
    assert_eq!(find(&journal, &over[0]).await.as_ref(), Some(&over[0]));
    store(&journal, &response("ben", "4", 60), 10).await;
    for one in &over {
        assert_eq!(find(&journal, one).await, None);
    }
    assert_eq!(find(&journal, &open).await.as_ref(), Some(&open));
}

/// A response that is over so many seconds after the start.
fn response(principal: &str, id: &str, seconds: u64) -> UpstreamResponse {
    let request = SpendingRecord {
        at: START,
        endpoint: "/v1/responses".into(),
        first_token: None,
        id: format!("request-{id}").into(),
        model: ModelRef {
            model: "model".into(),
            provider: "provider".into(),
        },
        own_key: false,
        price: None,
        principal: format!("{principal}/a customer").into(),
        repeats_facts: false,
        request_id: None,
        route: None,
        settled: vec![Reservation {
            budget: "user ann".into(),
            cost: None,
            tokens: Some(0),
        }],
        tags: Vec::new(),
        status: Some(200),
        took: Duration::from_millis(5),
        trace: None,
        usage: Usage::default(),
    };
    UpstreamResponse {
        expires: at(seconds),
        is_background: true,
        model: "best".into(),
        place: UpstreamResponse::place_of(principal, id),
        request,
    }
}

async fn store(journal: &Arc<dyn Journal>, one: &UpstreamResponse, seconds: u64) {
    let stored = responses(journal).store_upstream_response(one, at(seconds));
    stored.await.expect("stored");
}

async fn find(journal: &Arc<dyn Journal>, one: &UpstreamResponse) -> Option<UpstreamResponse> {
    let found = responses(journal).find_upstream_response(&one.place).await;
    found.expect("an answer")
}

fn responses(journal: &Arc<dyn Journal>) -> &dyn UpstreamResponses {
    journal.upstream_responses().expect("upstream responses")
}

/// So many seconds after the start.
fn at(seconds: u64) -> WallTime {
    START.after(Duration::from_secs(seconds))
}
