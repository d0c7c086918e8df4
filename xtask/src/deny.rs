//! Licences, bans and sources, by cargo-deny, which is installed if it is missing.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::run;

/// Checks what is in the tree against `deny.toml`.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let tools = root.join("target/tools");
    let own = tools.join("bin/cargo-deny").into_os_string();
    let candidates = [OsString::from("cargo-deny"), own.clone()];
    let program = match candidates.into_iter().find(is_wanted) {
        Some(program) => program,
        None => {
            eprintln!("installing cargo-deny {VERSION}; this takes some minutes, once");
            // Unoptimised, without advisories' network: built in a third of the time, and fast enough.
            let mut install = run::cargo(root, ["install", "cargo-deny", "--locked", "--debug"]);
            install.arg("--no-default-features");
            install.args(["--version", VERSION, "--root"]).arg(&tools);
            run::succeed(&mut install).context("cargo-deny could not be installed")?;
            own
        }
    };
    // Duplicates are worth a look and no failure; a stage that passes should be short to read.
    let mut check = run::command(program, root, ["--log-level", "error", "--locked", "check"]);
    run::succeed(check.args(["licenses", "bans", "sources"]))
}

/// Whether this program is there, in our version.
fn is_wanted(program: &OsString) -> bool {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    output.is_ok_and(|output| {
        output.status.success() && String::from_utf8_lossy(&output.stdout).trim() == WANTED
    })
}

const VERSION: &str = "0.20.2";
const WANTED: &str = "cargo-deny 0.20.2";

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{VERSION, WANTED, is_wanted};

    #[test]
    fn another_program_is_not_taken_for_it() {
        assert!(!is_wanted(&OsString::from(env!("CARGO"))));
        assert!(!is_wanted(&OsString::from("no-such-program")));
    }

    #[test]
    fn the_version_is_said_twice_alike() {
        assert_eq!(WANTED, format!("cargo-deny {VERSION}"));
    }
}
