//! How deep a record nests, without reading it.

/// How deep a record may nest. JSON from a model or a server nests at most 128 deep, and a fact puts
/// less than 32 around it.
pub const MAX_DEPTH: usize = 192;

/// Whether these bytes nest at most [`MAX_DEPTH`] deep, if they are JSON.
pub(crate) fn is_bounded(bytes: &[u8]) -> bool {
    // What has no more brackets than that nests no deeper, whatever is text: to count them is much quicker,
    // and most records have few.
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

/// How many brackets there are that open something, those in text included.
fn opening(bytes: &[u8]) -> usize {
    // Few enough at a time that a byte can count them: so many are looked at in one go.
    let counts = bytes.chunks(usize::from(u8::MAX)).map(|some| {
        // The two differ in this bit alone, and no other byte is like them without it.
        let opens = some.iter().map(|byte| u8::from(byte | 0x20 == b'{'));
        usize::from(opens.sum::<u8>())
    });
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::{MAX_DEPTH, is_bounded, opening};

    #[test]
    fn brackets_in_text_do_not_nest() {
        let text = format!("[\"{}\\\"{}\"]", "[".repeat(500), "{".repeat(500));
        assert!(is_bounded(text.as_bytes()));
    }

    #[test]
    fn one_too_deep_is_too_deep() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(is_bounded(nested(MAX_DEPTH).as_bytes()));
        assert!(!is_bounded(nested(MAX_DEPTH + 1).as_bytes()));
    }

    #[test]
    fn brackets_are_counted_wherever_they_stand() {
        for byte in 0..=u8::MAX {
            let opens = matches!(byte, b'[' | b'{');
            assert_eq!(
                opening(&[byte; 1000]),
                if opens { 1000 } else { 0 },
                "{byte}"
            );
        }
    }
}
