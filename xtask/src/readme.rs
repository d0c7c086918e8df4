//! The README's first command, as a person who has just cloned the repository runs it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use crate::run;

/// Runs the command, with an empty configuration and an empty journal, and checks that it answers both questions.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let readme = fs::read_to_string(root.join("README.md")).context("cannot read README.md")?;
    let block = readme.split("```sh\n").nth(1);
    let command = block.and_then(|block| block.lines().next());
    let command = command.context("README.md shows no command")?;
    ensure!(command.starts_with("cargo run "), "README.md: {command}");
    let home = root.join("target/readme");
    if home.exists() {
        fs::remove_dir_all(&home).with_context(|| format!("cannot empty {}", home.display()))?;
    }
    let mut shell = run::command("sh", root, ["-c", command]);
    shell
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_DATA_HOME", home.join("data"));
    let said = run::output(&mut shell)?;
    ensure!(
        said.contains("375") && said.contains("Tokyo"),
        "`{command}` says:\n{said}"
    );
    Ok(())
}
