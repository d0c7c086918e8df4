//! The nesting depth of a record, determined without parsing it.

/// The maximum nesting depth of a record. JSON from a model or a server nests at most 128 levels deep, and a
/// fact adds fewer than 32.
pub const MAX_DEPTH: usize = 192;

/// Whether these bytes, if they are JSON, nest at most [`MAX_DEPTH`] levels deep.
pub(crate) fn is_bounded(bytes: &[u8]) -> bool {
    // The number of opening brackets, even inside text, bounds the depth. Counting them is much faster, and
    // most records have few.
    if opening(bytes) <= MAX_DEPTH {
        return true;
    }
    let mut depth = 0_usize;
    let mut in_text = false;
    let mut escaped = false;
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return false;
                }
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    true
}

/// The number of opening brackets, including those in text.
fn opening(bytes: &[u8]) -> usize {
    // A chunk is small enough for a `u8` counter, so that many bytes are counted at once.
    let counts = bytes.chunks(usize::from(u8::MAX)).map(|some| {
        // `{` and `[` differ only in this bit, and no other byte gives the same result.
        let opens = some.iter().map(|byte| u8::from(byte | 0x20 == b'{'));
        usize::from(opens.sum::<u8>())
    });
    counts.sum()
}
