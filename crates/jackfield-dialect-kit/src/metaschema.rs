//! The rules of JSON Schema 2020-12 for schemas themselves, for the crate of the vendors' rules.
//!
//! Implemented from the specification, independently of the code that repairs schemas, which it verifies in tests.

use jackfield_domain::schema::pointer;
use serde_json::Value;

use crate::schema::{is_pattern, member};

/// The violations in a schema, as JSON Pointers: forms of keywords, unknown types, regular expressions that do not
/// compile, and references to no schema of the same document.
#[must_use]
pub fn faults(schema: &Value) -> Vec<String> {
    let mut check = SchemaChecker {
        faults: Vec::new(),
        root: schema,
    };
    check.schema(schema, "");
    check.faults
}

struct SchemaChecker<'s> {
    faults: Vec<String>,
    root: &'s Value,
}

impl SchemaChecker<'_> {
    fn expect(&mut self, sound: bool, at: &str) {
        if !sound {
            self.faults.push(at.to_owned());
        }
    }

    fn schema(&mut self, schema: &Value, at: &str) {
        match schema {
            Value::Bool(_) => {}
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.keyword(key, value, &member(at, key));
                }
            }
            Value::Array(_) | Value::Null | Value::Number(_) | Value::String(_) => {
                self.expect(false, at);
            }
        }
    }

    fn keyword(&mut self, key: &str, value: &Value, at: &str) {
        match key {
            "additionalProperties"
            | "contains"
            | "contentSchema"
            | "else"
            | "if"
            | "items"
            | "not"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties" => {
                self.schema(value, at);
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                let schemas = value.as_array().filter(|schemas| !schemas.is_empty());
                self.expect(schemas.is_some(), at);
                for (n, schema) in schemas.into_iter().flatten().enumerate() {
                    self.schema(schema, &format!("{at}/{n}"));
                }
            }
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "properties" => {
                self.expect(value.is_object(), at);
                for (name, schema) in value.as_object().into_iter().flatten() {
                    let sound = key != "patternProperties" || is_pattern(name);
                    self.expect(sound, at);
                    self.schema(schema, &member(at, name));
                }
            }
            "type" => {
                let kinds = value.as_array().filter(|kinds| !kinds.is_empty());
                let sound = match kinds {
                    Some(kinds) => kinds.iter().all(is_type) && is_unique(kinds),
                    None => is_type(value),
                };
                self.expect(sound, at);
            }
            "required" => self.expect(are_names(value), at),
            "dependentRequired" => {
                let names = value.as_object();
                let sound = names.is_some_and(|names| names.values().all(are_names));
                self.expect(sound, at);
            }
            "enum" => {
                let values = value.as_array().filter(|values| !values.is_empty());
                self.expect(values.is_some_and(|values| is_unique(values)), at);
            }
            "examples" => self.expect(value.is_array(), at),
            "exclusiveMaximum" | "exclusiveMinimum" | "maximum" | "minimum" => {
                self.expect(value.is_number(), at);
            }
            "multipleOf" => self.expect(value.as_f64().is_some_and(|step| step > 0.0), at),
            "maxContains" | "maxItems" | "maxLength" | "maxProperties" | "minContains"
            | "minItems" | "minLength" | "minProperties" => self.expect(value.is_u64(), at),
            "deprecated" | "readOnly" | "uniqueItems" | "writeOnly" => {
                self.expect(value.is_boolean(), at);
            }
            "$comment" | "$schema" | "contentEncoding" | "contentMediaType" | "description"
            | "format" | "title" => self.expect(value.is_string(), at),
            "pattern" => self.expect(value.as_str().is_some_and(is_pattern), at),
            "$ref" => self.expect(value.as_str().is_some_and(|to| self.resolves(to)), at),
            _ => {}
        }
    }

    /// Whether a reference leads to a schema of this document: by a pointer, or by an anchor.
    fn resolves(&self, reference: &str) -> bool {
        let Some((document, within)) = reference.split_once('#') else {
            return false;
        };
        let own = self.root.get("$id").and_then(Value::as_str);
        if !document.is_empty() && own.map(|own| own.trim_end_matches('#')) != Some(document) {
            return false;
        }
        if within.is_empty() {
            return true;
        }
        if let Some(pointer) = pointer(reference) {
            let found = self.root.pointer(&pointer);
            return found.is_some_and(|found| found.is_object() || found.is_boolean());
        }
        has_anchor(self.root, within)
    }
}

fn has_anchor(value: &Value, name: &str) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| has_anchor(item, name)),
        Value::Object(fields) => {
            let is_it = |key| fields.get(key).and_then(Value::as_str) == Some(name);
            is_it("$anchor")
                || is_it("$dynamicAnchor")
                || fields.values().any(|field| has_anchor(field, name))
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => false,
    }
}

fn is_type(kind: &Value) -> bool {
    let known = [
        "array", "boolean", "integer", "null", "number", "object", "string",
    ];
    kind.as_str().is_some_and(|kind| known.contains(&kind))
}

fn are_names(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|names| names.iter().all(Value::is_string) && is_unique(names))
}

fn is_unique(values: &[Value]) -> bool {
    let mut others = values.iter().enumerate();
    others.all(|(n, value)| !values.iter().take(n).any(|before| before == value))
}
