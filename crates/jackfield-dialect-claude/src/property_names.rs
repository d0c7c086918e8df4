//! Names of properties: Claude accepts 1 to 64 of A-Z, a-z, 0-9, `_`, `.` and `-`, but tools also use others.
//!
//! Such a property is offered under another name, and gets its own name back in the arguments of a call.

use std::collections::BTreeMap;

use jackfield_dialect_kit::pointer;
use jackfield_domain::digest::Digest;
use serde_json::{Map, Value};

/// The renamed properties of a tool.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PropertyNames {
    /// From the tool's own name to the offered one.
    to_offered: BTreeMap<String, String>,
    /// From the offered name to the tool's own.
    to_original: BTreeMap<String, String>,
}

/// Renames the properties of a schema to names that the vendor accepts; `None` if none has to be renamed.
#[must_use]
pub fn rename_properties(schema: &mut Value) -> Option<PropertyNames> {
    let names = PropertyNames::of(schema)?;
    names.rename_schema(schema);
    Some(names)
}

impl PropertyNames {
    /// The names of a schema's properties that the vendor does not accept; `None` if it accepts all.
    #[must_use]
    pub fn of(schema: &Value) -> Option<Self> {
        let mut names = Self::default();
        names.collect(schema);
        (!names.to_original.is_empty()).then_some(names)
    }

    /// The model's arguments with the tool's own names. Invalid JSON is unchanged.
    #[must_use]
    pub fn restore(&self, arguments: &str) -> String {
        match serde_json::from_str::<Value>(arguments) {
            Ok(mut json) => {
                translate(&mut json, &self.to_original);
                json.to_string()
            }
            Err(_) => arguments.to_owned(),
        }
    }

    /// Replaces the names in arguments by the offered ones.
    pub fn rename_arguments(&self, arguments: &mut Map<String, Value>) {
        translate_fields(arguments, &self.to_offered);
    }

    fn collect(&mut self, schema: &Value) {
        match schema {
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Value::Object(fields) => {
                for (key, field) in fields.iter().filter(|(key, _)| !is_data(key)) {
                    match field
                        .as_object()
                        .filter(|_| BY_NAME.contains(&key.as_str()))
                    {
                        Some(named) => {
                            if key == "properties" {
                                named.keys().for_each(|name| self.add(name));
                            }
                            named.values().for_each(|schema| self.collect(schema));
                        }
                        None => self.collect(field),
                    }
                }
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn add(&mut self, name: &str) {
        if !is_valid_name(name) {
            let offered = to_valid_name(name);
            self.to_original.insert(offered.clone(), name.to_owned());
            self.to_offered.insert(name.to_owned(), offered);
        }
    }

    fn rename_schema(&self, schema: &mut Value) {
        match schema {
            Value::Array(items) => items.iter_mut().for_each(|item| self.rename_schema(item)),
            Value::Object(fields) => {
                for (key, field) in fields.iter_mut().filter(|(key, _)| !is_data(key)) {
                    match (key.as_str(), field) {
                        ("$ref", Value::String(reference)) => self.rename_reference(reference),
                        ("required", Value::Array(names)) => self.rename_list(names),
                        (key, Value::Object(named)) if BY_NAME.contains(&key) => {
                            if !OTHER_NAMES.contains(&key) {
                                rename_keys(named, &self.to_offered);
                            }
                            for value in named.values_mut() {
                                if let Value::Array(names) = value {
                                    self.rename_list(names);
                                } else {
                                    self.rename_schema(value);
                                }
                            }
                        }
                        (_, field) => self.rename_schema(field),
                    }
                }
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn rename_list(&self, names: &mut [Value]) {
        for name in names {
            if let Some(offered) = name.as_str().and_then(|name| self.to_offered.get(name)) {
                *name = Value::String(offered.clone());
            }
        }
    }

    /// Adapts a reference to a property's schema, by a JSON Pointer.
    fn rename_reference(&self, reference: &mut String) {
        let within = jackfield_domain::schema::pointer(reference);
        let tokens = within.as_deref().and_then(pointer::tokens);
        let Some(tokens) = tokens.filter(|tokens| !tokens.is_empty()) else {
            return;
        };
        if !tokens
            .iter()
            .any(|token| self.to_offered.contains_key(token))
        {
            return;
        }
        *reference = "#".to_owned();
        for token in tokens {
            let token = self.to_offered.get(&token).cloned().unwrap_or(token);
            reference.push('/');
            reference.push_str(&token.replace('~', "~0").replace('/', "~1"));
        }
    }
}

fn translate(value: &mut Value, names: &BTreeMap<String, String>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| translate(item, names)),
        Value::Object(fields) => translate_fields(fields, names),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
    }
}

fn translate_fields(fields: &mut Map<String, Value>, names: &BTreeMap<String, String>) {
    rename_keys(fields, names);
    fields
        .values_mut()
        .for_each(|value| translate(value, names));
}

fn rename_keys(fields: &mut Map<String, Value>, names: &BTreeMap<String, String>) {
    if fields.keys().any(|key| names.contains_key(key)) {
        let before = std::mem::take(fields);
        let renamed = |(key, value)| (names.get(&key).cloned().unwrap_or(key), value);
        *fields = before.into_iter().map(renamed).collect();
    }
}

/// A similar name that the vendor accepts and that no other name maps to.
fn to_valid_name(name: &str) -> String {
    let fit = |c| if is_usual(c) { c } else { '_' };
    let mut fitting: String = name.chars().map(fit).take(MAX_LENGTH - 9).collect();
    let digest = Digest::of(name.as_bytes()).to_hex();
    fitting.push('_');
    fitting.extend(digest.chars().take(8));
    fitting
}

fn is_valid_name(name: &str) -> bool {
    (1..=MAX_LENGTH).contains(&name.len()) && name.chars().all(is_usual)
}

fn is_usual(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_')
}

/// Whether the value of a keyword is data, and not a schema.
fn is_data(key: &str) -> bool {
    matches!(key, "const" | "default" | "enum" | "examples")
}

/// Keywords whose value is a map by names.
const BY_NAME: [&str; 7] = [
    "$defs",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "properties",
];
/// Those keywords whose names are not property names.
const OTHER_NAMES: [&str; 3] = ["$defs", "definitions", "patternProperties"];
/// The longest name of a property.
const MAX_LENGTH: usize = 64;
