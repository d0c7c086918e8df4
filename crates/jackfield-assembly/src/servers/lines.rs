//! Finds the lines of values in a JSON file, and duplicate keys: a parsed value has neither.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The lines of all values of a file, by their keys with dots.
#[derive(Debug, Default)]
pub(crate) struct KeyLines {
    found: HashMap<String, usize>,
    /// The duplicate keys: the line of the first, and of another one.
    pub(crate) twice: Vec<(String, usize, usize)>,
}

impl KeyLines {
    /// Indexes a JSON text, down to the depth that is read.
    pub(crate) fn of(text: &str) -> Self {
        let mut lines = Self::default();
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        let file = LinesOfFile {
            starts: starts.collect(),
            text,
        };
        lines.add(&file, text.trim_ascii(), String::new(), 0);
        lines
    }

    /// The line of a value, or of the closest parent.
    pub(crate) fn line(&self, key: &str) -> Option<usize> {
        let mut key = key;
        loop {
            if let Some(line) = self.found.get(key) {
                return Some(*line);
            }
            let end = key.rfind(['.', '[']);
            key = match end {
                Some(end) => key.get(..end)?,
                None if key.is_empty() => return None,
                None => "",
            };
        }
    }

    fn add(&mut self, file: &LinesOfFile<'_>, value: &str, key: String, level: usize) {
        let line = file.line(value);
        if level < MAX_LEVELS {
            if value.starts_with('{') {
                let fields: WrittenFields<'_> = serde_json::from_str(value).unwrap_or_default();
                for (name, field) in fields.0 {
                    let dot = if key.is_empty() { "" } else { "." };
                    let key = format!("{key}{dot}{name}");
                    match self.found.get(&key) {
                        Some(first) => {
                            let line = file.line(field.get());
                            self.twice.push((key, *first, line));
                        }
                        // Other programs keep unrelated data in the same file, which can be long.
                        None if level == 0 && !TABLES.contains(&&*name) => {
                            self.found.insert(key, file.line(field.get()));
                        }
                        None => self.add(file, field.get(), key, level + 1),
                    }
                }
            } else if value.starts_with('[') {
                let items: Vec<&RawValue> = serde_json::from_str(value).unwrap_or_default();
                for (nth, item) in items.into_iter().enumerate() {
                    self.add(file, item.get(), format!("{key}[{nth}]"), level + 1);
                }
            }
        }
        self.found.insert(key, line);
    }
}

struct LinesOfFile<'a> {
    starts: Vec<usize>,
    text: &'a str,
}

impl LinesOfFile<'_> {
    /// The line of a part of the text, from 1.
    fn line(&self, part: &str) -> usize {
        let at = part.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        self.starts.partition_point(|start| *start <= at)
    }
}

/// The fields of an object as written, in order, with duplicates.
#[derive(Default)]
struct WrittenFields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for WrittenFields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LineReader;

        impl<'de> Visitor<'de> for LineReader {
            type Value = WrittenFields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(WrittenFields(fields))
            }
        }

        deserializer.deserialize_map(LineReader)
    }
}

/// The keys that contain servers.
pub(crate) const TABLES: [&str; 2] = ["mcpServers", "servers"];
/// No field of a server is nested deeper; each level is parsed once more.
const MAX_LEVELS: usize = 6;
