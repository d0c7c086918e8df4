//! Packages of the system: Debian, Ubuntu, and what is made of them.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::run;

/// Installs a package of the system.
pub(crate) fn install(root: &Path, package: &str) -> anyhow::Result<()> {
    let is_there = |program| run::output(&mut run::command(program, root, ["--version"])).is_ok();
    if !is_there("apt-get") {
        bail!("there is no apt-get to install it with");
    }
    let id = run::output(&mut run::command("id", root, ["-u"]))?;
    let may = if id.trim() == "0" { "env" } else { "sudo" };
    if may == "sudo" && !is_there("sudo") {
        bail!("that takes root, and there is no sudo");
    }
    let apt = |arguments: &[&str]| -> Command {
        // Never a question: there is no terminal.
        let mut command = run::command(may, root, if may == "sudo" { &["-n"][..] } else { &[] });
        command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        command.args(arguments);
        command
    };
    let install = ["install", "--yes", "--no-install-recommends", package];
    // What is known of packages may be missing, or too old.
    if run::output(&mut apt(&install)).is_err() {
        run::output(&mut apt(&["update"]))?;
        run::output(&mut apt(&install))?;
    }
    Ok(())
}
