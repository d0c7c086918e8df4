//! `cargo xtask contracts`: the contracts of the ports, clause by clause, and what each clause catches.
//!
//! The tests of the test kit write both below the folder that `JACKFIELD_CONTRACTS_OUT` names: the
//! clauses from the lists that the suites are made of, and an adapter with a mistake for each of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail};

use crate::run;
use crate::testing::test_binary::TestBinary;

/// Lists every contract; with its mutants, of which one that survives is an error, as is a clause without any.
pub(crate) fn run(root: &Path, mutants: bool) -> anyhow::Result<()> {
    let started = Instant::now();
    let passed = emit(root, mutants)?;
    if mutants {
        judge(root)?;
    } else {
        print!("{}", listed(&read(root, false)?));
    }
    eprintln!("contracts: {}", run::spoken(started.elapsed()));
    passed.map(drop)
}

/// Judges what the tests of the test kit have written of clauses and their mutants.
pub(crate) fn judge(root: &Path) -> anyhow::Result<()> {
    let contracts = read(root, true)?;
    print!("{}", table(&contracts));
    let faults = faults(&contracts);
    let mutants: Vec<&Mutant> = contracts.iter().flat_map(|c| &c.mutants).collect();
    let caught = mutants.iter().filter(|mutant| mutant.caught).count();
    println!("{caught} of {} mutants caught", mutants.len());
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

/// The clauses of every contract, for readers.
pub(crate) fn clauses(root: &Path) -> anyhow::Result<Vec<Contract>> {
    emit(root, false)??;
    read(root, false)
}

/// What the tests have written.
fn read(root: &Path, mutants: bool) -> anyhow::Result<Vec<Contract>> {
    let out = root.join(OUT);
    let contracts = CONTRACTS.iter();
    contracts
        .map(|port| Contract::read(&out, port, mutants))
        .collect()
}

/// An empty folder for what the tests write.
pub(crate) fn empty_out(root: &Path) -> anyhow::Result<PathBuf> {
    let out = root.join(OUT);
    run::empty_folder(&out)?;
    Ok(out)
}

/// Lets the tests write into an empty folder, and returns how they ended: mostly what they wrote says why.
fn emit(root: &Path, mutants: bool) -> anyhow::Result<anyhow::Result<String>> {
    let out = empty_out(root)?;
    let built = TestBinary::build_all(root)?;
    let mut tests = TestBinary::of_package(&built, PACKAGE)?.command();
    tests.args(["--quiet", CLAUSES]);
    if mutants {
        tests.args(MUTANTS);
    }
    Ok(run::output(tests.env(CONTRACTS_OUT, out)))
}

/// The contract of a port.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Contract {
    pub(crate) clauses: Vec<Clause>,
    mutants: Vec<Mutant>,
    pub(crate) port: String,
}

/// A clause: what it demands, and which failure of users it prevents.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Clause {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) why: String,
}

/// An adapter with one mistake, and the clause that is there for it.
#[derive(Debug, Eq, PartialEq)]
struct Mutant {
    caught: bool,
    clause: String,
    name: String,
}

impl Contract {
    fn read(out: &Path, port: &str, mutants: bool) -> anyhow::Result<Self> {
        let rows = |what: &str| {
            let file = out.join(format!("{port}.{what}"));
            fs::read_to_string(&file).with_context(|| {
                format!("the tests of jackfield-testkit wrote no {what} of {port}: do they pass?")
            })
        };
        let mutants = if mutants {
            rows("mutants")?
        } else {
            String::new()
        };
        Self::parse(port, &rows("clauses")?, &mutants)
    }

    fn parse(port: &str, clauses: &str, mutants: &str) -> anyhow::Result<Self> {
        let clauses = clauses.lines().map(|row| {
            let fields: Vec<&str> = row.split('\t').collect();
            let [name, text, why] = fields[..] else {
                bail!("this is no clause: {row}");
            };
            Ok(Clause {
                name: name.to_owned(),
                text: text.to_owned(),
                why: why.to_owned(),
            })
        });
        let mutants = mutants.lines().map(|row| {
            let fields: Vec<&str> = row.split('\t').collect();
            let [clause, name, verdict @ ("caught" | "SURVIVED")] = fields[..] else {
                bail!("this is no mutant: {row}");
            };
            Ok(Mutant {
                caught: verdict == "caught",
                clause: clause.to_owned(),
                name: name.to_owned(),
            })
        });
        Ok(Self {
            clauses: clauses.collect::<anyhow::Result<_>>()?,
            mutants: mutants.collect::<anyhow::Result<_>>()?,
            port: port.to_owned(),
        })
    }

    /// The mutants of a clause, in order.
    fn of<'a>(&'a self, clause: &'a Clause) -> impl Iterator<Item = &'a Mutant> {
        self.mutants
            .iter()
            .filter(|mutant| mutant.clause == clause.name)
    }
}

/// Every contract with its clauses, what they demand, and why.
fn listed(contracts: &[Contract]) -> String {
    let mut list = String::new();
    for contract in contracts {
        let count = contract.clauses.len();
        list.push_str(&format!("{}: {count} clauses\n", contract.port));
        for clause in &contract.clauses {
            let Clause { name, text, why } = clause;
            list.push_str(&format!("  {name}\n      {text}\n      {why}\n"));
        }
    }
    list
}

