//! Makes invisible characters visible, so that a text under review cannot look like another one.

use std::fmt::Write as _;

/// The text with a sign such as `<U+202E>` in place of every character that is invisible or changes how others
/// look. Line ends stay. A terminal obeys nothing in the result.
#[must_use]
pub fn revealed(text: &str) -> String {
    let mut revealed = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && is_hidden(c) {
            // Writing to a string cannot fail.
            let _written = write!(revealed, "<U+{:04X}>", u32::from(c));
        } else {
            revealed.push(c);
        }
    }
    revealed
}

/// Whether a character is invisible, or changes how others look.
pub(super) const fn is_hidden(c: char) -> bool {
    // Unicode 17, general categories Cc, Cf, Co, Zl and Zp, unusual spaces, fillers and variation selectors; read
    // 2026-11-22.
    matches!(c,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}'
        | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
        | '\u{115f}'..='\u{1160}' | '\u{1680}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}'
        | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}')
}
