//! Questions about notes: the newest ones, those about something, those of friends, and the first one in full.

use super::language::Language;
use super::{DemoResult, DemoTask, is_named, words};

/// The lists of notes in a text, in the order in which they stand there.
pub(super) fn find(text: &str, language: Language) -> Vec<(usize, DemoTask)> {
    let small = text.to_lowercase();
    let Some(at) = NOTES.iter().find_map(|word| small.find(word)) else {
        return Vec::new();
    };
    let has = |words: &[&str]| words.iter().any(|word| small.contains(word));
    let friends = has(FRIENDS);
    // "Friends' too" asks for both, "friends'" alone for theirs.
    let own = !friends || has(BOTH);
    let query = subject(text, language);
    let task = |shared| DemoTask::ListNotes {
        query: query.clone(),
        shared,
    };
    let own = own.then(|| (at, task(false)));
    own.into_iter()
        .chain(friends.then(|| (at, task(true))))
        .collect()
}

/// The note that is to be read in full: the first one of the first list.
pub(super) fn first(text: &str, done: &[DemoResult]) -> Option<DemoTask> {
    let small = text.to_lowercase();
    if !FIRST.iter().any(|word| small.contains(word)) {
        return None;
    }
    let list = done.iter().find(|done| {
        let name = done.call.name.as_str();
        LISTS.iter().any(|(list, _)| is_named(name, list)) && !done.outcome.result.is_error
    })?;
    let shared = list.call.name.as_str().contains("shared");
    let said = list.outcome.result.to_text();
    let (_, number) = said.split_once("Note ")?;
    let number: String = number.chars().take_while(char::is_ascii_digit).collect();
    let id = number.parse().ok()?;
    Some(DemoTask::ReadNote { id, shared })
}

/// What a tool of notes said, under a heading; `None` for other tools.
pub(super) fn tell(language: Language, name: &str, said: &str) -> Option<String> {
    if LISTS
        .iter()
        .any(|(tool, shared)| !shared && is_named(name, tool))
    {
        return Some(words::notes(language, false, said));
    }
    if LISTS
        .iter()
        .any(|(tool, shared)| *shared && is_named(name, tool))
    {
        return Some(words::notes(language, true, said));
    }
    let is_note = is_named(name, "get_note") || is_named(name, "get_shared_note");
    is_note.then(|| said.to_owned())
}

/// Whether a tool is one of notes.
pub(super) fn is_tool(name: &str) -> bool {
    TOOLS.iter().any(|tool| is_named(name, tool))
}

/// What the notes are to be about.
fn subject(text: &str, language: Language) -> Option<String> {
    let small = text.to_lowercase();
    // Small letters may be longer than the others; then the text is searched as it is.
    let text = if small.len() == text.len() {
        text
    } else {
        &small
    };
    let subject = if language == Language::Chinese {
        // 关于React的笔记
        let (_, behind) = text.split_once("关于")?;
        behind.split(['的', '，', ',', '。', '？', '?']).next()?
    } else {
        let mut found = ABOUT.iter();
        let found = found.find_map(|word| small.find(word).map(|at| at + word.len()));
        let behind = text.get(found?..)?;
        behind.split([',', '.', '?', '!', '\n']).next()?
    };
    let subject = subject.trim().trim_matches(['"', '«', '»', '“', '”']);
    (!subject.is_empty()).then(|| subject.to_owned())
}

/// What comes before the subject.
const ABOUT: &[&str] = &[" about ", " on ", " о ", " об ", " про "];
const BOTH: &[&str] = &[
    "too",
    "also",
    "all",
    "my ",
    "тоже",
    "также",
    "все",
    "мои",
    "所有",
    "也",
    "我的",
];
const FIRST: &[&str] = &["first one", "the first", "перв", "第一"];
const FRIENDS: &[&str] = &["friend", "shared", "друз", "друг", "朋友", "好友", "共享"];
/// The tools that list notes, and whether those are of friends.
const LISTS: &[(&str, bool)] = &[
    ("list_recent_notes", false),
    ("list_shared_notes", true),
    ("search_notes", false),
    ("search_shared_notes", true),
];
const NOTES: &[&str] = &["note", "заметк", "заметок", "笔记"];
const TOOLS: &[&str] = &[
    "get_note",
    "get_shared_note",
    "list_recent_notes",
    "list_shared_notes",
    "search_notes",
    "search_shared_notes",
];
