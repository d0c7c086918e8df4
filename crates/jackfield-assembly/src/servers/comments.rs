//! JSON as editors write it, with comments and trailing commas.

/// The text as plain JSON. Removed parts become blanks, so that the rest keeps its position.
pub(crate) fn blanked(text: &[u8]) -> Vec<u8> {
    let mut plain = text.to_vec();
    let mut at = 0;
    // The last two significant bytes, with their positions.
    let mut last: [(u8, usize); 2] = [(0, 0); 2];
    while let Some(byte) = text.get(at).copied() {
        let rest = text.get(at..).unwrap_or_default();
        let length = match byte {
            b'"' => length_of_text(rest),
            b'/' if rest.starts_with(b"//") => {
                let length = rest.iter().position(|byte| *byte == b'\n');
                blank(&mut plain, at, length.unwrap_or(rest.len()))
            }
            b'/' if rest.starts_with(b"/*") => {
                let inside = rest.get(2..).unwrap_or_default();
                let end = inside.windows(2).position(|two| two == b"*/");
                // A comment without an end is left in place, as a syntax error.
                end.map_or(rest.len(), |end| blank(&mut plain, at, end + 4))
            }
            _ => 1,
        };
        if matches!(byte, b'}' | b']')
            && let [(before, _), (b',', comma)] = last
            && !matches!(before, b'{' | b'[' | b',' | b':')
        {
            blank(&mut plain, comma, 1);
        }
        if !byte.is_ascii_whitespace() && plain.get(at) == Some(&byte) {
            last = [last[1], (byte, at)];
        }
        at += length;
    }
    plain
}

/// The length of a quoted string in bytes, with both quotes.
fn length_of_text(rest: &[u8]) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Blanks this many bytes, except for line ends.
fn blank(plain: &mut [u8], at: usize, length: usize) -> usize {
    for byte in plain.iter_mut().skip(at).take(length) {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
    length
}
