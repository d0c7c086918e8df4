//! A fast path for chunks that hold only text, as nearly all chunks of a stream do.
//!
//! They are deserialized directly into a few fields: building a tree of each chunk took longer than all other work
//! on it. A chunk with anything more, or in another form, takes the generic path.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// A chunk that holds only text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chunk<'a> {
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
    #[serde(default, rename = "obfuscation")]
    _obfuscation: IgnoredAny,
    #[serde(default, rename = "provider")]
    _provider: IgnoredAny,
    #[serde(borrow, default)]
    service_tier: Option<Text<'a>>,
    #[serde(default, rename = "system_fingerprint")]
    _system_fingerprint: IgnoredAny,
    #[serde(default, rename = "usage")]
    _usage: Null,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: PlainDelta<'a>,
    #[serde(default, rename = "finish_reason")]
    _finish_reason: Null,
    #[serde(default)]
    index: u8,
    #[serde(default, rename = "logprobs")]
    _logprobs: IgnoredAny,
    #[serde(default, rename = "native_finish_reason")]
    _native_finish_reason: IgnoredAny,
    #[serde(default, rename = "stop_reason")]
    _stop_reason: IgnoredAny,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainDelta<'a> {
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
    _tool_calls: Null,
}

/// A field that is missing or null.
pub(super) type Null = Option<()>;

/// A string, borrowed if it contains no escapes.
#[derive(Debug, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The contents of such a chunk.
#[derive(Debug, Default)]
pub(super) struct PlainChunk<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) service_tier: Option<Cow<'a, str>>,
    pub(super) text: Cow<'a, str>,
}

/// The frame around the text of such a chunk. The next chunk usually has the same frame, and then only its text has
/// to be read.
#[derive(Debug)]
pub(super) struct ChunkFrame {
    /// The bytes before the text, including the opening quote.
    before: Box<str>,
    /// The bytes from the closing quote on.
    after: Box<str>,
}

impl ChunkFrame {
    /// The frame around this text, which must be a slice of the chunk.
    pub(super) fn around(words: &str, chunk: &str) -> Option<Self> {
        let start = words.as_ptr().addr().checked_sub(chunk.as_ptr().addr())?;
        let after = chunk.get(start + words.len()..)?;
        Some(Self {
            before: chunk
                .get(..start)
                .filter(|text| text.ends_with('"'))?
                .into(),
            after: Some(after).filter(|text| text.starts_with('"'))?.into(),
        })
    }

    /// The text of a chunk with this frame; `None` if the frame differs or the text has escapes.
    pub(super) fn text<'a>(&self, chunk: &'a str) -> Option<&'a str> {
        let words = chunk.strip_prefix(&*self.before)?;
        let words = words.strip_suffix(&*self.after)?;
        let is_unescaped = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
        words.bytes().all(is_unescaped).then_some(words)
    }
}

impl<'a> PlainChunk<'a> {
    /// Reads a chunk; `None` if it holds more than text.
    pub(super) fn read(chunk: &'a str) -> Option<Self> {
        let chunk: Chunk<'_> = serde_json::from_str(chunk).ok()?;
        let [choice] = chunk.choices;
        let is_error = chunk.object.is_some_and(|object| object.0 == "error");
        let known =
            |text: Option<Text<'a>>| text.map(|text| text.0).filter(|text| !text.is_empty());
        (choice.index == 0 && !is_error).then(|| Self {
            id: known(chunk.id),
            model: known(chunk.model),
            service_tier: known(chunk.service_tier),
            text: choice.delta.content.0,
        })
    }
}
