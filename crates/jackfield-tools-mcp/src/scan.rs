//! Messages that are too long to be read whole: finds their id and completes the part that was kept.

/// Finds the `id` of a JSON-RPC message in its bytes as they stream by, wherever it is in the message.
///
/// Servers in JavaScript write the result first and the id last.
#[derive(Debug, Default)]
pub(crate) struct IdFinder {
    depth: u32,
    escaped: bool,
    /// The key, and then the value, of the message's current field.
    field: Vec<u8>,
    id: Option<Vec<u8>>,
    in_string: bool,
    in_value: bool,
    is_id: bool,
}

impl IdFinder {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.push_byte(byte);
        }
    }

    /// The id as JSON text, if it was found.
    pub(crate) fn id(&self) -> Option<&[u8]> {
        self.id.as_deref()
    }

    fn push_byte(&mut self, byte: u8) {
        if self.in_string {
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.in_string = false;
            }
            self.push_field_byte(byte);
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.push_field_byte(byte);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_field();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 && !self.in_value => {
                self.in_value = true;
                self.is_id = self.field == b"\"id\"";
                self.field.clear();
            }
            b',' if self.depth == 1 => self.end_field(),
            byte if !byte.is_ascii_whitespace() => self.push_field_byte(byte),
            _ => {}
        }
    }

    fn push_field_byte(&mut self, byte: u8) {
        if self.depth == 1 && self.field.len() < MAX_ID {
            self.field.push(byte);
        }
    }

    fn end_field(&mut self) {
        if self.in_value && self.is_id && self.id.is_none() {
            self.id = Some(std::mem::take(&mut self.field));
        }
        self.field.clear();
        self.in_value = false;
    }
}

/// Completes truncated JSON: closes open values and omits incomplete ones. `None` if nothing can be kept.
pub(crate) fn complete_truncated(cut: &[u8]) -> Option<String> {
    let text = match std::str::from_utf8(cut) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(cut.get(..error.valid_up_to())?).ok()?,
    };
    let mut open: Vec<u8> = Vec::new();
    // The last place from which closing the open brackets yields valid JSON. Each opening or closing bracket makes
    // a new such place, so the brackets open now were open there.
    let mut safe = 0;
    let mut key_next = false;
    let mut string_from: Option<usize> = None;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if string_from.is_some() {
            if escaped {
                escaped = false;
            } else if byte == b'\\' {
                escaped = true;
            } else if byte == b'"' {
                string_from = None;
                if !key_next {
                    safe = at + 1;
                }
            }
            continue;
        }
        match byte {
            b'"' => string_from = Some(at),
            b'{' | b'[' => {
                open.push(if byte == b'{' { b'}' } else { b']' });
                key_next = byte == b'{';
                safe = at + 1;
            }
            b'}' | b']' => {
                open.pop();
                key_next = false;
                safe = at + 1;
            }
            b':' => key_next = false,
            b',' => {
                safe = at;
                key_next = open.last() == Some(&b'}');
            }
            _ => {}
        }
    }
    if open.is_empty() {
        return None;
    }
    let mut whole = match string_from {
        Some(from) if !key_next => {
            let mut kept = text.to_owned();
            kept.truncate(from + 1 + whole_characters(text.get(from + 1..)?));
            kept.push('"');
            kept
        }
        Some(_) | None => text.get(..safe)?.to_owned(),
    };
    whole.extend(open.iter().rev().map(|closer| char::from(*closer)));
    Some(whole)
}

/// The length of the longest prefix of a string's inside that has no truncated escape sequence.
fn whole_characters(inside: &str) -> usize {
    let bytes = inside.as_bytes();
    let mut at = 0;
    let mut whole = 0;
    while let Some(&byte) = bytes.get(at) {
        let unit = |at: usize| -> Option<u32> {
            let digits = inside.get(at..at + 6)?.strip_prefix("\\u")?;
            u32::from_str_radix(digits, 16).ok()
        };
        let length = if byte != b'\\' {
            1
        } else if bytes.get(at + 1) != Some(&b'u') {
            2
        } else {
            match unit(at) {
                // A high surrogate needs the low surrogate that follows.
                Some(0xD800..=0xDBFF) => match unit(at + 6) {
                    Some(_) => 12,
                    None => break,
                },
                Some(_) => 6,
                None => break,
            }
        };
        at += length;
        if at > bytes.len() {
            break;
        }
        whole = at;
    }
    // A UTF-8 sequence contains no backslash, so this never splits a character.
    whole
}

/// The longest id that we use, in bytes.
const MAX_ID: usize = 64;
