//! Wraps lines for a terminal between words.

use std::borrow::Cow;

use anstream::adapter::strip_str;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Wraps lines at spaces to this width; continuation lines are indented.
///
/// Styles are kept. The terminal breaks a word that is wider than a line.
#[must_use]
pub fn wrapped(lines: &str, width: usize) -> String {
    let lines: Vec<String> = lines
        .split('\n')
        .map(|line| hung(line, width, HANGING))
        .collect();
    lines.join("\n")
}

/// The text in at most this many columns; an ellipsis says that it is cut.
#[must_use]
pub fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return Cow::Borrowed(text);
    }
    let mut column = 0;
    let fits = |c: &char| {
        column += c.width().unwrap_or(0);
        column < width
    };
    let kept: String = text.chars().take_while(fits).collect();
    Cow::Owned(format!("{}…", kept.trim_end()))
}

/// Wraps a line like [`wrapped`], with continuation lines that are indented by this much more.
pub(super) fn hung(line: &str, width: usize, hanging: usize) -> String {
    if seen(line) <= width {
        return line.to_owned();
    }
    let body = line.trim_start_matches(' ');
    let indent = line.len() - body.len();
    let begin = " ".repeat(indent + hanging);
    let (mut out, mut column) = (" ".repeat(indent), indent);
    for (place, word) in body.split(' ').enumerate() {
        let wide = seen(word);
        if place > 0 && column > begin.len() && column + 1 + wide > width {
            out.push('\n');
            out.push_str(&begin);
            column = begin.len();
        } else if place > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += wide;
    }
    out
}

/// The visible width of a styled text, in columns.
fn seen(styled: &str) -> usize {
    strip_str(styled).map(|piece| piece.width()).sum()
}

/// The indentation of continuation lines.
const HANGING: usize = 2;
