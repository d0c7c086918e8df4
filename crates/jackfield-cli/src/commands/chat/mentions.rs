//! Files that a message names as `@path`.

use std::path::{Path, PathBuf};

/// The files and the words that look like a file and are none.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Mentions {
    /// The paths that exist, each once, in order.
    pub files: Vec<PathBuf>,
    /// Words with a `/` that are no path.
    pub missing: Vec<String>,
}

/// The files that a message names: `@notes.md`, `@"two words.md"`, `@~/plan.png`.
///
/// Only what exists counts, so that other words with an `@` are text. `resolve` makes a full path.
#[must_use]
pub fn mentions(text: &str, resolve: impl Fn(&str) -> PathBuf) -> Mentions {
    let mut found = Mentions::default();
    let mut before = ' ';
    for (at, sign) in text.char_indices() {
        let begins = sign == '@' && (before.is_whitespace() || OPENING.contains(&before));
        before = sign;
        if !begins {
            continue;
        }
        let rest = &text[at + 1..];
        let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let word = match quoted {
            Some((word, _)) => word,
            None => rest.split(char::is_whitespace).next().unwrap_or_default(),
        };
        match existing(word, &resolve) {
            Some(path) if found.files.contains(&path) => {}
            Some(path) => found.files.push(path),
            None if word.contains('/') => found.missing.push(word.to_owned()),
            None => {}
        }
    }
    found
}

/// The path of this word, or of the word without the punctuation behind it.
fn existing(word: &str, resolve: impl Fn(&str) -> PathBuf) -> Option<PathBuf> {
    let mut word = word;
    loop {
        let path = resolve(word);
        if !word.is_empty() && Path::new(&path).exists() {
            return Some(path);
        }
        let shorter = word.strip_suffix(|sign| CLOSING.contains(&sign))?;
        word = shorter;
    }
}

/// What may stand before an `@`.
const OPENING: &[char] = &['(', '[', '{', '"', '\''];
/// What may stand behind a path.
const CLOSING: &[char] = &['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\''];
