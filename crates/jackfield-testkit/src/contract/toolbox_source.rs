//! The contract of [`ToolboxSource`]: one test per clause.
//!
//! The author of a source writes a [`ToolboxSourceHarness`] and one line:
//!
//! ```text
//! jackfield_testkit::toolbox_source_contract!(AcmeHarness);
//! ```
//!
//! which becomes one test for each of [`CLAUSES`]. A clause that a source cannot satisfy is named with the reason:
//!
//! ```text
//! jackfield_testkit::toolbox_source_contract!(AcmeHarness, except: {
//!     a_toolbox_is_the_same_instance_again => "acme's toolboxes have no state",
//! });
//! ```

use std::collections::BTreeSet;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Waker};

use async_trait::async_trait;
use jackfield_ports::toolbox_source::{ToolboxSet, ToolboxSource};

use tokio::task::JoinSet;

use super::clause;

/// A source to test, and what it has for whom.
#[async_trait]
pub trait ToolboxSourceHarness: Send + Sync + Sized + 'static {
    /// A source with at least two toolboxes.
    async fn fresh() -> Self;

    /// The source.
    fn source(&self) -> Arc<dyn ToolboxSource>;

    /// The source as another process opens it, with the same configuration.
    async fn restarted(&self) -> Arc<dyn ToolboxSource>;

    /// Principals, each with the ids of all its toolboxes. `None` is a turn without a client. One of the principals is
    /// unknown to the source; if the source tells principals apart, two have different toolboxes.
    fn principals(&self) -> Vec<(Option<&'static str>, Vec<&'static str>)>;

    /// Makes one toolbox of this principal unavailable, and returns its id; `None` if that cannot happen.
    async fn break_one(&self, _principal: Option<&str>) -> Option<&'static str> {
        None
    }
}

/// Checks one clause; this is what the tests of [`toolbox_source_contract!`](crate::toolbox_source_contract) call.
///
/// `exceptions` are the names of clauses, each with the reason why it is not satisfied.
///
/// # Panics
///
/// If the clause is not satisfied and no exception names it, or if it is satisfied although one does; also if there
/// is no such clause.
pub fn check<H: ToolboxSourceHarness>(clause: &str, exceptions: &[(&str, &str)]) {
    let perform = || perform::<H>(clause);
    clause::check(CLAUSES, VITAL, clause, exceptions, perform, String::new);
}

/// The clauses that have no exceptions: without them one user calls the tools of another.
pub const VITAL: &[&str] = &["each_principal_gets_its_own_toolboxes"];

/// The only list of the clauses: passes them to a macro, after the arguments for that macro.
#[doc(hidden)]
#[macro_export]
macro_rules! toolbox_source_clauses {
    ($callback:path { $($context:tt)* }) => {
        $callback! {
            { $($context)* }
            /// Dropping a request loses nothing: the next one returns everything.
            /// After a client disconnects, its servers are missing for the next request.
            a_dropped_request_loses_nothing
            /// A toolbox that was returned before is returned as the same instance.
            /// Each turn starts all servers again.
            a_toolbox_is_the_same_instance_again
            /// An unavailable toolbox leaves the others available, and is a problem or stays in the set.
            /// One broken server of a user takes all of its tools away, or vanishes without a reason.
            an_unavailable_toolbox_leaves_the_others
            /// Each id occurs once.
            /// A call reaches another server than the one whose tool the model saw.
            each_id_occurs_once
            /// A principal gets its own toolboxes and no others, after and during requests of other principals.
            /// A user's turn calls another user's tools, with that user's credentials.
            each_principal_gets_its_own_toolboxes
            /// The ids of a principal's toolboxes are the same after a restart.
            /// After a crash no turn finds its tools again, and all of them stay parked.
            the_ids_are_the_same_after_a_restart
        }
    };
}

/// Expands to one test per clause of the contract of `ToolboxSource`.
///
/// Takes a type that is a [`ToolboxSourceHarness`], and perhaps `except: { clause => "reason" }`.
#[macro_export]
macro_rules! toolbox_source_contract {
    ($harness:ty $(, except: { $($clause:ident => $reason:literal),+ $(,)? })? $(,)?) => {
        $crate::toolbox_source_clauses! {
            $crate::clause_tests {
                [$crate::contract::toolbox_source::check::<$harness>]
                [$($((stringify!($clause), $reason)),+)?]
            }
        }
    };
}

