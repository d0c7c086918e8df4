//! Schemas in the form of OpenAPI 3.0, in which clients may declare functions, as JSON Schema.

use serde_json::{Map, Value, json};

/// The schema as JSON Schema: types in lower case, `nullable` as a type, snake case in camel case.
pub(crate) fn to_json_schema(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else {
        return schema.clone();
    };
    let mut out = Map::new();
    for (key, value) in fields {
        let name = match key.as_str() {
            "additional_properties" => "additionalProperties",
            "any_of" => "anyOf",
            "defs" => "$defs",
            "max_items" => "maxItems",
            "max_length" => "maxLength",
            "max_properties" => "maxProperties",
            "min_items" => "minItems",
            "min_length" => "minLength",
            "min_properties" => "minProperties",
            "property_ordering" => "propertyOrdering",
            "ref" => "$ref",
            name => name,
        };
        let value = match name {
            "additionalProperties" | "items" => to_json_schema(value),
            "anyOf" => value
                .as_array()
                .into_iter()
                .flatten()
                .map(to_json_schema)
                .collect(),
            "$defs" | "properties" => {
                let schemas = value.as_object().into_iter().flatten();
                schemas
                    .map(|(name, one)| (name.clone(), to_json_schema(one)))
                    .collect()
            }
            "type" => match value.as_str() {
                Some("TYPE_UNSPECIFIED") => continue,
                Some(kind) => json!(kind.to_ascii_lowercase()),
                None => value.clone(),
            },
            // 64-bit numbers are texts in the vendor's JSON.
            "maxItems" | "maxLength" | "maxProperties" | "minItems" | "minLength"
            | "minProperties" => {
                let number = value.as_str().and_then(|text| text.parse::<u64>().ok());
                number.map_or_else(|| value.clone(), |number| json!(number))
            }
            "nullable" => continue,
            _ => value.clone(),
        };
        out.insert(name.to_owned(), value);
    }
    if fields.get("nullable") == Some(&json!(true))
        && let Some(kind) = out.get_mut("type")
        && kind.is_string()
    {
        *kind = json!([kind.clone(), "null"]);
    }
    Value::Object(out)
}
