//! The client's view of a turn's conversation: what it has received and sent.

use crate::block::{Content, RanBy};
use crate::conversation_key::ConversationKey;
use crate::digest::Digest;
use crate::fact::ToolUse;
use crate::limits::OnLimit;
use crate::message::Role;
use crate::tool::{InputFormat, Permission, ToolChoice};
use crate::turn::Turn;

impl Turn {
    /// Whether a call of this tool is streamed to the client while the model writes it: it is a client tool,
    /// and nothing that is known before the end of the reply forbids the call. `json` is whether its arguments
    /// are JSON.
    ///
    /// Only the end of the reply can show that it was cut off, or that the arguments are malformed. The decider
    /// ends the turn in that case, because the call cannot be taken back.
    pub(crate) fn streams_call(&self, name: &str, json: bool) -> bool {
        let setup = &self.setup;
        let caller = setup.caller.as_ref();
        if !caller.is_some_and(|caller| caller.display.calls_as_written) {
            return false;
        }
        let Some(tool) = setup.catalog.tool(name) else {
            return false;
        };
        let is_allowed = match &setup.choice {
            ToolChoice::Auto | ToolChoice::Named(_) | ToolChoice::Required => true,
            ToolChoice::Forbidden => false,
            ToolChoice::Only { tools, .. } => tools.contains(&tool.definition.name),
        };
        let limits = &setup.limits;
        // With a budget, it is known only after the reply whether the budget covers another round.
        let is_unbudgeted = setup.allowance.tokens.is_none() && setup.allowance.cost.is_none();
        tool.ran_by == RanBy::Client
            && is_allowed
            && is_unbudgeted
            && self.tool_use == ToolUse::Allowed
            && (self.round < limits.rounds || limits.on_limit == OnLimit::Answer)
            && self.restrictions.tools.is_empty()
            && (json || matches!(tool.definition.input, InputFormat::Text(_)))
            && !matches!(tool.permission, Permission::Deny(_))
    }

    /// The key of the client's conversation at the end of the turn; `None` if the client does not keep the
    /// conversation, or has received nothing.
    pub(crate) fn view(&self) -> Option<Digest> {
        let before = self.setup.caller.as_ref()?.view?;
        let mut key = ConversationKey::after(before);
        for message in self.messages.turn_messages() {
            for block in &message.blocks {
                match (&block.content, message.role) {
                    (Content::Refusal(text), Role::Assistant) => _ = key.push_text(text),
                    (Content::Text(text), Role::Assistant) => _ = key.push_text(&text.text),
                    (Content::ToolCall(call), Role::Assistant) => {
                        if self.delivered_calls.contains_key(&call.id) {
                            key.push_call(call);
                        }
                    }
                    (Content::ToolOutcome(outcome), Role::Tool) => {
                        if let Some(Some(result)) = self.delivered_calls.get(&outcome.call) {
                            key.push_result(&outcome.call, *result);
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
