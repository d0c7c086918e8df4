//! What is shown of a contract: its clauses, and for each of them an adapter with a mistake that it catches.
//!
//! `cargo xtask contracts` reads both from the folder that `JACKFIELD_CONTRACTS_OUT` names.

use std::fs;
use std::path::PathBuf;

use jackfield_testkit::contract::clause::Clause;

/// An adapter with one mistake, and whether the clause that is there for it found it out.
#[derive(Debug)]
pub(crate) struct Mutant {
    pub(crate) caught: bool,
    pub(crate) clause: &'static str,
    pub(crate) name: String,
}

/// Checks that every clause says what it demands, and why.
pub(crate) fn check_clauses(contract: &str, clauses: &[Clause]) {
    let rows = clauses
        .iter()
        .map(|clause| [clause.name, clause.text, clause.why].join("\t"));
    tell(contract, "clauses", rows.collect());
    for clause in clauses {
        for sentence in [clause.text, clause.why] {
            assert!(sentence.ends_with('.'), "{clause:?}");
        }
    }
}

/// Checks that every mutant is caught, and that every clause has one.
pub(crate) fn check_mutants(contract: &str, clauses: &[Clause], mutants: &[Mutant]) {
    let rows = mutants.iter().map(|mutant| {
        let verdict = if mutant.caught { "caught" } else { "SURVIVED" };
        [mutant.clause, &mutant.name, verdict].join("\t")
    });
    tell(contract, "mutants", rows.collect());
    for mutant in mutants {
        assert!(
            mutant.caught,
            "`{}` is kept by {}",
            mutant.clause, mutant.name
        );
        assert!(
            clauses.iter().any(|clause| clause.name == mutant.clause),
            "there is no clause `{}`",
            mutant.clause
        );
    }
    for clause in clauses {
        assert!(
            mutants.iter().any(|mutant| mutant.clause == clause.name),
            "nothing shows that `{}` can be broken",
            clause.name
        );
    }
}

fn tell(contract: &str, what: &str, mut rows: Vec<String>) {
    let Some(folder) = std::env::var_os("JACKFIELD_CONTRACTS_OUT").map(PathBuf::from) else {
        return;
    };
    rows.push(String::new());
    let file = folder.join(format!("{contract}.{what}"));
    fs::write(&file, rows.join("\n")).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}
