//! The words of a text, for a search: in lower case, without common endings, and without the commonest words.
//!
//! Names such as `create_issue` are split; `GitHub` is split, and a word as a whole, too. Chinese, Japanese and Korean, which do not separate
//! words by spaces or add much to them, give pairs of characters.

/// Calls `each` with every word of a text, in order.
pub(super) fn each_word(text: &str, mut each: impl FnMut(&str)) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = Kind::of(first);
        let end = rest.find(|c| Kind::of(c) != kind).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        match kind {
            Kind::Paired => each_pair(run, &mut each),
            Kind::Plain => each_part(run, &mut each),
            Kind::Separator => {}
        }
        rest = after;
    }
}

/// The pairs of neighbours in a run of characters; a single one is a word of its own.
fn each_pair(run: &str, each: &mut impl FnMut(&str)) {
    let ends: Vec<usize> = run
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .collect();
    if ends.len() < 2 {
        return each(run);
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    for (start, end) in starts.zip(&ends[1..]) {
        each(&run[start..*end]);
    }
}

/// A run of letters and digits: its parts, of which each begins with a capital, and all of it.
fn each_part(run: &str, each: &mut impl FnMut(&str)) {
    let mut start = 0;
    let pairs = run.char_indices().zip(run.char_indices().skip(1));
    for ((_, one), (at, next)) in pairs {
        if one.is_lowercase() && next.is_uppercase() {
            one_word(&run[start..at], each);
            start = at;
        }
    }
    if start > 0 {
        one_word(&run[start..], each);
    }
    one_word(run, each);
}

fn one_word(word: &str, each: &mut impl FnMut(&str)) {
    let word = word.to_lowercase();
    if !COMMON.contains(&word.as_str()) {
        each(stem(&word));
    }
}

/// A word without its commonest English endings. What is left need not be a word.
fn stem(word: &str) -> &str {
    if !word.is_ascii() {
        return word;
    }
    let stripped = ["ing", "ed", "es", "s"].iter().find_map(|ending| {
        let rest = word.strip_suffix(ending)?;
        (rest.len() >= MIN_STEM && !(*ending == "s" && rest.ends_with('s'))).then_some(rest)
    });
    let rest = stripped.unwrap_or(word);
    let shorter = rest.strip_suffix(['e', 'i', 'y']).unwrap_or(rest);
    if shorter.len() >= MIN_STEM {
        shorter
    } else {
        rest
    }
}

/// How a character belongs to words.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Kind {
    /// Each pair of neighbours is a word.
    Paired,
    /// Part of a word.
    Plain,
    /// Between words.
    Separator,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            '\u{3040}'..='\u{30FF}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{4E00}'..='\u{9FFF}'
            | '\u{AC00}'..='\u{D7AF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{323AF}' => Self::Paired,
            c if c.is_alphanumeric() => Self::Plain,
            _ => Self::Separator,
        }
    }
}

/// The fewest characters that are left of a word.
const MIN_STEM: usize = 3;
/// Words that say nothing of what a tool does.
const COMMON: &[&str] = &[
    "a", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "for", "from", "i",
    "if", "in", "is", "it", "its", "me", "my", "need", "of", "on", "or", "that", "the", "this",
    "to", "tool", "tools", "use", "want", "with", "you",
];
