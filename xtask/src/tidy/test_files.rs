//! A test file that no `mod` names is not compiled, and passes for ever.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::tokens::{find, text, tokens};
use super::{Finding, Rule};
use crate::workspace::{Package, TextFile};

/// Checks that every source file below a package's tests is part of its test binary.
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
    }
    findings
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
