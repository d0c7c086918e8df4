//! References of a schema: each must resolve to a schema within the same document, or is removed.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::SchemaRepair;

/// The schema within this document that a reference resolves to, if any.
///
/// A cycle that consists of references only does not resolve.
#[must_use]
pub fn target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let document = SchemaDocument::new(root);
    document.resolve(reference)
}

/// The JSON Pointer in the fragment of a reference, if there is one.
#[must_use]
pub fn pointer(reference: &str) -> Option<String> {
    let (_, within) = reference.split_once('#')?;
    percent_decode(within).filter(|within| within.starts_with('/'))
}

/// Removes references that do not resolve within the document.
pub(super) fn repair_references(schema: &mut Value, repair: &mut SchemaRepair<'_>) {
    if !has_references(schema) {
        return;
    }
    let before = schema.clone();
    let document = SchemaDocument::new(&before);
    walk(schema, true, &mut |fields, is_root| {
        for key in REFERENCES {
            let Some(reference) = fields.get(key).and_then(Value::as_str) else {
                continue;
            };
            if document.resolve(reference).is_none() {
                repair.move_to_description(fields, key);
            } else if let Some(pointer) = document.ids.get(reference) {
                let pointer = json!(format!("#{pointer}"));
                repair.changed = true;
                fields.insert(key.to_owned(), pointer);
            }
        }
        // A subschema with its own id would be a separate document for the references in it.
        if !is_root {
            repair.remove_keyword(fields, "$id");
        }
    });
}

/// A schema, and the names by which references can address its parts.
struct SchemaDocument<'s> {
    anchors: HashMap<&'s str, &'s Value>,
    /// The subschemas with an id of their own, as JSON Pointers.
    ids: HashMap<&'s str, String>,
    base_id: &'s str,
    root: &'s Value,
}

impl<'s> SchemaDocument<'s> {
    fn new(root: &'s Value) -> Self {
        let own = root.get("$id").and_then(Value::as_str).unwrap_or_default();
        let mut document = Self {
            anchors: HashMap::new(),
            ids: HashMap::new(),
            base_id: own.trim_end_matches('#'),
            root,
        };
        document.index_names(root, "");
        document
    }

    fn index_names(&mut self, schema: &'s Value, pointer: &str) {
        match schema {
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    self.index_names(item, &format!("{pointer}/{n}"));
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
                    let at = format!("{pointer}/{}", escape_token(key));
                    match field.as_object().filter(|_| maps_names(key)) {
                        Some(named) => {
                            for (name, schema) in named {
                                self.index_names(schema, &format!("{at}/{}", escape_token(name)));
                            }
                        }
                        None => self.index_names(field, &at),
                    }
                }
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The schema that a chain of references ends at.
    fn resolve(&self, reference: &str) -> Option<&'s Value> {
        let first = self.resolve_once(reference)?;
        let mut schema = first;
        for _ in 0..MAX_STEPS {
            match schema.get("$ref").and_then(Value::as_str) {
                Some(next) => schema = self.resolve_once(next)?,
                None => return Some(first),
            }
        }
        None
    }

    fn resolve_once(&self, reference: &str) -> Option<&'s Value> {
        let within = match reference.split_once('#') {
            Some((document, within)) if document.is_empty() || document == self.base_id => within,
            None if !self.base_id.is_empty() && reference == self.base_id => "",
            Some(_) | None => {
                let pointer = self.ids.get(reference)?;
                return self.root.pointer(pointer).filter(|found| is_schema(found));
            }
        };
        let found = if within.is_empty() {
            self.root
        } else if within.starts_with('/') {
            self.root.pointer(&percent_decode(within)?)?
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
                    && maps_names(key)
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

fn has_references(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_references),
        Value::Object(fields) => fields.iter().any(|(key, field)| {
            if field.is_string() {
                return REFERENCES.contains(&key.as_str());
            }
            match field.as_object().filter(|_| maps_names(key)) {
                Some(named) => named.values().any(has_references),
                None => !DATA.contains(&key.as_str()) && has_references(field),
            }
        }),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => false,
    }
}

fn maps_names(key: &str) -> bool {
    BY_NAME.contains(&key)
}

/// A name as a token of a JSON Pointer (RFC 6901).
fn escape_token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

const fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Object(_))
}

/// A fragment with percent-encoding removed (RFC 3986, section 2.1).
fn percent_decode(fragment: &str) -> Option<String> {
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
const MAX_STEPS: usize = 32;
const REFERENCES: [&str; 3] = ["$dynamicRef", "$recursiveRef", "$ref"];
