//! Deterministic ids in the vendors' forms.

use super::VendorQuirks;

/// The id of a call.
pub(super) fn call(given: Option<&str>, like: VendorQuirks, nth: usize, place: usize) -> String {
    if let Some(given) = given {
        return given.to_owned();
    }
    match like {
        VendorQuirks::DeepSeek => format!("call_{place:02}_{}", token("call", nth, place, 24)),
        VendorQuirks::Mistral => token("call", nth, place, 9),
        VendorQuirks::Ollama => format!("call_{}", token("call", nth, place, 8)),
        VendorQuirks::OpenAi => format!("call_{}", token("call", nth, place, 24)),
    }
}

/// An id with a prefix, as for items and replies.
pub(super) fn id(prefix: &str, nth: usize, place: usize) -> String {
    format!("{prefix}{}", token(prefix, nth, place, 29))
}

/// The padding that hides the length of a stream's fragments.
pub(super) fn obfuscation(nth: usize, event: usize) -> String {
    token("padding", nth, event, 1 + event * 7 % 15)
}

/// Letters and digits derived from their purpose.
fn token(what: &str, nth: usize, place: usize, length: usize) -> String {
    let seed = format!("{what}/{nth}/{place}");
    // FNV-1a, then an xorshift: enough to resemble an id.
    let mut state = seed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut letters = CHARACTERS.chars().cycle();
    let mut token = String::new();
    for _ in 0..length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let step = usize::try_from(state % 62).unwrap_or_default();
        token.extend(letters.nth(step));
    }
    token
}

const CHARACTERS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
