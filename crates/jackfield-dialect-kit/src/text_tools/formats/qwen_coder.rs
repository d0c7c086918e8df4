//! `<tool_call><function=NAME><parameter=KEY>value</parameter></function></tool_call>`: Qwen3-Coder and later; and
//! `<function=NAME>{...}</function>`: Llama 3.1 and 3.2.
//!
//! The values are literal and nothing in them is escaped, so one may contain its own closing tag: it ends where
//! another parameter or the end of the function follows. Sources: `vllm/tool_parsers/qwen3coder_tool_parser.py` of
//! vLLM; Meta's page on prompts for Llama 3.1, user-defined tools (2026-11).

use serde_json::Map;

use super::super::call::{OfferedTools, TextCall, leading_object};
use super::tagged::{call, literal, until};
use super::{FoundCalls, MarkedFormat};

pub(super) const FORMAT: MarkedFormat = MarkedFormat {
    openers: &[WRAPPER, OPENER],
    read,
};

const WRAPPER: &str = "<tool_call>";
const WRAPPER_END: &str = "</tool_call>";
const OPENER: &str = "<function=";
const CLOSER: &str = "</function>";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";

fn read<'t>(text: &'t str, offered: &OfferedTools) -> Option<FoundCalls<'t>> {
    let Some(mut inner) = text.strip_prefix(WRAPPER) else {
        let (call, rest) = function(text, offered)?;
        // The opener of the wrapper is missing in some replies, and its end is there.
        let end = rest.trim_start().strip_prefix(WRAPPER_END);
        let calls = vec![call];
        return Some(FoundCalls {
            calls,
            rest: end.unwrap_or(rest),
        });
    };
    let mut calls = Vec::new();
    loop {
        inner = inner.trim_start();
        if let Some(rest) = inner.strip_prefix(WRAPPER_END) {
            return (!calls.is_empty()).then_some(FoundCalls { calls, rest });
        }
        let (call, rest) = function(inner, offered)?;
        calls.push(call);
        inner = rest;
    }
}

fn function<'t>(text: &'t str, offered: &OfferedTools) -> Option<(TextCall, &'t str)> {
    let (name, mut rest) = until(text.strip_prefix(OPENER)?, ">")?;
    let name = name.trim();
    if !offered.has(name) {
        return None;
    }
    if let Some((object, rest)) = leading_object(rest.trim_start()) {
        let rest = rest.trim_start().strip_prefix(CLOSER)?;
        let call = TextCall {
            arguments: object.get().to_owned(),
            name: name.to_owned(),
        };
        return Some((call, rest));
    }
    let mut arguments = Map::new();
    loop {
        rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix(CLOSER) {
            return Some((call(name, arguments, offered)?, rest));
        }
        let (key, after) = until(rest.strip_prefix(PARAMETER)?, ">")?;
        let (value, after) = parameter(after)?;
        let key = key.trim();
        arguments.insert(key.to_owned(), literal(value, offered, name, key));
        rest = after;
    }
}

/// The value of a parameter without the line breaks around it, and the text after it.
fn parameter(text: &str) -> Option<(&str, &str)> {
    let ends = text.match_indices(PARAMETER_END);
    let (value, rest) = ends
        .filter_map(|(at, _)| Some((text.get(..at)?, text.get(at + PARAMETER_END.len()..)?)))
        .find(|(_, rest)| {
            let next = rest.trim_start();
            next.starts_with(PARAMETER) || next.starts_with(CLOSER)
        })?;
    let value = value.strip_prefix('\n').unwrap_or(value);
    Some((value.strip_suffix('\n').unwrap_or(value), rest))
}
