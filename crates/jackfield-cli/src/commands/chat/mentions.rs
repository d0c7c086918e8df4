//! Files that a message names as `@path`, and resources that it names as `@server:uri`.

use std::path::{Path, PathBuf};

use jackfield_domain::ids::ToolboxId;

/// The files and the words that look like a file and are none.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Mentions {
    /// The paths that exist, each once, in order.
    pub files: Vec<PathBuf>,
    /// Words with a `/` that are no path.
    pub missing: Vec<String>,
}

/// A resource of an MCP server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NamedResource {
    pub server: ToolboxId,
    pub uri: String,
}

/// The resources that a message names, each once, in order: `@notes:note://a`, `@"notes:two words"`.
///
/// Only words with a server count, so that other words with an `@` are text.
#[must_use]
pub fn named_resources(text: &str, is_server: impl Fn(&ToolboxId) -> bool) -> Vec<NamedResource> {
    let mut found: Vec<NamedResource> = Vec::new();
    for (word, is_quoted) in words(text) {
        let Some((server, uri)) = word.split_once(':') else {
            continue;
        };
        let uri = match is_quoted {
            true => uri,
            false => uri.trim_end_matches(CLOSING),
        };
        let server = ToolboxId::parse(server).ok().filter(&is_server);
        let named = server.map(|server| NamedResource {
            server,
            uri: uri.to_owned(),
        });
        found.extend(named.filter(|named| !uri.is_empty() && !found.contains(named)));
    }
    found
}

/// The files that a message names: `@notes.md`, `@"two words.md"`, `@~/plan.png`.
///
/// Only what exists counts, so that other words with an `@` are text. `resolve` makes a full path.
#[must_use]
pub fn mentions(text: &str, resolve: impl Fn(&str) -> PathBuf) -> Mentions {
    let mut found = Mentions::default();
    for (word, _) in words(text) {
        match existing(word, &resolve) {
            Some(path) if found.files.contains(&path) => {}
            Some(path) => found.files.push(path),
            None if word.contains('/') => found.missing.push(word.to_owned()),
            None => {}
        }
    }
    found
}

/// The words behind an `@`, and whether each is in quotes.
fn words(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut before = ' ';
    text.char_indices().filter_map(move |(at, sign)| {
        let begins = sign == '@' && (before.is_whitespace() || OPENING.contains(&before));
        before = sign;
        if !begins {
            return None;
        }
        let rest = &text[at + 1..];
        let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        Some(match quoted {
            Some((word, _)) => (word, true),
            None => (
                rest.split(char::is_whitespace).next().unwrap_or_default(),
                false,
            ),
        })
    })
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
