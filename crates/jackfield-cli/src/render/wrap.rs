//! Lines for a terminal, broken between words and not within them.

use anstream::adapter::strip_str;
use unicode_width::UnicodeWidthStr as _;

/// The same lines, none wider than this where a space lets it be broken; what goes on is indented.
///
/// What is styled stays so. A word that is wider than a line is left to the terminal.
#[must_use]
pub fn wrapped(lines: &str, width: usize) -> String {
    let lines: Vec<String> = lines.split('\n').map(|line| wrap(line, width)).collect();
    lines.join("\n")
}

fn wrap(line: &str, width: usize) -> String {
    if seen(line) <= width {
        return line.to_owned();
    }
    let body = line.trim_start_matches(' ');
    let indent = line.len() - body.len();
    let begin = " ".repeat(indent + HANGING);
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

/// How many columns are seen of this.
fn seen(styled: &str) -> usize {
    strip_str(styled).map(|piece| piece.width()).sum()
}

/// How far a line that goes on is indented.
const HANGING: usize = 2;
