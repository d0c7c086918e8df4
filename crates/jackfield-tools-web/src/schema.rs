//! Builds the JSON Schema of a tool's arguments from its parameters.

use serde_json::{Map, Value, json};

use crate::config::Parameter;

/// The schema of one parameter as sent to the model: always with a type.
pub(crate) fn of_parameter(parameter: &Parameter) -> Map<String, Value> {
    let mut schema = parameter.schema.clone();
    let typed = [
        "$ref", "allOf", "anyOf", "const", "enum", "not", "oneOf", "type",
    ];
    if !typed.iter().any(|keyword| schema.contains_key(*keyword)) {
        schema.insert("type".to_owned(), json!("string"));
    }
    schema
}

/// The schema of all arguments.
pub(crate) fn of_arguments<'a>(parameters: impl Iterator<Item = (&'a Parameter, bool)>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (parameter, is_required) in parameters {
        let schema = of_parameter(parameter);
        properties.insert(parameter.name.to_string(), Value::Object(schema));
        if is_required {
            required.push(parameter.name.to_string());
        }
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
