//! References of a schema: each must resolve to a schema within the same document, or is removed.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::SchemaRepair;

/// The schema within this document that a reference resolves to, if any.
///
/// A cycle that consists of references only does not resolve.
#[must_use]
pub fn target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let document = SchemaDocument::of(root);
    document.end(reference)
}

/// The JSON Pointer in the fragment of a reference, if there is one.
#[must_use]
pub fn pointer(reference: &str) -> Option<String> {
    let (_, within) = reference.split_once('#')?;
    decoded(within).filter(|within| within.starts_with('/'))
}

/// Removes references that do not resolve within the document.
pub(super) fn mend(schema: &mut Value, mending: &mut SchemaRepair<'_>) {
    if !refers(schema) {
        return;
    }
    let before = schema.clone();
    let document = SchemaDocument::of(&before);
    walk(schema, true, &mut |fields, is_root| {
        for key in REFERENCES {
            let Some(reference) = fields.get(key).and_then(Value::as_str) else {
                continue;
            };
            if document.end(reference).is_none() {
                mending.take_out(fields, key);
            } else if let Some(pointer) = document.ids.get(reference) {
                let pointer = json!(format!("#{pointer}"));
                mending.changed = true;
                fields.insert(key.to_owned(), pointer);
            }
        }
        // A subschema with its own id would be a separate document for the references in it.
        if !is_root {
            mending.forget(fields, "$id");
        }
    });
}

/// A schema, and the names by which references can address its parts.
struct SchemaDocument<'s> {
    anchors: HashMap<&'s str, &'s Value>,
    /// The subschemas with an id of their own, as JSON Pointers.
    ids: HashMap<&'s str, String>,
    own: &'s str,
    root: &'s Value,
}

impl<'s> SchemaDocument<'s> {
    fn of(root: &'s Value) -> Self {
        let own = root.get("$id").and_then(Value::as_str).unwrap_or_default();
        let mut document = Self {
            anchors: HashMap::new(),
            ids: HashMap::new(),
            own: own.trim_end_matches('#'),
            root,
        };
        document.name(root, "");
        document
    }

    fn name(&mut self, schema: &'s Value, pointer: &str) {
        match schema {
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    self.name(item, &format!("{pointer}/{n}"));
                }
            }
            Value::Object(fields) => {
                for key in ["$anchor", "$dynamicAnchor"] {
                    if let Some(name) = fields.get(key).and_then(Value::as_str) {
                        self.anchors.insert(name, schema);
                    }
                }
                if let Some(id) = fields.get("$id").and_then(Value::as_str) {
                    self.ids.insert(id, pointer.to_owned());
                }
                for (key, field) in fields
                    .iter()
                    .filter(|(key, _)| !DATA.contains(&key.as_str()))
                {
                    let at = format!("{pointer}/{}", token(key));
                    match field.as_object().filter(|_| is_by_name(key)) {
                        Some(named) => {
                            for (name, schema) in named {
                                self.name(schema, &format!("{at}/{}", token(name)));
                            }
                        }
                        None => self.name(field, &at),
                    }
                }
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The schema that a chain of references ends at.
    fn end(&self, reference: &str) -> Option<&'s Value> {
        let first = self.step(reference)?;
        let mut schema = first;
        for _ in 0..MOST_STEPS {
            match schema.get("$ref").and_then(Value::as_str) {
                Some(next) => schema = self.step(next)?,
                None => return Some(first),
            }
        }
        None
    }

    fn step(&self, reference: &str) -> Option<&'s Value> {
        let within = match reference.split_once('#') {
            Some((document, within)) if document.is_empty() || document == self.own => within,
            None if !self.own.is_empty() && reference == self.own => "",
            Some(_) | None => {
                let pointer = self.ids.get(reference)?;
                return self.root.pointer(pointer).filter(|found| is_schema(found));
            }
        };
        let found = if within.is_empty() {
            self.root
        } else if within.starts_with('/') {
            self.root.pointer(&decoded(within)?)?
        } else {
            self.anchors.get(within)?
        };
        is_schema(found).then_some(found)
    }
}

/// Visits each object that is or may be a schema.
fn walk(value: &mut Value, is_root: bool, visit: &mut dyn FnMut(&mut Map<String, Value>, bool)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, false, visit)),
        Value::Object(fields) => {
            visit(fields, is_root);
            for (key, field) in fields.iter_mut() {
                if let Value::Object(named) = field
                    && is_by_name(key)
                {
                    let schemas = named.values_mut();
                    schemas.for_each(|schema| walk(schema, false, visit));
                } else if !DATA.contains(&key.as_str()) {
                    walk(field, false, visit);
                }
            }
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
    }
}

fn refers(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(refers),
        Value::Object(fields) => fields.iter().any(|(key, field)| {
            if field.is_string() {
                return REFERENCES.contains(&key.as_str());
            }
            match field.as_object().filter(|_| is_by_name(key)) {
                Some(named) => named.values().any(refers),
                None => !DATA.contains(&key.as_str()) && refers(field),
            }
        }),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => false,
    }
}

fn is_by_name(key: &str) -> bool {
    BY_NAME.contains(&key)
}

/// A name as a token of a JSON Pointer (RFC 6901).
fn token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

const fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Object(_))
}

/// A fragment with percent-encoding removed (RFC 3986, section 2.1).
fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Keywords whose value maps names to schemas.
const BY_NAME: [&str; 6] = [
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];
/// Keywords whose value is data.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];
/// The maximum length of a chain of references.
const MOST_STEPS: usize = 32;
const REFERENCES: [&str; 3] = ["$dynamicRef", "$recursiveRef", "$ref"];
