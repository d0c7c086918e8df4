//! The outcomes of tool calls, and how much of them models see.

use std::sync::Arc;

use serde_json::Value;

use crate::ids::ToolCallId;
use crate::media::{Audio, Document, Image, MediaSource};
use crate::opaque::OpaqueState;
use crate::text::hidden;

/// The result of a tool, before it is tied to a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResult {
    /// The content, in order.
    pub content: Vec<OutcomePart>,
    /// Whether the tool reports an error.
    pub is_error: bool,
    /// The structured content, if the tool returns it.
    pub structured: Option<Arc<Value>>,
}

/// The outcome of a tool call, as models see it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutcome {
    /// The call.
    pub call: ToolCallId,
    /// The tool's result, cut to the limit that the journal records.
    pub result: ToolResult,
    /// State that the client's dialect needs back with the outcome.
    pub opaque: Vec<OpaqueState>,
}

/// One part of an outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum OutcomePart {
    /// Audio.
    Audio(Audio),
    /// A document, or an embedded resource.
    Document(Document),
    /// An image.
    Image(Image),
    /// Text.
    Text(Arc<str>),
}

impl ToolResult {
    /// A result of plain text.
    #[must_use]
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self {
            content: vec![OutcomePart::Text(text.into())],
            is_error: false,
            structured: None,
        }
    }

    /// An error result with this text.
    #[must_use]
    pub fn error(text: impl Into<Arc<str>>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    /// All text parts, separated by line breaks.
    #[must_use]
    pub fn to_text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(OutcomePart::as_text)
            .collect();
        texts.join("\n")
    }

    /// The size that counts against limits: the bytes of all parts and of the structured content.
    #[must_use]
    pub fn size(&self) -> usize {
        let structured = self.structured.as_deref().map_or(0, json_size);
        self.content.iter().map(OutcomePart::size).sum::<usize>() + structured
    }

    /// The result as models see it: cut to `shown` bytes, if it is to be cut, and without tag letters.
    #[must_use]
    pub fn for_models(&self, shown: Option<usize>) -> Option<Self> {
        let cut = shown.and_then(|limit| self.cut(limit));
        cut.as_ref().unwrap_or(self).without_tags().or(cut)
    }

    /// The result without tag letters; `None` if it has none.
    fn without_tags(&self) -> Option<Self> {
        let content: Vec<Option<OutcomePart>> =
            self.content.iter().map(OutcomePart::without_tags).collect();
        let structured = self.structured.as_deref();
        let structured = structured.and_then(hidden::json_without_tags);
        if structured.is_none() && content.iter().all(Option::is_none) {
            return None;
        }
        let content = content.into_iter().zip(&self.content);
        Some(Self {
            content: content
                .map(|(mended, part)| mended.unwrap_or_else(|| part.clone()))
                .collect(),
            is_error: self.is_error,
            structured: structured.map(Arc::new).or_else(|| self.structured.clone()),
        })
    }

    /// The result cut to at most `limit` bytes of content, with a marker at the end; `None` if it fits.
    ///
    /// Text is cut between characters. An image, audio or document that does not fit is omitted as a whole;
    /// later parts that fit are kept. Structured content that does not fit is omitted.
    #[must_use]
    pub fn cut(&self, limit: usize) -> Option<Self> {
        let size = self.size();
        if size <= limit {
            return None;
        }
        let mut left = limit;
        let mut content = Vec::new();
        for part in &self.content {
            let part_size = part.size();
            if part_size <= left {
                left -= part_size;
                content.push(part.clone());
                continue;
            }
            if let OutcomePart::Text(text) = part {
                let kept = &text[..text.floor_char_boundary(left)];
                if !kept.is_empty() {
                    content.push(OutcomePart::Text(kept.into()));
                }
                left = 0;
            }
        }
        let structured = self
            .structured
            .clone()
            .filter(|json| json_size(json) <= left);
        let marker = format!("[cut: {size} bytes were returned, at most {limit} are shown]");
        content.push(OutcomePart::Text(marker.into()));
        Some(Self {
            content,
            is_error: self.is_error,
            structured,
        })
    }
}

impl OutcomePart {
    /// The text, if it is a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Audio(_) | Self::Document(_) | Self::Image(_) => None,
        }
    }

    /// The part without tag letters; `None` if it has none.
    #[must_use]
    pub fn without_tags(&self) -> Option<Self> {
        match self {
            Self::Audio(audio) => {
                let transcript = hidden::without_tags(audio.transcript.as_deref()?)?;
                Some(Self::Audio(Audio {
                    transcript: Some(transcript.into()),
                    ..audio.clone()
                }))
            }
            Self::Document(document) => {
                let mended = |text: &Option<Arc<str>>| {
                    text.as_deref()
                        .and_then(hidden::without_tags)
                        .map(Arc::from)
                };
                let (context, title) = (mended(&document.context), mended(&document.title));
                let source = match &document.source {
                    MediaSource::Text(text) => {
                        hidden::without_tags(text).map(|text| MediaSource::Text(text.into()))
                    }
                    MediaSource::Base64 { .. } | MediaSource::File { .. } | MediaSource::Url(_) => {
                        None
                    }
                };
                let is_mended = context.is_some() || source.is_some() || title.is_some();
                is_mended.then(|| {
                    let old = document.clone();
                    Self::Document(Document {
                        cite: old.cite,
                        context: context.or(old.context),
                        source: source.unwrap_or(old.source),
                        title: title.or(old.title),
                    })
                })
            }
            Self::Image(_) => None,
            Self::Text(text) => hidden::without_tags(text).map(|text| Self::Text(text.into())),
        }
    }

    /// The size that counts against limits, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Audio(audio) => source_size(&audio.source),
            Self::Document(document) => source_size(&document.source),
            Self::Image(image) => source_size(&image.source),
            Self::Text(text) => text.len(),
        }
    }
}

fn source_size(source: &MediaSource) -> usize {
    match source {
        MediaSource::Base64 { data, .. } => data.len(),
        MediaSource::File { id, .. } => id.len(),
        MediaSource::Text(text) | MediaSource::Url(text) => text.len(),
    }
}

/// The size of a JSON value as text, computed without serializing it.
#[must_use]
pub fn json_size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 2 + items.iter().map(|item| json_size(item) + 1).sum::<usize>(),
        Value::Bool(_) | Value::Null => 5,
        Value::Number(number) => number.to_string().len(),
        Value::Object(fields) => {
            2 + fields
                .iter()
                .map(|(key, value)| key.len() + 4 + json_size(value))
                .sum::<usize>()
        }
        Value::String(text) => text.len() + 2,
    }
}
