//! Repair of lines that are almost JSON, as written by careless servers.

/// The repaired line, if anything had to be replaced. The rest is unchanged.
///
/// Invalid UTF-8 and unpaired surrogates become U+FFFD; numbers that JSON lacks (`NaN`, `Infinity`, and those out
/// of range) become null; control characters and stray backslashes in strings are escaped.
pub(crate) fn repaired(line: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(line.strip_prefix(MARK).unwrap_or(line));
    let text = text.as_bytes();
    let mut repair = Repair {
        done: 0,
        repaired: Vec::new(),
        text,
    };
    let mut at = 0;
    while let Some(byte) = text.get(at).copied() {
        at = match byte {
            b'"' => repair.string(at + 1),
            b'+' | b'-' | b'.' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => repair.word(at),
            _ => at + 1,
        };
    }
    let untouched = repair.repaired.is_empty() && text == line;
    (!untouched).then(|| repair.end())
}

/// Removes an incomplete UTF-8 sequence at the end of a cut line.
pub(crate) fn trim_partial_character(line: &mut Vec<u8>) {
    for back in 1..=line.len().min(3) {
        let at = line.len() - back;
        let wanted = match line.get(at) {
            Some(0xC2..=0xDF) => 2,
            Some(0xE0..=0xEF) => 3,
            Some(0xF0..=0xF4) => 4,
            Some(0x80..=0xBF) => continue,
            Some(_) | None => return,
        };
        if wanted > back {
            line.truncate(at);
        }
        return;
    }
}

struct Repair<'a> {
    /// How many bytes of the text have been processed.
    done: usize,
    repaired: Vec<u8>,
    text: &'a [u8],
}

impl Repair<'_> {
    /// Processes a string from after its opening quote; returns where it ends.
    fn string(&mut self, from: usize) -> usize {
        let mut at = from;
        while let Some(byte) = self.text.get(at).copied() {
            at = match byte {
                b'"' => return at + 1,
                b'\\' => self.escape(at),
                0..0x20 => {
                    self.replace(at, at + 1, format!("\\u{byte:04x}").as_bytes());
                    at + 1
                }
                _ => at + 1,
            };
        }
        at
    }

    /// Processes an escape sequence; returns where it ends.
    fn escape(&mut self, at: usize) -> usize {
        match self.text.get(at + 1) {
            // The line may have been cut here.
            None => at + 1,
            Some(b'u') if self.is_cut(at, 6) => self.text.len(),
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at + 2,
            Some(b'u') if let Some(unit) = self.unit(at) => {
                let second = self.unit(at + 6);
                match unit {
                    0xD800..=0xDBFF if matches!(second, Some(0xDC00..=0xDFFF)) => at + 12,
                    0xD800..=0xDBFF if self.is_cut(at + 6, 6) => self.text.len(),
                    0xD800..=0xDFFF => {
                        self.replace(at, at + 6, b"\\ufffd");
                        at + 6
                    }
                    _ => at + 6,
                }
            }
            Some(_) => {
                self.replace(at, at + 1, b"\\\\");
                at + 1
            }
        }
    }

    /// Whether the line was cut within the sequence of `length` bytes at this place.
    fn is_cut(&self, at: usize, length: usize) -> bool {
        let rest = self.text.get(at..).unwrap_or_default();
        rest.len() < length && !rest.contains(&b'"')
    }

    /// The UTF-16 code unit of the escape sequence at this place, if there is one.
    fn unit(&self, at: usize) -> Option<u16> {
        let digits = self.text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
        let digits = std::str::from_utf8(digits).ok().filter(|_| is_hex)?;
        u16::from_str_radix(digits, 16).ok()
    }

    /// Processes a number or a word outside of strings; returns where it ends.
    fn word(&mut self, from: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        let is_part =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let length = rest.iter().position(|byte| !is_part(byte));
        let word = rest.get(..length.unwrap_or(rest.len())).unwrap_or_default();
        let to = from + word.len();
        // A short sequence of digits is always in range.
        let may_be = word.len() > SHORT || word.iter().any(u8::is_ascii_alphabetic);
        let number = std::str::from_utf8(word).ok().filter(|_| may_be);
        let number = number.and_then(|word| word.parse::<f64>().ok());
        if number.is_some_and(|number| !number.is_finite()) {
            self.replace(from, to, b"null");
        }
        to
    }

    fn replace(&mut self, from: usize, to: usize, with: &[u8]) {
        let between = self.text.get(self.done..from).unwrap_or_default();
        self.repaired.extend_from_slice(between);
        self.repaired.extend_from_slice(with);
        self.done = to;
    }

    fn end(mut self) -> Vec<u8> {
        let rest = self.text.get(self.done..).unwrap_or_default();
        self.repaired.extend_from_slice(rest);
        self.repaired
    }
}

/// The UTF-8 byte order mark, which some programs write first.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// A number with at most this many digits is in range.
const SHORT: usize = 300;
