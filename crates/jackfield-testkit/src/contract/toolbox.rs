//! The contract of [`Toolbox`]: one test per clause.
//!
//! The author of a toolbox writes a [`ToolboxHarness`] and one line:
//!
//! ```text
//! jackfield_testkit::toolbox_contract!(AcmeHarness);
//! ```
//!
//! which becomes one test for each of [`CLAUSES`]. A clause that cannot be satisfied, or for which the toolbox has
//! no suitable tool, is named with the reason; once it is satisfied after all, that test fails:
//!
//! ```text
//! jackfield_testkit::toolbox_contract!(AcmeHarness, except: {
//!     dropping_a_call_cancels_it => "no tool of acme runs long enough to be cancelled",
//! });
//! ```

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_ports::toolbox::Toolbox;
use serde_json::Value;

use super::clause;

mod calls;
mod effects;
mod ends;
mod lists;
mod scene;
mod threads;

/// A toolbox to test, and calls for the tests.
///
/// Calls for which it has no tool stay `None`; the clauses that need them must be exceptions then.
#[async_trait]
pub trait ToolboxHarness: Send + Sync + Sized + 'static {
    /// A toolbox, separate from all others, none of whose tools has run.
    async fn fresh() -> Self;

    /// The toolbox.
    fn toolbox(&self) -> Arc<dyn Toolbox>;

    /// A call that returns soon, with an outcome of two bytes or more that is not an error. A second call has the
    /// same outcome.
    fn working(&self) -> SampleCall;

    /// The nth call of each tool that has an effect: of all that are `Idempotent`, and of others that you choose. It
    /// returns soon and has one effect, other than that of any other n.
    fn acting(&self, _nth: usize) -> Vec<SampleCall> {
        Vec::new()
    }

    /// Calls of each tool that is `ReadOnly`: one that finds something, and one that finds nothing.
    fn read_only(&self) -> Vec<SampleCall> {
        Vec::new()
    }

    /// All effects so far, one text for each. Look where the tools write, not into a count that the toolbox keeps.
    async fn effects(&self) -> Option<Vec<String>> {
        None
    }

    /// The toolbox as the next process opens it after a crash of this one: without anything that was in memory only.
    async fn restarted(&self) -> Option<Arc<dyn Toolbox>> {
        None
    }

    /// A call for which the tool itself reports a failure.
    fn failing(&self) -> Option<SampleCall> {
        None
    }

    /// A call that runs until it is cancelled.
    fn lasting(&self) -> Option<SampleCall> {
        None
    }

    /// A call that runs until it is cancelled, and still has an outcome then.
    fn outliving(&self) -> Option<SampleCall> {
        None
    }

    /// A call in which the tool panics, or its process crashes.
    fn crashing(&self) -> Option<SampleCall> {
        None
    }

    /// The number of runs of tools so far, with any result.
    fn runs(&self) -> Option<usize> {
        None
    }

    /// Whether a tool is running.
    fn is_running(&self) -> Option<bool> {
        None
    }
}

/// A call for a test.
#[derive(Clone, Debug)]
pub struct SampleCall {
    /// The arguments, a JSON object.
    pub arguments: Value,
    /// The tool's own name.
    pub tool: Arc<str>,
}

impl SampleCall {
    /// A call of this tool.
    #[must_use]
    pub fn new(tool: &str, arguments: Value) -> Self {
        Self {
            arguments,
            tool: tool.into(),
        }
    }
}

/// Checks one clause; this is what the tests of [`toolbox_contract!`](crate::toolbox_contract) call.
///
/// `exceptions` are the names of clauses, each with the reason why it is not satisfied.
///
/// # Panics
///
/// If the clause is not satisfied and no exception names it, or if it is satisfied although one does; also if there
/// is no such clause.
pub fn check<H: ToolboxHarness>(clause: &str, exceptions: &[(&str, &str)]) {
    check_within::<H>(threads::TIME_LIMIT, clause, exceptions);
}

/// As [`check`], with another time limit for a thread that is blocked.
#[doc(hidden)]
pub fn check_within<H: ToolboxHarness>(
    patience: Duration,
    clause: &str,
    exceptions: &[(&str, &str)],
) {
    let perform = || {
        let name = clause.to_owned();
        let perform = move || perform::<H>(&name);
        async move { threads::unless_blocked(patience, perform) }
    };
    clause::check(CLAUSES, &[], clause, exceptions, perform, String::new);
}

