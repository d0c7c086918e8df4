//! Unpaired surrogates in JSON: joined if a pair is split over two events, and otherwise replaced.
//!
//! Models emit a character as several tokens, and some servers escape each separately: `"\ud83d"`, then `"\ude00"`.
//! Neither is valid text, so a JSON parser rejects both.

use crate::sse::RawEvent;

/// The events of a stream with complete characters. An event is held back while its last surrogate may get its
/// other half.
#[derive(Debug, Default)]
pub(super) struct SurrogateJoiner {
    held: Option<RawEvent>,
}

impl SurrogateJoiner {
    /// Adds an event, and returns the events that are complete now, in order.
    pub(super) fn push(&mut self, mut event: RawEvent) -> Vec<RawEvent> {
        let mut whole = Vec::new();
        if let Some(mut held) = self.held.take() {
            join(&mut held.data, &mut event.data);
            replace(&mut held.data);
            whole.push(held);
        }
        if !find_all(&event.data, LoneSurrogate::may_continue).is_empty() {
            self.held = Some(event);
        } else {
            replace(&mut event.data);
            whole.push(event);
        }
        whole
    }

    /// The event that is held back at the end of the stream.
    pub(super) fn finish(&mut self) -> Option<RawEvent> {
        let mut held = self.held.take()?;
        replace(&mut held.data);
        Some(held)
    }
}

/// Replaces unpaired surrogates in JSON by U+FFFD. Invalid UTF-8 is unchanged.
pub(super) fn repair(body: &[u8]) -> Option<String> {
    let mut json = std::str::from_utf8(body).ok()?.to_owned();
    replace(&mut json);
    Some(json)
}

/// Whether JSON may contain escaped surrogates at all.
pub(super) fn may_contain(json: &[u8]) -> bool {
    json.windows(3)
        .any(|bytes| matches!(bytes, [b'\\', b'u', b'd' | b'D']))
}

/// A surrogate without its other half beside it.
#[derive(Debug)]
struct LoneSurrogate {
    /// The place of its escape.
    at: usize,
    /// Whether it is at the beginning of its string.
    at_start: bool,
    /// Whether it is at the end of its string.
    at_end: bool,
    /// The place of the key before its string.
    key: (usize, usize),
    is_low: bool,
}

impl LoneSurrogate {
    const fn may_continue(&self) -> bool {
        self.at_end && !self.is_low
    }
}

/// Moves low surrogates at the beginning of strings to the high surrogates at the end of earlier strings with the
/// same key.
fn join(before: &mut String, behind: &mut String) {
    for high in find_all(before, LoneSurrogate::may_continue).iter().rev() {
        let key = before.get(high.key.0..high.key.1);
        let lows = find_all(behind, |half| half.is_low && half.at_start);
        let mut lows = lows.iter();
        let low = lows.find(|low| behind.get(low.key.0..low.key.1) == key);
        if let Some(low) = low
            && let Some(escape) = behind.get(low.at..low.at + ESCAPE).map(str::to_owned)
        {
            behind.replace_range(low.at..low.at + ESCAPE, "");
            before.insert_str(high.at + ESCAPE, &escape);
        }
    }
}

fn replace(json: &mut String) {
    let (mut whole, mut taken) = (String::new(), 0);
    for_each(json, |half| {
        whole.push_str(json.get(taken..half.at).unwrap_or_default());
        whole.push_str("\\ufffd");
        taken = half.at + ESCAPE;
    });
    if taken > 0 {
        whole.push_str(json.get(taken..).unwrap_or_default());
        *json = whole;
    }
}

/// The unpaired surrogates that match, in order.
fn find_all(json: &str, kind: impl Fn(&LoneSurrogate) -> bool) -> Vec<LoneSurrogate> {
    let mut found = Vec::new();
    for_each(json, |half| {
        if found.len() < LIMIT && kind(&half) {
            found.push(half);
        }
    });
    found
}

/// Visits each unpaired surrogate in JSON, in order.
fn for_each(json: &str, mut visit: impl FnMut(LoneSurrogate)) {
    let bytes = json.as_bytes();
    if !may_contain(bytes) {
        return;
    }
    let (mut at, mut key, mut string) = (0, (0, 0), None);
    while let Some(byte) = bytes.get(at) {
        let Some(start) = string else {
            string = (*byte == b'"').then_some(at + 1);
            at += 1;
            continue;
        };
        match byte {
            b'"' => {
                if is_key(bytes, at + 1) {
                    key = (start, at);
                }
                string = None;
                at += 1;
            }
            b'\\' => match (unit(bytes, at), unit(bytes, at + ESCAPE)) {
                (Some(HIGH_FIRST..=HIGH_LAST), Some(LOW_FIRST..=LOW_LAST)) => at += 2 * ESCAPE,
                (Some(unit @ HIGH_FIRST..=LOW_LAST), _) => {
                    visit(LoneSurrogate {
                        at,
                        at_start: at == start,
                        at_end: bytes.get(at + ESCAPE) == Some(&b'"'),
                        key,
                        is_low: unit >= LOW_FIRST,
                    });
                    at += ESCAPE;
                }
                _ => at += 2,
            },
            _ => at += 1,
        }
    }
}

/// Whether a string that ends before this place is a key.
fn is_key(bytes: &[u8], at: usize) -> bool {
    let behind = bytes
        .iter()
        .skip(at)
        .find(|byte| !byte.is_ascii_whitespace());
    behind == Some(&b':')
}

/// The UTF-16 code unit that is escaped here, as `\u` and four digits.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at.checked_add(ESCAPE)?)?;
    let digits = escape.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

/// The length of an escape in bytes.
const ESCAPE: usize = 6;
/// How many strings of an event may continue in the next one.
const LIMIT: usize = 16;
const HIGH_FIRST: u16 = 0xD800;
const HIGH_LAST: u16 = 0xDBFF;
const LOW_FIRST: u16 = 0xDC00;
const LOW_LAST: u16 = 0xDFFF;
