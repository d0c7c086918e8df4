//! What every manifest has to say.

use std::path::Path;

use super::{Finding, Rule};
use crate::workspace::{Package, TextFile};

/// Checks the manifests; what a library's says of its examples, against its sources.
pub(crate) fn check(packages: &[Package], files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let mut broken = |rule: Rule, line, problem: String| {
            findings.push(rule.broken(package.manifest_path(), line, problem));
        };
        let manifest: toml::Table = match package.manifest.parse() {
            Ok(manifest) => manifest,
            Err(error) => {
                broken(LINTS, 1, format!("cannot be read: {error}"));
                continue;
            }
        };
        if setting(&manifest, &["lints", "workspace"]) != Some(&toml::Value::Boolean(true)) {
            let line = package.manifest_line("[lints");
            broken(
                LINTS,
                line,
                format!("`{}` has lints of its own", package.name),
            );
        }
        if !package.tests.is_empty() {
            let line = package.manifest_line("[package");
            if setting(&manifest, &["package", "autotests"]) != Some(&toml::Value::Boolean(false)) {
                broken(
                    ONE_BINARY,
                    line,
                    "`autotests` is not switched off".to_owned(),
                );
            }
            let names: Vec<&str> = package
                .tests
                .iter()
                .map(|(name, _)| name.as_str())
                .filter(|name| !is_run_by_name(&manifest, name))
                .collect();
            if names != ["it"] {
                let names = names.join("`, `");
                broken(ONE_BINARY, line, format!("its test binaries are `{names}`"));
            }
        }
        // The tests of `xtask` and `benches` are beside what they test.
        if package.folder.starts_with("crates") {
            let sources = package.folder.join("src");
            for (key, problem) in idle_targets(package, &manifest, &sources, files) {
                broken(IDLE, package.manifest_line(key), problem);
            }
        }
        for dependency in &package.dependencies {
            let is_for_tests = FOR_TESTS.contains(&&*dependency.name);
            if is_for_tests && dependency.dev && dependency.requirement != "*" {
                let line = package.manifest_line(&dependency.name);
                broken(
                    NO_VERSION,
                    line,
                    format!("`{}` is given a version", dependency.name),
                );
            }
        }
    }
    findings
}

/// What cargo would build and run for tests that are not there, with the key of its place; and examples that cargo does
/// not run.
fn idle_targets(
    package: &Package,
    manifest: &toml::Table,
    sources: &Path,
    files: &[TextFile],
) -> Vec<(&'static str, String)> {
    let mut idle = Vec::new();
    let off = Some(&toml::Value::Boolean(false));
    if package.library {
        if setting(manifest, &["lib", "test"]) != off {
            idle.push(("[lib", "the library has no `test = false`".to_owned()));
        }
        let mut sources = files
            .iter()
            .filter(|file| file.is("rs") && file.path.starts_with(sources));
        let example = sources.find(|file| has_example(&file.text));
        match (example, setting(manifest, &["lib", "doctest"]) == off) {
            (None, false) => idle.push(("[lib", "the library has no `doctest = false`".to_owned())),
            (Some(file), true) => {
                let file = file.path.display();
                idle.push((
                    "doctest",
                    format!("`doctest = false` hides the example of {file}"),
                ));
            }
            _ => {}
        }
    }
    for program in &package.programs {
        if target(manifest, "bin", program).and_then(|entry| entry.get("test")) != off {
            idle.push((
                "[[bin",
                format!("the program `{program}` has no `test = false`"),
            ));
        }
    }
    idle
}

/// Whether documentation has an example that cargo would compile.
fn has_example(text: &str) -> bool {
    let mut is_open = false;
    text.lines().map(str::trim_start).any(|line| {
        if line.starts_with('#') && line.contains("doc = include_str!(") {
            return true;
        }
        let comment = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        let Some(language) = comment.and_then(|comment| comment.trim_start().strip_prefix("```"))
        else {
            is_open = is_open && comment.is_some();
            return false;
        };
        is_open = !is_open;
        is_open
            && language
                .split(',')
                .all(|word| COMPILED.contains(&word.trim()))
    })
}

/// Whether this test binary is built only where it is named, so that it is not linked by chance.
fn is_run_by_name(manifest: &toml::Table, test: &str) -> bool {
    let entry = target(manifest, "test", test);
    entry.and_then(|entry| entry.get("test")) == Some(&toml::Value::Boolean(false))
}

/// The `[[kind]]` of this name.
fn target<'a>(manifest: &'a toml::Table, kind: &str, name: &str) -> Option<&'a toml::Value> {
    let entries = manifest.get(kind)?.as_array()?;
    let named =
        |entry: &&toml::Value| entry.get("name").and_then(toml::Value::as_str) == Some(name);
    entries.iter().find(named)
}

fn setting<'a>(table: &'a toml::Table, keys: &[&str]) -> Option<&'a toml::Value> {
    let (first, rest) = keys.split_first()?;
    let value = table.get(*first)?;
    if rest.is_empty() {
        return Some(value);
    }
    setting(value.as_table()?, rest)
}

