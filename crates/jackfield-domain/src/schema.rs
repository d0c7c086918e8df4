//! Repairs broken JSON Schemas of tools, so that the rest of each schema can be used.
//!
//! Vendors validate the schemas of all tools on each request, so one broken schema would end a session. Clear
//! cases are repaired: `null` counts as absent, an empty list as an empty object, a type's name in another
//! language as the type, and `exclusiveMinimum: true` as the bound of draft 4. A keyword that cannot be
//! repaired is moved into the description, where a model can still read it. The result is a JSON Schema
//! 2020-12, and a valid schema is its own result.

mod keywords;
mod references;

use serde_json::{Map, Value, json};

pub use references::{pointer, target};

/// A repaired schema.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairedSchema {
    /// Whether a keyword that restricts values was removed.
    pub is_lossy: bool,
    /// The schema.
    pub schema: Value,
}

/// Repairs a schema; `None` if nothing in it is broken.
///
/// `is_pattern` tests whether a text is a regular expression that compiles.
#[must_use]
pub fn repair(schema: &Value, is_pattern: &dyn Fn(&str) -> bool) -> Option<RepairedSchema> {
    let mut repair = SchemaRepair {
        changed: false,
        is_pattern,
        is_lossy: false,
    };
    let mut repaired = schema.clone();
    repair.repair_schema(&mut repaired);
    references::repair_references(&mut repaired, &mut repair);
    repair.repair_draft(&mut repaired);
    repair.changed.then_some(RepairedSchema {
        is_lossy: repair.is_lossy,
        schema: repaired,
    })
}

/// Adds keywords to the description of a schema. Returns whether any was added: keywords that restrict nothing
/// are skipped.
pub fn describe(keywords: &Map<String, Value>, schema: &mut Map<String, Value>) -> bool {
    let entries: Vec<String> = keywords
        .iter()
        .filter(|(key, _)| !SILENT.contains(&key.as_str()))
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    if entries.is_empty() {
        return false;
    }
    let note = format!("{{{}}}", entries.join(", "));
    let text = match schema.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text}\n\n{note}"),
        None => note,
    };
    schema.insert("description".to_owned(), json!(text));
    true
}

/// The state of the repair.
struct SchemaRepair<'p> {
    changed: bool,
    is_pattern: &'p dyn Fn(&str) -> bool,
    is_lossy: bool,
}

impl SchemaRepair<'_> {
    /// Repairs a value in the place of a schema.
    fn repair_schema(&mut self, schema: &mut Value) {
        match schema {
            Value::Bool(_) => {}
            Value::Object(fields) => self.repair_keywords(fields),
            Value::Array(items) if items.is_empty() => self.replace(schema, json!({})),
            Value::Null => self.replace(schema, json!({})),
            Value::String(word) => {
                let type_name = keywords::type_of(word);
                let replacement =
                    type_name.map_or_else(|| json!({}), |kind| json!({ "type": kind }));
                self.is_lossy |= replacement == json!({});
                self.replace(schema, replacement);
            }
            Value::Array(_) | Value::Number(_) => {
                self.is_lossy = true;
                self.replace(schema, json!({}));
            }
        }
    }

    fn replace(&mut self, place: &mut Value, value: Value) {
        self.changed = true;
        *place = value;
    }

    /// Moves a keyword that cannot be repaired into the description.
    fn move_to_description(&mut self, fields: &mut Map<String, Value>, key: &str) {
        let Some(value) = fields.shift_remove(key) else {
            return;
        };
        self.changed = true;
        let taken = Map::from_iter([(key.to_owned(), value)]);
        self.is_lossy |= describe(&taken, fields);
    }

    /// Removes a keyword without any meaning.
    fn remove_keyword(&mut self, fields: &mut Map<String, Value>, key: &str) {
        self.changed |= fields.shift_remove(key).is_some();
    }

    /// Removes `$schema` if it names an unknown draft, one with boolean exclusive bounds, or one whose keywords
    /// were converted to those of 2020-12.
    fn repair_draft(&mut self, schema: &mut Value) {
        let Some(fields) = schema.as_object_mut() else {
            return;
        };
        let Some(draft) = fields.get(DRAFT).and_then(Value::as_str) else {
            return;
        };
        let is = |names: &[&str]| names.iter().any(|name| draft.contains(name));
        let is_supported =
            is(&["/2020-12/"]) || !self.changed && is(&["/draft-06/", "/draft-07/", "/2019-09/"]);
        if !is_supported {
            self.remove_keyword(fields, DRAFT);
        }
    }
}

const DRAFT: &str = "$schema";
/// Keywords that restrict nothing.
const SILENT: [&str; 6] = [
    "$anchor",
    "$comment",
    "$id",
    "$schema",
    "description",
    "examples",
];
