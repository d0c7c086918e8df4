//! `cargo xtask tidy`: the rules of the house that no compiler knows.
//!
//! Every rule is a function from what is there to findings, with a test on a sample that breaks it.

mod arrows;
mod circles;
mod documents;
mod domain;
mod downloads;
mod folders;
mod manifests;
mod mistakes;
mod module_arrows;
mod names;
mod quotes;
mod sources;
mod subjects;
mod test_files;
mod test_functions;
pub(crate) mod tokens;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::workspace;

/// Prints what breaks a rule; any finding is an error.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let findings = findings(root)?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("tidy: nothing to mend"),
        1 => bail!("tidy: one thing to mend"),
        many => bail!("tidy: {many} things to mend"),
    }
    Ok(())
}

/// Returns everything that breaks a rule, in the order of the files.
pub(crate) fn findings(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let packages = workspace::packages(root)?;
    let files = workspace::text_files(root)?;
    let mut findings = Vec::new();
    findings.extend(arrows::check(&packages));
    findings.extend(arrows::unused(&packages));
    findings.extend(manifests::check(&packages, &files));
    findings.extend(test_files::check(&packages, &files));
    findings.extend(test_functions::check(&files));
    findings.extend(circles::check(&packages, &files));
    findings.extend(folders::check(&files));
    findings.extend(domain::check(&files));
    findings.extend(downloads::check(&files));
    findings.extend(sources::check(&files));
    findings.extend(names::check(&files));
    findings.extend(subjects::check(root));
    findings.extend(documents::check(&files));
    findings.extend(quotes::check(&files));
    findings.extend(mistakes::check(&files));
    findings.sort();
    Ok(findings)
}

/// A place that breaks a rule.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Finding {
    /// From the root.
    path: PathBuf,
    line: usize,
    rule: &'static str,
    problem: String,
    mend: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, line, rule) = (self.path.display(), self.line, self.rule);
        write!(
            f,
            "{path}:{line}: {rule}: {}\n    {}",
            self.problem, self.mend
        )
    }
}

/// A rule: its name, and how a finding is mended.
#[derive(Clone, Copy, Debug)]
struct Rule {
    name: &'static str,
    mend: &'static str,
}

impl Rule {
    /// Returns a finding of this rule.
    fn broken(self, path: impl Into<PathBuf>, line: usize, problem: impl Into<String>) -> Finding {
        Finding {
            path: path.into(),
            line,
            rule: self.name,
            problem: problem.into(),
            mend: self.mend,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Rule, findings};
    use crate::workspace;

    #[test]
    fn the_workspace_is_tidy() {
        let found = findings(&workspace::root().unwrap()).unwrap();
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "\n{}", shown.join("\n"));
    }

    #[test]
    fn a_finding_says_where_which_and_how_to_mend_it() {
        let rule = Rule {
            name: "short-file",
            mend: "cut it",
        };
        assert_eq!(
            rule.broken("src/a.rs", 7, "too long").to_string(),
            "src/a.rs:7: short-file: too long\n    cut it"
        );
    }
}
