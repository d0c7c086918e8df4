//! The one list of hidden letters: those that are not seen, that change how others look, or that a terminal obeys.
//!
//! A person who decides is shown them by name. A model gets what servers and tools send without tag letters, which
//! say whole sentences that no person sees; the other hidden letters stay, because scripts and emoji need them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

/// The hidden letters, in order: the first and last letter of each range, and its name.
///
/// Unicode 17, general categories Cc, Cf, Co, Zl and Zp, unusual spaces, fillers and variation selectors; read
/// 2026-11-22.
pub const RANGES: &[(char, char, &str)] = &[
    ('\u{0}', '\u{8}', "control character"),
    ('\u{9}', '\u{9}', "tab"),
    ('\u{a}', '\u{a}', "line end"),
    ('\u{b}', '\u{c}', "control character"),
    ('\u{d}', '\u{d}', "carriage return"),
    ('\u{e}', '\u{1a}', "control character"),
    ('\u{1b}', '\u{1b}', "escape"),
    ('\u{1c}', '\u{1f}', "control character"),
    ('\u{7f}', '\u{9f}', "control character"),
    ('\u{a0}', '\u{a0}', "no-break space"),
    ('\u{ad}', '\u{ad}', "soft hyphen"),
    ('\u{34f}', '\u{34f}', "grapheme joiner"),
    ('\u{600}', '\u{605}', "Arabic sign"),
    ('\u{61c}', '\u{61c}', "Arabic letter mark"),
    ('\u{6dd}', '\u{6dd}', "Arabic sign"),
    ('\u{70f}', '\u{70f}', "Syriac sign"),
    ('\u{890}', '\u{891}', "Arabic sign"),
    ('\u{8e2}', '\u{8e2}', "Arabic sign"),
    ('\u{115f}', '\u{1160}', "Hangul filler"),
    ('\u{1680}', '\u{1680}', "unusual space"),
    ('\u{17b4}', '\u{17b5}', "Khmer vowel"),
    ('\u{180b}', '\u{180f}', "Mongolian selector"),
    ('\u{2000}', '\u{200a}', "unusual space"),
    ('\u{200b}', '\u{200b}', "zero-width space"),
    ('\u{200c}', '\u{200c}', "zero-width non-joiner"),
    ('\u{200d}', '\u{200d}', "zero-width joiner"),
    ('\u{200e}', '\u{200e}', "left-to-right mark"),
    ('\u{200f}', '\u{200f}', "right-to-left mark"),
    ('\u{2028}', '\u{2028}', "line separator"),
    ('\u{2029}', '\u{2029}', "paragraph separator"),
    ('\u{202a}', '\u{202a}', "left-to-right embedding"),
    ('\u{202b}', '\u{202b}', "right-to-left embedding"),
    ('\u{202c}', '\u{202c}', "end of direction"),
    ('\u{202d}', '\u{202d}', "left-to-right override"),
    ('\u{202e}', '\u{202e}', "right-to-left override"),
    ('\u{202f}', '\u{202f}', "no-break space"),
    ('\u{205f}', '\u{205f}', "unusual space"),
    ('\u{2060}', '\u{2060}', "word joiner"),
    ('\u{2061}', '\u{2065}', "invisible operator"),
    ('\u{2066}', '\u{2066}', "left-to-right isolate"),
    ('\u{2067}', '\u{2067}', "right-to-left isolate"),
    ('\u{2068}', '\u{2068}', "first-strong isolate"),
    ('\u{2069}', '\u{2069}', "end of isolate"),
    ('\u{206a}', '\u{206f}', "deprecated format"),
    ('\u{2800}', '\u{2800}', "blank pattern"),
    ('\u{3164}', '\u{3164}', "Hangul filler"),
    ('\u{e000}', '\u{f8ff}', "private use"),
    ('\u{fe00}', '\u{fe0f}', "variation selector"),
    ('\u{feff}', '\u{feff}', "byte order mark"),
    ('\u{ffa0}', '\u{ffa0}', "Hangul filler"),
    ('\u{fff0}', '\u{fff8}', "unassigned"),
    ('\u{fff9}', '\u{fffb}', "annotation mark"),
    ('\u{110bd}', '\u{110bd}', "Kaithi sign"),
    ('\u{110cd}', '\u{110cd}', "Kaithi sign"),
    ('\u{13430}', '\u{1343f}', "hieroglyph format"),
    ('\u{1bca0}', '\u{1bca3}', "shorthand format"),
    ('\u{1d173}', '\u{1d17a}', "music format"),
    (FIRST_TAG, LAST_TAG, "tag letter"),
    ('\u{e0080}', '\u{e00ff}', "unassigned"),
    ('\u{e0100}', '\u{e01ef}', "variation selector"),
    ('\u{e01f0}', '\u{10ffff}', "private use"),
];

/// The name of a letter, if it is hidden.
#[must_use]
pub fn name(letter: char) -> Option<&'static str> {
    let place = RANGES.partition_point(|(_, last, _)| *last < letter);
    let (first, _, name) = RANGES.get(place)?;
    (*first <= letter).then_some(*name)
}

/// Whether a terminal obeys the letter, or it turns the others round; line ends and tabs are no such letters.
#[must_use]
pub fn is_obeyed(letter: char) -> bool {
    (letter.is_control() && letter != '\n' && letter != '\t')
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text for a person who decides, with a sign such as `<U+202E right-to-left override>` in place of each hidden
/// letter. Line ends stay, and so do the letters that an emoji or a script needs where they stand.
#[must_use]
pub fn revealed(text: &str) -> String {
    let mut revealed = String::with_capacity(text.len());
    for (letter, name) in letters(text) {
        match name {
            Some(name) if letter != '\n' => {
                // Writing to a string cannot fail.
                let _written = write!(revealed, "<U+{:04X} {name}>", u32::from(letter));
            }
            Some(_) | None => revealed.push(letter),
        }
    }
    revealed
}

/// How many hidden letters of each name the texts of a value have. Line ends and tabs do not count.
#[must_use]
pub fn found(value: &Value) -> BTreeMap<&'static str, usize> {
    let mut found = BTreeMap::new();
    count(value, &mut found);
    found
}

