//! Assembles the arguments of one call from fragments of any form.
//!
//! Text that certainly belongs to the arguments is passed on at once; ambiguous text is held back until the call is
//! complete.

use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// Whether each fragment repeats the earlier ones: then only the last one counts.
    is_cumulative: bool,
    joined: String,
    last: String,
    pieces: usize,
    scan: ObjectScanner,
    emitted: usize,
}

#[derive(Debug)]
pub(super) struct FinalArguments {
    /// The text that was not passed on yet.
    pub(super) rest: String,
    /// The kind of repair, if any.
    pub(super) repair: Option<&'static str>,
}

impl Arguments {
    pub(super) fn push(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        self.is_cumulative = match self.pieces {
            0 => true,
            _ => self.is_cumulative && piece.starts_with(&self.last),
        };
        self.pieces += 1;
        self.last.clear();
        self.last.push_str(piece);
        self.joined.push_str(piece);
        self.scan.read(&self.joined);
    }

    /// Whether there is no text but blanks.
    pub(super) fn is_blank(&self) -> bool {
        self.joined.trim().is_empty()
    }

    /// Whether the object is complete.
    pub(super) const fn is_complete(&self) -> bool {
        self.scan.end.is_some()
    }

    /// Whether the complete object was passed on, and nothing but blanks follows it.
    pub(super) fn is_fully_emitted(&self) -> bool {
        self.scan.end == Some(self.emitted) && self.joined.get(self.emitted..).is_some_and(is_blank)
    }

    /// Whether a fragment repeats all of the arguments.
    pub(super) fn repeats_all(&self, piece: &str) -> bool {
        let piece = piece.trim();
        piece == self.joined.trim() || (self.is_cumulative && piece == self.last.trim())
    }

    /// Whether a fragment repeats the last one.
    pub(super) fn repeats_last(&self, piece: &str) -> bool {
        !self.last.is_empty() && piece.starts_with(&self.last)
    }

    /// The text that can be passed on now.
    pub(super) fn take_ready(&mut self) -> Option<String> {
        let ready_end = if !self.joined.trim_start().starts_with('{')
            || (self.is_cumulative && self.pieces > 1)
        {
            return None;
        } else {
            self.scan.end.unwrap_or(self.joined.len())
        };
        let more = self
            .joined
            .get(self.emitted..ready_end)
            .filter(|more| !more.is_empty())?;
        let more = more.to_owned();
        self.emitted = ready_end;
        Some(more)
    }

    /// The final arguments, after the last fragment.
    pub(super) fn finish(&self) -> FinalArguments {
        let (text, repair) = self.repaired();
        // The text that was passed on is a prefix of every possible result.
        let rest = text.get(self.emitted..).unwrap_or_default().to_owned();
        FinalArguments { rest, repair }
    }

    fn repaired(&self) -> (String, Option<&'static str>) {
        let joined = self.joined.as_str();
        let fault = match serde_json::from_str::<Value>(joined) {
            Ok(Value::Null) => return (String::new(), None),
            Ok(Value::String(inner)) => {
                if inner.trim().is_empty() {
                    return (String::new(), None);
                }
                if is_object(&inner) {
                    return (inner, Some("arguments_encoded_twice"));
                }
                return (joined.to_owned(), None);
            }
            Ok(_) => return (joined.to_owned(), None),
            Err(fault) => fault,
        };
        // Arguments with only the end missing were truncated and must not be repaired.
        if !fault.is_eof() {
            if self.is_cumulative && self.pieces > 1 && is_object(&self.last) {
                return (self.last.clone(), Some("arguments_repeated"));
            }
            if let Some(inner) = without_wrapping(joined) {
                return (inner.to_owned(), Some("arguments_wrapped"));
            }
        }
        (joined.to_owned(), None)
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|json| json.is_object())
}

/// The object without a template's code fences or tags; `None` if something else is wrong.
fn without_wrapping(text: &str) -> Option<&str> {
    let mut inner = text.trim();
    if let Some(fenced) = inner.strip_prefix("```") {
        inner = fenced.strip_prefix("json").unwrap_or(fenced);
    }
    inner = inner.strip_prefix("<tool_call>").unwrap_or(inner);
    loop {
        inner = inner.trim();
        let shorter = ["```", "</tool_call>", "<|im_end|>", "<|eot_id|>"]
            .iter()
            .find_map(|end| inner.strip_suffix(end));
        match shorter {
            Some(shorter) => inner = shorter,
            None => break,
        }
    }
    // The text passed on so far began at the start of the text.
    let emitted_is_prefix =
        text.starts_with('{') == inner.starts_with('{') && text.starts_with(inner);
    let nothing_emitted = !text.trim_start().starts_with('{');
    (is_object(inner) && (emitted_is_prefix || nothing_emitted)).then_some(inner)
}

/// Finds the end of the first object in a growing text.
#[derive(Debug, Default)]
struct ObjectScanner {
    depth: usize,
    end: Option<usize>,
    escaped: bool,
    in_string: bool,
    read: usize,
}

impl ObjectScanner {
    fn read(&mut self, text: &str) {
        for (place, byte) in text.bytes().enumerate().skip(self.read) {
            if self.end.is_some() {
                break;
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.end = Some(place + 1);
                    }
                }
                _ => {}
            }
        }
        self.read = text.len();
    }
}
