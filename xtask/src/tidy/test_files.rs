//! A test that is not compiled passes for ever: in a file that no `mod` names, and in a library that is not built for
//! tests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::tokens::{find, text, tokens};
use super::{Finding, Rule};
use crate::workspace::{Package, TextFile};

/// Checks that every source file below a package's tests is part of its test binary, and that a library which is not
/// built for tests has none.
pub(crate) fn check(packages: &[Package], files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let mut reached = BTreeSet::new();
        for (_, main) in &package.tests {
            reach(main, files, &mut reached);
        }
        let homes = package.tests.iter().filter_map(|(_, main)| main.parent());
        let homes: Vec<PathBuf> = homes
            .map(Path::to_owned)
            .chain([package.folder.join("tests")])
            .collect();
        let sources = files.iter().filter(|file| file.is("rs"));
        for file in sources.filter(|file| homes.iter().any(|home| file.path.starts_with(home))) {
            if !reached.contains(&file.path) {
                findings.push(FORGOTTEN.broken(&file.path, 1, "no `mod` names this file"));
            }
        }
        if !is_built_for_tests(package) {
            let source = package.folder.join("src");
            let sources = files.iter().filter(|file| file.is("rs"));
            for file in sources.filter(|file| file.path.starts_with(&source)) {
                let tokens = tokens(&file.text);
                let found = find(&tokens, &["cfg", "(", "test", ")"]).next();
                if let Some(token) = found.and_then(|at| tokens.get(at)) {
                    let problem = "the library is not built for tests";
                    findings.push(UNBUILT.broken(&file.path, token.line, problem));
                }
            }
        }
    }
    findings
}

/// Whether tests in the library of a package are built: that is so unless its manifest has `test = false`.
fn is_built_for_tests(package: &Package) -> bool {
    let manifest: toml::Table = package.manifest.parse().unwrap_or_default();
    let lib = manifest.get("lib").and_then(|lib| lib.get("test"));
    lib.and_then(toml::Value::as_bool) != Some(false)
}

/// Adds a file and the files of its modules.
fn reach(path: &Path, files: &[TextFile], reached: &mut BTreeSet<PathBuf>) {
    let Some(file) = files.iter().find(|file| file.path == path) else {
        return;
    };
    if !reached.insert(path.to_owned()) {
        return;
    }
    let is_root = path.file_name().is_some_and(|name| name == "main.rs");
    let folder = if is_root {
        path.parent().map(Path::to_owned).unwrap_or_default()
    } else {
        path.with_extension("")
    };
    let tokens = tokens(&file.text);
    for at in find(&tokens, &["mod"]) {
        if text(&tokens, at + 2) == ";" {
            let name = text(&tokens, at + 1);
            reach(&folder.join(format!("{name}.rs")), files, reached);
        }
    }
}

const FORGOTTEN: Rule = Rule {
    name: "forgotten-test",
    mend: "write `mod` and its name into main.rs, or into the module above it",
};
const UNBUILT: Rule = Rule {
    name: "unbuilt-test",
    mend: "move it to a module of tests/it/main.rs",
};

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::{Package, TextFile};

    fn forgotten(files: &[(&str, &str)]) -> Vec<String> {
        let package = Package {
            folder: "a".into(),
            tests: vec![("it".to_owned(), "a/tests/it/main.rs".into())],
            ..Package::default()
        };
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile {
                path: path.into(),
                text: (*text).to_owned(),
            })
            .collect();
        let findings = check(&[package], &files);
        findings
            .iter()
            .map(|finding| finding.path.display().to_string())
            .collect()
    }

    #[test]
    fn a_test_in_a_library_that_is_not_built_for_tests_is_found() {
        let file = |path: &str| TextFile {
            path: path.into(),
            text: "fn one() {}\n\n#[cfg(test)]\nmod tests {}\n".to_owned(),
        };
        let files = [file("a/src/one.rs"), file("b/src/one.rs")];
        for (manifest, lines) in [
            ("[lib]\ntest = false\n", &[3][..]),
            ("[lib]\ndoctest = false\n", &[]),
        ] {
            let package = Package {
                folder: "a".into(),
                manifest: manifest.to_owned(),
                ..Package::default()
            };
            let findings = check(&[package], &files);
            let found: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
            assert_eq!(found, lines, "{manifest}");
        }
    }

    #[test]
    fn a_file_that_no_module_names_is_found() {
        let files = [
            ("a/tests/it/main.rs", "mod one;\n// mod two;\nmod three { }"),
            ("a/tests/it/one.rs", "mod deep;"),
            ("a/tests/it/one/deep.rs", ""),
            ("a/tests/it/two.rs", ""),
            ("a/tests/it/deep.rs", ""),
            ("a/tests/old.rs", ""),
            ("a/src/lib.rs", ""),
            ("b/tests/it/main.rs", ""),
        ];
        assert_eq!(
            forgotten(&files),
            ["a/tests/it/two.rs", "a/tests/it/deep.rs", "a/tests/old.rs"]
        );
    }
}
