//! The forms of values.

use serde_json::{Value, json};

/// The form of a value; some have an example.
pub(crate) enum ValueForm {
    /// An amount of money.
    Amount,
    /// Any value.
    Any,
    /// A duration.
    Duration(&'static str),
    /// True or false.
    Flag,
    /// A table of tables with free names.
    Free,
    /// An amount of money, with an optional currency.
    Money,
    /// A number between two others.
    Number(f64, f64),
    /// Whether a parameter is required, or a list of required fields.
    Required,
    /// A response format.
    ResponseFormat,
    /// A number of bytes, or a size.
    Size(&'static str),
    /// A strictness.
    Strict,
    /// A string.
    Text(&'static str),
    /// Several strings.
    Texts(&'static str),
    /// The thinking settings of a model.
    Thinking,
    /// A selection of tools.
    Tools,
    /// An integer of at least this.
    Whole(i64),
    /// One of these words.
    Words(&'static [&'static str]),
}

impl ValueForm {
    /// The schema, with the description of the value.
    pub(super) fn schema(&self, about: &str) -> Value {
        let mut schema = self.bare();
        if let (Value::Object(fields), false) = (&mut schema, about.is_empty()) {
            fields.insert("description".to_owned(), about.into());
        }
        schema
    }

    fn bare(&self) -> Value {
        match self {
            Self::Amount => json!({ "type": "number", "minimum": 0, "examples": [2.5] }),
            Self::Any => json!({}),
            Self::Duration(example) => json!({ "type": "string", "examples": [example] }),
            Self::Flag => json!({ "type": "boolean" }),
            Self::Free => json!({
                "type": "object",
                "additionalProperties": { "type": "object" },
            }),
            Self::Money => json!({ "oneOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+([.][0-9]+)?( [A-Z]{3})?$" },
            ], "examples": [0.5, "0.50 USD"] }),
            Self::Number(low, high) => json!({
                "type": "number", "minimum": low, "maximum": high, "examples": [high],
            }),
            Self::Required => json!({ "type": ["boolean", "array"], "examples": [true] }),
            Self::ResponseFormat => json!({ "oneOf": [
                { "type": "string", "enum": ["json_object", "text"] },
                {
                    "type": "object",
                    "properties": {
                        "description": { "type": "string", "minLength": 1 },
                        "name": { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" },
                        "schema": { "type": ["object", "string"] },
                        "strict": { "type": "boolean" },
                    },
                    "required": ["schema"],
                    "additionalProperties": false,
                },
            ], "examples": ["json_object", "text"] }),
            Self::Size(example) => json!({ "oneOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+ ?([kKmMgG][iI]?)?[bB]?$" },
            ], "examples": [example, 4096] }),
            Self::Strict => json!({ "enum": ["cosmetic", "cost", "quality", "meaning", false] }),
            Self::Text(example) => json!({ "type": "string", "examples": [example] }),
            Self::Texts(example) => json!({
                "type": "array", "items": { "type": "string" }, "examples": [[example]],
            }),
            Self::Thinking => json!({ "oneOf": [
                { "type": "string", "enum": ["adaptive", "off"] },
                { "type": "integer", "minimum": 1 },
            ], "examples": ["adaptive", "off", 4096] }),
            Self::Tools => json!({
                "type": ["string", "array"],
                "pattern": "^(all|none)$",
                "items": { "type": "string" },
                "examples": ["all", "none", ["builtin/*"]],
            }),
            Self::Whole(least) => json!({
                "type": "integer", "minimum": least, "examples": [least],
            }),
            Self::Words(words) => json!({ "type": "string", "enum": words }),
        }
    }
}
