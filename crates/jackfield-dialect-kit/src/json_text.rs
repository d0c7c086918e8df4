//! Compares a text with a JSON value.

use std::io::{self, Write};

use serde_json::Value;

/// Whether a text is this JSON value, in any order and formatting.
///
/// This runs for every outcome in every round. The usual text equals our serialization except for white space, and
/// is recognized without parsing.
#[must_use]
pub fn matches(text: &str, json: &Value) -> bool {
    let mut read = JsonComparer {
        previous: b',',
        escaped: false,
        in_string: false,
        rest: text.as_bytes(),
    };
    if serde_json::to_writer(&mut read, json).is_ok() && read.rest.trim_ascii_start().is_empty() {
        return true;
    }
    serde_json::from_str::<Value>(text).is_ok_and(|told| told == *json)
}

/// Compares a text with serialized output, ignoring white space, up to the first difference.
struct JsonComparer<'a> {
    previous: u8,
    escaped: bool,
    in_string: bool,
    rest: &'a [u8],
}

impl Write for JsonComparer<'_> {
    fn write(&mut self, written: &[u8]) -> io::Result<usize> {
        for byte in written {
            if self.rest.first() != Some(byte) {
                // White space is permitted only beside punctuation, never within a number or a literal.
                let between = b"{[,:".contains(&self.previous) || b"}],:".contains(byte);
                if between && !self.in_string {
                    self.rest = self.rest.trim_ascii_start();
                }
            }
            self.rest = match self.rest.split_first() {
                Some((first, rest)) if first == byte => rest,
                Some(_) | None => return Err(io::ErrorKind::InvalidData.into()),
            };
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ => {}
            }
            self.previous = *byte;
        }
        Ok(written.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
