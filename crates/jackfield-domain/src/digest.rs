//! SHA-256 digests, and the canonical form of JSON for them.

use std::fmt;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of a JSON value, equal for values that differ only in the order of keys.
    #[must_use]
    pub fn of_json(value: &Value) -> Self {
        Self::of(canonical_json(value).as_bytes())
    }

    /// The digest of several texts, each with its length, so that `ab, c` and `a, bc` differ.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        Self(hash.finalize().into())
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first eight bytes as a number: for jitter, never for identity.
    #[must_use]
    pub fn to_u64(self) -> u64 {
        self.0
            .iter()
            .take(8)
            .fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
    }

    /// 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn to_hex(self) -> String {
        self.to_string()
    }

    /// Parses the output of [`Self::to_hex`].
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let written = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 64 || !text.bytes().all(written) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Written by hand: every id contains a digest, and formatting 32 bytes by `fmt` takes longer than
        // hashing.
        let digit = |half: u8| match half {
            0..10 => b'0' + half,
            _ => b'a' + half - 10,
        };
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 0x0f)]);
        }
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

/// A JSON value as text without spaces and with the keys of every object sorted.
#[must_use]
pub fn canonical_json(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (n, (key, value)) in fields.into_iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::String(text) => write_text(text, out),
        Value::Bool(_) | Value::Null | Value::Number(_) => {
            out.push_str(&value.to_string());
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    let is_plain = |byte: u8| byte >= b' ' && !matches!(byte, b'"' | b'\\');
    if text.bytes().all(is_plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&Value::from(text).to_string());
    }
}
