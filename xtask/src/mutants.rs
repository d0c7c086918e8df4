//! `cargo xtask mutants`: known mistakes, each of which a named test has to notice.
//!
//! A property that nothing breaks proves nothing.
//! So each mistake of [`list`] is made in a copy of the source, and the test that is said to catch it has to fail.

pub(crate) mod copy;
mod list;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;

use self::copy::Copy;
pub(crate) use self::copy::mutated;
pub(crate) use self::list::{MUTANTS, Mutant};
use self::trial::{Outcome, build};
use crate::workspace;

/// Tries every mutant, or the one of this name; a mutant that is not caught is an error.
pub(crate) fn run(root: &Path, only: Option<&str>) -> anyhow::Result<()> {
    let chosen = chosen(MUTANTS, only)?;
    let target = root.join("target/mutants");
    let files = copy::files(root)?;
    let copy = Copy::update(root, &target.join("tree"), &files)?;
    let build_in = workspace::target(root)?;
    let verdicts = try_all(&copy, &build_in, &target.join("log"), &chosen)?;
    let caught = verdicts
        .iter()
        .filter(|verdict| **verdict == Verdict::Caught)
        .count();
    let others = verdicts.len() - caught;
    println!("{caught} caught, {others} not caught");
    if others > 0 {
        bail!("{others} of {} mutants were not caught", verdicts.len());
    }
    Ok(())
}

fn chosen<'a>(mutants: &'a [Mutant], only: Option<&str>) -> anyhow::Result<Vec<&'a Mutant>> {
    if mutants.is_empty() {
        bail!("no mutants listed: fill xtask/src/mutants/list.rs");
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = mutants.iter().find(|mutant| !names.insert(mutant.name)) {
        bail!("two mutants are called `{}`", twice.name);
    }
    let Some(only) = only else {
        return Ok(mutants.iter().collect());
    };
    match mutants.iter().find(|mutant| mutant.name == only) {
        Some(mutant) => Ok(vec![mutant]),
        None => bail!("no mutant is called `{only}`"),
    }
}

/// Proves the named tests on the sound source, then tries each mutant and prints a line for it.
fn try_all(
    copy: &Copy,
    build_in: &Path,
    log: &Path,
    chosen: &[&Mutant],
) -> anyhow::Result<Vec<Verdict>> {
    let ours: Vec<String> = workspace::packages(copy.root())?
        .into_iter()
        .map(|package| package.name)
        .collect();
    let mut tests: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for mutant in chosen {
        tests.entry(mutant.package).or_default().insert(mutant.test);
    }
    for (package, tests) in tests {
        println!("building the tests of {package}");
        let binary = match build(copy.root(), build_in, &ours, package)? {
            Ok(binary) => binary,
            Err(said) => bail!("`{package}` does not compile without a mutant\n{said}"),
        };
        // What many of them have to work out first, they work out once if they run together.
        let tests: Vec<&str> = tests.into_iter().collect();
        if binary.run(&tests, log, TIME_LIMIT)? == Outcome::Passed {
            continue;
        }
        for test in tests {
            match binary.run(&[test], log, TIME_LIMIT)? {
                Outcome::Passed => {}
                Outcome::Missing => bail!("`{package}` has no test `{test}`"),
                Outcome::Failed => bail!("`{test}` fails without a mutant; see {}", log.display()),
                Outcome::Hung => bail!("`{test}` does not end without a mutant"),
            }
        }
    }
    let name_width = width(chosen.iter().map(|mutant| mutant.name));
    let test_width = width(chosen.iter().map(|mutant| mutant.test));
    println!(
        "{:name_width$} | {:test_width$} | verdict          | seconds",
        "mutant", "caught by"
    );
    let mut verdicts = Vec::new();
    for mutant in chosen {
        let started = Instant::now();
        let verdict = copy.with(mutant, || {
            let binary = match build(copy.root(), build_in, &ours, mutant.package)? {
                Ok(binary) => binary,
                Err(said) => {
                    eprintln!("{said}");
                    return Ok(Verdict::DoesNotCompile);
                }
            };
            Ok(match binary.run(&[mutant.test], log, TIME_LIMIT)? {
                Outcome::Failed => Verdict::Caught,
                Outcome::Hung => Verdict::Hung,
                Outcome::Missing | Outcome::Passed => Verdict::Survived,
            })
        })?;
        let seconds = started.elapsed().as_secs_f64();
        let (name, test) = (mutant.name, mutant.test);
        println!("{name:name_width$} | {test:test_width$} | {verdict:16} | {seconds:7.1}");
        verdicts.push(verdict);
    }
    Ok(verdicts)
}

