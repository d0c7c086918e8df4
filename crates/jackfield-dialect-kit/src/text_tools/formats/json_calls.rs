//! Calls as JSON between markers of other families.
//!
//! `<|START_ACTION|>[{"tool_name": ..., "parameters": {...}}]<|END_ACTION|>`: Cohere Command R7B and A, source: its chat
//! template. `[TOOL_REQUEST]{"name": ..., "arguments": {...}}[END_TOOL_REQUEST]`: what LM Studio asks models for that
//! have no form of their own, source: its page on tool use (2026-11).

use super::super::call::{OfferedTools, TextCall, call_of, leading_array, leading_object};
use super::{FoundCalls, MarkedFormat};

/// Cohere's.
pub(super) const COHERE: MarkedFormat = MarkedFormat {
    openers: &["<|START_ACTION|>"],
    read: |text, offered| read(text, "<|START_ACTION|>", "<|END_ACTION|>", offered),
};

/// LM Studio's.
pub(super) const LM_STUDIO: MarkedFormat = MarkedFormat {
    openers: &["[TOOL_REQUEST]"],
    read: |text, offered| read(text, "[TOOL_REQUEST]", "[END_TOOL_REQUEST]", offered),
};

fn read<'t>(
    text: &'t str,
    opener: &str,
    closer: &str,
    offered: &OfferedTools,
) -> Option<FoundCalls<'t>> {
    let inner = text.strip_prefix(opener)?.trim_start();
    let (objects, rest) = match leading_array(inner) {
        Some(found) => found,
        None => {
            let (object, rest) = leading_object(inner)?;
            (vec![object], rest)
        }
    };
    let rest = rest.trim_start().strip_prefix(closer)?;
    let calls = objects.iter().map(|object| call_of(object, offered, true));
    let calls: Vec<TextCall> = calls.collect::<Option<_>>()?;
    (!calls.is_empty()).then_some(FoundCalls { calls, rest })
}
