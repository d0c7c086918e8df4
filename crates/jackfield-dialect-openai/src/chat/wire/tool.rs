//! Tools, and calls of them.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Tool {
    Custom {
        custom: CustomTool,
    },
    /// A tool with JSON arguments.
    Function {
        function: Function,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// A tool that only a specific server knows.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// Implemented by hand: every request holds all its tools, and the derived code for tagged and untagged variants
/// copies each of them several times.
impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        Ok(match fields.get("type").and_then(Value::as_str) {
            Some("custom") => match fields.get("custom").map(CustomTool::deserialize) {
                Some(Ok(custom)) => Self::Custom { custom },
                Some(Err(_)) | None => Self::Other(fields),
            },
            Some("function") => {
                let told = fields.get_mut("function").and_then(Value::as_object_mut);
                match told.and_then(Function::take_from) {
                    Some(function) => {
                        fields.retain(|key, _| key != "function" && key != "type");
                        let extra = fields;
                        Self::Function { extra, function }
                    }
                    None => Self::Other(fields),
                }
            }
            Some(_) | None => Self::Other(fields),
        })
    }
}

/// A tool with JSON arguments.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Function {
    /// Its name; at most 64 of `[A-Za-z0-9_-]`.
    pub name: String,
    /// A description for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments; `None` if it takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Arc<Value>>,
    /// Whether the vendor enforces the schema; by default it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Function {
    /// Takes a function out of the fields if they have its form; otherwise they stay unchanged.
    fn take_from(fields: &mut Map<String, Value>) -> Option<Self> {
        let is = |key: &str, is: fn(&Value) -> bool| {
            fields
                .get(key)
                .is_none_or(|value| value.is_null() || is(value))
        };
        let is_one = fields.get("name").is_some_and(Value::is_string)
            && is("description", Value::is_string)
            && is("strict", Value::is_boolean);
        if !is_one {
            return None;
        }
        let mut fields = std::mem::take(fields);
        let mut take = |key: &str| fields.shift_remove(key);
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) => Some(text),
            Some(_) | None => None,
        };
        Some(Self {
            name: text(take("name"))?,
            description: text(take("description")),
            parameters: take("parameters")
                .filter(|schema| !schema.is_null())
                .map(Arc::new),
            strict: take("strict").and_then(|strict| strict.as_bool()),
            extra: fields,
        })
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CustomTool {
    pub name: String,
    /// A description for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The form of the text; any text by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TextFormat>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The form of a text tool's input.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum TextFormat {
    /// A sentence of a grammar.
    Grammar {
        grammar: Grammar,
    },
    Text {},
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct Grammar {
    pub definition: String,
    /// `lark` or `regex`.
    pub syntax: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct ToolCall {
    /// In a stream: the index of the call in the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The id; in a stream only in the first fragment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `function` or `custom`; some clients omit it.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionCall>,
    /// The call of a text tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<CustomCall>,
    /// Data that the server requires back with the call, such as Gemini's thought signatures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_content: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct FunctionCall {
    /// The function; in a stream only in the first fragment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The arguments: JSON text. Some clients send an object; null stands for none.
    #[serde(default)]
    pub arguments: Value,
}

/// The call of a text tool.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct CustomCall {
    /// The tool; in a stream only in the first fragment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default)]
    pub input: String,
}

jackfield_dialect_kit::objects!(CustomCall, FunctionCall, Grammar, TextFormat, ToolCall,);
