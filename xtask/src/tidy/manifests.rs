//! What every manifest has to say.

use super::{Finding, Rule};
use crate::workspace::Package;

/// Checks the manifests.
pub(crate) fn check(packages: &[Package]) -> Vec<Finding> {
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

/// Whether this test binary is built only where it is named, so that nobody links it by chance.
fn is_run_by_name(manifest: &toml::Table, test: &str) -> bool {
    let tests = manifest.get("test").and_then(toml::Value::as_array);
    let named =
        |entry: &&toml::Value| entry.get("name").and_then(toml::Value::as_str) == Some(test);
    let entry = tests.and_then(|tests| tests.iter().find(named));
    entry.and_then(|entry| entry.get("test")) == Some(&toml::Value::Boolean(false))
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
    use crate::workspace::{Dependency, Package};

    fn rules(package: &Package) -> Vec<(&'static str, usize)> {
        let findings = check(std::slice::from_ref(package));
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
}