/// A line for each clause and each of its mutants.
fn table(contracts: &[Contract]) -> String {
    let clauses = || contracts.iter().flat_map(|contract| &contract.clauses);
    let mutants = || contracts.iter().flat_map(|contract| &contract.mutants);
    let clause = width("clause", clauses().map(|clause| &*clause.name));
    let mutant = width("mutant", mutants().map(|mutant| &*mutant.name));
    let port = width("contract", contracts.iter().map(|contract| &*contract.port));
    let mut table = format!(
        "{:port$} | {:clause$} | {:mutant$} | verdict\n",
        "contract", "clause", "mutant"
    );
    for contract in contracts {
        let mut line = |name: &str, by: &str, verdict: &str| {
            let whose = &contract.port;
            table.push_str(&format!(
                "{whose:port$} | {name:clause$} | {by:mutant$} | {verdict}\n"
            ));
        };
        for clause in &contract.clauses {
            for mutant in contract.of(clause) {
                let verdict = if mutant.caught { "caught" } else { "SURVIVED" };
                line(&clause.name, &mutant.name, verdict);
            }
            if contract.of(clause).next().is_none() {
                line(&clause.name, "none", "UNPROVED");
            }
        }
    }
    table
}

/// What is wrong, one sentence each.
fn faults(contracts: &[Contract]) -> Vec<String> {
    let mut faults = Vec::new();
    for contract in contracts {
        let port = &contract.port;
        for mutant in &contract.mutants {
            let (name, clause) = (&mutant.name, &mutant.clause);
            if !contract.clauses.iter().any(|known| known.name == *clause) {
                faults.push(format!(
                    "{port}: `{name}` is for `{clause}`, which is no clause"
                ));
            } else if !mutant.caught {
                faults.push(format!("{port}: `{clause}` lets `{name}` survive"));
            }
        }
        for clause in &contract.clauses {
            if contract.of(clause).next().is_none() {
                faults.push(format!("{port}: `{}` has no mutant", clause.name));
            }
        }
        if contract.clauses.is_empty() {
            faults.push(format!("{port}: there are no clauses"));
        }
    }
    faults
}

fn width<'a>(title: &str, words: impl Iterator<Item = &'a str>) -> usize {
    words.map(str::len).max().unwrap_or(0).max(title.len())
}

/// The package whose tests write the contracts, and the variable that says where.
pub(crate) const PACKAGE: &str = "jackfield-testkit";
pub(crate) const CONTRACTS_OUT: &str = "JACKFIELD_CONTRACTS_OUT";

const OUT: &str = "target/contracts";

/// The ports that have a contract.
const CONTRACTS: &[&str] = &[
    "ChatModel",
    "Toolbox",
    "ToolboxSource",
    "ContextSource",
    "Journal",
    "Directory",
    "Logins",
    "Meters",
    "Secrets",
    "Upstream",
    "UpstreamResponses",
];

/// What the tests are called that write the clauses, one for each port.
const CLAUSES: &str = "every_clause_says_what_it_demands";

/// What the tests are called that write the mutants, one for each port; and those that show that an
/// adapter without a mistake is not caught.
const MUTANTS: &[&str] = &[
    "every_clause_catches_its_mutant",
    "chat_model_contract::kept",
    "upstream_contract::kept::",
    "without_a_mistake_keeps_every_clause",
];

#[cfg(test)]
mod tests {
    use super::{Contract, faults, listed, table};

    const CLAUSES: &str = "a_call_runs_once\tA call runs its tool once.\tA mail goes out twice.\n\
                           lists_stay\tA list stays.\tTools come and go.\n";

    fn contract(mutants: &str) -> Contract {
        Contract::parse("Toolbox", CLAUSES, mutants).unwrap()
    }

    #[test]
    fn the_list_has_every_clause_with_what_it_demands_and_why() {
        assert_eq!(
            listed(&[contract("")]),
            "Toolbox: 2 clauses\n  a_call_runs_once\n      A call runs its tool once.\n      A mail goes out twice.\n  \
             lists_stay\n      A list stays.\n      Tools come and go.\n"
        );
    }

    #[test]
    fn the_table_has_a_line_for_each_mutant() {
        let mutants = "a_call_runs_once\tTwice\tcaught\na_call_runs_once\tNever\tSURVIVED\n";
        assert_eq!(
            table(&[contract(mutants)]),
            "contract | clause           | mutant | verdict\n\
             Toolbox  | a_call_runs_once | Twice  | caught\n\
             Toolbox  | a_call_runs_once | Never  | SURVIVED\n\
             Toolbox  | lists_stay       | none   | UNPROVED\n"
        );
    }

    #[test]
    fn survivors_and_clauses_without_a_mutant_are_faults() {
        let fine = "a_call_runs_once\tTwice\tcaught\nlists_stay\tChanges\tcaught\n";
        assert_eq!(faults(&[contract(fine)]), [] as [&str; 0]);
        let survived = "a_call_runs_once\tTwice\tSURVIVED\nlists_stay\tChanges\tcaught\n";
        assert_eq!(
            faults(&[contract(survived)]),
            ["Toolbox: `a_call_runs_once` lets `Twice` survive"]
        );
        assert_eq!(
            faults(&[contract("a_call_runs_once\tTwice\tcaught\n")]),
            ["Toolbox: `lists_stay` has no mutant"]
        );
        let elsewhere = format!("{fine}lists_go\tChanges\tcaught\n");
        assert_eq!(
            faults(&[contract(&elsewhere)]),
            ["Toolbox: `Changes` is for `lists_go`, which is no clause"]
        );
        let empty = Contract::parse("Journal", "", "").unwrap();
        assert_eq!(faults(&[empty]), ["Journal: there are no clauses"]);
    }

    #[test]
    fn what_is_no_row_is_an_error() {
        assert!(Contract::parse("Toolbox", "no text", "").is_err());
        assert!(Contract::parse("Toolbox", "no\twhy", "").is_err());
        assert!(Contract::parse("Toolbox", CLAUSES, "a\tb\tperhaps").is_err());
        assert!(Contract::parse("Toolbox", CLAUSES, "a\tcaught").is_err());
    }
}
