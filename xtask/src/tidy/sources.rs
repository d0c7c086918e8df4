//! What every source file has to keep to.

use std::path::Path;

use super::tokens::{Token, after_closing, find, test_modules, tokens};
use super::{Finding, Rule};
use crate::workspace::TextFile;

/// Checks every Rust file.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is("rs")) {
        let tokens = tokens(&file.text);
        let mut broken = |rule: Rule, line, problem: String| {
            findings.push(rule.broken(&file.path, line, problem));
        };
        if !file.text.starts_with("//!") {
            broken(HEADER, 1, "does not open with `//!`".to_owned());
        }
        if file.path.ends_with("mod.rs") {
            broken(NO_MOD_RS, 1, "is called mod.rs".to_owned());
        }
        for (line, problem) in skips(&file.text, &tokens) {
            broken(NO_SKIP, line, problem);
        }
        for name in ["todo", "unimplemented"] {
            for at in find(&tokens, &[name, "!"]) {
                let line = tokens.get(at).map_or(1, |token| token.line);
                broken(UNFINISHED, line, format!("`{name}!`"));
            }
        }
        for (line, name) in bare_attributes(&tokens) {
            broken(REASON, line, format!("`{name}` without a reason"));
        }
        let lines = lines_without_tests(&file.text, &tokens);
        if !is_test(&file.path) && lines > LIMIT && !is_excepted(&file.path) {
            broken(LENGTH, LIMIT, format!("{lines} lines without its tests"));
        }
    }
    findings
}

/// Tests that are compiled and not run, and examples that are not even compiled.
fn skips(text: &str, tokens: &[Token]) -> Vec<(usize, String)> {
    let mut skips: Vec<_> = attributes(tokens)
        .filter(|words| {
            let first = words.first().map_or("", |token| &token.text);
            let says = words.iter().any(|token| token.text == "ignore");
            first == "ignore" || (first == "cfg_attr" && says)
        })
        .filter_map(|words| Some((words.first()?.line, "a test is ignored".to_owned())))
        .collect();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let comment = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        let fence = comment.and_then(|comment| comment.trim_start().strip_prefix("```"));
        if fence.is_some_and(|info| info.split(',').any(|word| word.trim() == "ignore")) {
            skips.push((index + 1, "an example is ignored".to_owned()));
        }
    }
    skips
}

/// Lints that are relaxed without a word why.
fn bare_attributes(tokens: &[Token]) -> Vec<(usize, &'static str)> {
    let mut bare = Vec::new();
    for words in attributes(tokens) {
        for name in ["allow", "expect"] {
            let at = find(words, &[name, "("]).next();
            let reason = find(words, &["reason", "="]).next();
            if let (Some(at), None) = (at, reason) {
                bare.push((words.get(at).map_or(1, |token| token.line), name));
            }
        }
    }
    bare
}

/// What stands between the brackets of each attribute.
fn attributes(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    let inner = find(tokens, &["#", "!", "["]).map(|at| at + 2);
    let outer = find(tokens, &["#", "["]).map(|at| at + 1);
    inner.chain(outer).filter_map(|open| {
        let end = after_closing(tokens, open).saturating_sub(1);
        tokens.get(open + 1..end)
    })
}

/// The lines of a file without the modules that are compiled for tests only.
fn lines_without_tests(text: &str, tokens: &[Token]) -> usize {
    let mut lines = text.lines().count();
    for module in test_modules(tokens) {
        let end = module.end.saturating_sub(1);
        if let (Some(first), Some(last)) = (tokens.get(module.start), tokens.get(end)) {
            lines -= last.line + 1 - first.line;
        }
    }
    lines
}

/// Whether the whole file is a test.
fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests")
}

fn is_excepted(path: &Path) -> bool {
    LONG.iter().any(|(long, _)| path == Path::new(long))
}

const HEADER: Rule = Rule {
    name: "file-header",
    mend: "begin the file with a line `//!` that says what it is for",
};
const NO_MOD_RS: Rule = Rule {
    name: "no-mod-rs",
    mend: "name the file after the module, beside the module's folder",
};
const NO_SKIP: Rule = Rule {
    name: "no-skip",
    mend: "a test runs or is deleted; an example compiles, or is fenced as `text`",
};
const UNFINISHED: Rule = Rule {
    name: "unfinished",
    mend: "finish it, or leave it out until it can be finished",
};
const REASON: Rule = Rule {
    name: "reason",
    mend: "prefer `#[expect(lint, reason = \"...\")]`, and say why",
};
const LENGTH: Rule = Rule {
    name: "file-length",
    mend: "it holds two concepts: cut it between them; where that is wrong, add it with a reason to xtask/src/tidy/sources.rs",
};

