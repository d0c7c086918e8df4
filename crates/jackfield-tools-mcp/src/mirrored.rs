//! Arguments that a call repeats in headers, as the tool's schema asks by `x-mcp-header` (MCP 2026-07-28, "Custom
//! Headers from Tool Parameters", read 2026-11-26).

use std::collections::HashSet;

use http::HeaderName;
use serde_json::{Map, Value};

/// The headers of one call, by the names that the schema gives them. Carried in a request's extensions, which are
/// never sent.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct MirroredArguments(pub(crate) Vec<(String, String)>);

/// One annotation: the way to the argument, and the name of its header.
struct Annotation<'a> {
    header: &'a str,
    path: Vec<&'a str>,
}

impl MirroredArguments {
    /// The headers of a call with these arguments. An absent or null argument has none.
    pub(crate) fn of(definition: &Value, arguments: &Map<String, Value>) -> Self {
        let annotations = annotations(definition).unwrap_or_default();
        let headers = annotations.into_iter().filter_map(|annotation| {
            let mut path = annotation.path.iter();
            let first = arguments.get(*path.next()?)?;
            let value = path.try_fold(first, |value, name| value.get(name))?;
            let text = match value {
                Value::Bool(flag) => flag.to_string(),
                Value::Number(number) => number.to_string(),
                Value::String(text) => text.clone(),
                Value::Array(_) | Value::Null | Value::Object(_) => return None,
            };
            Some((annotation.header.to_owned(), text))
        });
        Self(headers.collect())
    }
}

/// Why a tool cannot be offered because of its annotations, if so.
pub(crate) fn fault(definition: &Value) -> Option<String> {
    annotations(definition).err()
}

fn annotations(definition: &Value) -> Result<Vec<Annotation<'_>>, String> {
    let mut found = Vec::new();
    if let Some(schema) = definition.get("inputSchema").and_then(Value::as_object) {
        if schema.contains_key(KEY) {
            return Err(format!("`{KEY}` stands at the root of its schema"));
        }
        collect(schema, &mut Vec::new(), true, &mut found)?;
    }
    let mut names = HashSet::new();
    for annotation in &found {
        if !names.insert(annotation.header.to_ascii_lowercase()) {
            let header = annotation.header;
            return Err(format!("`{KEY}` names `{header}` twice"));
        }
    }
    Ok(found)
}

/// Collects the annotations of a schema. Only a property that is reached by `properties` alone may have one.
fn collect<'a>(
    schema: &'a Map<String, Value>,
    path: &mut Vec<&'a str>,
    is_reached: bool,
    found: &mut Vec<Annotation<'a>>,
) -> Result<(), String> {
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            (KEY, _) if !is_reached => {
                return Err(format!("`{KEY}` stands where no single argument does"));
            }
            (KEY, header) => {
                let header = header.as_str().unwrap_or_default();
                let kind = schema.get("type").and_then(Value::as_str);
                if HeaderName::try_from(header).is_err() {
                    return Err(format!("`{KEY}` at `{}` names no header", path.join(".")));
                }
                // A number with a fraction has no one form as text.
                if !matches!(kind, Some("boolean" | "integer" | "string")) {
                    let path = path.join(".");
                    return Err(format!(
                        "`{KEY}` at `{path}` is not at a text, an integer or a boolean"
                    ));
                }
                found.push(Annotation {
                    header,
                    path: path.clone(),
                });
            }
            ("const" | "default" | "enum" | "examples", _) => {}
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    if let Some(property) = property.as_object() {
                        path.push(name);
                        collect(property, path, is_reached, found)?;
                        path.pop();
                    }
                }
            }
            (
                "$defs" | "definitions" | "dependentSchemas" | "patternProperties",
                Value::Object(schemas),
            ) => {
                for schema in schemas.values().filter_map(Value::as_object) {
                    collect(schema, path, false, found)?;
                }
            }
            (_, Value::Object(schema)) => collect(schema, path, false, found)?,
            (_, Value::Array(schemas)) => {
                for schema in schemas.iter().filter_map(Value::as_object) {
                    collect(schema, path, false, found)?;
                }
            }
            (_, Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_)) => {}
        }
    }
    Ok(())
}

const KEY: &str = "x-mcp-header";
