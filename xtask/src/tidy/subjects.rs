//! What commits are called: `topic: verb what`, in the imperative.

use std::path::Path;

use super::{Finding, Rule};
use crate::run;

/// Checks the commits since this rule began; nothing where there is no history, as in an archive.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let this = "xtask/src/tidy/subjects.rs";
    let begin = ["log", "--diff-filter=A", "--format=%H", "--", this];
    let Ok(begin) = run::output(&mut run::command("git", root, begin)) else {
        return Vec::new();
    };
    let Some(begin) = begin.lines().next_back() else {
        return Vec::new();
    };
    let range = format!("{begin}..HEAD");
    let list = ["log", "--no-merges", "--format=%s", &range];
    let subjects = run::output(&mut run::command("git", root, list)).unwrap_or_default();
    of(&subjects)
}

fn of(subjects: &str) -> Vec<Finding> {
    subjects
        .lines()
        .filter(|subject| !is_imperative(subject))
        .map(|subject| SUBJECT.broken("CONTRIBUTING.md", 1, format!("commit `{subject}`")))
        .collect()
}

/// Whether a subject is a topic, and an order: as far as its first word tells.
fn is_imperative(subject: &str) -> bool {
    let Some((topic, order)) = subject.split_once(": ") else {
        return false;
    };
    let first = order.split([' ', ',']).next().unwrap_or_default();
    let is_word = first.starts_with(|letter: char| letter.is_ascii_lowercase());
    let inflected = ["ed", "ing"].iter().any(|end| first.ends_with(end)) && !VERBS.contains(&first);
    !topic.is_empty() && is_word && !NO_VERBS.contains(&first) && !inflected
}

const SUBJECT: Rule = Rule {
    name: "commit-subject",
    mend: "reword it: `topic: verb what`, such as `http: return 415 for unknown encodings`",
};

/// Verbs that look like a participle.
const VERBS: &[&str] = &[
    "bring", "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed",
];

/// What subjects that tell a state begin with.
const NO_VERBS: &[&str] = &[
    "a", "all", "an", "each", "every", "it", "no", "nothing", "some", "that", "the", "there",
    "what", "where", "who", "whoever",
];

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_subject_that_gives_no_order_is_found() {
        for subject in [
            "http: the head is sent later",
            "http: fixed the head",
            "http: what a client reads is true",
            "Fix the head",
            "http: Send the head later",
        ] {
            assert_eq!(of(subject).len(), 1, "{subject}");
        }
        assert!(of("http, engine: send the head later\ndocs: need fewer words").is_empty());
        assert!(of("").is_empty());
    }
}
