//! Blocks: the parts of messages.

use std::sync::Arc;

use serde_json::Value;

use crate::ids::{ToolCallId, ToolName};
use crate::media::{Audio, Document, Image};
use crate::opaque::{OpaqueState, StateOwner};
use crate::outcome::ToolOutcome;
use crate::tool_input::ToolInput;

/// One part of a message: its content, its cache point and its opaque state.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// A point up to which the provider may cache the request.
    pub cache: Option<CachePoint>,
    /// The content.
    pub content: Content,
    /// Opaque state of providers that belongs to this block.
    pub opaque: Vec<OpaqueState>,
}

impl From<Content> for Block {
    fn from(content: Content) -> Self {
        Self {
            cache: None,
            content,
            opaque: Vec::new(),
        }
    }
}

impl Block {
    /// A block of plain text.
    #[must_use]
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Content::Text(Text {
            annotations: Vec::new(),
            text: text.into(),
        })
        .into()
    }

    /// Whether this block has no content and no state that must be kept.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        if !self.opaque.is_empty() {
            return false;
        }
        match &self.content {
            Content::Refusal(text) => text.trim().is_empty(),
            Content::Text(text) => text.text.trim().is_empty(),
            Content::Thinking(thinking) => thinking.text.trim().is_empty(),
            Content::Audio(_)
            | Content::Document(_)
            | Content::Image(_)
            | Content::Opaque(_)
            | Content::ToolCall(_)
            | Content::ToolOutcome(_) => false,
        }
    }
}

/// The content of a block.
///
/// Exhaustive on purpose: a new kind of block must break every mapper at compile time.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Audio.
    Audio(Audio),
    /// A document.
    Document(Document),
    /// An image.
    Image(Image),
    /// Content that only its owner understands; passed on unchanged.
    Opaque(OpaqueBlock),
    /// The model's refusal, in its own words.
    Refusal(Arc<str>),
    /// Text.
    Text(Text),
    /// The model's reasoning, as far as the provider shows it.
    Thinking(Thinking),
    /// A request to run a tool.
    ToolCall(Arc<ToolCall>),
    /// The outcome of a tool call.
    ToolOutcome(Arc<ToolOutcome>),
}

/// Text with annotations.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Citations and the like.
    pub annotations: Vec<Annotation>,
    /// The text.
    pub text: Arc<str>,
}

/// An annotation of a text: a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// The whole annotation as its owner wrote it, to be sent back to the owner.
    pub json: Value,
    /// The dialect that defines the form of `json`.
    pub dialect: Arc<str>,
    /// The source's title, if it has one.
    pub title: Option<Arc<str>>,
    /// The source's URL, if it has one.
    pub url: Option<Arc<str>>,
}

/// The model's reasoning.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Thinking {
    /// Whether the provider hides the text; the content is then in the opaque state only.
    pub redacted: bool,
    /// The text, or a summary of it; may be empty.
    pub text: Arc<str>,
}

/// Content that only its owner understands.
#[derive(Clone, Debug, PartialEq)]
pub struct OpaqueBlock {
    /// The text that other providers get instead; `None` leaves the block out.
    pub fallback: Option<Arc<str>>,
    /// The block as its owner wrote it.
    pub json: Value,
    /// The kind of block in the owner's dialect, such as `container_upload`.
    pub kind: Arc<str>,
    /// The owner.
    pub owner: StateOwner,
}

/// A request to run a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Jackfield's id of the call.
    pub id: ToolCallId,
    /// The arguments.
    pub input: ToolInput,
    /// The name that the model used, whether or not such a tool exists.
    pub name: CalledName,
    /// Who runs it.
    pub ran_by: RanBy,
    /// The provider's id of the call, to be used in later requests to the same provider.
    pub upstream: Option<UpstreamId>,
}

/// A provider's id of a tool call.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct UpstreamId {
    /// The id as the provider wrote it; it may be empty, or the same for several calls.
    pub id: Arc<str>,
    /// The owner of the id.
    pub owner: StateOwner,
}

/// Who runs a tool.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum RanBy {
    /// The client: it receives the call and sends the result later.
    Client,
    /// Jackfield.
    Engine,
    /// The provider: call and outcome are in the same reply, and exempt from pairing.
    Provider,
}

crate::named! { RanBy: Client = "client", Engine = "engine", Provider = "provider" }

/// A tool name as a model wrote it; it may name no tool, and may not even be a valid name.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct CalledName(Arc<str>);

impl CalledName {
    /// Takes the name that the model wrote, cut to 256 characters.
    #[must_use]
    pub fn new(text: &str) -> Self {
        match text.char_indices().nth(256) {
            Some((end, _)) => Self(text[..end].into()),
            None => Self(text.into()),
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&ToolName> for CalledName {
    fn from(name: &ToolName) -> Self {
        Self(name.as_str().into())
    }
}

/// A point up to which a provider may cache the request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CachePoint {
    /// How long to keep it, in seconds; `None` is the provider's default.
    pub seconds: Option<u32>,
}
