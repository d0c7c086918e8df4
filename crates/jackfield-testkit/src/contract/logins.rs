//! The contract of [`Logins`], an optional part of a journal: one test per clause.
//!
//! The author of a store with logins writes one line beside `journal_contract!`, with the same harness:
//!
//! ```text
//! jackfield_testkit::logins_contract!(AcmeHarness);
//! ```
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{ClientLookup, EntryName};
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal;
use jackfield_ports::journal::logins::{Login, Logins, MAX_LOGINS};

use super::clause;
use super::journal::{JournalHarness, START};

/// Checks one clause; this is what the tests of [`logins_contract!`](crate::logins_contract) call.
///
/// `exceptions` are the names of clauses, each with the reason why it is not satisfied.
///
/// # Panics
///
/// If the clause is not satisfied and no exception names it, or if it is satisfied although one does; also if there
/// is no such clause, or the journal has no logins.
pub fn check<H: JournalHarness>(clause: &str, exceptions: &[(&str, &str)]) {
    let perform = || perform::<H>(clause);
    clause::check(CLAUSES, VITAL, clause, exceptions, perform, String::new);
}

/// The clauses that have no exceptions: without them a browser stays logged in that logged out.
pub const VITAL: &[&str] = &["a_login_is_found_until_it_is_removed"];

/// The only list of the clauses: passes them to a macro, after the arguments for that macro.
#[doc(hidden)]
#[macro_export]
macro_rules! logins_clauses {
    ($callback:path { $($context:tt)* }) => {
        $callback! {
            { $($context)* }
            /// A login comes back equal by its secret, until it is removed; others stay.
            /// A browser that logged out is still logged in.
            a_login_is_found_until_it_is_removed
            /// Every process finds a login and its removal at once, and the next one finds it, too.
            /// A browser is logged in at one replica and not at the next, and every restart logs all of them out.
            every_process_finds_a_login
            /// A new login deletes those that are over, and no others.
            /// Logins are never deleted, and each request takes longer.
            logins_that_are_over_are_deleted
            /// Of the logins of one client, those that last longest are kept, up to the limit; those of others stay.
            /// A client that logs in again and again fills the disk, or logs others out.
            a_client_has_a_limit_of_logins
        }
    };
}

/// Expands to one test per clause of the contract of `Logins`.
///
/// Takes a type that is a `JournalHarness`, and perhaps `except: { clause => "reason" }`.
#[macro_export]
macro_rules! logins_contract {
    ($harness:ty $(, except: { $($clause:ident => $reason:literal),+ $(,)? })? $(,)?) => {
        $crate::logins_clauses! {
            $crate::clause_tests {
                [$crate::contract::logins::check::<$harness>]
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

logins_clauses! { clause::clause_list {} }
logins_clauses! { dispatch {} }

async fn a_login_is_found_until_it_is_removed<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let key = ClientLookup::Key(Digest::of(b"key"));
    let all = [
        login(1, key.clone(), 60),
        login(2, key, 60),
        login(3, user("ann"), 60),
    ];
    for one in &all {
        assert_eq!(find(&journal, one).await, None);
        insert(&journal, one, 0).await;
        // A journal that lost the answer repeats it.
        insert(&journal, one, 0).await;
    }
    for one in &all {
        assert_eq!(find(&journal, one).await.as_ref(), Some(one));
    }
    let [first, others @ ..] = &all;
    // A second time, it is not there.
    for _ in 0..2 {
        let removed = logins(&journal).remove_login(&first.secret).await;
        removed.expect("removed");
        assert_eq!(find(&journal, first).await, None);
    }
    for one in others {
        assert_eq!(find(&journal, one).await.as_ref(), Some(one));
    }
}

async fn every_process_finds_a_login<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let [one, other] = [login(1, user("ann"), 60), login(2, user("ann"), 60)];
    insert(&journal, &one, 0).await;
    insert(&journal, &other, 0).await;
    if let Some(another) = harness.another_process().await {
        assert_eq!(find(&another, &one).await.as_ref(), Some(&one));
        let removed = logins(&another).remove_login(&one.secret).await;
        removed.expect("removed");
    } else {
        let removed = logins(&journal).remove_login(&one.secret).await;
        removed.expect("removed");
    }
    assert_eq!(find(&journal, &one).await, None);
    let reopened = harness.reopened().await;
    assert_eq!(find(&reopened, &one).await, None);
    assert_eq!(find(&reopened, &other).await.as_ref(), Some(&other));
}

async fn logins_that_are_over_are_deleted<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let [over, open] = [login(1, user("ann"), 10), login(2, user("ann"), 11)];
    insert(&journal, &over, 0).await;
    insert(&journal, &open, 9).await;
    assert_eq!(find(&journal, &over).await.as_ref(), Some(&over));
    insert(&journal, &login(3, user("ben"), 60), 10).await;
    assert_eq!(find(&journal, &over).await, None);
    assert_eq!(find(&journal, &open).await.as_ref(), Some(&open));
}

async fn a_client_has_a_limit_of_logins<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let of_another = login(0, user("ben"), 1);
    insert(&journal, &of_another, 0).await;
    let limit = u64::try_from(MAX_LOGINS).expect("a number");
    // The one that is over first is not the one that was stored first.
    let of_ann = (1..=limit + 1).map(|nth| login(nth, user("ann"), if nth == 2 { 50 } else { 60 }));
    let of_ann: Vec<Login> = of_ann.collect();
    for one in &of_ann {
        insert(&journal, one, 0).await;
    }
    for (nth, one) in of_ann.iter().enumerate() {
        let expected = (nth != 1).then_some(one);
        assert_eq!(find(&journal, one).await.as_ref(), expected, "{nth}");
    }
    assert_eq!(find(&journal, &of_another).await, Some(of_another));
}

/// A login that is over so many seconds after the start.
fn login(nth: u64, client: ClientLookup, seconds: u64) -> Login {
    Login {
        client,
        expires: at(seconds),
        secret: Digest::of(&nth.to_le_bytes()),
    }
}

fn user(name: &str) -> ClientLookup {
    ClientLookup::User(EntryName::parse(name).expect("a name"))
}

async fn insert(journal: &Arc<dyn Journal>, login: &Login, seconds: u64) {
    let inserted = logins(journal).store_login(login, at(seconds)).await;
    inserted.expect("stored");
}

async fn find(journal: &Arc<dyn Journal>, login: &Login) -> Option<Login> {
    let found = logins(journal).find_login(&login.secret).await;
    found.expect("an answer")
}

fn logins(journal: &Arc<dyn Journal>) -> &dyn Logins {
    journal.logins().expect("logins")
}

/// So many seconds after the start.
fn at(seconds: u64) -> WallTime {
    START.after(Duration::from_secs(seconds))
}
