//! `cargo xtask external-types`: which types of other crates the public crates name.
//!
//! A type of another crate in a public signature ties our next version to the next one of that crate.
//! So `external-types.toml` lists those that may be there, each with its reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde::Deserialize;

use crate::{run, rustdoc, tools, workspace};

/// Checks the library of every public crate.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let program = tools::CARGO_CHECK_EXTERNAL_TYPES.program(root)?;
    let text = fs::read_to_string(root.join(LIST))?;
    let List { allowed } = toml::from_str(&text).with_context(|| format!("{LIST} is wrong"))?;
    let place = root.join("target/external-types");
    let target = workspace::target(root)?;
    rustdoc::describe(root, &target)?;
    // The tool would run rustdoc for each crate by itself, with features that need other builds of what it uses.
    let cargo = place.join("cargo");
    run::write_script(&cargo, "[ \"$1\" = rustdoc ] || exec cargo \"$@\"")?;
    let mut faults = 0;
    let mut used = BTreeSet::new();
    for package in workspace::packages(root)?.iter().filter(|one| one.public) {
        let config = place.join(format!("{}.toml", package.name));
        let here: Vec<&Allowed> = allowed
            .iter()
            .filter(|one| one.is_for(&package.name))
            .collect();
        fs::write(&config, config_of(&here))?;
        let mut check = run::command(&program, root, ["check-external-types", "--config"]);
        check.arg(&config).arg("--manifest-path");
        check.arg(root.join(package.manifest_path()));
        check.env("CARGO", &cargo).env("CARGO_TARGET_DIR", &target);
        let output = check
            .output()
            .context("cannot start cargo-check-external-types")?;
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => {}
            Some(1) => {
                faults += 1;
                println!("{}:\n{}", package.name, errors(&said));
            }
            _ => bail!(
                "cargo-check-external-types fails at {}:\n{said}",
                package.name
            ),
        }
        let is_used = |one: &&&Allowed| !said.contains(&unused(&one.types));
        used.extend(here.iter().filter(is_used).map(|one| &one.types));
    }
    if faults > 0 {
        bail!(
            "{faults} crates name types of others: keep them out, or add them to {LIST} with a reason"
        );
    }
    if let Some(stale) = allowed.iter().find(|one| !used.contains(&one.types)) {
        bail!(
            "{LIST}: no public crate names `{}` any more: remove the entry",
            stale.types
        );
    }
    println!("external types: none but the {} of {LIST}", allowed.len());
    Ok(())
}

/// The list of what is allowed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    allowed: Vec<Allowed>,
}

/// Types that may be named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowed {
    /// The crates of ours that may name them; without it, every one.
    #[serde(default, rename = "in")]
    crates: Vec<String>,
    #[expect(dead_code, reason = "for readers, and every entry has to have one")]
    reason: String,
    /// Their path, with `*` for anything.
    types: String,
}

impl Allowed {
    fn is_for(&self, package: &str) -> bool {
        self.crates.is_empty() || self.crates.iter().any(|name| name == package)
    }
}

/// The configuration of the tool: our own crates, and what the list allows here.
fn config_of(allowed: &[&Allowed]) -> String {
    let types = allowed.iter().map(|one| one.types.as_str());
    let types: Vec<String> = std::iter::once(OURS)
        .chain(types)
        .map(|one| format!("{one:?}"))
        .collect();
    format!("allowed_external_types = [{}]\n", types.join(", "))
}

/// What the tool says of an allowed type that is not there.
fn unused(types: &str) -> String {
    format!("{UNUSED} `{types}` wasn't referenced")
}

/// Its errors alone: of what is allowed for every crate, most crates need only a part.
fn errors(said: &str) -> String {
    let lines = said.lines().filter(|line| !line.starts_with(UNUSED));
    let text = lines.collect::<Vec<_>>().join("\n");
    let paragraphs = text
        .split("\n\n")
        .filter(|paragraph| paragraph.contains("error: "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

const LIST: &str = "external-types.toml";
const OURS: &str = "jackfield_*";
const UNUSED: &str = "warning: Approved external type";

#[cfg(test)]
mod tests {
    use super::{Allowed, config_of, errors, unused};

    /// What cargo-check-external-types 0.5.0 prints.
    const SAID: &str = "\
Examining all public types...
warning: Approved external type `bytes::*` wasn't referenced in public API
error: Unapproved external type `url::Url` referenced in public API
  --> crates/a/src/b.rs:41:5
   |
41 |     pub url: Url,
   |     ^----------^
   |
   = in struct field of `a::b::C::url`

1 errors, 1 warnings emitted
";

    #[test]
    fn errors_stand_without_what_a_crate_does_not_need() {
        let said = errors(SAID);
        assert!(
            said.contains("error: Unapproved external type `url::Url`"),
            "{said}"
        );
        assert!(
            said.ends_with("= in struct field of `a::b::C::url`"),
            "{said}"
        );
        assert!(!said.contains("bytes"), "{said}");
        assert!(SAID.contains(&unused("bytes::*")));
        assert!(!SAID.contains(&unused("url::*")));
    }

    #[test]
    fn a_type_is_allowed_where_its_entry_says() {
        let of = |types: &str, crates: &[&str]| Allowed {
            crates: crates.iter().map(|&name| name.to_owned()).collect(),
            reason: String::new(),
            types: types.to_owned(),
        };
        let (everywhere, here) = (of("http::*", &[]), of("axum::*", &["jackfield-http"]));
        assert!(everywhere.is_for("jackfield-domain") && here.is_for("jackfield-http"));
        assert!(!here.is_for("jackfield-domain"));
        assert_eq!(
            config_of(&[&everywhere]),
            "allowed_external_types = [\"jackfield_*\", \"http::*\"]\n"
        );
    }
}
