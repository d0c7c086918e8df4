//! The meaning of a reply, independent of its manner.

use jackfield_domain::block::Content;
use jackfield_domain::reply::{FinishReason, Reply};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::usage::Usage;
use serde_json::{Map, Value};

use super::{ScriptedBlock, VendorReply};

/// The meaning of a reply: the parts that must be equal in every manner.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReplyMeaning {
    pub(super) calls: Vec<SaidCall>,
    pub(super) finish: FinishReason,
    pub(super) reasoning: String,
    pub(super) refusal: String,
    pub(super) usage: Option<Usage>,
    pub(super) words: String,
}

/// A call without its ids.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SaidCall {
    pub(super) input: SaidInput,
    pub(super) name: String,
}

/// The input of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SaidInput {
    /// Invalid JSON, unchanged.
    Broken(String),
    Json(Map<String, Value>),
    Text(String),
}

impl ReplyMeaning {
    /// The meaning of a script.
    pub(super) fn scripted(script: &VendorReply) -> Self {
        let mut said = Self::nothing(script.finish.clone(), Some(script.usage));
        for block in &script.blocks {
            match block {
                ScriptedBlock::CustomCall { input, name, .. } => said.calls.push(SaidCall {
                    input: SaidInput::Text(input.concat()),
                    name: name.clone(),
                }),
                ScriptedBlock::Reasoning { pieces, .. } => {
                    said.reasoning.push_str(&pieces.concat());
                }
                ScriptedBlock::Refusal(pieces) => said.refusal.push_str(&pieces.concat()),
                ScriptedBlock::Text(pieces) => said.words.push_str(&pieces.concat()),
                ScriptedBlock::ToolCall {
                    arguments, name, ..
                } => said.calls.push(SaidCall {
                    input: SaidInput::json(&JsonInput::parse(&arguments.concat())),
                    name: name.clone(),
                }),
            }
        }
        said
    }

    /// The meaning of a reply.
    pub(super) fn told(reply: &Reply) -> Self {
        let mut said = Self::nothing(reply.end.finish.clone(), reply.end.usage);
        for block in &reply.message.blocks {
            match &block.content {
                Content::Refusal(text) => said.refusal.push_str(text),
                Content::Text(text) => said.words.push_str(&text.text),
                Content::Thinking(thinking) => said.reasoning.push_str(&thinking.text),
                Content::ToolCall(call) => said.calls.push(SaidCall {
                    input: match &call.input {
                        ToolInput::Json(input) => SaidInput::json(input),
                        ToolInput::Text(text) => SaidInput::Text((**text).to_owned()),
                    },
                    name: call.name.as_str().to_owned(),
                }),
                Content::Audio(_)
                | Content::Document(_)
                | Content::Image(_)
                | Content::Opaque(_)
                | Content::ToolOutcome(_) => panic!("nobody scripted {:?}", block.content),
            }
        }
        said
    }

    /// The same with this usage.
    pub(super) const fn using(mut self, usage: Option<Usage>) -> Self {
        self.usage = usage;
        self
    }

    const fn nothing(finish: FinishReason, usage: Option<Usage>) -> Self {
        Self {
            calls: Vec::new(),
            finish,
            reasoning: String::new(),
            refusal: String::new(),
            usage,
            words: String::new(),
        }
    }
}

impl SaidInput {
    /// Arguments, parsed if possible.
    pub(super) fn json(input: &JsonInput) -> Self {
        match input.object() {
            Ok(fields) => Self::Json(Map::clone(fields)),
            Err(_) => Self::Broken(input.raw().to_owned()),
        }
    }
}
