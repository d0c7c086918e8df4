//! The part of JSON Schema that reaches a model: Ollama reads the schema of a tool into types of its own (`ToolFunction`
//! and `ToolProperty` in `api/types.go`), and drops every keyword that they lack.
//!
//! References are replaced by what they refer to, and other keywords move into the description, where the model may
//! follow them.

use std::sync::Arc;

use jackfield_dialect_kit::schema::{Change, Changes, member, object};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::schema::target;
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments, and the changes.
pub(crate) fn parameters(schema: &Arc<Value>) -> (Value, Vec<Change>) {
    let (rooted, mut all) = object(schema, &NOT_AT_ROOT);
    let mut restrict = Restrict {
        changes: Changes::default(),
        open: Vec::new(),
        references: MOST_REFERENCES,
        root: &rooted,
    };
    let restricted = restrict.schema(&rooted, "", 0);
    all.extend(restrict.changes.into_vec());
    (restricted, all)
}

struct Restrict<'s> {
    changes: Changes,
    /// The references within whose targets a schema is.
    open: Vec<String>,
    /// How many references may still be replaced.
    references: usize,
    root: &'s Value,
}

impl Restrict<'_> {
    fn schema(&mut self, schema: &Value, at: &str, depth: usize) -> Value {
        let Some(fields) = schema.as_object() else {
            // `true`, or `false`, which has no counterpart.
            let effect = if *schema == json!(true) {
                NoteEffect::Cosmetic
            } else {
                NoteEffect::Quality
            };
            self.changes.push(effect, "schema_made_object", at);
            return json!({});
        };
        if depth > DEEPEST && !fields.is_empty() {
            self.changes
                .push(NoteEffect::Quality, "schema_too_deep", at);
            return json!({});
        }
        let mut rest = fields.clone();
        let open = self.open.len();
        self.inline(&mut rest, at);
        self.literal(&mut rest, at);
        self.choice(&mut rest, at);
        let is_root = depth == 0;
        let (mut out, mut described) = (Map::new(), Map::new());
        for (key, value) in rest {
            let below = member(at, &key);
            let kept = match key.as_str() {
                "properties" => {
                    let schemas = value.as_object().into_iter().flatten();
                    let schemas = schemas.map(|(name, one)| {
                        let schema = self.schema(one, &member(&below, name), depth + 1);
                        (name.clone(), schema)
                    });
                    Value::Object(schemas.collect())
                }
                "anyOf" => {
                    let schemas = value.as_array().into_iter().flatten().enumerate();
                    let schemas = schemas
                        .map(|(n, one)| self.schema(one, &format!("{below}/{n}"), depth + 1));
                    schemas.collect()
                }
                "items" => self.schema(&value, &below, depth + 1),
                // The root has no more than these, and no description.
                "description" | "enum" if !is_root => value,
                "required" | "type" => value,
                _ if SILENT.contains(&key.as_str()) || value == json!(false) => {
                    self.changes
                        .push(NoteEffect::Cosmetic, "schema_keyword_dropped", at);
                    continue;
                }
                _ => {
                    let mut value = value;
                    if !is_root && !DATA.contains(&key.as_str()) {
                        self.referred(&mut value, &below);
                    }
                    described.insert(key, value);
                    continue;
                }
            };
            out.insert(key, kept);
        }
        if is_root {
            // Its description would be dropped, too.
            if !described.is_empty() {
                self.changes
                    .push(NoteEffect::Quality, "schema_keyword_dropped", at);
            }
        } else {
            self.changes.describe(described, &mut out, at);
        }
        self.open.truncate(open);
        Value::Object(out)
    }

    /// Replaces a reference by the fields of its target, beside which its own fields stay.
    fn inline(&mut self, rest: &mut Map<String, Value>, at: &str) {
        while let Some(reference) = rest.shift_remove("$ref") {
            let text = reference.as_str().unwrap_or_default();
            let is_cycle = self.open.iter().any(|open| open == text);
            let found = target(self.root, text).and_then(Value::as_object);
            let Some(fields) = found.filter(|_| self.references > 0 && !is_cycle) else {
                self.changes
                    .push(NoteEffect::Quality, "schema_reference_cut", at);
                return;
            };
            self.references -= 1;
            self.open.push(text.to_owned());
            self.changes
                .push(NoteEffect::Cosmetic, "schema_reference_inlined", at);
            for (key, value) in fields {
                rest.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
    }

    /// Replaces the references in a keyword that is described, as their targets are not sent.
    fn referred(&mut self, value: &mut Value, at: &str) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.referred(item, at)),
            Value::Object(fields) => {
                let open = self.open.len();
                if fields.get("$ref").is_some_and(Value::is_string) {
                    self.inline(fields, at);
                }
                for (_, below) in fields
                    .iter_mut()
                    .filter(|(key, _)| !DATA.contains(&key.as_str()))
                {
                    self.referred(below, at);
                }
                self.open.truncate(open);
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Makes a constant the only value of an enumeration.
    fn literal(&mut self, rest: &mut Map<String, Value>, at: &str) {
        if !rest.contains_key("enum")
            && let Some(value) = rest.shift_remove("const")
        {
            self.changes
                .push(NoteEffect::Cosmetic, "schema_const_as_enum", at);
            rest.insert("enum".to_owned(), json!([value]));
        }
    }

    /// Makes a choice of exactly one schema one of any.
    fn choice(&mut self, rest: &mut Map<String, Value>, at: &str) {
        if !rest.contains_key("anyOf")
            && let Some(schemas) = rest.shift_remove("oneOf")
        {
            self.changes
                .push(NoteEffect::Cosmetic, "schema_one_of_as_any_of", at);
            rest.insert("anyOf".to_owned(), schemas);
        }
    }
}

/// Keywords whose values are no schemas.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];
/// The deepest nesting of schemas.
const DEEPEST: usize = 16;
/// The most references that are replaced in a schema, as each may hold several others.
const MOST_REFERENCES: usize = 64;
/// Keywords that are not at the root of a schema, which describes an object with properties.
const NOT_AT_ROOT: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords that say nothing to a model.
const SILENT: [&str; 6] = [
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "definitions",
    "title",
];
