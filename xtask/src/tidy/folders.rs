//! How many files a folder of sources has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Finding, Rule};
use crate::workspace::TextFile;

/// Checks every folder below a `src`.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    of(files, OLD)
}

fn of(files: &[TextFile], old: &[(&str, usize)]) -> Vec<Finding> {
    let sources = files.iter().filter(|file| file.is("rs"));
    let inside = sources.filter_map(|file| file.path.parent());
    let counts = counts(inside.filter(|folder| folder.iter().any(|part| part == "src")));
    differences(&counts, old)
        .into_iter()
        .filter(|(_, count, listed)| *count > LIMIT || *listed > 0)
        .map(|(folder, count, listed)| {
            let may = listed.max(LIMIT);
            let problem = if count > may {
                format!("has {count} files, and may have {may}")
            } else {
                format!("has {count} files, and is listed with {listed}")
            };
            FULL.broken(folder, 1, problem)
        })
        .collect()
}

/// How often each path is there.
pub(super) fn counts<'a>(paths: impl Iterator<Item = &'a Path>) -> BTreeMap<&'a Path, usize> {
    let mut counts = BTreeMap::new();
    for path in paths {
        *counts.entry(path).or_default() += 1;
    }
    counts
}

/// The paths with another count than the list says, with both.
pub(super) fn differences(
    counts: &BTreeMap<&Path, usize>,
    listed: &[(&str, usize)],
) -> Vec<(PathBuf, usize, usize)> {
    let mut both: BTreeMap<&Path, (usize, usize)> = BTreeMap::new();
    for (path, count) in counts {
        both.entry(path).or_default().0 = *count;
    }
    for (path, count) in listed {
        both.entry(Path::new(path)).or_default().1 = *count;
    }
    both.into_iter()
        .filter(|(_, (count, listed))| count != listed)
        .map(|(path, (count, listed))| (path.to_owned(), count, listed))
        .collect()
}

const FULL: Rule = Rule {
    name: "full-folder",
    mend: "make a folder of what belongs together; \
           a count in xtask/src/tidy/folders.rs only falls, and its row goes at 30",
};

/// How many files a folder may have.
const LIMIT: usize = 30;

/// The folders that have had more since before the rule.
const OLD: &[(&str, usize)] = &[
    ("crates/jackfield-assembly/src", 62),
    ("crates/jackfield-cli/src/commands", 37),
    ("crates/jackfield-cli/src/render", 33),
    ("crates/jackfield-domain/src", 65),
    ("crates/jackfield-engine/src", 79),
    ("crates/jackfield-gateway/src", 34),
    ("crates/jackfield-http/src", 31),
    ("crates/jackfield-http/src/api", 33),
    ("crates/jackfield-store-sqlite/src", 35),
    ("crates/jackfield-tools-mcp/src", 44),
    ("xtask/src", 31),
];

#[cfg(test)]
mod tests {
    use super::of;
    use crate::workspace::TextFile;

    fn problems(folder: &str, count: usize, old: &[(&str, usize)]) -> Vec<String> {
        let file = |number: usize| TextFile {
            path: format!("{folder}/f{number}.rs").into(),
            text: String::new(),
        };
        let files: Vec<TextFile> = (0..count).map(file).collect();
        let findings = of(&files, old).into_iter();
        findings.map(|finding| finding.problem).collect()
    }

    #[test]
    fn a_folder_with_too_many_files_is_found() {
        assert_eq!(problems("crates/a/src/b", 30, &[]), [""; 0]);
        assert_eq!(problems("crates/a/tests/it", 31, &[]), [""; 0]);
        let expected = ["has 31 files, and may have 30"];
        assert_eq!(problems("crates/a/src/b", 31, &[]), expected);
    }

    #[test]
    fn a_listed_folder_only_shrinks_and_its_row_with_it() {
        let old = [("crates/a/src", 40)];
        assert_eq!(problems("crates/a/src", 40, &old), [""; 0]);
        let grown = ["has 41 files, and may have 40"];
        assert_eq!(problems("crates/a/src", 41, &old), grown);
        for count in [39, 30, 0] {
            let shrunk = [format!("has {count} files, and is listed with 40")];
            assert_eq!(problems("crates/a/src", count, &old), shrunk);
        }
    }
}