fn width<'a>(words: impl Iterator<Item = &'a str>) -> usize {
    words
        .map(str::len)
        .max()
        .unwrap_or(0)
        .max("caught by".len())
}

/// What came of a mutant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verdict {
    Caught,
    DoesNotCompile,
    Hung,
    Survived,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Caught => "caught",
            Self::DoesNotCompile => "does not compile",
            Self::Hung => "hung",
            Self::Survived => "survived",
        })
    }
}

/// How long one test may take, on a machine that does other things too.
const TIME_LIMIT: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::copy::Copy;
    use super::list::Mutant;
    use super::{Verdict, chosen, try_all};

    const ADD: Mutant = Mutant {
        name: "minus",
        file: "src/lib.rs",
        from: "a + b",
        to: "a - b",
        package: "sample",
        test: "adds",
    };
    const NOBODY_LOOKS: Mutant = Mutant {
        name: "nobody-looks",
        from: "2 * a",
        to: "3 * a",
        ..ADD
    };
    const NONSENSE: Mutant = Mutant {
        name: "nonsense",
        to: "a + \"b\"",
        ..ADD
    };

    #[test]
    fn a_mistake_is_caught_survives_or_does_not_compile() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        let files = [
            (
                "Cargo.toml",
                "[package]\nname = \"sample\"\nedition = \"2024\"\nautotests = false\n\n[[test]]\nname = \"it\"\npath = \"it.rs\"\n\n[workspace]\n",
            ),
            (
                "src/lib.rs",
                "pub fn add(a: i32, b: i32) -> i32 { a + b }\npub fn double(a: i32) -> i32 { 2 * a }\n",
            ),
            (
                "it.rs",
                "#[test] fn adds() { assert_eq!(sample::add(2, 1), 3) }\n#[test] fn broken() { panic!() }\n",
            ),
        ];
        fs::create_dir_all(from.join("src")).unwrap();
        for (file, text) in files {
            fs::write(from.join(file), text).unwrap();
        }
        let listed: Vec<PathBuf> = files.iter().map(|(file, _)| PathBuf::from(file)).collect();
        let copy = Copy::update(&from, &folder.path().join("tree"), &listed).unwrap();
        let (build_in, log) = (folder.path().join("target"), folder.path().join("log"));

        let verdicts = try_all(
            &copy,
            &build_in,
            &log,
            &[&ADD, &NOBODY_LOOKS, &NONSENSE, &ADD],
        )
        .unwrap();
        assert_eq!(
            verdicts,
            [
                Verdict::Caught,
                Verdict::Survived,
                Verdict::DoesNotCompile,
                Verdict::Caught,
            ]
        );

        for (test, said) in [
            ("missing", "has no test"),
            ("broken", "fails without a mutant"),
        ] {
            let mutant = Mutant { test, ..ADD };
            let error = try_all(&copy, &build_in, &log, &[&mutant]).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
    }

    #[test]
    fn mutants_are_chosen_by_name() {
        let mutants = [ADD, NONSENSE];
        assert_eq!(chosen(&mutants, None).unwrap().len(), 2);
        assert_eq!(
            chosen(&mutants, Some("nonsense")).unwrap()[0].name,
            "nonsense"
        );
        assert!(chosen(&mutants, Some("none")).is_err());
        assert!(chosen(&[ADD, ADD], None).is_err());
    }

    #[test]
    fn no_mutants_is_an_error() {
        let error = chosen(&[], None).unwrap_err().to_string();
        assert!(error.starts_with("no mutants listed"), "{error}");
    }
}
