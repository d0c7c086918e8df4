//! The order of the outcomes of calls.

use std::collections::HashMap;

use crate::block::Content;
use crate::ids::ToolCallId;
use crate::message::{Message, Role};

/// Sorts the outcomes of a history into the order of their calls, which is the order for storage and models.
/// Clients send them in any order, such as the order in which their tools finished.
pub fn sort_by_call_order(messages: &mut [Message]) {
    for n in 1..messages.len() {
        if let Some([call_message, outcome_message]) = messages.get_mut(n - 1..=n)
            && outcome_message.role == Role::Tool
        {
            let places = call_positions(call_message.calls().map(|call| &call.id));
            // Outcomes of unknown calls stay after the others; the rules check reports them.
            outcome_message
                .blocks
                .sort_by_key(|block| match &block.content {
                    Content::ToolOutcome(outcome) => {
                        places.get(&outcome.call).copied().unwrap_or(usize::MAX)
                    }
                    Content::Audio(_)
                    | Content::Document(_)
                    | Content::Image(_)
                    | Content::Opaque(_)
                    | Content::Refusal(_)
                    | Content::Text(_)
                    | Content::Thinking(_)
                    | Content::ToolCall(_) => usize::MAX,
                });
        }
    }
}

/// The position of each of these calls.
pub(crate) fn call_positions<'a>(
    calls: impl Iterator<Item = &'a ToolCallId>,
) -> HashMap<&'a ToolCallId, usize> {
    let mut places = HashMap::new();
    for (place, call) in calls.enumerate() {
        places.entry(call).or_insert(place);
    }
    places
}
