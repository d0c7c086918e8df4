//! The help of every command, as it is read.

use clap::{Command, CommandFactory as _};
use jackfield_cli::args::Args;

#[test]
fn the_arguments_contradict_nothing() {
    Args::command().debug_assert();
}

#[test]
fn the_help_of_every_command_is_reviewed_by_eye() {
    let mut pages = Vec::new();
    collect(Args::command().term_width(100), &mut pages);
    insta::assert_snapshot!(
        "help",
        pages.join("\n----------------------------------------\n")
    );
}

#[test]
fn the_short_help_of_ask_fits_a_screen() {
    let mut command = Args::command().term_width(80);
    command.build();
    let ask = command.find_subcommand("ask").unwrap();
    let help = ask.clone().term_width(80).render_help().to_string();
    let lines: Vec<&str> = help.trim_end().lines().collect();
    // A prompt follows.
    assert!(lines.len() <= 23, "{} lines:\n{help}", lines.len());
    assert!(
        lines.iter().all(|line| line.chars().count() <= 80),
        "{help}"
    );
    assert!(help.contains("see more with '--help'"), "{help}");
}

fn collect(command: Command, pages: &mut Vec<String>) {
    let mut command = command;
    command.build();
    pages.push(command.render_long_help().to_string());
    for inner in command
        .get_subcommands()
        .filter(|inner| inner.get_name() != "help")
    {
        collect(inner.clone().term_width(100), pages);
    }
}
