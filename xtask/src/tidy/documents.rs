//! What the documents have to keep to, and what every text has to.

use std::path::Path;

use super::{Finding, Rule};
use crate::workspace::TextFile;

/// Checks the documents, and the ends of all lines.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = decisions(files);
    findings.extend(changelog(files));
    for file in files {
        for (index, line) in file.text.split('\n').enumerate() {
            if line.ends_with([' ', '\t', '\r']) {
                findings.push(SPACE.broken(&file.path, index + 1, "ends in white space"));
            }
            if let Some(place) = machine_path(line)
                && file.is("md")
            {
                let problem = format!("names `{place}`, a place on somebody's machine");
                findings.push(PLACE.broken(&file.path, index + 1, problem));
            }
        }
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            let last = file.text.lines().count();
            findings.push(SPACE.broken(&file.path, last, "the last line does not end"));
        }
    }
    findings
}

/// Every decision is in the index, and the index names no other.
fn decisions(files: &[TextFile]) -> Vec<Finding> {
    let folder = Path::new("docs/adr");
    let index_path = folder.join("README.md");
    let index = files.iter().find(|file| file.path == index_path);
    let numbered = files.iter().filter(|file| {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        let digits = name.bytes().take_while(u8::is_ascii_digit).count();
        file.path.parent() == Some(folder) && digits == 4 && file.is("md")
    });
    let mut findings = Vec::new();
    for file in numbered {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        // A link ends in a bracket, with or without the way to it.
        let listed = index.is_some_and(|index| index.text.contains(&format!("{name})")));
        if !listed {
            let problem = format!("docs/adr/README.md has no link to `{name}`");
            findings.push(INDEX.broken(&file.path, 1, problem));
        }
    }
    findings
}

fn changelog(files: &[TextFile]) -> Vec<Finding> {
    let path = Path::new("CHANGELOG.md");
    let found = files.iter().find(|file| file.path == path);
    let open = found.is_some_and(|file| {
        let mut lines = file.text.lines();
        lines.any(|line| line.starts_with("## [Unreleased]"))
    });
    if open {
        return Vec::new();
    }
    vec![CHANGES.broken(path, 1, "has no heading `## [Unreleased]`")]
}

/// The place that a line names, if it is one of somebody's machine.
fn machine_path(line: &str) -> Option<&'static str> {
    PLACES.iter().copied().find(|place| {
        let mut found = line.match_indices(place);
        found.any(|(at, _)| {
            let before = line[..at].chars().next_back();
            // Part of a longer path or of an address is another place.
            before.is_none_or(|c| !(c.is_alphanumeric() || "/._-}>~$".contains(c)))
        })
    })
}

const INDEX: Rule = Rule {
    name: "adr-index",
    mend: "add a line with a link to docs/adr/README.md",
};
const CHANGES: Rule = Rule {
    name: "changelog",
    mend: "keep the section for what is not released yet, even when it is empty",
};
const SPACE: Rule = Rule {
    name: "white-space",
    mend: "end each line with its last character and a line feed",
};
const PLACE: Rule = Rule {
    name: "machine-path",
    mend: "say where it is from the root of the repository, or from `~`",
};

/// Where the folders of people and machines are.
const PLACES: &[&str] = &["/Users/", "/home/", "/root/", "C:\\"];

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::TextFile;

    const CHANGELOG: (&str, &str) = ("CHANGELOG.md", "# Changes\n\n## [Unreleased]\n");

    fn found(files: &[(&str, &str)]) -> Vec<(&'static str, usize)> {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile {
                path: path.into(),
                text: (*text).to_owned(),
            })
            .collect();
        check(&files)
            .iter()
            .map(|finding| (finding.rule, finding.line))
            .collect()
    }

    #[test]
    fn a_decision_that_the_index_lacks_is_found() {
        let index = ("docs/adr/README.md", "- [One](0001-one.md)\n");
        let one = ("docs/adr/0001-one.md", "# One\n");
        let two = ("docs/adr/0002-two.md", "# Two\n");
        assert_eq!(found(&[CHANGELOG, index, one]), []);
        assert_eq!(found(&[CHANGELOG, index, one, two]), [("adr-index", 1)]);
        assert_eq!(found(&[CHANGELOG, one]), [("adr-index", 1)]);
    }

    #[test]
    fn a_closed_changelog_is_found() {
        assert_eq!(found(&[CHANGELOG]), []);
        assert_eq!(found(&[]), [("changelog", 1)]);
        assert_eq!(
            found(&[("CHANGELOG.md", "See [Unreleased].\n")]),
            [("changelog", 1)]
        );
    }

    #[test]
    fn white_space_at_an_end_is_found() {
        for text in ["a\nb \n", "a\nb\t\n", "a\nb"] {
            assert_eq!(
                found(&[CHANGELOG, ("a.toml", text)]),
                [("white-space", 2)],
                "{text:?}"
            );
        }
        assert_eq!(found(&[CHANGELOG, ("a.toml", "a\n\n  b\n")]), []);
    }

    #[test]
    fn a_place_on_a_machine_is_found_in_documents() {
        for text in [
            "See /home/ada/x.\n",
            "`/root/x`\n",
            "(/Users/ada)\n",
            "C:\\x\n",
        ] {
            assert_eq!(
                found(&[CHANGELOG, ("a.md", text)]),
                [("machine-path", 1)],
                "{text}"
            );
        }
        for text in [
            "~/x and docs/home/x\n",
            "https://example.com/home/x\n",
            "$HOME/x\n",
        ] {
            assert_eq!(found(&[CHANGELOG, ("a.md", text)]), [], "{text}");
        }
        assert_eq!(found(&[CHANGELOG, ("a.rs", "//! /home/ada\n")]), []);
    }
}
