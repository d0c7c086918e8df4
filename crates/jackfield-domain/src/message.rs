//! Messages, and the shared sequence of them that a model is sent.

use std::sync::Arc;

use crate::block::{Block, CachePoint, Content, ToolCall};
use crate::opaque::OpaqueState;

/// Who a message is from.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Role {
    /// The model.
    Assistant,
    /// Whoever runs the conversation; here only in its middle, the first is the system prompt.
    System,
    /// Tools: only outcomes, all those of one reply, in the order of its calls.
    Tool,
    /// The person or program that asks.
    User,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The parts, in order.
    pub blocks: Vec<Block>,
    /// State of providers that belongs to the whole message.
    pub opaque: Vec<OpaqueState>,
    /// Who it is from.
    pub role: Role,
}

impl Message {
    /// A message of these blocks.
    #[must_use]
    pub const fn new(role: Role, blocks: Vec<Block>) -> Self {
        Self {
            blocks,
            opaque: Vec::new(),
            role,
        }
    }

    /// A user's message of plain text.
    #[must_use]
    pub fn user(text: impl Into<Arc<str>>) -> Self {
        Self::new(Role::User, vec![Block::text(text)])
    }

    /// The tool calls in it, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Arc<ToolCall>> {
        self.blocks.iter().filter_map(|block| match &block.content {
            Content::ToolCall(call) => Some(call),
            Content::Audio(_)
            | Content::Document(_)
            | Content::Image(_)
            | Content::Opaque(_)
            | Content::Refusal(_)
            | Content::Text(_)
            | Content::Thinking(_)
            | Content::ToolOutcome(_) => None,
        })
    }

    /// All text in it, one block after another, with empty lines between.
    #[must_use]
    pub fn to_text(&self) -> String {
        let texts: Vec<&str> = self
            .blocks
            .iter()
            .filter_map(|block| match &block.content {
                Content::Refusal(text) => Some(&**text),
                Content::Text(text) => Some(&*text.text),
                Content::Audio(_)
                | Content::Document(_)
                | Content::Image(_)
                | Content::Opaque(_)
                | Content::Thinking(_)
                | Content::ToolCall(_)
                | Content::ToolOutcome(_) => None,
            })
            .collect();
        texts.join("\n\n")
    }
}

/// The messages that a model is sent: those before the turn, then those of the turn.
///
/// Cloning shares them: the cost of a round does not grow with the history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages {
    before: Arc<Vec<Arc<Message>>>,
    turn: Arc<Vec<Arc<Message>>>,
}

impl Messages {
    /// The messages before a turn.
    #[must_use]
    pub fn before(messages: Arc<Vec<Arc<Message>>>) -> Self {
        Self {
            before: messages,
            turn: Arc::default(),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.before.len() + self.turn.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> + Clone {
        self.before.iter().chain(self.turn.iter())
    }

    /// Those of the turn alone.
    #[must_use]
    pub fn of_turn(&self) -> &[Arc<Message>] {
        &self.turn
    }

    /// The last one.
    #[must_use]
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.turn.last().or_else(|| self.before.last())
    }

    /// Adds a message of the turn.
    pub fn push(&mut self, message: Arc<Message>) {
        Arc::make_mut(&mut self.turn).push(message);
    }

    /// The same with a cache point behind the last outcomes, where the client set one at the end of its own
    /// words: each round of the turn is then read from the cache by the next one.
    #[must_use]
    pub(crate) fn cached_to_end(mut self) -> Self {
        let Some(point) = self.point_at_end() else {
            return self;
        };
        if let Some(last) = Arc::make_mut(&mut self.turn).last_mut()
            && last.role == Role::Tool
            && let Some(block) = Arc::make_mut(last).blocks.last_mut()
        {
            block.cache = Some(point);
        }
        self
    }

    /// The cache point at the end of what the client said last.
    fn point_at_end(&self) -> Option<CachePoint> {
        let mut messages = self.iter().rev();
        let said = messages.find(|message| {
            let is_marked = message.blocks.iter().any(|block| block.cache.is_some());
            is_marked || matches!(message.role, Role::System | Role::User)
        })?;
        said.blocks.last()?.cache
    }

    /// All of them as one shared list, for the turn that comes next.
    #[must_use]
    pub fn join(&self) -> Arc<Vec<Arc<Message>>> {
        if self.turn.is_empty() {
            return Arc::clone(&self.before);
        }
        Arc::new(self.iter().cloned().collect())
    }

    /// The same, without a copy of those before the turn where nobody else has them.
    pub(crate) fn into_joined(self) -> Arc<Vec<Arc<Message>>> {
        let Self { mut before, turn } = self;
        if !turn.is_empty() {
            Arc::make_mut(&mut before).extend_from_slice(&turn);
        }
        before
    }

    /// Those before the turn.
    pub(crate) fn of_before(&self) -> &[Arc<Message>] {
        &self.before
    }
}

impl FromIterator<Message> for Messages {
    fn from_iter<T: IntoIterator<Item = Message>>(messages: T) -> Self {
        Self::before(Arc::new(messages.into_iter().map(Arc::new).collect()))
    }
}
