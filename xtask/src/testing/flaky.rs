//! Tests that fail and pass when they run once more.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The tests that failed and passed when they were run once more, alone, of a whole run of CI.
#[derive(Debug)]
pub(crate) struct Flaky {
    /// How many there may be.
    pub(super) allowed: usize,
    found: Mutex<Vec<String>>,
}

impl Flaky {
    /// None: a failed test fails the run.
    pub(crate) const fn none() -> Self {
        Self::at_most(0)
    }

    /// So many tests may be flaky.
    pub(crate) const fn at_most(allowed: usize) -> Self {
        Self {
            allowed,
            found: Mutex::new(Vec::new()),
        }
    }

    /// Those that were found.
    pub(crate) fn found(&self) -> Vec<String> {
        let found = self.found.lock();
        found.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds one; `false` if that is one too many.
    pub(super) fn add(&self, name: String) -> bool {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.push(name);
        found.len() <= self.allowed
    }
}

/// Whether a test that failed may be flaky: no test of its module, whose sources are here, counts payments or turns.
pub(crate) fn may_be_flaky(sources: &Path, test: &str) -> bool {
    let Some((module, _)) = test.rsplit_once("::") else {
        return false;
    };
    let file = sources.join(module.replace("::", "/")).with_extension("rs");
    let text = fs::read_to_string(file);
    text.is_ok_and(|text| !COUNTS.iter().any(|word| text.contains(word)))
}

/// Words in the sources of tests that count payments, calls or turns: one failure of them is a fault.
const COUNTS: &[&str] = &[
    ".calls(",
    ".count(",
    ".effects(",
    "again",
    "kill",
    "once",
    "paid",
    "payment",
    "resumed",
    "spent",
    "turns",
    "twice",
];

#[cfg(test)]
mod tests {
    use super::may_be_flaky;

    #[test]
    fn a_test_of_a_module_that_counts_may_not_be_flaky() {
        let sources = tempfile::tempdir().unwrap();
        std::fs::create_dir(sources.path().join("a")).unwrap();
        for (file, text) in [
            ("a/b.rs", "assert!(is_shown);"),
            ("c.rs", "assert_eq!(payments, 1);"),
        ] {
            std::fs::write(sources.path().join(file), text).unwrap();
        }
        let may = |test: &str| may_be_flaky(sources.path(), test);
        assert!(may("a::b::a_form_is_sent"));
        assert!(!may("c::a_form_is_sent"));
        assert!(!may("d::a_module_that_is_not_there"));
    }
}