/// The only list of the clauses: passes them to a macro, after the arguments for that macro.
#[doc(hidden)]
#[macro_export]
macro_rules! toolbox_clauses {
    ($callback:path { $($context:tt)* }) => {
        $callback! {
            { $($context)* }
            /// `list` gives each tool once, by its own name.
            /// A name that stands twice runs now one tool and now the other.
            the_list_gives_each_tool_once
            /// The schema of each tool's arguments, and that of its structured results if it has one, is a JSON object.
            /// A provider refuses the whole request for one schema that is none.
            every_schema_is_a_json_object
            /// Two lists in a row say the same, so that digests of definitions can be compared.
            /// An approval is asked for again and again, because the definition seems to change.
            the_list_stays_the_same
            /// `call` runs the tool once, and its effect is there when it returns.
            /// A mail goes out twice.
            a_call_runs_its_tool_once
            /// A call whose lease has passed is `NotSent`, and runs nothing.
            /// Another process has told the model that the outcome is unknown, and the payment is made all the same.
            a_call_is_not_made_after_its_lease
            /// A repetition of an `Idempotent` call under its key has no further effect: after other calls, and after the call was dropped.
            /// Recovery repeats the call, and a payment is made twice.
            a_repetition_has_no_further_effect
            /// A repetition of an `Idempotent` call under its key has the same outcome.
            /// The model reads that its order failed because it exists already.
            a_repetition_has_the_same_outcome
            /// Keys outlive the process: a repetition of an `Idempotent` call after a crash has no further effect.
            /// A crash of the tool and of ours at once makes a payment twice.
            a_repetition_after_a_restart_has_no_further_effect
            /// The same arguments under another key are another call, with an effect; a tool that only sets a value is an exception.
            /// The second of two equal orders is never made.
            another_key_is_another_call
            /// A `ReadOnly` call has no effect.
            /// A call that runs without approval changes something.
            a_read_only_call_has_no_effect
            /// While a tool works, other tasks of its thread go on.
            /// One slow tool stops every other turn of the process.
            no_call_blocks_its_thread
            /// A call that failed is not tried again.
            /// A payment that failed after it had been made is made twice.
            a_failed_call_is_not_tried_again
            /// What a tool says about its own failure is a result with `is_error`, in words.
            /// The model cannot correct a mistake that it is not shown.
            a_failure_of_the_tools_own_is_a_result
            /// A tool that does not exist is `NotSent` and `UnknownTool`, and nothing runs.
            /// A call that ran nowhere counts as one that may have had an effect, and a person has to look after it.
            an_unknown_tool_is_proved_not_to_have_run
            /// An outcome of exactly `max_bytes` is whole.
            /// A file that just fits arrives without its end.
            an_outcome_at_the_limit_is_whole
            /// An outcome above `max_bytes` is cut to it, with a marker that says so.
            /// A huge outcome fills the model's context, or looks whole although it was cut.
            an_outcome_above_the_limit_is_cut_with_a_marker
            /// Dropping a call cancels it.
            /// A cancelled command goes on deleting files.
            dropping_a_call_cancels_it
            /// The outcome of a call that was dropped is handed on when it comes after all, once.
            /// A call whose effect is known in the end is asked about as unknown.
            an_outcome_after_the_drop_is_handed_on
            /// An outcome that the call came back with is not handed on besides.
            /// One call has two outcomes in the record.
            an_outcome_that_came_back_does_not_come_late
            /// After a panic or a crash of a tool the call has ended, without a claim that it was not run, and the toolbox goes on.
            /// One broken tool takes the whole program along, or its call seems never to have run.
            a_crash_of_a_tool_ends_its_call_alone
            /// Taking up a call that the toolbox does not know runs nothing, and is not `NotSent`.
            /// A call that ran before a crash runs a second time after it.
            what_cannot_be_taken_up_is_not_run
        }
    };
}

/// Expands to one test per clause of the contract of `Toolbox`.
///
/// Takes a type that is a [`ToolboxHarness`], and perhaps
/// `except: { clause => "reason" }`.
#[macro_export]
macro_rules! toolbox_contract {
    ($harness:ty $(, except: { $($clause:ident => $reason:literal),+ $(,)? })? $(,)?) => {
        $crate::toolbox_clauses! {
            $crate::clause_tests {
                [$crate::contract::toolbox::check::<$harness>]
                [$($((stringify!($clause), $reason)),+)?]
            }
        }
    };
}

macro_rules! dispatch {
    ({} $(#[doc = $text:literal] #[doc = $why:literal] $name:ident)+) => {
        /// Runs a clause in the caller's runtime. It panics if the clause is not satisfied.
        #[must_use]
        pub fn perform<H: ToolboxHarness>(
            clause: &str,
        ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
            match clause {
                $(stringify!($name) => Box::pin(all::$name::<H>()),)+
                other => panic!("there is no clause `{other}`"),
            }
        }
    };
}

toolbox_clauses! { clause::clause_list {} }
toolbox_clauses! { dispatch {} }

/// The clauses, each as a function over a harness.
mod all {
    pub(super) use super::calls::*;
    pub(super) use super::effects::*;
    pub(super) use super::ends::*;
    pub(super) use super::lists::*;
    pub(super) use super::threads::*;
}
