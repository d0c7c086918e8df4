//! A fast path for whole replies that hold only text, as most do.
//!
//! They are deserialized directly into a few fields, as [chunks](super::plain_chunk) are. A reply with anything more, or
//! in another form, takes the generic path.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::plain_chunk::{Null, Text};

/// A reply that holds only text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply<'a> {
    #[serde(borrow)]
    choices: [Choice<'a>; 1],
    #[serde(default, rename = "created")]
    _created: IgnoredAny,
    #[serde(default, rename = "error")]
    _error: Null,
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    model: Option<Text<'a>>,
    #[serde(borrow, default)]
    object: Option<Text<'a>>,
    #[serde(default, rename = "provider")]
    _provider: IgnoredAny,
    #[serde(borrow, default)]
    service_tier: Option<Text<'a>>,
    #[serde(default, rename = "system_fingerprint")]
    _system_fingerprint: IgnoredAny,
    #[serde(default)]
    usage: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice<'a> {
    #[serde(borrow)]
    finish_reason: Text<'a>,
    #[serde(default)]
    index: u8,
    #[serde(default, rename = "logprobs")]
    _logprobs: IgnoredAny,
    #[serde(borrow)]
    message: PlainMessage<'a>,
    #[serde(default, rename = "native_finish_reason")]
    _native_finish_reason: IgnoredAny,
    #[serde(default, rename = "stop_reason")]
    _stop_reason: Null,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainMessage<'a> {
    #[serde(default, rename = "annotations")]
    _annotations: Option<[IgnoredAny; 0]>,
    #[serde(default, rename = "audio")]
    _audio: Null,
    #[serde(borrow)]
    content: Text<'a>,
    #[serde(default, rename = "function_call")]
    _function_call: Null,
    #[serde(default, rename = "reasoning")]
    _reasoning: Null,
    #[serde(default, rename = "reasoning_content")]
    _reasoning_content: Null,
    #[serde(default, rename = "refusal")]
    _refusal: Null,
    #[serde(default, rename = "role")]
    _role: IgnoredAny,
    #[serde(default, rename = "tool_calls")]
    _tool_calls: Option<[IgnoredAny; 0]>,
}

/// The contents of such a reply.
#[derive(Debug)]
pub(super) struct PlainReply<'a> {
    pub(super) finish: Cow<'a, str>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) service_tier: Option<Cow<'a, str>>,
    pub(super) usage: Option<Value>,
    pub(super) text: Cow<'a, str>,
}

impl<'a> PlainReply<'a> {
    /// Reads a reply; `None` if it holds more than text.
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let reply: Reply<'_> = serde_json::from_slice(body).ok()?;
        let [choice] = reply.choices;
        let is_error = reply.object.is_some_and(|object| object.0 == "error");
        let known =
            |text: Option<Text<'a>>| text.map(|text| text.0).filter(|text| !text.is_empty());
        let finish = known(Some(choice.finish_reason)).filter(|reason| *reason != "null")?;
        (choice.index == 0 && !is_error).then(|| Self {
            finish,
            id: known(reply.id),
            model: known(reply.model),
            service_tier: known(reply.service_tier),
            usage: reply.usage,
            text: choice.message.content.0,
        })
    }
}
