//! Clauses of a contract, and exceptions to them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::runtime::Builder;

/// One clause of a contract.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Clause {
    /// The name, which is also that of its test.
    pub name: &'static str,
    /// Its requirement.
    pub text: &'static str,
}

/// Checks a clause in a runtime of its own, and that the exceptions name clauses that are not satisfied, each once.
/// The `vital` clauses have no exceptions, because without them the others prove nothing.
pub(super) fn check<F: Future<Output = ()>>(
    clauses: &[Clause],
    vital: &[&str],
    clause: &str,
    exceptions: &[(&str, &str)],
    perform: impl FnOnce() -> F,
) {
    for (n, (name, reason)) in exceptions.iter().enumerate() {
        assert!(
            !exceptions
                .iter()
                .skip(n + 1)
                .any(|(other, _)| other == name),
            "`{name}` is excepted twice"
        );
        assert!(
            !vital.contains(name),
            "`{name}` has no exceptions: without it the other clauses prove nothing"
        );
        assert!(
            clauses.iter().any(|known| known.name == *name),
            "an exception names `{name}`, which is no clause"
        );
        assert!(
            !reason.trim().is_empty(),
            "the exception of `{name}` has no reason"
        );
    }
    let perform_clause = || match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(perform()),
        Err(error) => panic!("no runtime: {error}"),
    };
    let Some((_, reason)) = exceptions.iter().find(|(name, _)| *name == clause) else {
        if catch_unwind(AssertUnwindSafe(perform_clause)).is_err() {
            panic!("{}", failure_message(clauses, vital, clause));
        }
        return;
    };
    assert!(
        catch_unwind(AssertUnwindSafe(perform_clause)).is_err(),
        "`{clause}` is kept by now: take back the exception ({reason})"
    );
}

/// The message for a clause that fails: its requirement and what to do. Its own panic has reported the details.
fn failure_message(clauses: &[Clause], vital: &[&str], clause: &str) -> String {
    let known = clauses.iter().find(|known| known.name == clause);
    let text = known.map_or("there is no such clause", |known| known.text);
    let advice = if vital.contains(&clause) {
        "this clause has no exceptions".to_owned()
    } else {
        format!("where it cannot be kept, say why: `except: {{ {clause} => \"why\" }}`")
    };
    format!("the contract is not kept, as told above: {text}\n{advice}")
}
