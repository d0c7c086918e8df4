//! Ollama's types: fields only, no logic. Unknown fields of replies are ignored.

use jackfield_dialect_kit::outgoing::names::NameForm;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The body of `POST /api/chat`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Request {
    pub model: String,
    /// The conversation; the first message may be the system prompt.
    pub messages: Vec<Message>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// `json`, or the schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Value>,
    /// Whether the model thinks: a boolean, or `low`, `medium`, `high` or `max`. Without it a model that can, does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Value>,
    /// How long the model stays in memory: seconds, or a duration such as `5m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_alive: Option<Value>,
    /// Settings of the model, such as `num_ctx`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
    /// Whether the reply is streamed; the default is yes.
    pub stream: bool,
    /// Whether messages are dropped from the beginning of a conversation that is too long; the default is yes.
    pub truncate: bool,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One message of the conversation.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    pub content: String,
    /// The thoughts of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// Images in base64, which stand before the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// The calls of the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<SentCall>,
    /// The tool of a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The id of a result's call; servers before 2025-11 ignore it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// A call in a request.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct SentCall {
    /// Its id; servers before 2025-11 ignore it.
    pub id: String,
    /// The tool and its arguments.
    pub function: Function,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Function {
    pub name: String,
    pub arguments: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tool {
    /// `function`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub function: Declaration,
}

/// The declaration of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Declaration {
    pub name: String,
    /// A description for the model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The schema of the arguments.
    pub parameters: Value,
}

/// One line of a reply; a whole reply has the same form.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct Line {
    /// An error in place of the rest.
    #[serde(default)]
    pub error: Option<Value>,
    #[serde(default)]
    pub model: Option<String>,
    /// A piece of the reply.
    #[serde(default)]
    pub message: Option<Piece>,
    /// Whether it is the last line.
    #[serde(default)]
    pub done: Option<bool>,
    /// Why the reply ended: `stop`, `length`, `load` or `unload`; in the last line.
    #[serde(default)]
    pub done_reason: Option<String>,
    /// Input tokens; in the last line.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional"
    )]
    pub prompt_eval_count: Option<u64>,
    /// Output tokens; in the last line.
    #[serde(
        default,
        deserialize_with = "jackfield_dialect_kit::whole_number::optional"
    )]
    pub eval_count: Option<u64>,
}

/// A piece of a reply.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct Piece {
    #[serde(default)]
    pub content: Option<String>,
    #[serde(default)]
    pub thinking: Option<String>,
    #[serde(default)]
    pub tool_calls: Option<Vec<CallPiece>>,
}

/// A call in a reply.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct CallPiece {
    /// Its id; servers before 2025-11 send none.
    #[serde(default)]
    pub id: Option<String>,
    /// The tool and its arguments.
    pub function: FunctionPiece,
}

/// A called tool in a reply.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct FunctionPiece {
    pub name: String,
    /// The arguments: an object, or by some servers a text that holds one.
    #[serde(default)]
    pub arguments: Option<Value>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct ErrorBody {
    /// What went wrong: a text, or by some servers an object with a `message`.
    pub error: Value,
}

/// The models of a server (`GET /api/tags`).
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct Tags {
    #[serde(default)]
    pub models: Option<Vec<Tag>>,
}

/// A model of a server.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Tag {
    pub name: String,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The names of tools that Ollama takes, which has no limit.
pub(crate) const NAMES: NameForm = NameForm {
    begins_with_letter: false,
    further: ".:",
    longest: 128,
};