fn count(value: &Value, found: &mut BTreeMap<&'static str, usize>) {
    let mut count_text = |text: &str| {
        for (letter, name) in letters(text) {
            if let Some(name) = name.filter(|_| !matches!(letter, '\n' | '\r' | '\t')) {
                *found.entry(name).or_default() += 1;
            }
        }
    };
    match value {
        Value::String(text) => count_text(text),
        Value::Array(items) => items.iter().for_each(|item| count(item, found)),
        Value::Object(fields) => {
            fields.keys().for_each(|name| count_text(name));
            fields.values().for_each(|value| count(value, found));
        }
        Value::Bool(_) | Value::Null | Value::Number(_) => {}
    }
}

/// The text for a model, without tag letters; `None` if it has none. Those of a flag stay.
#[must_use]
pub fn without_tags(text: &str) -> Option<String> {
    let is_unseen_tag = |(letter, name): &(char, Option<&str>)| is_tag(*letter) && name.is_some();
    // Most texts do not even have the byte that tag letters begin with.
    if !text.as_bytes().contains(&0xf3) || !letters(text).any(|one| is_unseen_tag(&one)) {
        return None;
    }
    let kept = letters(text).filter(|one| !is_unseen_tag(one));
    Some(kept.map(|(letter, _)| letter).collect())
}

/// The value for a model, without tag letters in its texts and names; `None` if it has none.
#[must_use]
pub fn json_without_tags(value: &Value) -> Option<Value> {
    has_tags(value).then(|| mended(value))
}

fn has_tags(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_tags),
        Value::Bool(_) | Value::Null | Value::Number(_) => false,
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| without_tags(name).is_some() || has_tags(value)),
        Value::String(text) => without_tags(text).is_some(),
    }
}

fn mended(value: &Value) -> Value {
    let text = |text: &String| without_tags(text).unwrap_or_else(|| text.clone());
    match value {
        Value::Array(items) => items.iter().map(mended).collect(),
        Value::Bool(_) | Value::Null | Value::Number(_) => value.clone(),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::Object(
                fields
                    .map(|(name, value)| (text(name), mended(value)))
                    .collect(),
            )
        }
        Value::String(one) => Value::String(text(one)),
    }
}

/// The letters of a text, each with its name if it is hidden and neither an emoji nor a script needs it there.
fn letters(text: &str) -> impl Iterator<Item = (char, Option<&'static str>)> {
    let mut before = None;
    let mut flag_tags = 0;
    text.char_indices().map(move |(place, letter)| {
        let mut after = text[place..].chars();
        after.next();
        if letter == FLAG {
            flag_tags = tags_of_flag(after.clone());
        }
        let next = after.next();
        let is_needed = match letter {
            FIRST_TAG..=LAST_TAG if flag_tags > 0 => {
                flag_tags -= 1;
                true
            }
            '\u{fe0e}' | '\u{fe0f}' => before.is_some_and(is_picture) || is_keycap(before, next),
            '\u{200d}' if before == Some('\u{fe0f}') || before.is_some_and(is_picture) => {
                next.is_some_and(is_picture)
            }
            '\u{200c}' | '\u{200d}' => before.is_some_and(is_joined) && next.is_some_and(is_joined),
            _ => false,
        };
        let name = name(letter).filter(|_| !is_needed);
        before = name.is_none().then_some(letter);
        (letter, name)
    })
}

const fn is_tag(letter: char) -> bool {
    matches!(letter, FIRST_TAG..=LAST_TAG)
}

/// The number of tag letters after a black flag that make it the flag of a region, such as that of Wales; zero if they
/// do not.
fn tags_of_flag(after: impl Iterator<Item = char>) -> usize {
    let mut region = 0;
    for letter in after {
        match letter {
            '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}' if region < LONGEST_REGION => {
                region += 1;
            }
            LAST_TAG if region >= SHORTEST_REGION => return region + 1,
            _ => return 0,
        }
    }
    0
}

/// Whether the letters are those around the selector of a keycap, such as `#`.
const fn is_keycap(before: Option<char>, next: Option<char>) -> bool {
    matches!(before, Some('#' | '*' | '0'..='9')) && matches!(next, Some('\u{20e3}'))
}

/// Whether the letter is an emoji, or a symbol that can be one.
const fn is_picture(letter: char) -> bool {
    matches!(letter,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{2460}'..='\u{24ff}' | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}'
        | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether the letter is of a script that is written with joiners, such as those of Arabic, Persian and Hindi.
fn is_joined(letter: char) -> bool {
    let has_script = matches!(letter,
        '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{11000}'..='\u{11fff}'
        | '\u{1e900}'..='\u{1e95f}');
    has_script && !letter.is_numeric() && name(letter).is_none()
}

const FIRST_TAG: char = '\u{e0000}';
const LAST_TAG: char = '\u{e007f}';
/// The emoji that tag letters make the flag of a region.
const FLAG: char = '\u{1f3f4}';
/// The fewest letters of a region (UTS 51, "Emoji tag sequences", read 2026-11-29).
const SHORTEST_REGION: usize = 3;
/// The most letters of a region.
const LONGEST_REGION: usize = 6;
