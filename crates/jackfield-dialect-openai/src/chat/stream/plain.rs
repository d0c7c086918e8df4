//! The chunk that says some words and nothing else, as nearly every chunk of a stream does.
//!
//! It is read straight into its few fields: to make a tree of every chunk took longer than all the rest that
//! is done about it. Whatever says anything more, or in another form, is none, and is read as a tree.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// A chunk whose words are all that it says.
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
    #[serde(default, rename = "service_tier")]
    _service_tier: IgnoredAny,
    #[serde(default, rename = "system_fingerprint")]
    _system_fingerprint: IgnoredAny,
    #[serde(default, rename = "usage")]
    _usage: Null,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Said<'a>,
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
struct Said<'a> {
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

/// A text, in its place where nothing of it is escaped.
#[derive(Debug, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// What such a chunk says.
#[derive(Debug)]
pub(super) struct Plain<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) words: Cow<'a, str>,
}

/// What stood around the words of such a chunk. The next one says the same but for its words, as a rule, and
/// then nothing but these has to be read.
#[derive(Debug)]
pub(super) struct Around {
    /// Up to the words, their quote included.
    before: Box<str>,
    /// From their quote on.
    after: Box<str>,
}

impl Around {
    /// What stands around these words, which are a part of this chunk.
    pub(super) fn of(words: &str, chunk: &str) -> Option<Self> {
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

    /// The words of a chunk that says the same around them; nothing where any of them is escaped.
    pub(super) fn words<'a>(&self, chunk: &'a str) -> Option<&'a str> {
        let words = chunk.strip_prefix(&*self.before)?;
        let words = words.strip_suffix(&*self.after)?;
        let stands_as_it_is = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
        words.bytes().all(stands_as_it_is).then_some(words)
    }
}

impl<'a> Plain<'a> {
    /// Reads a chunk; nothing if it says anything more.
    pub(super) fn read(chunk: &'a str) -> Option<Self> {
        let chunk: Chunk<'_> = serde_json::from_str(chunk).ok()?;
        let [choice] = chunk.choices;
        let is_error = chunk.object.is_some_and(|object| object.0 == "error");
        let known =
            |text: Option<Text<'a>>| text.map(|text| text.0).filter(|text| !text.is_empty());
        (choice.index == 0 && !is_error).then(|| Self {
            id: known(chunk.id),
            model: known(chunk.model),
            words: choice.delta.content.0,
        })
    }
}
