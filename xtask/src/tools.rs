//! Programs of the registry that the automation needs: each in one version, installed below `target/tools` if it is
//! missing.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::run;

/// A program of the registry.
pub(crate) struct Tool {
    /// Its crate, and the file name of the program.
    pub(crate) name: &'static str,
    /// Features, instead of the default ones; all of these are built without what needs a network.
    pub(crate) features: Option<&'static str>,
    /// What `--version` prints.
    pub(crate) says: &'static str,
    /// What it wants as its first argument, where cargo would give it.
    pub(crate) verb: Option<&'static str>,
    pub(crate) version: &'static str,
}

impl Tool {
    /// The program in this version, which is installed if it is missing.
    pub(crate) fn program(&self, root: &Path) -> anyhow::Result<OsString> {
        let tools = root.join("target/tools");
        let own = tools.join("bin").join(self.name).into_os_string();
        let candidates = [OsString::from(self.name), own.clone()];
        if let Some(program) = candidates.into_iter().find(|one| self.is_wanted(one)) {
            return Ok(program);
        }
        let Self { name, version, .. } = self;
        eprintln!("installing {name} {version}; this takes some minutes, once");
        // Unoptimised: built in a third of the time, and fast enough.
        let mut install = run::cargo(root, ["install", name, "--locked", "--debug"]);
        if let Some(features) = self.features {
            install.args(["--no-default-features", "--features", features]);
        }
        install.args(["--version", version, "--root"]).arg(&tools);
        run::succeed(&mut install).with_context(|| format!("{name} could not be installed"))?;
        Ok(own)
    }

    /// Whether this program is there, in our version.
    fn is_wanted(&self, program: &OsString) -> bool {
        let mut command = Command::new(program);
        let output = command
            .args(self.verb)
            .arg("--version")
            .stdin(Stdio::null())
            .output();
        output.is_ok_and(|output| {
            let said = String::from_utf8_lossy(&output.stdout);
            output.status.success() && said.trim() == self.says
        })
    }
}

/// It reads the JSON of rustdoc 1.95 (format 57); another Rust needs another version.
pub(crate) const CARGO_CHECK_EXTERNAL_TYPES: Tool = Tool {
    name: "cargo-check-external-types",
    features: None,
    says: "cargo-check-external-types 0.5.0",
    verb: None,
    version: "0.5.0",
};

pub(crate) const CARGO_CYCLONEDX: Tool = Tool {
    name: "cargo-cyclonedx",
    features: None,
    says: "cargo-cyclonedx-cyclonedx 0.5.9",
    verb: Some("cyclonedx"),
    version: "0.5.9",
};

pub(crate) const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    features: None,
    says: "cargo-deny 0.20.2",
    verb: None,
    version: "0.20.2",
};

/// It reads the JSON of rustdoc 1.93 and later.
pub(crate) const CARGO_SEMVER_CHECKS: Tool = Tool {
    name: "cargo-semver-checks",
    features: None,
    says: "cargo-semver-checks 0.51.0",
    verb: Some("semver-checks"),
    version: "0.51.0",
};

pub(crate) const MDBOOK: Tool = Tool {
    name: "mdbook",
    features: Some("search"),
    says: "mdbook v0.5.4",
    verb: None,
    version: "0.5.4",
};

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{
        CARGO_CHECK_EXTERNAL_TYPES, CARGO_CYCLONEDX, CARGO_DENY, CARGO_SEMVER_CHECKS, MDBOOK,
    };

    #[test]
    fn another_program_is_not_taken_for_it() {
        for tool in [CARGO_DENY, MDBOOK] {
            assert!(!tool.is_wanted(&OsString::from(env!("CARGO"))));
            assert!(!tool.is_wanted(&OsString::from("no-such-program")));
        }
    }

    #[test]
    fn the_version_is_said_twice_alike() {
        for tool in [
            CARGO_CHECK_EXTERNAL_TYPES,
            CARGO_CYCLONEDX,
            CARGO_DENY,
            CARGO_SEMVER_CHECKS,
            MDBOOK,
        ] {
            assert!(tool.says.starts_with(tool.name), "{}", tool.name);
            assert!(tool.says.ends_with(tool.version), "{}", tool.name);
        }
    }
}
