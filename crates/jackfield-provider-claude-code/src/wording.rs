//! What a reply says, to notice later whether it was changed.

use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::digest::Digest;
use jackfield_domain::message::Message;
use jackfield_domain::tool_input::ToolInput;

/// The texts and calls of a reply, without what Claude Code's own tools did.
#[derive(Debug, Default)]
pub(crate) struct Wording(Vec<(u32, String)>);

impl Wording {
    pub(crate) fn add(&mut self, delta: &Delta) {
        match delta {
            Delta::BlockStarted { index, start } => match start {
                BlockStart::Text => self.0.push((*index, String::new())),
                BlockStart::ToolCall { name, ran_by, .. } if *ran_by != RanBy::Provider => {
                    self.0.push((*index, call(name)));
                }
                BlockStart::Refusal
                | BlockStart::Thinking { .. }
                | BlockStart::ToolCall { .. }
                | BlockStart::Whole(_) => {}
            },
            // The deltas of a block come after its start, and before the next one of its index.
            Delta::ArgumentsAppended { index, text } | Delta::TextAppended { index, text } => {
                let mut open = self.0.iter_mut().rev();
                if let Some((_, words)) = open.find(|(known, _)| known == index) {
                    words.push_str(text);
                }
            }
            Delta::BlockEnded { index } => {
                // Another block may get the index, and not be one that counts.
                let mut open = self.0.iter_mut().rev();
                if let Some((known, _)) = open.find(|(known, _)| known == index) {
                    *known = CLOSED;
                }
            }
            Delta::AnnotationAdded { .. } | Delta::StateSet { .. } => {}
        }
    }

    pub(crate) fn digest(&self) -> Digest {
        let words = self.0.iter().map(|(_, words)| &**words);
        Digest::of_parts(words.filter(|words| !words.trim().is_empty()))
    }

    /// The digest of a message of the model.
    pub(crate) fn of(message: &Message) -> Digest {
        let parts = message
            .blocks
            .iter()
            .filter_map(|block| match &block.content {
                Content::Text(text) => Some((CLOSED, text.text.to_string())),
                Content::ToolCall(called) if called.ran_by != RanBy::Provider => {
                    let input = match &called.input {
                        ToolInput::Json(input) => input.raw(),
                        ToolInput::Text(text) => text,
                    };
                    Some((CLOSED, format!("{}{input}", call(called.name.as_str()))))
                }
                Content::Audio(_)
                | Content::Document(_)
                | Content::Image(_)
                | Content::Opaque(_)
                | Content::Refusal(_)
                | Content::Thinking(_)
                | Content::ToolCall(_)
                | Content::ToolOutcome(_) => None,
            });
        Self(parts.collect()).digest()
    }
}

/// The beginning of a call, which no text has.
fn call(name: &str) -> String {
    format!("\0{name}\0")
}

/// The index of blocks that have ended.
const CLOSED: u32 = u32::MAX;
