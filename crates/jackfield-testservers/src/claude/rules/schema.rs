//! Rules for the schemas of tools.

use jackfield_dialect_rules::schema_faults;
use serde_json::Value;

use crate::checks::CheckFindings;

/// Checks the schema of a tool's arguments.
pub(super) fn check(at: &str, schema: Option<&Value>, found: &mut CheckFindings) {
    let schema = schema.unwrap_or(&Value::Null);
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        found.add(at, "the root has to be of type object");
    }
    if ["allOf", "anyOf", "oneOf"]
        .iter()
        .any(|key| schema.get(key).is_some())
    {
        found.add(
            at,
            "input_schema does not support oneOf, allOf, or anyOf at the top level",
        );
    }
    for pointer in schema_faults(schema) {
        let fault = "JSON schema is invalid. It must match JSON Schema draft 2020-12";
        found.add(&format!("{at}{pointer}"), fault);
    }
    names(at, schema, found);
}

/// Checks the names of properties in all subschemas.
fn names(at: &str, schema: &Value, found: &mut CheckFindings) {
    for (key, value) in schema.as_object().into_iter().flatten() {
        let at = format!("{at}.{key}");
        match (key.as_str(), value) {
            ("const" | "default" | "enum" | "examples", _) => {}
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    let fits = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
                    if name.is_empty() || name.len() > 64 || !name.bytes().all(fits) {
                        let fault = "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'";
                        found.add(&at, fault);
                    }
                    names(&at, schema, found);
                }
            }
            (
                "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties",
                Value::Object(named),
            ) => {
                named.values().for_each(|schema| names(&at, schema, found));
            }
            (_, Value::Array(schemas)) => {
                schemas.iter().for_each(|schema| names(&at, schema, found));
            }
            (_, schema) => names(&at, schema, found),
        }
    }
}
