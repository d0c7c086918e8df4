//! A known mistake can be made: the line that it changes is there, once. Found here within a second, and not
//! after all that comes before the mutants.

use std::path::Path;

use super::{Finding, Rule};
use crate::mutants::{MUTANTS, Mutant, mutated};
use crate::workspace::TextFile;

/// Checks the mutants.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    of(MUTANTS, files)
}

fn of(mutants: &[Mutant], files: &[TextFile]) -> Vec<Finding> {
    let wrong = |mutant: &Mutant| {
        let file = files
            .iter()
            .find(|file| file.path == Path::new(mutant.file));
        let problem = match file {
            Some(file) => mutated(mutant, &file.text).err()?.to_string(),
            None => format!("mutant `{}`: there is no {}", mutant.name, mutant.file),
        };
        Some(MISTAKE.broken(LIST, 1, problem))
    };
    mutants.iter().filter_map(wrong).collect()
}

/// Where they are listed.
const LIST: &str = "xtask/src/mutants/list.rs";

const MISTAKE: Rule = Rule {
    name: "mistake",
    mend: "give the mutant the text that stands there now, or take it out with its reason",
};

#[cfg(test)]
mod tests {
    use super::{Mutant, TextFile, of};

    const MUTANT: Mutant = Mutant {
        name: "one",
        file: "src/a.rs",
        from: "a && b",
        to: "a",
        package: "a",
        test: "a",
    };

    fn file(text: &str) -> TextFile {
        TextFile {
            path: "src/a.rs".into(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_mistake_stands_once_in_its_file() {
        assert!(of(&[MUTANT], &[file("if a && b {}")]).is_empty());
        for files in [vec![], vec![file("if a {}")], vec![file("a && b; a && b")]] {
            let found = of(&[MUTANT], &files);
            assert_eq!(found.len(), 1, "{found:?}");
        }
    }
}
