//! Blocks: what messages are made of.

use std::sync::Arc;

use serde_json::Value;

use crate::ids::{ToolCallId, ToolName};
use crate::media::{Audio, Document, Image};
use crate::opaque::{OpaqueState, StateOwner};
use crate::outcome::ToolOutcome;
use crate::tool_input::ToolInput;

/// One part of a message: its content, and what hangs on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// A point up to which the provider may cache the request.
    pub cache: Option<CachePoint>,
    /// What it says.
    pub content: Content,
    /// State of providers that belongs to this block.
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

    /// Whether this block says nothing, and carries nothing that has to be kept.
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
/// Exhaustive on purpose: a new kind of block has to break every mapper at compile time.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A sound.
    Audio(Audio),
    /// A document.
    Document(Document),
    /// A picture.
    Image(Image),
    /// Something that only its owner understands, carried untouched.
    Opaque(OpaqueBlock),
    /// The model's own words for why it will not.
    Refusal(Arc<str>),
    /// Words.
    Text(Text),
    /// The model's reasoning, as far as the provider shows it.
    Thinking(Thinking),
    /// A request to run a tool.
    ToolCall(Arc<ToolCall>),
    /// What came of a tool call.
    ToolOutcome(Arc<ToolOutcome>),
}

/// Words, and remarks on parts of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Citations and the like.
    pub annotations: Vec<Annotation>,
    /// The words.
    pub text: Arc<str>,
}

/// A remark on a piece of text: where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// The whole annotation as its owner wrote it, to be sent back to it.
    pub json: Value,
    /// The dialect whose form `json` has.
    pub dialect: Arc<str>,
    /// The source's title, if it has one.
    pub title: Option<Arc<str>>,
    /// The source's address, if it has one.
    pub url: Option<Arc<str>>,
}

/// The model's reasoning.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Thinking {
    /// Whether the provider hides the text; the opaque state then holds all there is.
    pub redacted: bool,
    /// The text, or a summary of it; may be empty.
    pub text: Arc<str>,
}

/// Something that only its owner understands.
#[derive(Clone, Debug, PartialEq)]
pub struct OpaqueBlock {
    /// What to tell another provider in its place; `None` leaves it out.
    pub fallback: Option<Arc<str>>,
    /// The block as its owner wrote it.
    pub json: Value,
    /// What it is in the owner's language, such as `container_upload`.
    pub kind: Arc<str>,
    /// Whose it is.
    pub owner: StateOwner,
}

/// A request to run a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Our own id of the call.
    pub id: ToolCallId,
    /// The arguments.
    pub input: ToolInput,
    /// The tool, by the name that the model used, whether or not there is such a tool.
    pub name: CalledName,
    /// Who runs it.
    pub ran_by: RanBy,
    /// The id that the provider gave it, to be used towards that provider again.
    pub upstream: Option<UpstreamId>,
}

/// A provider's own id of a tool call.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct UpstreamId {
    /// The id as the provider wrote it; may be empty, or the same for several calls.
    pub id: Arc<str>,
    /// Whose id it is.
    pub owner: StateOwner,
}

/// Who runs a tool.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum RanBy {
    /// The caller: it gets the call and sends the result later.
    Client,
    /// Jackfield.
    Engine,
    /// The provider itself: call and outcome stand in the same reply, exempt from pairing.
    Provider,
}

/// A tool name as a model wrote it: perhaps no tool's, perhaps not even a valid name.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct CalledName(Arc<str>);

impl CalledName {
    /// Takes what the model wrote, cut to 256 characters.
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
