//! The meaning of a reply, independent of its manner.

use jackfield_domain::block::Content;
use jackfield_domain::reply::{FinishReason, Reply};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::usage::Usage;
use serde_json::{Map, Value};

use super::{ChatModelHarness, ScriptedBlock, VendorReply};

/// The meaning of a reply: the parts that must be equal in every manner.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReplyMeaning {
    pub(super) calls: Vec<SaidCall>,
    pub(super) finish: FinishReason,
    pub(super) reasoning: String,
    pub(super) refusal: String,
    pub(super) usage: Option<Usage>,
    pub(super) text: String,
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

/// The usage of a script, as this vendor counts.
pub(super) fn counted<H: ChatModelHarness>(harness: &H, usage: Usage) -> Usage {
    let cache_read = if harness.counts_cached() {
        usage.cache_read
    } else {
        0
    };
    Usage {
        cache_read,
        ..usage
    }
}

impl ReplyMeaning {
    /// The meaning of a script of this vendor.
    pub(super) fn from_script<H: ChatModelHarness>(harness: &H, script: &VendorReply) -> Self {
        let usage = counted(harness, script.usage);
        let mut meaning = Self::empty(script.finish.clone(), Some(usage));
        for block in &script.blocks {
            match block {
                ScriptedBlock::CustomCall { input, name, .. } => meaning.calls.push(SaidCall {
                    input: SaidInput::Text(input.concat()),
                    name: name.clone(),
                }),
                ScriptedBlock::Reasoning { pieces, .. } => {
                    meaning.reasoning.push_str(&pieces.concat());
                }
                ScriptedBlock::Refusal(pieces) => meaning.refusal.push_str(&pieces.concat()),
                ScriptedBlock::Text { pieces, .. } => meaning.text.push_str(&pieces.concat()),
                ScriptedBlock::ToolCall {
                    arguments, name, ..
                } => meaning.calls.push(SaidCall {
                    input: SaidInput::json(&JsonInput::parse(&arguments.concat())),
                    name: name.clone(),
                }),
            }
        }
        meaning
    }

    /// The meaning of a reply.
    pub(super) fn from_reply(reply: &Reply) -> Self {
        let mut meaning = Self::empty(reply.end.finish.clone(), reply.end.usage);
        for block in &reply.message.blocks {
            match &block.content {
                Content::Refusal(text) => meaning.refusal.push_str(text),
                Content::Text(text) => meaning.text.push_str(&text.text),
                Content::Thinking(thinking) => meaning.reasoning.push_str(&thinking.text),
                Content::ToolCall(call) => meaning.calls.push(SaidCall {
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
        meaning
    }

    /// The same with this usage.
    pub(super) const fn with_usage(mut self, usage: Option<Usage>) -> Self {
        self.usage = usage;
        self
    }

    const fn empty(finish: FinishReason, usage: Option<Usage>) -> Self {
        Self {
            calls: Vec::new(),
            finish,
            reasoning: String::new(),
            refusal: String::new(),
            usage,
            text: String::new(),
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
