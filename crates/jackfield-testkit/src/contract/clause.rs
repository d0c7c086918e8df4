//! Clauses of a contract, and exceptions to them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::runtime::Builder;

/// One clause of a contract.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Clause {
    /// The name, which is also that of its test.
    pub name: &'static str,
    /// Its requirement.
    pub text: &'static str,
    /// Why it is there: the failure of users that it prevents.
    pub why: &'static str,
}

/// Expands to one test per clause, which this function performs, with these exceptions.
#[doc(hidden)]
#[macro_export]
macro_rules! clause_tests {
    ({ [$check:expr] $except:tt } $(#[doc = $text:literal] #[doc = $why:literal] $name:ident)+) => {
        $(
            #[test]
            fn $name() {
                let check = $check;
                check(stringify!($name), &$except);
            }
        )+
    };
}

/// Expands to the list of the clauses.
macro_rules! clause_list {
    ({} $(#[doc = $text:literal] #[doc = $why:literal] $name:ident)+) => {
        /// The clauses of the contract, by name: what each requires, and which failure of users it prevents.
        ///
        $(#[doc = concat!("- `", stringify!($name), "`:", $text, $why)])+
        pub const CLAUSES: &[$crate::contract::clause::Clause] = &[
            $($crate::contract::clause::Clause {
                name: stringify!($name),
                text: $text.trim_ascii(),
                why: $why.trim_ascii(),
            }),+
        ];
    };
}

pub(super) use clause_list;

/// Checks a clause in a runtime of its own, and that the exceptions name clauses that are not satisfied, each once.
/// The `vital` clauses have no exceptions, because without them the others prove nothing. A failure ends with the
/// report of what happened last.
pub(super) fn check<F: Future<Output = ()>>(
    clauses: &[Clause],
    vital: &[&str],
    clause: &str,
    exceptions: &[(&str, &str)],
    perform: impl FnOnce() -> F,
    report: fn() -> String,
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
        if let Err(cause) = catch_unwind(AssertUnwindSafe(perform_clause)) {
            let summary = summary(&*cause);
            panic!(
                "{}",
                failure_message(clauses, vital, clause, summary, &report())
            );
        }
        return;
    };
    assert!(
        catch_unwind(AssertUnwindSafe(perform_clause)).is_err(),
        "`{clause}` is kept by now: take back the exception ({reason})"
    );
}

/// The message for a clause that fails: the first line of its own panic, which has reported the details; its
/// requirement, why it is there, what happened last, and what to do.
fn failure_message(
    clauses: &[Clause],
    vital: &[&str],
    clause: &str,
    summary: &str,
    report: &str,
) -> String {
    let known = clauses.iter().find(|known| known.name == clause);
    let text = known.map_or("there is no such clause", |known| known.text);
    let why = known.map_or("", |known| known.why);
    let advice = if vital.contains(&clause) {
        "this clause has no exceptions".to_owned()
    } else {
        format!("where it cannot be kept, say why: `except: {{ {clause} => \"why\" }}`")
    };
    let lines = [
        "the contract is not kept, as told above",
        summary,
        text,
        why,
        report,
        &advice,
    ];
    let lines = lines.iter().filter(|line| !line.is_empty());
    lines.copied().collect::<Vec<_>>().join("\n")
}

/// The first line of a panic.
fn summary(cause: &(dyn Any + Send)) -> &str {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| cause.downcast_ref::<&str>().copied());
    text.and_then(|text| text.lines().next())
        .unwrap_or_default()
}
