//! Tools, and calls of them.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// A tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Tool {
    /// One that takes free text.
    Custom {
        /// Which.
        custom: CustomTool,
    },
    /// One that takes JSON.
    Function {
        /// Which.
        function: Function,
        /// Every other field.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// One that only some server knows.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// Read by hand: every request brings all its tools, and a derived reading of tagged variants beside
/// untagged ones copies each of them several times.
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

/// A tool that takes JSON.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Function {
    /// Its name; at most 64 of `[A-Za-z0-9_-]`.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments; none where it takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Arc<Value>>,
    /// Whether the vendor holds the model to the schema; not, where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Function {
    /// Takes it out of its fields, if they are those of one; otherwise they stay as they are.
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

/// A tool that takes free text.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CustomTool {
    /// Its name.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The form of the text; any, where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TextFormat>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The form of the text that a tool takes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum TextFormat {
    /// A sentence of a grammar.
    Grammar {
        /// Which.
        grammar: Grammar,
    },
    /// Any text.
    Text {},
}

/// A grammar.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct Grammar {
    /// The grammar.
    pub definition: String,
    /// `lark` or `regex`.
    pub syntax: String,
}

/// A call of a tool.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct ToolCall {
    /// With pieces of a stream: which call of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The id; with pieces of a stream, only in the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `function` or `custom`; some clients leave it out.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The call of a function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionCall>,
    /// The call of a tool that takes free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<CustomCall>,
    /// What the server wants back with the call: Gemini's signatures of thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_content: Option<Value>,
}

/// The call of a function.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct FunctionCall {
    /// The function; with pieces of a stream, only in the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The arguments: a text that is JSON. Some clients send an object; null is none.
    #[serde(default)]
    pub arguments: Value,
}

/// The call of a tool that takes free text.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct CustomCall {
    /// The tool; with pieces of a stream, only in the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The text.
    #[serde(default)]
    pub input: String,
}

jackfield_dialect_kit::objects!(CustomCall, FunctionCall, Grammar, TextFormat, ToolCall,);
