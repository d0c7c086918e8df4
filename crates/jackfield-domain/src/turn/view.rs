//! The client's view of a turn: the calls that are streamed to it, and its conversation at the end.

use crate::block::RanBy;
use crate::digest::Digest;
use crate::fact::ToolUse;
use crate::limits::OnLimit;
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
        let view = self.client_ledger.key(before, &self.messages);
        (view != before).then_some(view)
    }
}
