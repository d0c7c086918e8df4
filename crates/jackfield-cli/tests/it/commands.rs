//! The tree of commands, held against every page that names it.

use std::collections::BTreeSet;

use clap::{Command, CommandFactory as _, Parser as _};
use jackfield_cli::args::Args;

const PAGE: &str = include_str!("../../../../docs/cli.md");

/// Every command with its whole name, such as `mcp list`.
fn commands() -> Vec<(String, Command)> {
    let mut found = Vec::new();
    let mut root = Args::command();
    root.build();
    collect("", &root, &mut found);
    assert!(found.len() > 10, "{}", found.len());
    found
}

fn collect(name: &str, command: &Command, found: &mut Vec<(String, Command)>) {
    for inner in command.get_subcommands() {
        if inner.get_name() != "help" {
            let name = format!("{name} {}", inner.get_name());
            let name = name.trim();
            found.push((name.to_owned(), inner.clone()));
            collect(name, inner, found);
        }
    }
}

/// The flags of a command, with their dashes.
fn flags(command: &Command) -> impl Iterator<Item = String> {
    let long = command.get_arguments();
    let long = long.filter_map(|flag| flag.get_long_and_visible_aliases());
    long.flatten().map(|long| format!("--{long}"))
}

/// The `--words` of a text.
fn named_flags(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '-';
    let starts = text.match_indices("--").filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        before.is_none_or(|c| !is_part(c) && c != '|')
    });
    let flags = starts.map(|(at, _)| {
        let flag = text[at..].split(|c| !is_part(c)).next().unwrap_or_default();
        flag.to_owned()
    });
    flags.filter(|flag| flag.len() > 3).collect()
}

/// The lines of a text that run `jackfield`, without what comes before and after it.
fn runs(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("git diff | ").unwrap_or(line);
        let of_cargo = || {
            line.strip_prefix("cargo ")
                .filter(|run| run.starts_with("demo "))
        };
        let run = line.strip_prefix("jackfield ").or_else(of_cargo)?;
        Some(words(run))
    });
    lines.collect()
}

/// The words of a line of a shell, up to a pipe, a redirection or a remark.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"') | None, '\\') => {
                word.get_or_insert_default().extend(characters.next());
            }
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '|' | '>' | '<' | ';' | '#' | '&') if word.is_none() => return words,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[track_caller]
fn parses(words: &[String]) {
    let all = std::iter::once("jackfield").chain(words.iter().map(String::as_str));
    if let Err(error) = Args::try_parse_from(all) {
        let fine = matches!(
            error.kind(),
            clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
        );
        assert!(fine, "jackfield {words:?}: {error}");
    }
}

#[test]
fn every_command_shows_examples_that_parse() {
    for (name, command) in commands() {
        let help = command.get_after_help().map(ToString::to_string);
        let help = help.unwrap_or_default();
        assert!(help.contains("Examples:\n"), "`{name} --help` has none");
        let runs = runs(&help);
        assert!(!runs.is_empty(), "{name}");
        let own = runs.iter().any(|run| run.join(" ").starts_with(&name));
        assert!(own, "`{name} --help` shows only others: {runs:?}");
        for run in runs {
            parses(&run);
        }
    }
}

#[test]
fn every_command_and_every_flag_is_documented() {
    for (name, command) in commands() {
        assert!(
            PAGE.contains(&format!("`jackfield {name}")),
            "docs/cli.md does not name `jackfield {name}`"
        );
        let documented = named_flags(PAGE);
        for flag in flags(&command).filter(|flag| flag != "--help") {
            assert!(documented.contains(&flag), "docs/cli.md: {name} {flag}");
        }
    }
}

#[test]
fn nothing_is_documented_that_is_not_there() {
    let commands = commands();
    let root = Args::command();
    let known: BTreeSet<String> = commands
        .iter()
        .map(|(_, command)| command)
        .chain([&root])
        .flat_map(flags)
        .chain(["--help", "--version"].map(str::to_owned))
        .collect();
    let readme = include_str!("../../../../README.md");
    for (page, text) in [("docs/cli.md", PAGE), ("README.md", readme)] {
        // What belongs to other programs stands in their own lines.
        let ours: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with(['{', '"']))
            .filter(|line| !line.contains("cargo "))
            .map(|line| format!("{line}\n"))
            .collect();
        for flag in named_flags(&ours) {
            assert!(known.contains(&flag), "{page} names {flag}");
        }
        let runs = runs(text);
        assert!(!runs.is_empty());
        for run in runs
            .iter()
            .filter(|run| !run.iter().any(|word| is_a_form(word)))
        {
            parses(run);
        }
        // Whatever stands in backticks begins with a command.
        for inline in text.split('`').skip(1).step_by(2) {
            let Some(rest) = inline.strip_prefix("jackfield ") else {
                continue;
            };
            let first = rest.split_whitespace().next().unwrap_or_default();
            let is_known = first.starts_with('-')
                || first == "…"
                || commands.iter().any(|(name, _)| name == first);
            assert!(is_known, "{page} names `jackfield {rest}`");
        }
    }
}

/// Whether a word stands for others, as in `[OPTIONS]` and `…`.
fn is_a_form(word: &str) -> bool {
    word.starts_with('[') || word == "…"
}
