//! Rules for schemas: in general, and for enforcement (`strict`).

use std::collections::HashSet;

use jackfield_dialect_rules::schema_faults;
use serde_json::Value;

use super::{fields, has, items};
use crate::checks::CheckFindings;

/// Checks the schema of a function's arguments (`what` is "function") or of an answer.
///
/// The vendor reports one error; this reports all of them.
pub(in crate::openai) fn check(
    at: &str,
    what: &str,
    name: &str,
    schema: &Value,
    strict: bool,
    found: &mut CheckFindings,
) {
    let mut faults = Vec::new();
    root(schema, &mut faults);
    for pointer in schema_faults(schema) {
        faults.push(format!(
            "{pointer} is not valid under any of the given schemas."
        ));
    }
    let mut judge = SchemaRules {
        faults,
        properties: 0,
        strict,
    };
    judge.schema(schema, &mut Vec::new(), 0);
    if judge.properties > MAX_PROPERTIES {
        judge
            .faults
            .push(format!("more than {MAX_PROPERTIES} properties."));
    }
    let code = if what == "function" {
        "invalid_function_parameters"
    } else {
        "invalid_json_schema"
    };
    for fault in judge.faults {
        let fault = format!("Invalid schema for {what} '{name}': {fault}");
        found.coded(at, code, &fault);
    }
}

fn root(schema: &Value, faults: &mut Vec<String>) {
    let kind = schema.get("type").and_then(Value::as_str);
    if kind != Some("object") {
        let kind = kind.unwrap_or("None");
        faults.push(format!(
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
        ));
    } else if !schema.get("properties").is_some_and(Value::is_object) {
        faults.push("In context=(), object schema missing properties.".to_owned());
    }
    for name in ["oneOf", "anyOf", "allOf", "enum", "not"] {
        if has(schema, name) {
            faults.push(format!(
                "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level; it has '{name}'."
            ));
        }
    }
}

struct SchemaRules {
    faults: Vec<String>,
    properties: usize,
    strict: bool,
}

impl SchemaRules {
    fn schema(&mut self, schema: &Value, path: &mut Vec<String>, depth: usize) {
        let Value::Object(keywords) = schema else {
            if self.strict && !path.is_empty() {
                self.fault(path, "a schema has to be an object.");
            }
            return;
        };
        let is_array = is_of(schema, "array");
        if is_array && !has(schema, "items") {
            self.fault(path, "array schema missing items.");
        }
        if self.strict {
            self.strictly(schema, path, depth);
        }
        for (name, value) in keywords {
            let children: Vec<(String, &Value)> = match name.as_str() {
                "properties" | "$defs" | "definitions" => {
                    let children = fields(value).iter();
                    children
                        .map(|(name, child)| (name.clone(), child))
                        .collect()
                }
                "items" | "additionalProperties" if value.is_object() => {
                    vec![(String::new(), value)]
                }
                "anyOf" | "oneOf" | "allOf" => {
                    let children = items(Some(value)).iter().enumerate();
                    children.map(|(n, child)| (n.to_string(), child)).collect()
                }
                _ => continue,
            };
            if name == "properties" {
                self.properties += children.len();
            }
            path.push(name.clone());
            let deeper = depth + usize::from(matches!(name.as_str(), "properties" | "items"));
            for (step, child) in children {
                path.push(step);
                self.schema(child, path, deeper);
                path.pop();
            }
            path.pop();
        }
    }

    /// Checks the rules for an enforced schema.
    fn strictly(&mut self, schema: &Value, path: &[String], depth: usize) {
        if depth > MAX_DEPTH {
            self.fault(path, "more than 10 levels of nesting.");
        }
        for name in NEVER {
            if has(schema, name) {
                self.fault(path, &format!("'{name}' is not permitted."));
            }
        }
        let says_its_kind = ["type", "anyOf", "$ref", "enum", "const"];
        if !says_its_kind.iter().any(|name| has(schema, name)) {
            self.fault(path, "schema must have a 'type' key.");
        }
        if let Some(format) = schema.get("format").and_then(Value::as_str)
            && !FORMATS.contains(&format)
        {
            self.fault(path, &format!("'{format}' is not a valid format."));
        }
        if !is_of(schema, "object") {
            return;
        }
        if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            self.fault(
                path,
                "'additionalProperties' is required to be supplied and to be false.",
            );
        }
        let required: HashSet<&str> = items(schema.get("required"))
            .iter()
            .filter_map(Value::as_str)
            .collect();
        for name in schema.get("properties").map(fields).into_iter().flatten() {
            if !required.contains(name.0.as_str()) {
                self.fault(
                    path,
                    &format!(
                        "'required' is required to be supplied and to be an array including every key in properties. Missing '{}'.",
                        name.0
                    ),
                );
            }
        }
    }

    fn fault(&mut self, path: &[String], fault: &str) {
        let steps = path.iter().filter(|step| !step.is_empty());
        let steps: Vec<String> = steps.map(|step| format!("'{step}'")).collect();
        self.faults
            .push(format!("In context=({}), {fault}", steps.join(", ")));
    }
}

/// Whether a schema has a type, possibly among others.
fn is_of(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(known)) => known == kind,
        Some(Value::Array(known)) => known.iter().any(|known| known == kind),
        _ => false,
    }
}

const MAX_DEPTH: usize = 10;
const MAX_PROPERTIES: usize = 5000;
const NEVER: &[&str] = &[
    "allOf",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "not",
    "oneOf",
    "patternProperties",
    "then",
];
const FORMATS: &[&str] = &[
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "time",
    "uuid",
];
