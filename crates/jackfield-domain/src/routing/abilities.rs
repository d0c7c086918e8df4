//! What a target can do, and what a request needs.

use std::fmt;

use crate::block::Content;
use crate::message::Message;

/// What a target can do.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Abilities {
    /// It accepts audio.
    pub audio: bool,
    /// It accepts documents.
    pub documents: bool,
    /// It accepts images.
    pub images: bool,
    /// It calls tools.
    pub tools: bool,
}

/// What a request needs of a target.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Needs {
    /// It has audio.
    pub audio: bool,
    /// It has documents.
    pub documents: bool,
    /// It has images.
    pub images: bool,
    /// It has tools.
    pub tools: bool,
}

impl Abilities {
    /// Everything.
    pub const ALL: Self = Self {
        audio: true,
        documents: true,
        images: true,
        tools: true,
    };

    /// Whether a target with these abilities can serve such a request.
    #[must_use]
    pub const fn covers(self, needs: Needs) -> bool {
        (self.audio || !needs.audio)
            && (self.documents || !needs.documents)
            && (self.images || !needs.images)
            && (self.tools || !needs.tools)
    }
}

impl Needs {
    /// Adds what a message needs. Outcomes of tools need nothing: a target that does not take their images gets a
    /// note in their place.
    pub fn add(&mut self, message: &Message) {
        for block in &message.blocks {
            match &block.content {
                Content::Audio(_) => self.audio = true,
                Content::Document(_) => self.documents = true,
                Content::Image(_) => self.images = true,
                Content::Opaque(_)
                | Content::Refusal(_)
                | Content::Text(_)
                | Content::Thinking(_)
                | Content::ToolCall(_)
                | Content::ToolOutcome(_) => {}
            }
        }
    }
}

/// The names of what is needed, as in `images and tools`.
impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (self.audio, "audio"),
            (self.documents, "documents"),
            (self.images, "images"),
            (self.tools, "tools"),
        ];
        let names = all.iter().filter(|(is_needed, _)| *is_needed);
        let names: Vec<&str> = names.map(|(_, name)| *name).collect();
        f.write_str(&names.join(" and "))
    }
}
