//! What files and types are called.

use std::collections::BTreeMap;
use std::path::Path;

use super::tokens::tokens;
use super::{Finding, Rule};
use crate::workspace::TextFile;

/// Checks the names of source files, and that each word of the glossary is one type.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| is_source(&file.path)) {
        let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
        if BANNED.contains(&stem.as_ref()) {
            findings.push(FILE_NAME.broken(&file.path, 1, format!("`{stem}` is not a noun")));
        }
    }
    let glossary = files
        .iter()
        .find(|file| file.path == Path::new("docs/glossary.md"));
    let Some(glossary) = glossary else {
        return findings;
    };
    let mut types: BTreeMap<String, &Path> = BTreeMap::new();
    let words: Vec<String> = glossary.text.lines().filter_map(word).collect();
    for file in files.iter().filter(|file| is_counted(&file.path)) {
        for (line, name) in definitions(&file.text) {
            if !words.contains(&name) {
                continue;
            }
            if let Some(first) = types.get(&name) {
                let problem = format!(
                    "`{name}` is a word of the glossary, and is a type already in {}",
                    first.display()
                );
                findings.push(ONE_TYPE.broken(&file.path, line, problem));
            } else {
                types.insert(name, &file.path);
            }
        }
    }
    findings
}

/// The type that a word of the glossary is: `**Tool call**: …` is `ToolCall`.
fn word(line: &str) -> Option<String> {
    let (word, _) = line.strip_prefix("**")?.split_once("**:")?;
    let capitalized = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    Some(word.split([' ', '-']).map(capitalized).collect())
}

/// The types that a file defines, with their lines.
fn definitions(text: &str) -> Vec<(usize, String)> {
    let tokens = tokens(text);
    let pairs = tokens.windows(2);
    pairs
        .filter_map(|pair| match pair {
            [keyword, name] if KEYWORDS.contains(&keyword.text.as_str()) => {
                Some((name.line, name.text.clone()))
            }
            _ => None,
        })
        .collect()
}

/// Whether a file is a source of a crate.
fn is_source(path: &Path) -> bool {
    let mut parts = path.components().map(|part| part.as_os_str());
    parts.next().is_some_and(|first| first == "crates")
        && parts.nth(1).is_some_and(|folder| folder == "src")
        && path.extension().is_some_and(|extension| extension == "rs")
}

/// Whether its types count: a wire language and the stored form have the words of others.
fn is_counted(path: &Path) -> bool {
    let name = path.components().nth(1);
    let name = name.map_or_else(|| "".into(), |name| name.as_os_str().to_string_lossy());
    is_source(path)
        && !name.starts_with("jackfield-dialect-")
        && name != "jackfield-record"
        && name != "jackfield-testservers"
}

const FILE_NAME: Rule = Rule {
    name: "file-name",
    mend: "call the file by the noun of what it holds",
};
const ONE_TYPE: Rule = Rule {
    name: "one-type",
    mend: "give one of the two the name of what it is beside that",
};

/// What a definition begins with.
const KEYWORDS: &[&str] = &["enum", "struct", "trait"];

/// Verbs, participles and everyday words that say nothing of what is inside.
const BANNED: &[&str] = &[
    "asked",
    "asking",
    "begin",
    "begun",
    "brought",
    "calling",
    "coming",
    "going",
    "heard",
    "kept",
    "known",
    "listening",
    "looked",
    "looks",
    "noticed",
    "passing",
    "said",
    "settled",
    "shown",
    "spoken",
    "telling",
    "today",
    "told",
    "wanted",
];

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::TextFile;

    fn found(files: &[(&str, &str)]) -> Vec<(&'static str, usize)> {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile {
                path: (*path).into(),
                text: (*text).to_owned(),
            })
            .collect();
        let findings = check(&files);
        findings
            .iter()
            .map(|found| (found.rule, found.line))
            .collect()
    }

    #[test]
    fn a_file_that_is_no_noun_is_found() {
        assert_eq!(found(&[("crates/a/src/going.rs", "")]), [("file-name", 1)]);
        assert!(found(&[("crates/a/src/shutdown.rs", "")]).is_empty());
        assert!(found(&[("crates/a/tests/it/going.rs", "")]).is_empty());
    }

    #[test]
    fn a_word_of_the_glossary_that_is_two_types_is_found() {
        let glossary = ("docs/glossary.md", "**Tool call**: a request.\n");
        let one = ("crates/a/src/one.rs", "pub struct ToolCall;\n");
        let two = ("crates/b/src/two.rs", "\nenum ToolCall {}\n");
        let wire = (
            "crates/jackfield-dialect-x/src/lib.rs",
            "struct ToolCall;\n",
        );
        assert_eq!(found(&[glossary, one, two]), [("one-type", 2)]);
        assert!(found(&[glossary, one, wire]).is_empty());
        assert!(found(&[one, two]).is_empty());
    }
}
