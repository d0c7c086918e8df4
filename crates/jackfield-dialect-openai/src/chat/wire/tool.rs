//! Tools, and calls of them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
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
    pub parameters: Option<Value>,
    /// Whether the vendor holds the model to the schema; not, where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
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
#[serde(rename_all = "snake_case", tag = "type")]
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
pub struct Grammar {
    /// The grammar.
    pub definition: String,
    /// `lark` or `regex`.
    pub syntax: String,
}

/// A call of a tool.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
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
pub struct CustomCall {
    /// The tool; with pieces of a stream, only in the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The text.
    #[serde(default)]
    pub input: String,
}
