//! Wire types of messages and their blocks.

use jackfield_domain::block::{Block, Content};
use jackfield_domain::media::MediaSource;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::tool_input::ToolInput;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A message.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Message)]
pub(crate) struct MessageView {
    /// Who it is from: `user`, `assistant`, `tool` or `system`.
    pub(crate) role: String,
    /// What it says, in order.
    pub(crate) blocks: Vec<BlockView>,
    /// When a model said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<String>,
    /// The round that it is the reply of, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) round: Option<u32>,
    /// Why the reply ended, or how it broke off: `failed`, `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finish: Option<String>,
}

/// One part of a message.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Block)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum BlockView {
    /// A sound.
    Audio {
        /// Where it is.
        source: MediaView,
        /// Its transcript, if known.
        transcript: Option<String>,
    },
    /// A document.
    Document {
        /// Where it is.
        source: MediaView,
        /// Its title or file name.
        title: Option<String>,
    },
    /// A picture.
    Image {
        /// Where it is.
        source: MediaView,
    },
    /// What only the provider that wrote it understands.
    Other {
        /// What it is in the provider's language.
        kind: String,
        /// The same in words, if there are any.
        text: Option<String>,
    },
    /// The model's own words for why it will not.
    Refusal {
        /// The words.
        text: String,
    },
    /// Words.
    Text {
        /// The words.
        text: String,
        /// Where they come from, as far as the model says.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        sources: Vec<SourceView>,
        /// The words as HTML, if asked for and not too long.
        #[serde(skip_serializing_if = "Option::is_none")]
        html: Option<String>,
    },
    /// The model's reasoning, as far as it is shown.
    Thinking {
        /// The reasoning.
        text: String,
        /// Whether the provider hides it.
        hidden: bool,
    },
    /// A request to run a tool.
    ToolCall {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments: an object, or the text that is none.
        arguments: Value,
        /// Who runs it: `engine`, `client` or `provider`.
        ran_by: String,
    },
    /// The result of a tool call.
    ToolResult {
        /// The call.
        id: String,
        /// Its result.
        result: ResultView,
    },
}

/// Where a part of an answer comes from.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Source)]
pub(crate) struct SourceView {
    /// Its title.
    pub(crate) title: Option<String>,
    /// Its address.
    pub(crate) url: Option<String>,
}

/// Where the bytes of a file are: exactly one of `data`, `file`, `text` and `url` is there.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
#[schema(as = Media)]
pub(crate) struct MediaView {
    /// The media type of `data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) media_type: Option<String>,
    /// The bytes in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<String>,
    /// A provider's id of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// Plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// An address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
}

/// What a tool answered.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ToolResult)]
pub(crate) struct ResultView {
    /// Whether the tool says that it failed.
    pub(crate) is_error: bool,
    /// All of its text.
    pub(crate) text: String,
    /// The same as JSON, where the tool gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) structured: Option<Value>,
    /// What of it is not text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(no_recursion)]
    pub(crate) files: Vec<BlockView>,
}

impl MessageView {
    /// Adds the HTML of the texts of a model.
    pub(crate) fn add_html(&mut self) {
        if self.role == Role::Assistant.as_str() {
            self.blocks.iter_mut().for_each(BlockView::add_html);
        }
    }

    /// Converts a message that no model wrote.
    pub(crate) fn from_message(message: &Message) -> Self {
        Self {
            role: message.role.as_str().to_owned(),
            blocks: message.blocks.iter().map(BlockView::from_block).collect(),
            at: None,
            round: None,
            finish: None,
        }
    }
}

impl BlockView {
    /// Adds the HTML of a text that is not too long.
    fn add_html(&mut self) {
        if let Self::Text { text, html, .. } = self
            && text.len() <= MAX_MARKDOWN
        {
            *html = Some(jackfield_web::to_html(text));
        }
    }

    pub(crate) fn from_block(block: &Block) -> Self {
        Self::from_content(&block.content)
    }

    /// Converts the content of a block.
    pub(crate) fn from_content(content: &Content) -> Self {
        match content {
            Content::Audio(audio) => Self::Audio {
                source: MediaView::from_source(&audio.source),
                transcript: audio.transcript.as_deref().map(str::to_owned),
            },
            Content::Document(document) => Self::Document {
                source: MediaView::from_source(&document.source),
                title: document.title.as_deref().map(str::to_owned),
            },
            Content::Image(image) => Self::Image {
                source: MediaView::from_source(&image.source),
            },
            Content::Opaque(opaque) => Self::Other {
                kind: opaque.kind.to_string(),
                text: opaque.fallback.as_deref().map(str::to_owned),
            },
            Content::Refusal(text) => Self::Refusal {
                text: text.to_string(),
            },
            Content::Text(text) => Self::Text {
                text: text.text.to_string(),
                sources: text
                    .annotations
                    .iter()
                    .map(|annotation| SourceView {
                        title: annotation.title.as_deref().map(str::to_owned),
                        url: annotation.url.as_deref().map(str::to_owned),
                    })
                    .collect(),
                html: None,
            },
            Content::Thinking(thinking) => Self::Thinking {
                text: thinking.text.to_string(),
                hidden: thinking.redacted,
            },
            Content::ToolCall(call) => Self::ToolCall {
                id: call.id.to_string(),
                name: call.name.as_str().to_owned(),
                arguments: arguments(&call.input),
                ran_by: call.ran_by.as_str().to_owned(),
            },
            Content::ToolOutcome(outcome) => Self::ToolResult {
                id: outcome.call.to_string(),
                result: ResultView::from_result(&outcome.result),
            },
        }
    }
}

impl MediaView {
    fn from_source(source: &MediaSource) -> Self {
        match source {
            MediaSource::Base64 { data, media_type } => Self {
                data: Some(data.to_string()),
                media_type: Some(media_type.to_string()),
                ..Self::default()
            },
            MediaSource::File { id, .. } => Self {
                file: Some(id.to_string()),
                ..Self::default()
            },
            MediaSource::Text(text) => Self {
                text: Some(text.to_string()),
                ..Self::default()
            },
            MediaSource::Url(url) => Self {
                url: Some(url.to_string()),
                ..Self::default()
            },
        }
    }
}

impl ResultView {
    pub(crate) fn from_result(result: &ToolResult) -> Self {
        let files = result.content.iter().filter_map(|part| match part {
            OutcomePart::Audio(audio) => Some(BlockView::Audio {
                source: MediaView::from_source(&audio.source),
                transcript: audio.transcript.as_deref().map(str::to_owned),
            }),
            OutcomePart::Document(document) => Some(BlockView::Document {
                source: MediaView::from_source(&document.source),
                title: document.title.as_deref().map(str::to_owned),
            }),
            OutcomePart::Image(image) => Some(BlockView::Image {
                source: MediaView::from_source(&image.source),
            }),
            OutcomePart::Text(_) => None,
        });
        Self {
            is_error: result.is_error,
            text: result.to_text(),
            structured: result.structured.as_deref().cloned(),
            files: files.collect(),
        }
    }
}

/// The arguments as an object, or as the raw text if they are no object.
pub(crate) fn arguments(input: &ToolInput) -> Value {
    match input {
        ToolInput::Json(input) => match input.object() {
            Ok(fields) => Value::Object(fields.as_ref().clone()),
            Err(_) => Value::from(input.raw()),
        },
        ToolInput::Text(text) => Value::from(&**text),
    }
}

/// The maximum length of a text that is rendered, in bytes.
const MAX_MARKDOWN: usize = 256 << 10;