const LINTS: Rule = Rule {
    name: "workspace-lints",
    mend: "write `[lints]` with `workspace = true`",
};
const ONE_BINARY: Rule = Rule {
    name: "one-test-binary",
    mend: "write `autotests = false` and one `[[test]]` with `name = \"it\"`; the tests are modules of tests/it/main.rs, and another one has `test = false`",
};
const NO_VERSION: Rule = Rule {
    name: "no-dev-version",
    mend: "this development dependency is a path without a version, which a package leaves out",
};
const IDLE: Rule = Rule {
    name: "idle-target",
    mend: "write `test = false` below `[lib]` and each `[[bin]]`, and `doctest = false` below `[lib]` unless an example \
           of its documentation is compiled: cargo builds and starts a program for each",
};

/// What a fence says of an example that is compiled.
const COMPILED: &[&str] = &["", "compile_fail", "no_run", "rust", "should_panic"];

/// Crates that those which they need have as development dependencies: with a version, no package of the circle could
/// be the first.
const FOR_TESTS: &[&str] = &[
    "jackfield-dialect-rules",
    "jackfield-testkit",
    "jackfield-testservers",
];

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::{Dependency, Package, TextFile};

    fn rules(package: &Package) -> Vec<(&'static str, usize)> {
        let findings = check(std::slice::from_ref(package), &[]);
        findings
            .iter()
            .map(|finding| (finding.rule, finding.line))
            .collect()
    }

    fn sound() -> Package {
        Package {
            manifest: "[package]\nautotests = false\n[lints]\nworkspace = true\n".to_owned(),
            tests: vec![("it".to_owned(), "tests/it/main.rs".into())],
            ..Package::default()
        }
    }

    #[test]
    fn a_sound_manifest_passes() {
        assert_eq!(rules(&sound()), []);
    }

    #[test]
    fn missing_lints_are_found() {
        let mut package = sound();
        package.manifest = "[package]\nautotests = false\n".to_owned();
        assert_eq!(rules(&package), [("workspace-lints", 1)]);
        package.manifest =
            "[package]\nautotests = false\n[lints.rust]\nunsafe_code = \"allow\"\n".to_owned();
        assert_eq!(rules(&package), [("workspace-lints", 3)]);
        package.manifest = "[package\n".to_owned();
        assert_eq!(rules(&package), [("workspace-lints", 1)]);
    }

    #[test]
    fn a_second_test_binary_is_found() {
        let mut package = sound();
        package
            .tests
            .push(("more".to_owned(), "tests/more.rs".into()));
        assert_eq!(rules(&package), [("one-test-binary", 1)]);
        let entry = "[[test]]\nname = \"more\"\ntest = ";
        package.manifest = format!("{}{entry}true\n", package.manifest);
        assert_eq!(rules(&package), [("one-test-binary", 1)]);
        package.manifest = format!("{}{entry}false\n", sound().manifest);
        assert_eq!(rules(&package), []);
    }

    #[test]
    fn found_tests_are_found() {
        let mut package = sound();
        package.manifest = "[package]\n[lints]\nworkspace = true\n".to_owned();
        assert_eq!(rules(&package), [("one-test-binary", 1)]);
    }

    #[test]
    fn a_version_on_a_development_dependency_of_ours_is_found() {
        let mut package = sound();
        package.dependencies.push(Dependency {
            name: "jackfield-testkit".to_owned(),
            dev: true,
            requirement: "^0.1".to_owned(),
            ours: true,
        });
        assert_eq!(rules(&package), [("no-dev-version", 1)]);
    }

    fn idle(manifest: &str, source: &str) -> Vec<(usize, String)> {
        let package = Package {
            folder: "crates/a".into(),
            library: true,
            programs: vec!["a".to_owned()],
            manifest: format!("{}{manifest}", sound().manifest),
            ..sound()
        };
        let file = TextFile {
            path: "crates/a/src/b.rs".into(),
            text: source.to_owned(),
        };
        let findings = check(&[package], &[file]).into_iter();
        findings.map(|found| (found.line, found.problem)).collect()
    }

    const SILENT: &str =
        "[lib]\ntest = false\ndoctest = false\n[[bin]]\nname = \"a\"\ntest = false\n";

    #[test]
    fn a_target_without_tests_that_cargo_would_build_is_found() {
        assert_eq!(idle(SILENT, ""), []);
        let expected = [
            (1, "the library has no `doctest = false`".to_owned()),
            (1, "the library has no `test = false`".to_owned()),
            (1, "the program `a` has no `test = false`".to_owned()),
        ];
        let mut found = idle("", "");
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_example_decides_whether_cargo_looks_for_examples() {
        let looking = SILENT.replace("doctest = false\n", "");
        for example in [
            "//! ```\n//! f();\n//! ```\n",
            "    /// ```rust,no_run\n",
            "/// ```text\n/// ```\n/// ```\n",
            "/// ```text\nfn f() {}\n/// ```\n",
            "#[doc = include_str!(\"../README.md\")]\n",
        ] {
            assert_eq!(idle(&looking, example), [], "{example}");
            let hidden = "`doctest = false` hides the example of crates/a/src/b.rs";
            assert_eq!(idle(SILENT, example), [(7, hidden.to_owned())], "{example}");
        }
        for none in ["/// ```text\n/// ```\n", "// ```\n", "/// ```json\n"] {
            assert_eq!(idle(SILENT, none), [], "{none}");
            assert_eq!(idle(&looking, none).len(), 1, "{none}");
        }
    }
}
