//! JSON Schemas that others wrote: what is broken in one is mended, so that the rest of it can be used.
//!
//! A vendor checks the schemas of all tools on each request, so one that is broken ends a session. What is
//! plain is mended: nothing stands for what is absent, an empty list for an empty object, a word for the
//! type that it means, `exclusiveMinimum: true` for the bound of draft 4. What cannot be mended is taken out
//! and put into the description, where a model can still read it. The result is a schema of JSON Schema
//! 2020-12, and a sound schema is its own result.

mod keywords;
mod references;

use serde_json::{Map, Value, json};

pub use references::{pointer, target};

/// A schema that was broken, as it can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairedSchema {
    /// Whether something that restricts values was taken out.
    pub loses: bool,
    /// The schema.
    pub schema: Value,
}

/// Mends a schema; `None` if nothing in it is broken.
///
/// `is_pattern` says whether a text is a regular expression that can be compiled.
#[must_use]
pub fn mend(schema: &Value, is_pattern: &dyn Fn(&str) -> bool) -> Option<RepairedSchema> {
    let mut mending = SchemaRepair {
        changed: false,
        is_pattern,
        loses: false,
    };
    let mut mended = schema.clone();
    mending.schema(&mut mended);
    references::mend(&mut mended, &mut mending);
    mending.draft(&mut mended);
    mending.changed.then_some(RepairedSchema {
        loses: mending.loses,
        schema: mended,
    })
}

/// Puts keywords into the description of a schema. Whether anything was put there: keywords that restrict
/// nothing are left out.
pub fn describe(keywords: &Map<String, Value>, schema: &mut Map<String, Value>) -> bool {
    let said: Vec<String> = keywords
        .iter()
        .filter(|(key, _)| !SILENT.contains(&key.as_str()))
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    if said.is_empty() {
        return false;
    }
    let said = format!("{{{}}}", said.join(", "));
    let text = match schema.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text}\n\n{said}"),
        None => said,
    };
    schema.insert("description".to_owned(), json!(text));
    true
}

/// What was found so far.
struct SchemaRepair<'p> {
    changed: bool,
    is_pattern: &'p dyn Fn(&str) -> bool,
    loses: bool,
}

impl SchemaRepair<'_> {
    /// Mends a value in the place of a schema.
    fn schema(&mut self, schema: &mut Value) {
        match schema {
            Value::Bool(_) => {}
            Value::Object(fields) => self.fields(fields),
            Value::Array(items) if items.is_empty() => self.replace(schema, json!({})),
            Value::Null => self.replace(schema, json!({})),
            Value::String(word) => {
                let meant = keywords::type_of(word);
                let meant = meant.map_or_else(|| json!({}), |kind| json!({ "type": kind }));
                self.loses |= meant == json!({});
                self.replace(schema, meant);
            }
            Value::Array(_) | Value::Number(_) => {
                self.loses = true;
                self.replace(schema, json!({}));
            }
        }
    }

    fn replace(&mut self, place: &mut Value, value: Value) {
        self.changed = true;
        *place = value;
    }

    /// Takes what cannot be mended out, into the description.
    fn take_out(&mut self, fields: &mut Map<String, Value>, key: &str) {
        let Some(value) = fields.shift_remove(key) else {
            return;
        };
        self.changed = true;
        let taken = Map::from_iter([(key.to_owned(), value)]);
        self.loses |= describe(&taken, fields);
    }

    /// Takes out what says nothing.
    fn forget(&mut self, fields: &mut Map<String, Value>, key: &str) {
        self.changed |= fields.shift_remove(key).is_some();
    }

    /// A draft that is not known, that is older than numbers as exclusive bounds, or whose words were mended
    /// into those of 2020-12, is not named any more.
    fn draft(&mut self, schema: &mut Value) {
        let Some(fields) = schema.as_object_mut() else {
            return;
        };
        let Some(draft) = fields.get(DRAFT).and_then(Value::as_str) else {
            return;
        };
        let is = |names: &[&str]| names.iter().any(|name| draft.contains(name));
        let stays =
            is(&["/2020-12/"]) || !self.changed && is(&["/draft-06/", "/draft-07/", "/2019-09/"]);
        if !stays {
            self.forget(fields, DRAFT);
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
