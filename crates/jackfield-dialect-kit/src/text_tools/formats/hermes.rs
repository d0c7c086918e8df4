//! `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`: Hermes 2 Pro and later, Qwen 2.5 and 3.
//!
//! It is the form that our own prompt asks for, as most models were trained on it. Source: the chat templates of
//! `NousResearch/Hermes-2-Pro-Llama-3-8B` and `Qwen/Qwen2.5-7B-Instruct`; `vllm/tool_parsers/hermes_tool_parser.py` of
//! vLLM (2026-11).

use super::super::call::{OfferedTools, call_of, leading_object};
use super::{FoundCalls, MarkedFormat};

pub(super) const FORMAT: MarkedFormat = MarkedFormat {
    openers: &[OPENER],
    read,
};

const OPENER: &str = "<tool_call>";
const CLOSER: &str = "</tool_call>";

fn read<'t>(text: &'t str, offered: &OfferedTools) -> Option<FoundCalls<'t>> {
    let inner = text.strip_prefix(OPENER)?;
    let (object, rest) = leading_object(inner.trim_start())?;
    let rest = rest.trim_start().strip_prefix(CLOSER)?;
    let calls = vec![call_of(object, offered, true)?];
    Some(FoundCalls { calls, rest })
}
