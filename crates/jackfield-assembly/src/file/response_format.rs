//! Reads the response format.

use std::sync::Arc;

use jackfield_domain::settings::ResponseFormat;
use serde_json::Value;
use toml::de::DeValue;

use crate::values::{any, one_of};
use jackfield_engine::near::did_you_mean;

/// Reads `"text"`, `"json_object"`, or a table with a schema.
pub(crate) fn read(value: &DeValue<'_>) -> Result<ResponseFormat, String> {
    if value.as_table().is_none() {
        let words = [
            ("text", ResponseFormat::Text),
            ("json_object", ResponseFormat::JsonObject),
        ];
        return one_of(&words)(value);
    }
    let fields = any(value)?;
    let mut names = fields
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name);
    if let Some(name) = names.find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(format!(
            "`{name}` is unknown{}",
            did_you_mean(name, &FIELDS)
        ));
    }
    let text = |name: &str| match fields.get(name) {
        None => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(Arc::from(text.as_str()))),
        Some(_) => Err(format!("`{name}` is a text that says something")),
    };
    let name: Arc<str> = text("name")?.unwrap_or_else(|| NAME.into());
    let fits = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == '-';
    if name.len() > LIMIT || !name.chars().all(fits) {
        return Err(format!(
            "`name` has at most {LIMIT} letters, digits, `_` and `-`"
        ));
    }
    Ok(ResponseFormat::JsonSchema {
        description: text("description")?,
        name,
        schema: match fields.get("schema") {
            Some(schema @ Value::Object(_)) => Arc::new(schema.clone()),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(schema @ Value::Object(_)) => Arc::new(schema),
                Ok(_) | Err(_) => return Err("`schema` is no JSON object".to_owned()),
            },
            Some(_) | None => return Err("`schema` is a table, or a text with JSON".to_owned()),
        },
        strict: match fields.get("strict") {
            None => None,
            Some(Value::Bool(strict)) => Some(*strict),
            Some(_) => return Err("`strict` is true or false".to_owned()),
        },
    })
}

const FIELDS: [&str; 4] = ["description", "name", "schema", "strict"];
/// The maximum length of a name that every provider accepts, in characters.
const LIMIT: usize = 64;
/// The default name of a format.
const NAME: &str = "response";
