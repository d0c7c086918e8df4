//! Size limits of strict schemas (the vendor's documentation of structured outputs, 2026-11).

use serde_json::Value;

const PROPERTIES: usize = 5000;
const LEVELS: usize = 10;
const VALUES: usize = 1000;
const CHARACTERS: usize = 120_000;

/// An enum with more values than this has a separate limit on their characters.
const LONG_LIST: usize = 250;
const LONG_LIST_CHARACTERS: usize = 15_000;

#[derive(Debug, Default)]
struct Sizes {
    characters: usize,
    levels: usize,
    long_list: usize,
    properties: usize,
    values: usize,
}

/// Whether a schema of the subset is within the limits.
pub(super) fn is_within_limits(schema: &Value) -> bool {
    let mut sizes = Sizes::default();
    sizes.add(schema, 0);
    sizes.characters <= CHARACTERS
        && sizes.levels <= LEVELS
        && sizes.long_list <= LONG_LIST_CHARACTERS
        && sizes.properties <= PROPERTIES
        && sizes.values <= VALUES
}

impl Sizes {
    fn add(&mut self, schema: &Value, level: usize) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let level = level + usize::from(properties.is_some());
        self.levels = self.levels.max(level);
        for (name, schema) in properties.into_iter().flatten() {
            self.properties += 1;
            self.characters += name.len();
            self.add(schema, level);
        }
        let definitions = schema.get("$defs").and_then(Value::as_object);
        for (name, schema) in definitions.into_iter().flatten() {
            self.characters += name.len();
            self.add(schema, 0);
        }
        let variants = schema.get("anyOf").and_then(Value::as_array);
        let items = schema.get("items");
        for schema in variants.into_iter().flatten().chain(items) {
            self.add(schema, level);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let characters = values.iter().map(length).sum();
            self.values += values.len();
            self.characters += characters;
            if values.len() > LONG_LIST {
                self.long_list = self.long_list.max(characters);
            }
        }
        self.characters += schema.get("const").map_or(0, length);
    }
}

fn length(value: &Value) -> usize {
    value.as_str().map_or(0, str::len)
}
