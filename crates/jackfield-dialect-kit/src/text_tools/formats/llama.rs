//! `<|python_tag|>{"name": ..., "parameters": {...}}` and `<|python_tag|>NAME.call(key="value")`: Llama 3.1 to 3.3.
//!
//! Several calls are separated by `;`. Sources: Meta's page on prompts for Llama 3.1, JSON-based and built-in tools;
//! `vllm/tool_parsers/llama_tool_parser.py` of vLLM (2026-11).

use super::super::call::{OfferedTools, call_of, leading_object};
use super::{FoundCalls, MarkedFormat, python};

pub(super) const FORMAT: MarkedFormat = MarkedFormat {
    openers: &[OPENER],
    read,
};

const OPENER: &str = "<|python_tag|>";
/// What ends a message of the model, if its server leaves it in the text.
const ENDS: [&str; 2] = ["<|eom_id|>", "<|eot_id|>"];

fn read<'t>(text: &'t str, offered: &OfferedTools) -> Option<FoundCalls<'t>> {
    let mut inner = text.strip_prefix(OPENER)?.trim_start();
    let mut calls = Vec::new();
    let rest = loop {
        let rest = if inner.starts_with('{') {
            let (object, rest) = leading_object(inner)?;
            calls.push(call_of(object, offered, false)?);
            rest
        } else {
            let (call, rest) = python::builtin_call(inner, offered)?;
            calls.push(call);
            rest
        };
        match rest.trim_start().strip_prefix(';') {
            Some(more) => inner = more.trim_start(),
            None => break rest,
        }
    };
    let end = ENDS
        .iter()
        .find_map(|end| rest.trim_start().strip_prefix(end));
    let rest = end.unwrap_or(rest);
    Some(FoundCalls { calls, rest })
}
