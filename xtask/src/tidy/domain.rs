//! The domain is synchronous, deterministic and without serialization: read from its words.

use super::tokens::{paths, text, tokens};
use super::{Finding, Rule};
use crate::workspace::TextFile;

/// Checks the domain's sources.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    let sources = files
        .iter()
        .filter(|file| file.path.starts_with(SOURCES) && file.is("rs"));
    sources.flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Finding> {
    let tokens = tokens(&file.text);
    let mut findings = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let next = text(&tokens, index + 1);
        let (rule, problem) = match token.text.as_str() {
            "async" | "await" => (PURE, format!("`{}`", token.text)),
            name if PRINTS.contains(&name) && next == "!" => (PURE, format!("`{name}!`")),
            name if FOREIGN.contains(&name) && next == ":" => (PURE, format!("`{name}::`")),
            name if SERDE.contains(&name) => (NO_SERDE, format!("`{name}`")),
            "jackfield_testkit" => (TWICE, format!("`{}`", token.text)),
            _ => continue,
        };
        findings.push(rule.broken(&file.path, token.line, problem));
    }
    for (line, path) in paths(&tokens, &["std"]) {
        let below = path.get(1..).unwrap_or_default();
        if OUTWARD.iter().any(|outward| below.starts_with(outward)) {
            findings.push(PURE.broken(&file.path, line, format!("`{}`", path.join("::"))));
        }
    }
    findings
}

const PURE: Rule = Rule {
    name: "pure-domain",
    mend: "the domain waits for nothing and asks nothing of the machine: take it as an argument, or move the code out",
};
const NO_SERDE: Rule = Rule {
    name: "no-serde-in-domain",
    mend: "write the stored or wire form in `record` or in a dialect, and map",
};
const TWICE: Rule = Rule {
    name: "domain-twice",
    mend: "testkit depends on the domain, so its types are others here: move the test to the domain's tests/it",
};

/// Where the domain lives.
const SOURCES: &str = "crates/jackfield-domain/src";

/// Macros that print.
const PRINTS: &[&str] = &["dbg", "eprint", "eprintln", "print", "println"];

/// Crates that the domain cannot even name by accident.
const FOREIGN: &[&str] = &["futures", "rand", "tokio", "tracing"];

/// What a derived serialization is called.
const SERDE: &[&str] = &["Deserialize", "Serialize", "serde"];

/// The paths of `std` that lead out of the program, or to its clock.
const OUTWARD: &[&[&str]] = &[
    &["env"],
    &["fs"],
    &["io"],
    &["net"],
    &["os"],
    &["process"],
    &["thread"],
    &["time", "*"],
    &["time", "Instant"],
    &["time", "SystemTime"],
    &["time", "UNIX_EPOCH"],
];

#[cfg(test)]
mod tests {
    use super::{SOURCES, check};
    use crate::workspace::TextFile;

    fn found(text: &str) -> Vec<(usize, &'static str, String)> {
        let file = TextFile {
            path: format!("{SOURCES}/a.rs").into(),
            text: text.to_owned(),
        };
        let findings = check(&[file]);
        findings
            .into_iter()
            .map(|f| (f.line, f.rule, f.problem))
            .collect()
    }

    #[test]
    fn waiting_is_found() {
        let found = found("async fn a() {\n    b.await\n}");
        assert_eq!(
            found,
            [
                (1, "pure-domain", "`async`".to_owned()),
                (2, "pure-domain", "`await`".to_owned()),
            ]
        );
    }

    #[test]
    fn the_machine_is_found_however_it_is_named() {
        for text in [
            "use std::env;",
            "use std::{fmt, fs::File};",
            "use std::{collections::{BTreeMap, BTreeSet}, io};",
            "fn f() { std::thread::sleep(d) }",
            "fn f() -> std::time::SystemTime { now }",
            "use std::time::{Duration, Instant};",
            "use std::time::*;",
            "use std::{time::{Duration as D, Instant as I}};",
        ] {
            assert_eq!(found(text).len(), 1, "{text}: {:?}", found(text));
        }
    }

    #[test]
    fn what_is_pure_is_left_alone() {
        let text = "//! An async file.\nuse std::fmt::{self, Write as _};\nuse std::time::Duration;\nuse serde_json::Value;\n\
                    fn env(io: Instant) -> &'static str { \"std::fs\" }\n";
        assert_eq!(found(text), []);
    }

    #[test]
    fn printing_is_found() {
        assert_eq!(
            found("fn f() {\n\n println!(\"x\"); }"),
            [(3, "pure-domain", "`println!`".to_owned())]
        );
    }

    #[test]
    fn a_runtime_is_found() {
        assert_eq!(found("fn f() { tokio::spawn(x) }").len(), 1);
    }

    #[test]
    fn derived_serialization_is_found() {
        let rules: Vec<_> = found("#[derive(Clone, Serialize)] struct A;")
            .into_iter()
            .map(|f| f.1)
            .collect();
        assert_eq!(rules, ["no-serde-in-domain"]);
    }

    #[test]
    fn a_unit_test_that_uses_the_testkit_is_found() {
        let rules: Vec<_> = found("use jackfield_testkit::arb;")
            .into_iter()
            .map(|f| f.1)
            .collect();
        assert_eq!(rules, ["domain-twice"]);
    }

    #[test]
    fn other_crates_may_wait() {
        let file = TextFile {
            path: "crates/jackfield-engine/src/a.rs".into(),
            text: "async fn a() {}".to_owned(),
        };
        assert!(check(&[file]).is_empty());
    }
}
