//! What the client of a turn has of it: what it was shown, and what it brought.

use crate::block::Content;
use crate::digest::Digest;
use crate::locate::key::Key;
use crate::message::Role;
use crate::turn::Turn;

impl Turn {
    /// The key of the conversation as the turn's client has it when the turn ends; none if it does not
    /// keep it, or was shown nothing that it could keep.
    pub(crate) fn view(&self) -> Option<Digest> {
        let before = self.setup.caller.as_ref()?.view?;
        let mut key = Key::after(before);
        for message in self.messages.of_turn() {
            for block in &message.blocks {
                match (&block.content, message.role) {
                    (Content::Refusal(text), Role::Assistant) => _ = key.said(text),
                    (Content::Text(text), Role::Assistant) => _ = key.said(&text.text),
                    (Content::ToolCall(call), Role::Assistant) => {
                        if self.handed_over.contains_key(&call.id) {
                            key.called(call);
                        }
                    }
                    (Content::ToolOutcome(outcome), Role::Tool) => {
                        if let Some(Some(brought)) = self.handed_over.get(&outcome.call) {
                            key.brought(&outcome.call, *brought);
                        }
                    }
                    (
                        Content::Audio(_)
                        | Content::Document(_)
                        | Content::Image(_)
                        | Content::Opaque(_)
                        | Content::Refusal(_)
                        | Content::Text(_)
                        | Content::Thinking(_)
                        | Content::ToolCall(_)
                        | Content::ToolOutcome(_),
                        Role::Assistant | Role::System | Role::Tool | Role::User,
                    ) => {}
                }
            }
        }
        Some(key.digest()).filter(|view| *view != before)
    }
}
