//! Where tests stand, and what their names begin with.

use std::path::Path;

use super::folders::{counts, differences};
use super::tokens::{Token, after_closing, find, text, tokens};
use super::{Finding, Rule};
use crate::workspace::TextFile;

/// Checks every test of every file.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    of(files, OLD)
}

fn of(files: &[TextFile], old: &[(&str, usize)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut no_actors = Vec::new();
    for file in files.iter().filter(|file| file.is("rs")) {
        for Token { line, text: name } in tests(&tokens(&file.text)) {
            if is_source(&file.path) {
                findings.push(IN_SOURCE.broken(&file.path, *line, format!("`{name}` is a test")));
            }
            if name.starts_with("what_") || name.starts_with("who_") {
                no_actors.push(home(&file.path));
            }
        }
    }
    let counts = counts(no_actors.into_iter());
    let names = differences(&counts, old).into_iter();
    findings.extend(names.map(|(home, count, listed)| {
        let problem =
            format!("has {count} tests named what_… or who_…, and is listed with {listed}");
        ACTOR.broken(home, 1, problem)
    }));
    findings
}

/// The names of the tests, without those that a macro makes elsewhere.
fn tests(tokens: &[Token]) -> Vec<&Token> {
    let bodies: Vec<_> = find(tokens, &["macro_rules", "!"])
        .map(|at| at..after_closing(tokens, at + 3))
        .collect();
    let attributes = find(tokens, &["#", "["]);
    attributes
        .filter(|at| !bodies.iter().any(|body| body.contains(at)))
        .filter_map(|at| {
            let end = after_closing(tokens, at + 1);
            let mut path = at + 2;
            while text(tokens, path + 1) == ":" {
                path += 3;
            }
            let is_whole = ["(", "]"].contains(&text(tokens, path + 1));
            if text(tokens, path) != "test" || !is_whole {
                return None;
            }
            let next = find(tokens.get(end..)?, &["fn"]).next()?;
            tokens.get(end + next + 1).filter(|name| name.text != "$")
        })
        .collect()
}

/// Whether it is a source of a package whose tests are beside it. `xtask` and `benches` have no other place for them:
/// they are programs, which no test binary can use.
fn is_source(path: &Path) -> bool {
    let mut parts = path.iter();
    parts
        .next()
        .is_some_and(|first| first == "crates" || first == "examples")
        && parts.nth(1).is_some_and(|folder| folder == "src")
}

/// The folder of the package.
fn home(path: &Path) -> &Path {
    let in_group = path.starts_with("crates") || path.starts_with("examples");
    let depth = if in_group { 2 } else { 1 };
    let below = path.iter().count() - depth;
    path.ancestors().nth(below).unwrap_or(path)
}

const IN_SOURCE: Rule = Rule {
    name: "test-in-source",
    mend: "move it to tests/it",
};
const ACTOR: Rule = Rule {
    name: "test-actor",
    mend: "begin the name of the new test with who acts or what it is about: `a_client_that_leaves_…`; \
           a count in xtask/src/tidy/test_functions.rs only falls",
};

/// How many tests of each package had such a name before the rule.
const OLD: &[(&str, usize)] = &[
    ("crates/jackfield-assembly", 24),
    ("crates/jackfield-cli", 15),
    ("crates/jackfield-demo", 3),
    ("crates/jackfield-dialect-claude", 10),
    ("crates/jackfield-dialect-gemini", 6),
    ("crates/jackfield-dialect-kit", 12),
    ("crates/jackfield-dialect-openai", 29),
    ("crates/jackfield-dialect-rules", 8),
    ("crates/jackfield-domain", 36),
    ("crates/jackfield-engine", 27),
    ("crates/jackfield-gateway", 8),
    ("crates/jackfield-http", 5),
    ("crates/jackfield-import", 1),
    ("crates/jackfield-mcp-server", 8),
    ("crates/jackfield-provider-claude", 5),
    ("crates/jackfield-provider-claude-code", 1),
    ("crates/jackfield-provider-gemini", 1),
    ("crates/jackfield-provider-kit", 9),
    ("crates/jackfield-provider-openai", 3),
    ("crates/jackfield-record", 6),
    ("crates/jackfield-server", 1),
    ("crates/jackfield-store-memory", 1),
    ("crates/jackfield-store-postgres", 2),
    ("crates/jackfield-store-sqlite", 21),
    ("crates/jackfield-testkit", 5),
    ("crates/jackfield-tools-builtin", 4),
    ("crates/jackfield-tools-mcp", 13),
    ("crates/jackfield-tools-web", 6),
    ("examples/toolbox-shelf", 1),
    ("tests", 51),
    ("xtask", 4),
];

#[cfg(test)]
mod tests {
    use super::of;
    use crate::workspace::TextFile;

    fn problems(path: &str, text: &str, old: &[(&str, usize)]) -> Vec<String> {
        let file = TextFile {
            path: path.into(),
            text: text.to_owned(),
        };
        let findings = of(&[file], old).into_iter();
        findings
            .map(|found| format!("{}:{} {}", found.path.display(), found.line, found.problem))
            .collect()
    }

    #[test]
    fn a_test_in_the_sources_is_found() {
        for test in [
            "#[test]",
            "#[tokio::test]",
            "#[tokio::test(start_paused = true)] /** B. */ #[x]",
        ] {
            let text = format!("mod tests {{ proptest! {{ {test} async fn a_b() {{}} }} }}");
            for path in ["crates/a/src/b.rs", "examples/a/src/b/c.rs"] {
                let found = problems(path, &text, &[]);
                assert_eq!(found, [format!("{path}:1 `a_b` is a test")], "{test}");
            }
            for path in [
                "crates/a/tests/it/b.rs",
                "xtask/src/b.rs",
                "benches/src/b.rs",
            ] {
                assert_eq!(problems(path, &text, &[]), [""; 0]);
            }
        }
        let none = "#[cfg(test)] fn a() {}\n#[cfg_attr(x, test)] fn b() {}\n#[test_case] fn c() {}\n\
                    macro_rules! m { ($name:ident) => { #[test] fn $name() {} } }";
        assert_eq!(problems("crates/a/src/b.rs", none, &[]), [""; 0]);
    }

    #[test]
    fn a_new_test_without_an_actor_is_found() {
        let path = "crates/a/tests/it/b/c.rs";
        let text = "#[test] fn what_is() {}\n#[test] fn who_is() {}\n#[test] fn whole() {}\nfn what_helps() {}";
        let with = |listed| {
            [format!(
                "crates/a:1 has 2 tests named what_… or who_…, and is listed with {listed}"
            )]
        };
        assert_eq!(problems(path, text, &[("crates/a", 2)]), [""; 0]);
        assert_eq!(problems(path, text, &[]), with(0));
        assert_eq!(problems(path, text, &[("crates/a", 1)]), with(1));
        assert_eq!(problems(path, text, &[("crates/a", 3)]), with(3));
    }
}
