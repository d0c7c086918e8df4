//! Messages, and the shared sequence of them that is sent to a model.

use std::sync::Arc;

use crate::block::{Block, CachePoint, Content, ToolCall};
use crate::opaque::OpaqueState;

/// The role of a message's author.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Role {
    /// The model.
    Assistant,
    /// The operator; only in mid-conversation, because the first instructions are the system prompt.
    System,
    /// Tools: only outcomes, all those of one reply, in the order of its calls.
    Tool,
    /// The person or program that sends requests.
    User,
}

crate::named! { Role: Assistant = "assistant", System = "system", Tool = "tool", User = "user" }

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The parts, in order.
    pub blocks: Vec<Block>,
    /// Opaque state of providers that belongs to the whole message.
    pub opaque: Vec<OpaqueState>,
    /// The author's role.
    pub role: Role,
}

impl Message {
    /// A message with these blocks.
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

    /// All text in it; blocks are separated by empty lines.
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

/// The messages that are sent to a model: those before the turn, then those of the turn.
///
/// Clones share them, so the cost of a round does not grow with the history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages {
    before: Arc<Vec<Arc<Message>>>,
    turn: Arc<Vec<Arc<Message>>>,
}

impl Messages {
    /// The messages before a turn, without messages of the turn.
    #[must_use]
    pub fn with_history(messages: Arc<Vec<Arc<Message>>>) -> Self {
        Self {
            before: messages,
            turn: Arc::default(),
        }
    }

    /// The number of messages.
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

    /// The messages of the turn only.
    #[must_use]
    pub fn turn_messages(&self) -> &[Arc<Message>] {
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

    /// Replaces the message at this index, if there is one.
    pub fn replace(&mut self, index: usize, message: Arc<Message>) {
        let in_turn = index.checked_sub(self.before.len());
        let place = match in_turn {
            Some(index) => Arc::make_mut(&mut self.turn).get_mut(index),
            None => Arc::make_mut(&mut self.before).get_mut(index),
        };
        if let Some(place) = place {
            *place = message;
        }
    }

    /// Adds a cache point after the last outcomes, if the client set one at the end of its own message: each
    /// round is then read from the cache by the next one. Returns whether it did.
    pub(crate) fn add_cache_point(&mut self) -> bool {
        let Some(point) = self.last_cache_point() else {
            return false;
        };
        if let Some(last) = Arc::make_mut(&mut self.turn).last_mut()
            && last.role == Role::Tool
            && let Some(block) = Arc::make_mut(last).blocks.last_mut()
            && block.cache.is_none()
        {
            block.cache = Some(point);
            return true;
        }
        false
    }

    /// Removes the cache point at the end.
    pub fn remove_last_point(&mut self) {
        if let Some(mut last) = self.last().cloned() {
            if let Some(block) = Arc::make_mut(&mut last).blocks.last_mut() {
                block.cache = None;
            }
            self.replace(self.len() - 1, last);
        }
    }

    /// The cache point at the end of the client's last message.
    fn last_cache_point(&self) -> Option<CachePoint> {
        let mut messages = self.iter().rev();
        let last_client_message = messages.find(|message| {
            let is_marked = message.blocks.iter().any(|block| block.cache.is_some());
            is_marked || matches!(message.role, Role::System | Role::User)
        })?;
        last_client_message.blocks.last()?.cache
    }

    /// All messages as one shared list, for the next turn.
    #[must_use]
    pub fn join(&self) -> Arc<Vec<Arc<Message>>> {
        if self.turn.is_empty() {
            return Arc::clone(&self.before);
        }
        Arc::new(self.iter().cloned().collect())
    }

    /// Like [`join`](Self::join), without copying the messages before the turn if they are not shared.
    pub(crate) fn into_joined(self) -> Arc<Vec<Arc<Message>>> {
        let Self { mut before, turn } = self;
        if !turn.is_empty() {
            Arc::make_mut(&mut before).extend_from_slice(&turn);
        }
        before
    }

    /// The messages before the turn.
    pub(crate) fn history(&self) -> &[Arc<Message>] {
        &self.before
    }
}

impl FromIterator<Message> for Messages {
    fn from_iter<T: IntoIterator<Item = Message>>(messages: T) -> Self {
        Self::with_history(Arc::new(messages.into_iter().map(Arc::new).collect()))
    }
}
