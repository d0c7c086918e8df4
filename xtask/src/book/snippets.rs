//! The examples of the documents: configurations are loaded, and commands and flags are those that there are.
//!
//! Examples in Rust are compiled elsewhere: as documentation tests, or as quotations that `tidy` compares.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use super::commands::Help;
use super::keys;
use super::pages::Page;
use crate::run;

/// Checks every example, and returns how many there are.
pub(super) fn check(
    root: &Path,
    program: &Path,
    pages: &[Page],
    helps: &[Help],
) -> anyhow::Result<usize> {
    let top = keys::top(root, program)?;
    let file = root.join("target/book/example.toml");
    let mut faults = Vec::new();
    let mut count = 0;
    // What is in the changelog and in decisions was true then.
    let now = pages
        .iter()
        .filter(|page| !page.to.starts_with("adr") && page.to != Path::new("changelog.md"));
    for page in now {
        let text = fs::read_to_string(root.join(&page.from))
            .with_context(|| format!("cannot read {}", page.from.display()))?;
        for block in blocks(&text) {
            let place = format!("{}:{}", page.from.display(), block.line);
            match block.language {
                "toml" if is_ours(&block.text, &top) => {
                    fs::write(&file, &block.text)?;
                    let mut show = run::command(program, root, ["config", "show", "--config"]);
                    if let Err(error) = run::output(show.arg(&file)) {
                        faults.push(format!("{place}: this is no configuration: {error}"));
                    }
                    count += 1;
                }
                "sh" => {
                    for line in block.text.lines() {
                        if let Some(words) = command(line) {
                            count += 1;
                            if let Some(fault) = fault(&words, helps) {
                                faults.push(format!("{place}: {fault}: {line}"));
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(count)
}

/// A block of code.
struct Block<'a> {
    language: &'a str,
    line: usize,
    text: String,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else {
            continue;
        };
        let inside = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| !line.trim_start().starts_with("```"));
        let inside: Vec<&str> = inside.collect();
        blocks.push(Block {
            language,
            line: index + 1,
            text: inside.join("\n"),
        });
    }
    blocks
}

/// Whether all keys at the top are keys of a `jackfield.toml`; others are parts of one, or of other programs.
fn is_ours(text: &str, top: &[String]) -> bool {
    let table: Option<toml::Table> = text.parse().ok();
    table.is_some_and(|table| table.keys().all(|key| top.contains(key)))
}

/// The words of the command that a line gives our program, up to where the shell goes on.
fn command(line: &str) -> Option<Vec<&str>> {
    let is_variable = |word: &&str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        })
    };
    let mut words = line.split_whitespace().skip_while(is_variable);
    if words.next() != Some("jackfield") {
        return None;
    }
    let is_shell =
        |word: &&str| ["|", ">", "<", ";", "&&", "||", "&", "#", "\\", "--"].contains(word);
    Some(words.take_while(|word| !is_shell(word)).collect())
}

/// What is wrong with a command: it is not there, or has not one of the flags.
fn fault(words: &[&str], helps: &[Help]) -> Option<String> {
    let mut found: Option<&Help> = None;
    for length in 0..=words.len() {
        let known = helps
            .iter()
            .find(|(command, _)| command == &words[..length]);
        match known {
            Some(help) => found = Some(help),
            None => break,
        }
    }
    let (command, help) = found?;
    let has_commands = help.contains("\nCommands:\n");
    let next = words.get(command.len());
    if let Some(word) = next.filter(|word| has_commands && !word.starts_with('-')) {
        return Some(format!("there is no command `{word}`"));
    }
    let flags = words.iter().filter(|word| word.starts_with("--"));
    let unknown = flags
        .map(|flag| flag.split('=').next().unwrap_or(flag))
        .map(|flag| flag.trim_end_matches([',', '.', '"', '\'']))
        .find(|flag| {
            let mut known = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
            !known.any(|word| word == *flag)
        });
    unknown.map(|flag| format!("there is no flag `{flag}`"))
}

#[cfg(test)]
mod tests {
    use super::{blocks, command, fault, is_ours};

    fn helps() -> Vec<(Vec<String>, String)> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        vec![
            (
                words(&[]),
                "Commands:\n\nCommands:\n  ask\n\nOptions:\n  -h, --help\n".to_owned(),
            ),
            (
                words(&["ask"]),
                "Options:\n      --model <NAME>\n".to_owned(),
            ),
        ]
    }

    #[test]
    fn commands_and_flags_that_are_not_there_are_found() {
        for (line, expected) in [
            ("KEY=x jackfield ask --model=a \"why?\" | jq --raw", None),
            (
                "jackfield ask --modle a",
                Some("there is no flag `--modle`"),
            ),
            ("jackfield aks", Some("there is no command `aks`")),
            ("jackfield --help", None),
        ] {
            let words = command(line).unwrap();
            assert_eq!(fault(&words, &helps()).as_deref(), expected, "{line}");
        }
        assert!(command("cargo run jackfield").is_none());
    }

    #[test]
    fn blocks_are_found_with_their_lines_and_parts_of_files_are_not_ours() {
        let found = blocks("a\n\n```toml\nx = 1\n```\n  ```sh\n  b\n  ```\n");
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.language, one.line, &*one.text))
            .collect();
        assert_eq!(found, [("toml", 3, "x = 1"), ("sh", 6, "  b")]);
        let top = ["serve".to_owned()];
        assert!(is_ours("[serve]\nbind = 1\n", &top));
        assert!(!is_ours("url = \"x\"\n", &top));
        assert!(!is_ours("[serve\n", &top));
    }
}
