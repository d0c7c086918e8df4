//! The README's first command, as a person who has just cloned the repository runs it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::{run, workspace};

/// Runs the command, with an empty configuration and an empty journal, and checks that it answers both questions.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let command = first_command(root)?;
    answers(root, run::command("sh", root, ["-c", &command]))
}

/// The same with the program that the tests have built, which has all features.
pub(crate) fn demo(root: &Path) -> anyhow::Result<()> {
    let command = first_command(root)?;
    let program = workspace::target(root)?.join("debug/jackfield");
    let command = command.replacen("cargo", &program.display().to_string(), 1);
    answers(root, run::command("sh", root, ["-c", &command]))
}

fn first_command(root: &Path) -> anyhow::Result<String> {
    let readme = fs::read_to_string(root.join("README.md")).context("cannot read README.md")?;
    let block = readme.split("```sh\n").nth(1);
    let command = block.and_then(|block| block.lines().next());
    let command = command.context("README.md shows no command")?;
    ensure!(command.starts_with("cargo demo "), "README.md: {command}");
    Ok(command.to_owned())
}

fn answers(root: &Path, mut shell: Command) -> anyhow::Result<()> {
    let home = root.join("target/readme");
    run::empty_folder(&home)?;
    shell
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_DATA_HOME", home.join("data"));
    let said = run::output(&mut shell)?;
    ensure!(
        said.contains("375") && said.contains("Tokyo"),
        "`{}` says:\n{said}",
        shell
            .get_args()
            .collect::<Vec<_>>()
            .join(" ".as_ref())
            .display()
    );
    Ok(())
}
