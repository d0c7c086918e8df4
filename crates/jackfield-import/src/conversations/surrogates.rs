//! Escapes of half a character, which JavaScript writes and JSON for Rust refuses.

use std::borrow::Cow;

/// The JSON with a replacement character for each surrogate that has no partner.
pub(super) fn replace_lone(raw: &str) -> Cow<'_, str> {
    if !raw.contains("\\ud") && !raw.contains("\\uD") {
        return Cow::Borrowed(raw);
    }
    let mut replaced = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        replaced.push_str(before);
        let (kept, length) = match unit(escape) {
            Some(0xd800..=0xdbff) => match escape.get(6..).and_then(unit) {
                Some(0xdc00..=0xdfff) => (None, 12),
                Some(_) | None => (Some("\\ufffd"), 6),
            },
            Some(0xdc00..=0xdfff) => (Some("\\ufffd"), 6),
            Some(_) | None => {
                let length = escape.chars().take(2).map(char::len_utf8).sum();
                (None, length)
            }
        };
        let (whole, after) = escape.split_at(length);
        replaced.push_str(kept.unwrap_or(whole));
        rest = after;
    }
    replaced.push_str(rest);
    Cow::Owned(replaced)
}

/// The code unit of an escape at the beginning of this text.
fn unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}