/// How long a file may be without its tests.
const LIMIT: usize = 500;

/// Files that are longer, each with the reason.
const LONG: &[(&str, &str)] = &[("xtask/src/mutants/list.rs", "one table, a row per mutant")];

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::TextFile;

    fn found(path: &str, text: &str) -> Vec<(&'static str, usize)> {
        let file = TextFile {
            path: path.into(),
            text: text.to_owned(),
        };
        check(&[file])
            .iter()
            .map(|finding| (finding.rule, finding.line))
            .collect()
    }

    #[test]
    fn a_sound_file_passes() {
        let text = "//! Sound.\n#![expect(clippy::todo, reason = \"no #[ignore]\")]\n// todo!()\n#[test]\nfn f() {}\n\
                    /// ```\n/// ```text\n/// ignore\n/// ```\nfn ignore() {}\n#[serde(ignore)] struct S;\n";
        assert_eq!(found("src/a.rs", text), []);
    }

    #[test]
    fn a_file_without_a_header_is_found() {
        assert_eq!(found("src/a.rs", "// A.\n"), [("file-header", 1)]);
        assert_eq!(found("src/a.rs", ""), [("file-header", 1)]);
    }

    #[test]
    fn a_mod_rs_is_found() {
        assert_eq!(found("src/a/mod.rs", "//! A.\n"), [("no-mod-rs", 1)]);
    }

    #[test]
    fn an_ignored_test_is_found() {
        for attribute in [
            "#[ignore]",
            "#[ignore = \"slow\"]",
            "#[cfg_attr(windows, ignore)]",
            "#[ ignore ]",
        ] {
            let text = format!("//! A.\n\n{attribute}\nfn f() {{}}\n");
            assert_eq!(
                found("tests/it/a.rs", &text),
                [("no-skip", 3)],
                "{attribute}"
            );
        }
    }

    #[test]
    fn an_ignored_example_is_found() {
        assert_eq!(
            found("src/a.rs", "//! A.\n//!\n//! ```ignore\n//! ```\n"),
            [("no-skip", 3)]
        );
        assert_eq!(
            found("src/a.rs", "//! A.\n    /// ```rust,ignore\n"),
            [("no-skip", 2)]
        );
    }

    #[test]
    fn unfinished_work_is_found() {
        assert_eq!(
            found("src/a.rs", "//! A.\nfn f() { todo!() }\n"),
            [("unfinished", 2)]
        );
        assert_eq!(
            found("src/a.rs", "//! A.\nfn f() { unimplemented!(\"x\") }\n"),
            [("unfinished", 2)]
        );
    }

    #[test]
    fn a_lint_relaxed_without_a_reason_is_found() {
        for attribute in [
            "#[allow(dead_code)]",
            "#![allow(dead_code)]",
            "#[expect(\n dead_code)]",
            "#[cfg_attr(test, allow(dead_code))]",
        ] {
            let text = format!("//! A.\n{attribute}\nfn f() {{}}\n");
            assert_eq!(found("src/a.rs", &text), [("reason", 2)], "{attribute}");
        }
    }

    #[test]
    fn a_long_file_is_found_and_its_tests_do_not_count() {
        let code = |lines: usize| format!("//! A.\n{}", "fn f() {}\n".repeat(lines - 1));
        let tests = format!(
            "#[cfg(test)]\nmod tests {{\n{}}}\n",
            "fn f() {}\n".repeat(300)
        );
        assert_eq!(found("src/a.rs", &code(500)), []);
        assert_eq!(found("src/a.rs", &format!("{}{tests}", code(500))), []);
        assert_eq!(found("src/a.rs", &code(501)), [("file-length", 500)]);
        assert_eq!(
            found("src/a.rs", &format!("{}{tests}", code(501))),
            [("file-length", 500)]
        );
        assert_eq!(found("crates/a/tests/it/a.rs", &code(900)), []);
    }
}
