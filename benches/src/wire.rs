//! As much of Chat Completions as the provider reads and the floor speaks.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request, as far as the provider looks at it.
#[derive(Debug, Deserialize)]
pub struct Asked<'a> {
    /// The conversation.
    #[serde(borrow)]
    pub messages: Vec<AskedMessage<'a>>,
    /// What the reply comes with at its end.
    #[serde(default)]
    pub stream_options: Option<Value>,
    /// The tools.
    #[serde(borrow, default)]
    pub tools: Vec<AskedTool<'a>>,
}

/// A message, as far as the provider looks at it.
#[derive(Debug, Deserialize)]
pub struct AskedMessage<'a> {
    /// What it says.
    #[serde(default)]
    pub content: Value,
    /// Who says it.
    #[serde(borrow)]
    pub role: Cow<'a, str>,
}

/// A tool, as far as the provider looks at it.
#[derive(Debug, Deserialize)]
pub struct AskedTool<'a> {
    /// The function.
    #[serde(borrow)]
    pub function: AskedFunction<'a>,
}

/// A function, as far as the provider looks at it.
#[derive(Debug, Deserialize)]
pub struct AskedFunction<'a> {
    /// Its name.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
}

/// A piece of a streamed reply.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Chunk<'a> {
    /// The choices, of which there is one.
    #[serde(borrow, default)]
    pub choices: Vec<Choice<'a>>,
}

/// A choice.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Choice<'a> {
    /// What is new.
    #[serde(borrow, default)]
    pub delta: Delta<'a>,
    /// How it ended.
    #[serde(borrow, default)]
    pub finish_reason: Option<Cow<'a, str>>,
}

/// What is new in a piece.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Delta<'a> {
    /// Text.
    #[serde(borrow, default)]
    pub content: Option<Cow<'a, str>>,
    /// Calls.
    #[serde(borrow, default)]
    pub tool_calls: Vec<CallPiece<'a>>,
}

/// A piece of a call.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct CallPiece<'a> {
    /// The function.
    #[serde(borrow, default)]
    pub function: FunctionPiece<'a>,
    /// Its id, in the first piece.
    #[serde(borrow, default)]
    pub id: Option<Cow<'a, str>>,
    /// Which call it is.
    pub index: usize,
}

/// A piece of a function call.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct FunctionPiece<'a> {
    /// Arguments.
    #[serde(borrow, default)]
    pub arguments: Option<Cow<'a, str>>,
    /// Its name, in the first piece.
    #[serde(borrow, default)]
    pub name: Option<Cow<'a, str>>,
}
