//! What a workflow runs and what the installer fetches is what was looked at: actions by their commit, downloads by HTTPS.

use std::path::Path;

use super::{Finding, Rule};
use crate::workspace::TextFile;

/// Checks the workflows and the installer.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let is_workflow = file.path.starts_with(".github/workflows");
        if !is_workflow && file.path != Path::new("install.sh") {
            continue;
        }
        for (line, text) in (1..).zip(file.text.lines()) {
            if text.contains("http://") {
                findings.push(HTTPS.broken(&file.path, line, text.trim()));
            }
            let step = text.trim_start().trim_start_matches("- ");
            if let Some(action) = step.strip_prefix("uses:")
                && !is_pinned(action)
            {
                findings.push(PINNED.broken(&file.path, line, action.trim()));
            }
        }
    }
    findings
}

/// Whether an action is named by its commit, and its tag by a comment.
fn is_pinned(action: &str) -> bool {
    let Some((name, tag)) = action.split_once(" # v") else {
        return false;
    };
    let commit = name.trim().split_once('@').map(|(_, commit)| commit);
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    commit.is_some_and(|commit| commit.len() == 40 && commit.bytes().all(is_digit))
        && tag.starts_with(|first: char| first.is_ascii_digit())
}

const HTTPS: Rule = Rule {
    name: "https-only",
    mend: "download by https://",
};

const PINNED: Rule = Rule {
    name: "pinned-action",
    mend: "name the commit that the tag stands for: `uses: OWNER/NAME@40-DIGITS # vTAG`",
};

#[cfg(test)]
mod tests {
    use super::{TextFile, check};

    fn found(path: &str, text: &str) -> usize {
        let (path, text) = (path.into(), text.to_owned());
        check(&[TextFile { path, text }]).len()
    }

    #[test]
    fn an_action_without_its_commit_is_found() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let found = |action: &str| found(".github/workflows/a.yml", action);
        assert_eq!(found(&format!("  - uses: a/b@{commit} # v4.1.0")), 0);
        assert_eq!(found(&format!("    uses: a/b/c@{commit} # v4")), 0);
        for action in [
            "- uses: a/b@v4".to_owned(),
            "- uses: a/b@v4 # v4".to_owned(),
            "- uses: a/b@0123456 # v4".to_owned(),
            format!("- uses: a/b@{commit}"),
            format!("- uses: a/b@{} # v4", commit.to_uppercase()),
            "  uses: ./.github/actions/a".to_owned(),
        ] {
            assert_eq!(found(&action), 1, "{action}");
        }
    }

    #[test]
    fn a_download_without_tls_is_found() {
        let line = "run: curl http://example.com";
        assert_eq!(found(".github/workflows/a.yml", line), 1);
        assert_eq!(found("install.sh", line), 1);
        assert_eq!(found("docs/a.md", line), 0);
        assert_eq!(found("install.sh", "curl https://example.com"), 0);
    }
}
