//! `<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{...}<|tool_call_end|>
//! <|tool_calls_section_end|>`: Kimi K2.
//!
//! Source: the chat template of `moonshotai/Kimi-K2-Instruct`, and its guide to tool calls (2026-11).

use super::super::call::{OfferedTools, TextCall, leading_object};
use super::tagged::between;
use super::{FoundCalls, MarkedFormat};

pub(super) const FORMAT: MarkedFormat = MarkedFormat {
    openers: &[OPENER],
    read,
};

const OPENER: &str = "<|tool_calls_section_begin|>";
const CLOSER: &str = "<|tool_calls_section_end|>";
const CALL: &str = "<|tool_call_begin|>";
const ARGUMENTS: &str = "<|tool_call_argument_begin|>";
const CALL_END: &str = "<|tool_call_end|>";

fn read<'t>(text: &'t str, offered: &OfferedTools) -> Option<FoundCalls<'t>> {
    let mut inner = text.strip_prefix(OPENER)?;
    let mut calls = Vec::new();
    loop {
        inner = inner.trim_start();
        if let Some(rest) = inner.strip_prefix(CLOSER) {
            return (!calls.is_empty()).then_some(FoundCalls { calls, rest });
        }
        let (id, rest) = between(inner, CALL, ARGUMENTS)?;
        let id = id.trim();
        let name = id.strip_prefix("functions.").unwrap_or(id);
        let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
        let (object, rest) = leading_object(rest.trim_start())?;
        inner = rest.trim_start().strip_prefix(CALL_END)?;
        calls.push(offered.has(name).then(|| TextCall {
            arguments: object.get().to_owned(),
            name: name.to_owned(),
        })?);
    }
}