macro_rules! dispatch {
    ({} $(#[doc = $text:literal] #[doc = $why:literal] $name:ident)+) => {
        fn perform<H: ToolboxSourceHarness>(clause: &str) -> Pin<Box<dyn Future<Output = ()>>> {
            match clause {
                $(stringify!($name) => Box::pin($name::<H>()),)+
                other => panic!("there is no clause `{other}`"),
            }
        }
    };
}

toolbox_source_clauses! { clause::clause_list {} }
toolbox_source_clauses! { dispatch {} }

async fn a_dropped_request_loses_nothing<H: ToolboxSourceHarness>() {
    let harness = H::fresh().await;
    let source = harness.source();
    for (principal, expected) in harness.principals() {
        {
            let request = pin!(source.toolboxes(principal));
            let mut context = Context::from_waker(Waker::noop());
            let _polled_once = request.poll(&mut context);
        }
        let set = source.toolboxes(principal).await;
        assert_eq!(
            ids(&set),
            sorted(&expected),
            "{principal:?}, after a request was dropped"
        );
    }
}

async fn a_toolbox_is_the_same_instance_again<H: ToolboxSourceHarness>() {
    let harness = H::fresh().await;
    let source = harness.source();
    for (principal, _) in harness.principals() {
        let (first, second) = (
            source.toolboxes(principal).await,
            source.toolboxes(principal).await,
        );
        for registered in &first.toolboxes {
            let same = second
                .toolboxes
                .iter()
                .any(|other| Arc::ptr_eq(&other.toolbox, &registered.toolbox));
            let id = registered.toolbox.id();
            assert!(
                same,
                "{principal:?} gets another instance of `{id}` each time"
            );
        }
    }
}

async fn an_unavailable_toolbox_leaves_the_others<H: ToolboxSourceHarness>() {
    let harness = H::fresh().await;
    let source = harness.source();
    let mut broke_one = false;
    for (principal, expected) in harness.principals() {
        let Some(broken) = harness.break_one(principal).await else {
            continue;
        };
        broke_one = true;
        let set = source.toolboxes(principal).await;
        let returned = ids(&set);
        for id in expected.iter().filter(|id| **id != broken) {
            assert!(
                returned.contains(*id),
                "{principal:?} lost `{id}` with `{broken}`"
            );
        }
        let told = set.problems.iter().any(|problem| {
            problem.toolbox.as_str() == broken && !problem.message.trim().is_empty()
        });
        assert!(
            told || returned.contains(broken),
            "{principal:?} does not get `{broken}`, and no problem says why"
        );
    }
    assert!(broke_one, "the harness breaks no toolbox");
}

async fn each_id_occurs_once<H: ToolboxSourceHarness>() {
    let harness = H::fresh().await;
    let source = harness.source();
    for (principal, _) in harness.principals() {
        let set = source.toolboxes(principal).await;
        assert_eq!(
            ids(&set).len(),
            set.toolboxes.len(),
            "an id occurs twice: {set:?}"
        );
    }
}

async fn each_principal_gets_its_own_toolboxes<H: ToolboxSourceHarness>() {
    let harness = H::fresh().await;
    let (source, principals) = (harness.source(), harness.principals());
    // Twice, so that each comes after each other one.
    for (principal, expected) in principals.iter().chain(principals.iter().rev()) {
        let set = source.toolboxes(*principal).await;
        assert_eq!(
            ids(&set),
            sorted(expected),
            "the toolboxes of {principal:?}"
        );
    }
    let mut at_once = JoinSet::new();
    for (principal, expected) in principals {
        let source = Arc::clone(&source);
        at_once.spawn(async move {
            let set = source.toolboxes(principal).await;
            assert_eq!(
                ids(&set),
                sorted(&expected),
                "the toolboxes of {principal:?}"
            );
        });
    }
    at_once.join_all().await;
}

async fn the_ids_are_the_same_after_a_restart<H: ToolboxSourceHarness>() {
    let harness = H::fresh().await;
    let source = harness.source();
    let restarted = harness.restarted().await;
    for (principal, _) in harness.principals() {
        let (before, after) = (
            source.toolboxes(principal).await,
            restarted.toolboxes(principal).await,
        );
        assert_eq!(ids(&before), ids(&after), "{principal:?}, after a restart");
    }
}

fn ids(set: &ToolboxSet) -> BTreeSet<String> {
    let toolboxes = set.toolboxes.iter();
    toolboxes
        .map(|registered| registered.toolbox.id().to_string())
        .collect()
}

fn sorted(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(ToString::to_string).collect()
}
